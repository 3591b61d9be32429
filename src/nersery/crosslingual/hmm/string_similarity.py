"""String similarity of two words, also across scripts: numbers, punctuation, names and cognates."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from nersery.core.text.scripts import script_of
from nersery.core.text.text_forms import composed
from nersery.crosslingual.hmm.texts import Texts

Rows = NDArray[np.int64]

WORD, NUMBER, PUNCTUATION = range(3)
MIN_SKELETON_LENGTH = 3
"""In consonants. Shorter words of different scripts look alike by chance."""

_VOWELS = frozenset("aeiouy")
_NAME = re.compile(
    r"(?:LETTER|SYLLABLE|CHARACTER|SIGN)"
    r"(?: (?:SMALL|CAPITAL|SHORT|FARSI|INDEPENDENT|VOWEL|FINAL|SIGN|SARA|GLOTTAL|PHARYNGEAL))* ([A-Z]+)"
)
_LATIN_NAME = re.compile(r"LETTER (?:\w+ )*?([A-Z]{1,2})\b")
_NASALS = frozenset({"anusvara", "candrabindu"})
_SILENT = frozenset(
    {
        *("virama", "nukta", "visarga", "pulli", "soft", "hard", "mai", "maitaikhu", "thanthakhat"),
        *("coeng", "triisap", "muusikatoan"),
    }
)
_SAME_SOUND = str.maketrans("cqzwxj", "kksvky")
_MARKS = {
    **dict.fromkeys("।॥。．…۔።։᠃။។", "."),
    **dict.fromkeys("،、，፣߸᠂၊", ","),
    **dict.fromkeys("？؟፧", "?"),
    **dict.fromkeys("！߹", "!"),
    **dict.fromkeys("；؛", ";"),
    **dict.fromkeys("：", ":"),
    **dict.fromkeys("'`´„‚「」『』", '"'),
}
_KINDS_OF_MARKS = {"Pi": '"', "Pf": '"', "Ps": "(", "Pe": ")", "Pd": "-"}


def romanized(word: str) -> str:
    """A rough transcription of a word to the letters a to z, from the Unicode names of its characters.

    Ideographs are left out.

    >>> [romanized(word) for word in ("Москва", "Łódź", "トランプ", "서울")]
    ['moskavea', 'lodz', 'toranpu', 'seoul']
    """
    return "".join(map(_letters, composed(word.casefold())))


@lru_cache(4096)
def _letters(character: str) -> str:
    if character.isascii():
        return character if character.isalpha() else ""
    name = unicodedata.name(character, "")
    if name.startswith("LATIN"):
        match = _LATIN_NAME.search(name)
        return match[1].lower() if match else ""
    match = _NAME.search(name)
    sound = match[1].lower() if match else ""
    if name.startswith("HANGUL"):
        return sound
    if sound in _NASALS:
        return "n"
    if sound in _SILENT:
        return ""
    if name.startswith("CYRILLIC") and len(sound) == 2 and sound[1] not in _VOWELS:  # "EF", "EL", "ER"
        sound = sound[1]
    consonants = len(sound) - len(sound.lstrip("bcdfghjklmnpqrstvwxz"))
    return sound[: consonants + 1] if consonants else sound[:1]


def consonant_skeleton(roman: str) -> str:
    """The consonants of a romanized word. Similar sounds become one letter; vowels count only at the beginning.

    >>> consonant_skeleton("philadelphia"), consonant_skeleton("filadelfiya")
    ('fldlf', 'fldlf')
    """
    letters = ""
    for number, letter in enumerate(roman.replace("ph", "f").replace("sch", "s").translate(_SAME_SOUND)):
        if letter in _VOWELS:
            letters += "" if number else "a"
        elif (letter != "h" or not number) and letters[-1:] != letter:
            letters += letter
    return letters


def kind(word: str) -> int:
    """`NUMBER` for a word with a digit, `PUNCTUATION` for one without digits and letters, else `WORD`."""
    if any(map(str.isdigit, word)):
        return NUMBER
    is_word = any(unicodedata.category(character)[0] in "LM" for character in word)
    return WORD if is_word else PUNCTUATION


def canonical_form(word: str, word_kind: int) -> str:
    """What a number or a punctuation mark has in common across scripts: the digits, or the purpose of the mark.

    Args:
        word_kind: See `kind`.

    >>> canonical_form("१,०००", NUMBER), canonical_form("։", PUNCTUATION), canonical_form("«", PUNCTUATION)
    ('1000', '.', '"')
    """
    if word_kind == WORD:
        return word.casefold()
    if word_kind == NUMBER:
        return "".join(str(unicodedata.digit(character)) for character in word if character.isdigit())
    first = word[:1]
    return _MARKS.get(first) or _KINDS_OF_MARKS.get(unicodedata.category(first)) or first if word else ""


class WordFeatures:
    """The features that the similarity of words depends on, one row per word. Words are compared by their rows."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._scripts_seen: dict[str, int] = {}
        self._beginnings, self._scripts, self._canonical_forms = array("q"), array("H"), array("q")
        self._roman, self._skeletons = Texts(), Texts()

    def rows(self, words: Sequence[str]) -> Rows:
        """The row of each word."""
        new = [word for word in dict.fromkeys(words) if word not in self._rows]
        self._rows.update(zip(new, self.added(new), strict=True))
        return np.array([self._rows[word] for word in words], np.int64)

    def added(self, words: Iterable[str]) -> range:
        """Add rows for words. `rows` does not remember them, which saves much memory with many different words."""
        first, scripts = len(self._canonical_forms), self._scripts_seen
        for word in (unicodedata.normalize("NFKC", word) for word in words):
            word_kind = kind(word)
            roman, canonical = romanized(word), canonical_form(word, word_kind)
            consonants = consonant_skeleton(roman)
            has_sound = bool(consonants) and word_kind == WORD
            self._beginnings.append(_sound(consonants[0]) if has_sound else _digest(f"{word_kind} {canonical}"))
            self._scripts.append(scripts.setdefault(script_of(word), len(scripts)))
            self._canonical_forms.append(_digest(canonical))
            self._roman.append(roman)
            self._skeletons.append(consonants)
        return range(first, len(self._canonical_forms))

    def beginnings(self, rows: Rows) -> Rows:
        """A number for the sound that a word begins with; different sounds mean no similarity. Shape: that of rows."""
        return np.frombuffer(self._beginnings, np.int64)[rows]

    def similarity(self, left: Rows, right: Rows) -> NDArray[np.float64]:
        """How alike the words of each pair of rows are, in [0, 1].

        Equal numbers, marks for the same purpose and equal words have similarity 1. Words of the same script are
        compared by edit distance, words of two scripts by the edit distance of their consonants. The similarity is 0 if
        the edit distance is half of the letters or more, or if the words begin with different sounds.
        """
        similarity = np.zeros(len(left))
        # Comparing letters is slow, so only the few pairs whose first sounds and lengths fit are compared.
        close = np.flatnonzero(self.beginnings(left) == self.beginnings(right))
        left, right = left[close], right[close]
        scripts, forms = np.frombuffer(self._scripts, np.uint16), np.frombuffer(self._canonical_forms, np.int64)
        equal = forms[left] == forms[right]
        similarity[close[equal]] = 1
        lengths = self._skeletons.lengths(left), self._skeletons.lengths(right)
        shorter, longer = np.minimum(*lengths), np.maximum(*lengths)
        close_by = ~equal & (longer <= 2 * shorter)
        same = scripts[left] == scripts[right]
        for chosen, texts in (
            (close_by & same, self._roman),
            (close_by & ~same & (shorter >= MIN_SKELETON_LENGTH), self._skeletons),
        ):
            if chosen.any():
                words = ([texts[row] for row in side[chosen].tolist()] for side in (left, right))
                equal_part = cpdist(*words, scorer=Levenshtein.normalized_similarity, dtype=np.float64)
                # Half of the letters of two words agree by chance, so a similarity of one half counts as 0.
                similarity[close[chosen]] = np.clip(2 * equal_part - 1, 0, 1)
        return similarity


def _digest(text: str) -> int:
    """Texts with equal digests count as equal. Two of a million texts share one with a probability of 3 in 10⁸."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True)


@lru_cache(64)
def _sound(letter: str) -> int:
    return _digest(f"sound {letter}")
