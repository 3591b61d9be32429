from __future__ import annotations

from pathlib import Path

import pytest

from nersery import Entity, Sentence
from nersery.augment.words.stop_words import LISTS, bare, function_words, stop_words
from nersery.core.errors import DataError, MissingResourceError
from nersery.core.text.english import FUNCTION_WORDS


def text(words: str, language: str = "en", count: int = 1) -> list[Sentence]:
    return [Sentence(tuple(words.split()), language=language)] * count


@pytest.mark.parametrize(
    ("word", "expected"),
    [("The", "the"), ("।", ""), ("،。", ""), ("$+<=>^~", ""), ("है।", "है"), ("STRASSE", "strasse"),
     ("Straße", "strasse"), ("don't", "don't"), ("'s", "s"), ("مدينةً", "مدينةً"), ("(a)b", "a)b"),
     ("E\u0301te\u0301!", "\u00e9t\u00e9"), ("\u0958", "\u0915\u093c"),
     ("İçin", "için"), ("i\u0307çin", "için")],
)  # fmt: skip
def test_bare_words_have_no_case_or_punctuation(word: str, expected: str) -> None:
    assert bare(word) == expected


@pytest.mark.parametrize("language", ["en", "en-GB", "en_US", "EN"])
def test_stop_words_are_listed_words_that_are_frequent(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    rare = "system " + "xylophone " * 1200
    gold = text("The cat and THE system .", language, 20) + text(rare, language)
    (found,) = stop_words(gold).values()
    assert found == {"the", "and", "system"} | FUNCTION_WORDS
    (found,) = stop_words(gold + text("mouse " * 30_000, language)).values()
    assert found == {"the"} | FUNCTION_WORDS
    assert capsys.readouterr().err == ""


def test_each_language_has_its_own_stop_words() -> None:
    found = stop_words([*text("the und"), *text("the und", "de"), *text("वह the है।", "hi")])
    assert found == {"en": FUNCTION_WORDS, "de": {"und"}, "hi": {"वह", "है"}}


@pytest.mark.parametrize(
    ("word", "language"),
    [("மற்றும்", "ta"), ("என்னும்", "ta"), ("குறித்த", "ta"), ("کا", "ur"), ("तथा", "hi"), ("في", "ar"), ("وال", "ar")],
)
def test_words_are_added_that_the_package_lacks(word: str, language: str) -> None:
    assert word in stop_words(text(f"x {word}", language))[language]


def test_a_language_can_have_a_bundled_list() -> None:
    found = stop_words(text("హైదరాబాద్ మరియు తిరుపతి .", "te"))
    assert found == {"te": {"మరియు"}}


@pytest.mark.parametrize(("two", "three"), [("de", "deu"), ("de", "GER"), ("en", "eng"), ("tr", "tur-TR")])
def test_three_letter_codes_have_the_same_list(two: str, three: str, capsys: pytest.CaptureFixture[str]) -> None:
    short, long = (text("the und bir", language) for language in (two, three))
    assert stop_words(long)[three] == stop_words(short)[two] != frozenset()
    assert function_words(long) == function_words(short)
    assert capsys.readouterr().err == ""


def test_function_words_of_all_languages_are_joined(capsys: pytest.CaptureFixture[str]) -> None:
    assert function_words(text("the system")) == function_words([]) == FUNCTION_WORDS, "the list is too long"
    german = function_words(text("Hund", "de"))
    assert german > {*FUNCTION_WORDS, "der", "während"}, "also those that gold does not have, and English ones"
    assert function_words([*text("the"), *text("Hund", "de")]) == german
    assert function_words(text("ka mahana", "xx", 5)) == {*FUNCTION_WORDS, "ka", "mahana"}
    assert function_words(text("大 阪", "zh")) == FUNCTION_WORDS, "characters are no words, and digits mean something"
    assert capsys.readouterr().err == ""


GERMAN = (
    "Nach dem Spiel fuhr der Trainer mit seiner Mannschaft wieder in das Hotel , weil sie dort noch essen wollten ."
)
TURKISH = "Bu yıl daha çok insan bu kente geldi , ancak onlar için hiç yer yoktu ve hepsi geri döndü ."


@pytest.mark.parametrize(("words", "language"), [(GERMAN, "de"), (TURKISH, "tr")])
def test_the_language_of_unnamed_text_is_recognized(
    words: str, language: str, capsys: pytest.CaptureFixture[str]
) -> None:
    unnamed, named = text(words, "", 4), text(words, language, 4)
    assert function_words(unnamed) == function_words(named)
    assert function_words([*text("the system"), *unnamed]) == function_words(named)
    assert stop_words(unnamed)[""] == stop_words(named)[language]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", ["Nach dem Spiel", "ka mahana " * 30])
def test_notes_sentences_whose_language_is_not_recognized(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    function_words(text(words, ""))
    assert "and their words do not show it, so their most frequent words are" in capsys.readouterr().err


def test_text_without_spaces_needs_no_language(capsys: pytest.CaptureFixture[str]) -> None:
    assert function_words(text("大 阪 市 役 所 " * 20, "")) == FUNCTION_WORDS
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("path", sorted(LISTS.iterdir()), ids=lambda path: path.name)
def test_lists_have_different_words_without_punctuation(path: Path) -> None:
    words = path.read_text("utf-8").split("\n")
    assert words.pop() == ""
    assert [bare(word) for word in words] == words == list(dict.fromkeys(words))


def test_rare_pronouns_and_prepositions_count_too() -> None:
    found = stop_words(text("xylophone " * 5000 + "he", "en"))
    assert "he" in found["en"]
    assert "system" not in found["en"]


def test_a_language_that_is_not_in_gold_has_stop_words(tmp_path: Path) -> None:
    found = stop_words(text("the", "en"))
    assert {"und", "der"} <= found["de"]
    path = tmp_path / "words.txt"
    path.write_text("foo\n")
    assert stop_words(text("the", "en"), path)["de"] == {"foo"}


def test_words_of_entities_do_not_count() -> None:
    group = [Sentence(("Der", "Plan", "spielte"), (Entity(0, 2, "GRP"),), language="de")]
    assert stop_words(group) == {"de": frozenset()}


@pytest.mark.parametrize(
    ("language", "warning"), [("xx", 'the language "xx"'), ("", "neither name nor show their language")]
)
def test_notes_a_language_without_a_list_and_takes_frequent_words(
    language: str, warning: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"w{number}" for number in range(800)]
    gold = text(" ".join([*["ka"] * 90, *["la"] * 5, *["ma"] * 4, *words]), language) + text("ka .", language)
    assert stop_words(gold) == {language: {"ka", "la"}}
    assert warning in capsys.readouterr().err


def test_a_word_that_occurs_twice_in_a_short_text_is_not_frequent() -> None:
    assert stop_words(text("ka la ma ka", "xx")) == {"xx": frozenset()}


def test_words_of_the_user_apply_to_all_languages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "words.txt"
    path.write_text("The\n'S\nयह।\n")
    found = stop_words([*text("and the"), *text("x", "xx")], path)
    assert found == {"en": {"the", "s", "यह"}, "xx": {"the", "s", "यह"}}
    assert capsys.readouterr().err == ""
    path.write_text("two\twords\n")
    with pytest.raises(DataError):
        stop_words(text("and"), path)
    with pytest.raises(MissingResourceError):
        stop_words(text("and"), tmp_path / "other.txt")
