"""Whether text looks English, however little it has of sentences."""

from __future__ import annotations

import unicodedata

import pytest

from nersery.core.text.english import doubt_of_english, looks_english

TITLES = """NEW!! L'Oréal running shoes, black, XL (Pack of 2)
T-Shirt compatible with Nike iPhone 13 Pro | black
10.5" USB-C cable w/ free shipping
Dr. Martens X-200 XL Rosé - USB-C cable for Men"""
TRACE = """File "<stdin>", line 12, in <module>
ZeroDivisionError: division by zero
OperationalError: cannot import name '<module>' from 'torch.nn' (<stdin>)
During handling of the above exception, another exception occurred:"""
NAMES = (
    "Sixteenth Air Force, 8 April 1957; Torrejon Air Base, Spain; Debden, England; De la Cruz, van der Berg, Air Force"
)
PLACES = "New York Los Angeles San Francisco Las Vegas San Diego San Jose El Paso Santa Fe La Jolla " * 12
PEOPLE = "Müller Björk José François Zoë Håkon Łukasz Śląsk Renée Chloë " * 12
GERMAN = """Die Banco do Sertão verklagte João Gonçalves in Faro.
Der Vertrag endet am 5. Juli 2022.
Maria Müller arbeitet für die Deutsche Bahn in Köln.
Herr Schmidt wohnt seit 2010 in Wien und hat drei Kinder."""
TURKISH = """Unvanlarının değişmesi önerisi bazı üyeler arasında şaşkınlık yarattı.
Bu kadar çok kişi için daha iyi bir ev olarak görülüyor."""
ICELANDIC = """Forseti Íslands tók á móti gestum í gær og sagði að hann væri mjög ánægður með heimsóknina.
Þetta er í fyrsta sinn sem þeir koma til landsins."""


@pytest.mark.parametrize("text", [TITLES, TITLES * 20, TRACE, TRACE * 20, NAMES])
def test_titles_code_and_names_raise_no_doubt(text: str) -> None:
    assert not doubt_of_english(text.split())


@pytest.mark.parametrize("text", [PLACES, PEOPLE])
def test_names_alone_show_no_language(text: str) -> None:
    assert looks_english(text.split()) is None


@pytest.mark.parametrize("text", [TITLES, TRACE])
def test_titles_and_code_count_as_english(text: str) -> None:
    assert looks_english(text.split())


@pytest.mark.parametrize("text", [GERMAN, TURKISH, ICELANDIC])
def test_a_few_sentences_show_another_language(text: str) -> None:
    """Icelandic has no list of stop words."""
    for form in ("NFC", "NFD"):
        assert looks_english(unicodedata.normalize(form, text).split()) is False  # type: ignore[arg-type]


def test_much_text_without_words_of_any_language_is_doubtful() -> None:
    keywords = "laptop charger 65w hdmi adapter".split()
    assert looks_english(keywords) is None
    assert doubt_of_english(keywords) == ""
    assert "give --language en" in doubt_of_english(keywords * 20)
