"""Whether a full stop belongs to the word before it: abbreviations, initials and ordinal numbers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping
from unicodedata import normalize

from nersery.io.word_splitting.scripts_without_spaces import is_mark

ORDINALS = frozenset("bs cs da de et eu fi fo hr hu is lb lv nb nn no pl sk sl sr tr".split())  # noqa: SIM905
"""Languages that write an ordinal number with a full stop: *3. Oktober*."""
ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof st sr jr rev gen col capt lt sgt hon gov sen rep pres inc ltd co corp vs etc cf ca approx
    dipl vol pp jan feb apr jun jul aug sep sept oct nov dec hr fr bzw usw vgl evtl ggf bspw nr dhr mevr św св δρ
    str mio mrd sra srta dra profa exmo exma ud uds dña avda núm pág ee uu mme mlle av bd sig sigg dott ing
    डॉ प्रो सं ई पू डा मि श्री ডাঃ ਡਾ ਮਿ ਸ਼੍ਰੀ ડૉ ડો મિ શ્રી திரு డా శ్రీ ಡಾ ಮಿ ಶ್ರೀ ഡോ ശ്രീ""".split()  # noqa: SIM905
)
"""Words to which a full stop belongs, in lower case."""
COMMON_WORDS: Mapping[str, Collection[str]] = {
    "cs": ("co",), "da": ("sen", "sig"), "fi": ("sen",), "fr": ("col", "vol"), "it": ("col", "mio"),
    "nb": ("av", "sen"), "nl": ("vs",), "nn": ("av", "sen"), "no": ("av", "sen"), "pl": ("co", "sen"),
    "sk": ("co", "sen"), "sv": ("av", "hon", "sen", "sig"), "tr": ("sen",), "vi": ("ca",),
}  # fmt: skip
"""Abbreviations that are words of a language, such as *hon*, she, in Swedish, and *VS*, the USA, in Dutch."""
BEFORE_NUMBERS = frozenset("no nos art fig abs mar".split())  # noqa: SIM905
"""Words to which a full stop belongs if a number follows: *no. 5*, but *he said no.*"""
BEFORE_NAMES = {
    "cs": frozenset(("pí", "sv")), "fr": frozenset(("me", "mm")), "id": frozenset(("ny", "tn")),
    "pl": frozenset(("ds", "im")), **dict.fromkeys(("hr", "sk", "sl"), frozenset(("sv",))),
    "sw": frozenset(("bi", "bw", "dk", "mhe")), "vi": frozenset(("bs", "gs", "pgs", "ths", "tp", "ts", "tt")),
}  # fmt: skip
"""Words to which a full stop belongs if anything follows, by language."""
MAX_INITIAL_LENGTH = 3
"""The maximum number of letters of an initial, such as *Ges* in *Ges.m.b.H.*"""
OF_ADDRESSES = frozenset(
    """ai app be ch com de edu eu fr gov io jp net nl org ru uk us
    cfg csv dll doc exe gif htm ini jpg js log md pdf php png py rb rs sh sql svg txt xls xml zip""".split()  # noqa: SIM905
)
"""The last part of addresses and names of files, which are no initials: *ibm.com*, *run.sh*."""
STOPS = ".․"
"""The full stop, and the dot after abbreviations in Armenian."""
HYPHENS = "-\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{ARMENIAN HYPHEN}\N{HEBREW PUNCTUATION MAQAF}"


def is_abbreviation(word: str, following: str, language: str) -> bool:
    """Whether a full stop after a word belongs to it.

    Args:
        following: The text behind the full stop; empty at the end of a line and before other punctuation.
        language: A code of two letters, or empty.
    """
    lower = word.lower().rpartition(".-")[2]
    if (lower in ABBREVIATIONS and lower not in COMMON_WORDS.get(language, ())) or _is_initials(word):
        return True
    if not following or not word[0].isalnum():
        return False
    if lower in BEFORE_NUMBERS and following[0].isdecimal():
        return True
    if lower in BEFORE_NAMES.get(language, ()):
        return True
    if word.isdecimal():
        return language in ORDINALS and (len(word) <= 2 or _is_small(following[0]))
    # A letter with a vowel sign may be a word, such as *है*.
    letter = normalize("NFC", word)
    return (len(letter) == 1 and letter.isalpha()) or _is_small(following[0])


def _is_initials(word: str) -> bool:
    """Whether a word consists of letters and stops, like *U.S*, *J.-P* and *जे.पी* before their last full stop."""
    parts = ["".join(itertools.filterfalse(is_mark, part)) for part in re.split(f"[{STOPS}][{HYPHENS}]?", word)]
    are_initials = all(part.isalpha() and len(part) <= MAX_INITIAL_LENGTH for part in parts)
    return len(parts) > 1 and are_initials and parts[-1] not in OF_ADDRESSES


def _is_small(letter: str) -> bool:
    """Whether a letter is small, although a name would begin with its capital. Georgian names have no capitals."""
    return letter.islower() and letter != letter.title()
