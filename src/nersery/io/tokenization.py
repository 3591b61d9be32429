"""Splits plain text into words. No character except white space is lost."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Literal, get_args
from unicodedata import category

from nersery.core.errors import SettingsError, did_you_mean
from nersery.core.scripts import is_katakana

Splitting = Literal["spaces", "punctuation", "signs", "characters"]
SPLITTINGS: tuple[str, ...] = get_args(Splitting)
Splitter = Callable[[str], list[str]]

APOSTROPHES = "'’‘´"
"""With two signs that are typed for it: *d‘Or*."""
JOINER = "\N{ZERO WIDTH JOINER}"
SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
"""Symbols that colour the emoji before them."""
REGIONS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
"""Symbols of which two make a flag."""
STACKERS = "\N{MYANMAR SIGN VIRAMA}\N{KHMER SIGN COENG}"
"""Marks that put the next letter under the one before them."""
SPACING_MARKS = "\N{THAI CHARACTER SARA AM}\N{LAO VOWEL SIGN AM}\uff9e\uff9f"
"""Marks that Unicode calls letters: *ำ* of Thai and Lao, and the voice marks of half-width kana."""
ELIDING = ("fr", "it", "ca", "oc")
"""Languages whose articles and pronouns lose their vowel before another: *l'Italie*."""
CONTRACTING = ("", "en", "de")
"""Languages, one that is not told among them, that join a short word by an apostrophe: *she's*, *geht's*."""
ENDING = ("fi", "sv", "hi", "mr", "ne")
"""Languages with a colon within words: before an ending, *EU:n*, or in place of a visarga, *स्वत:ला*."""
ORDINALS = frozenset("bs cs da de et eu fi fo hr hu is lb lv nb nn no pl sk sl sr tr".split())  # noqa: SIM905
"""Languages that write an ordinal number with a full stop: *3. Oktober*."""
RAISED = "⁺⁻⁼⁽⁾₊₋₌₍₎"
"""Signs of exponents, charges and indices, which belong to the word as raised digits do: *Fe³⁺*, *10⁻³*."""
TWO_LETTERS = {
    "baq": "eu", "bos": "bs", "cat": "ca", "ces": "cs", "cze": "cs", "dan": "da", "deu": "de", "dut": "nl",
    "ekk": "et", "eng": "en", "est": "et", "eus": "eu", "fao": "fo", "fin": "fi", "fra": "fr", "fre": "fr",
    "ger": "de", "hin": "hi", "hrv": "hr", "hun": "hu", "ice": "is", "isl": "is", "ita": "it", "lav": "lv",
    "ltz": "lb", "lvs": "lv", "mar": "mr", "nep": "ne", "nld": "nl", "nno": "nn", "nob": "nb", "nor": "no",
    "npi": "ne", "oci": "oc", "pol": "pl", "slk": "sk", "slo": "sk", "slv": "sl", "srp": "sr", "swe": "sv",
    "tur": "tr", "vie": "vi",
}  # fmt: skip
"""The codes of these languages in ISO 639-3 and 639-2, and as they are written above."""
ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof st sr jr rev gen col capt lt sgt hon gov sen rep pres inc ltd co corp vs etc cf ca approx
    vol pp jan feb apr jun jul aug sep sept oct nov dec hr fr bzw usw vgl evtl ggf bspw nr
    str mio mrd sra srta ud uds dña avda núm pág ee uu mme mlle av bd sig sigg dott ing डॉ प्रो सं ई
    पू""".split()  # noqa: SIM905
)
"""Words that a full stop belongs to, in lower case."""
COMMON_WORDS: Mapping[str, Collection[str]] = {
    "cs": ("co",), "da": ("sen", "sig"), "fi": ("sen",), "fr": ("col", "vol"), "it": ("col", "mio"),
    "nb": ("av", "sen"), "nl": ("vs",), "nn": ("av", "sen"), "no": ("av", "sen"), "pl": ("co", "sen"),
    "sk": ("co", "sen"), "sv": ("av", "hon", "sen", "sig"), "tr": ("sen",), "vi": ("ca",),
}  # fmt: skip
"""Those of them that are words of a language, such as *she* in Swedish and the USA, *VS*, in Dutch."""
BEFORE_NUMBERS = frozenset("no nos art fig abs mar".split())  # noqa: SIM905
"""Words that it belongs to where a number follows: *no. 5*, but *he said no.*"""
BEFORE_NAMES = {"fr": frozenset(("me", "mm")), "pl": frozenset(("ds", "im"))}
"""Words that it belongs to, by language, where anything follows."""
LONGEST_INITIAL = 3
"""In letters, as *Ges* in *Ges.m.b.H.*"""
_URL = re.compile(r"(?:https?://|www\.)\S+|(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]+")
_AFTER_URL = ".,;:!?)]}\"'»”’।"
_CLITIC = re.compile(rf"[{APOSTROPHES}](?:s|ll|re|ve|d|m)$", re.IGNORECASE)
_HEBREW = re.compile("[א-ת]")
HEBREW_PREFIXES = "משהוכלב"
"""Letters that join the next word, also one in quotation marks: *ב'הארץ'*."""
WITH_GERESH = "גזצץ"
"""Letters with another sound before an apostrophe, also at the end of a word: *ג'ורג'*."""
QUOTATION_MARKS = '"“”'
"""Signs that also stand for a gershayim, which Hebrew acronyms have before their last letter: *ארה"ב*, *דו"חות*."""
_ELISION = re.compile(rf"^(?:\w{{1,3}}|\w+(?:ll|qu))[{APOSTROPHES}](?=\w)", re.IGNORECASE)
_NO_SPACES = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff々-〇\u3040-\u30ff\uff66-\uff9d\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff])"
)
"""A character of Thai, Lao, Burmese, Khmer, Chinese or Japanese."""
_NO_APOSTROPHE = re.compile(f"{_NO_SPACES.pattern}|[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")
"""A character of these scripts or of Hangul, where such a sign is a quotation mark: *'게임'에서*."""
_FULL_WIDTH = re.compile("[\u3000-\u303f\uff00-\uff65]")
"""Punctuation, digits and Latin letters as Chinese and Japanese print them."""
LONGEST_MEAN = 6
"""Letters of these scripts in a word, on average. Words that were cut out have 2 in Chinese and 4 in Thai."""
LEAST_SHARE = 0.05
"""Of the words in such scripts, so that a name among words of another script tells nothing."""
MOST_ALONE = 0.9
"""Share of single characters; among words that were cut out, half are in Chinese, fewer elsewhere."""
SIGNS, LEAST_SIGNS = ",;:?!،؛؟।", 10
"""Signs that end words, and how many of them tell whether they are words of their own."""


def splitter(splitting: str, language: str = "") -> Splitter:
    """A function that splits a line into words.

    Args:
        splitting: ``spaces`` splits at white space. ``punctuation`` also separates punctuation and symbols, except
            inside numbers, addresses and abbreviations. ``characters`` also separates characters of scripts without
            spaces.
            ``signs`` makes every punctuation mark and symbol a word of its own, also inside numbers and abbreviations.
        language: Decides where apostrophes and full stops belong; a code of two or three letters.

    Raises:
        SettingsError: If there is no such splitting.

    >>> splitter("punctuation")("Dr. Müller's firm (AT&T) paid $3.50.")
    ['Dr.', 'Müller', "'s", 'firm', '(', 'AT&T', ')', 'paid', '$', '3.50', '.']
    >>> splitter("characters")("東京へ Tokyo。")
    ['東', '京', 'へ', 'Tokyo', '。']
    """
    language = language.partition("-")[0].lower()
    language = TWO_LETTERS.get(language, language)
    if splitting == "spaces":  # all of these can be pickled, so that a source that uses them can travel to workers
        return str.split
    if splitting in ("punctuation", "characters"):
        return partial(_words, language=language, apart=splitting == "characters")
    if splitting == "signs":
        return _cut_signs
    raise SettingsError(f'there is no splitting "{splitting}"; {did_you_mean(splitting, SPLITTINGS)}')


def lacks_spaces(text: str) -> bool:
    """Whether it has characters of a script without spaces.

    >>> lacks_spaces("北京"), lacks_spaces("Oslo")
    (True, False)
    """
    return _NO_SPACES.search(text) is not None


def runs_on(words: Sequence[str]) -> bool:
    """Whether words look like whole phrases of a script without spaces.

    >>> runs_on(["王小明在北京工作很多年"]), runs_on(["王小明", "在", "北京", "工作"])
    (True, False)
    """
    letters = [itertools.filterfalse(is_mark, _NO_SPACES.findall(word)) for word in words]
    counts = [count for characters in letters if (count := sum(1 for _ in characters))]
    return len(counts) > LEAST_SHARE * len(words) and sum(counts) > LONGEST_MEAN * len(counts)


def attached_signs(sentences: Iterable[Sequence[str]]) -> tuple[float | None, str]:
    """The share of signs, such as commas, that end a longer word, and such a word; None where there are few signs.

    A full stop counts at the end of a sentence; elsewhere it belongs to an abbreviation.

    >>> attached_signs([["Not", "Oslo,", "but", "e.g.", "Rome", "."]] * 5)
    (0.5, 'Oslo,')
    """
    signs = list[str]()
    for words in sentences:
        signs += [word for word in words if word[-1] in SIGNS]
        signs += [word for word in words[-1:] if word[-1] == "."]
    longer = [word for word in signs if word[0].isalnum()]
    return len(longer) / len(signs) if len(signs) >= LEAST_SIGNS else None, longer[0] if longer else ""


def outer_signs(word: str, *, ends: bool = True) -> tuple[str, str]:
    """The punctuation that is glued to a word, before and behind it; none where there is some within it, too.

    Args:
        ends: Whether a full stop counts; within a sentence it belongs to an abbreviation.

    >>> outer_signs("(Oslo),"), outer_signs("है।"), outer_signs("bis(s)"), outer_signs("50%,"), outer_signs("U.S.")
    (('(', '),'), ('', '।'), ('', ''), ('', ','), ('', ''))
    """
    if not (_is_punctuation(word[0]) or _is_punctuation(word[-1])):
        return "", ""
    parts = _words(word, "", apart=False)
    kept = [place for place, part in enumerate(parts) if not all(map(_is_punctuation, part))]
    if not kept or kept != [*range(kept[0], kept[-1] + 1)] or "".join(parts) != word:
        return "", ""
    before, behind = "".join(parts[: kept[0]]), "".join(parts[kept[-1] + 1 :])
    return before, "" if behind.startswith(".") and not ends else behind


def is_character(word: str) -> bool:
    """Whether a word is one character, with its marks and what stands under it, of a script without spaces.

    >>> is_character("京"), is_character("ភ្នំ"), is_character("北京"), is_character("a")
    (True, True, False, False)
    """
    below = (is_mark(after) or before in STACKERS for before, after in itertools.pairwise(word))
    return bool(_NO_SPACES.match(word)) and all(below)


def with_whole_loanwords(words: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """The span ``[start, end)``, made longer where it ends within katakana whose characters are words of their own.

    >>> with_whole_loanwords("北ウェールズ議会", 3, 7)
    (1, 7)
    """
    while start > 0 and _is_in_loanword(words[start - 1]) and _is_in_loanword(words[start]):
        start -= 1
    while end < len(words) and _is_in_loanword(words[end - 1]) and _is_in_loanword(words[end]):
        end += 1
    return start, end


def _is_in_loanword(word: str) -> bool:
    return not word.isascii() and is_character(word) and is_katakana(word)


def in_characters(words: Iterable[str]) -> bool:
    """Whether nearly all words of scripts without spaces are single characters.

    >>> in_characters("東京へ"), in_characters(["東京", "へ"]), in_characters(["Oslo"])
    (True, False, False)
    """
    alone = [is_character(word) for word in words if _NO_SPACES.match(word)]
    return sum(alone) > MOST_ALONE * len(alone)


def follows_without_space(word: str) -> bool:
    """Whether a word begins with a character of a script without spaces, or with its punctuation.

    >>> follows_without_space("京都"), follows_without_space("。"), follows_without_space("서울")
    (True, True, False)
    """
    return bool(_NO_SPACES.match(word) or _FULL_WIDTH.match(word))


def touch(word: str, following: str) -> bool:
    """Whether no space is due between two words: those of a script without spaces, or its punctuation.

    >>> touch("北京", "很"), touch("Oslo", "。"), touch("北京", "Oslo")
    (True, True, False)
    """
    pair = word[-1] + following[0]
    return bool(_FULL_WIDTH.search(pair)) or all(map(lacks_spaces, pair))


def _cut_signs(text: str) -> list[str]:
    return [word for chunk in text.split() for word in _signs_apart(chunk)]


def _signs_apart(chunk: str) -> list[str]:
    tokens: list[str] = []
    for place, character in enumerate(chunk):
        if tokens and (is_joined(chunk, place) or not (_is_sign(character) or _is_sign(tokens[-1][0]))):
            tokens[-1] += character
        else:
            tokens.append(character)
    return tokens


def is_joined(text: str, place: int) -> bool:
    """Whether a character belongs to the one before it: marks, joiners, skin tones, the second half of a flag.

    >>> [is_joined("e\u0301a", place) for place in (1, 2)]
    [True, False]
    """
    character = text[place]
    if is_mark(character) or text[place - 1] == JOINER or character in SKIN_TONES:
        return True
    return character in REGIONS and (place - len(text[:place].rstrip(REGIONS))) % 2 == 1


def _spaced(text: str) -> str:
    """The text with a space on both sides of each character that words are written of without spaces."""
    spread: list[str] = []
    for character in text:
        if spread and (is_mark(character) or spread[-1][-1] in STACKERS):
            spread[-1] += character
        elif _NO_SPACES.match(character) or (spread and _NO_SPACES.match(spread[-1])):
            spread += " ", character
        else:
            spread.append(character)
    return "".join(spread)


def _words(text: str, language: str, *, apart: bool) -> list[str]:
    """The words of a line, with ``apart`` each character of scripts without spaces."""
    words: list[str] = []
    chunks = (_spaced(text) if apart else text).split()
    for chunk, following in zip(chunks, [*chunks[1:], ""], strict=False):
        if chunk.isalnum() or not any(map(_is_sign, chunk)):
            words.append(chunk)
        elif url := _URL.search(chunk):
            address = url[0].rstrip(_AFTER_URL)
            end = url.start() + len(address)
            words += _parted(chunk[: url.start()], "", language)
            words += [address] if address else []
            words += _parted(chunk[end:], following, language)
        else:
            words += _parted(chunk, following, language)
    return words


def _parted(chunk: str, following: str, language: str) -> Iterator[str]:
    """The words of a text without white space, before another one."""
    tokens: list[str] = []
    for place, character in enumerate(chunk):
        if tokens and _goes_on(chunk, place, tokens[-1], language):
            tokens[-1] += character
        else:
            tokens.append(character)
    if len(tokens) > 1 and tokens[-1] == "." and _is_abbreviation(tokens[-2], following, language):
        tokens[-2:] = [f"{tokens[-2]}."]
    for token in tokens:
        yield from _without_clitic(token, language)


def _goes_on(chunk: str, place: int, token: str, language: str) -> bool:
    """Whether a character belongs to the word before it."""
    if is_joined(chunk, place):
        return True
    character, before = chunk[place], _base(chunk, place - 1)
    if character in REGIONS:
        return False
    if not _is_sign(character):
        return not _is_sign(before) or before in "@#_" or (len(token) > 1 and not _is_sign(token[0]))
    if character == chunk[place - 1] and _is_sign(token[0]):
        return True  # an ellipsis or a dash of several characters
    if _is_sign(before):
        return False
    after = chunk[place + 1 : place + 2]
    if character in "॰·׳״_":
        return True
    if _HEBREW.match(before) and character in QUOTATION_MARKS + APOSTROPHES:
        is_quoted = chunk[: place - len(token)].endswith((*QUOTATION_MARKS, *APOSTROPHES, *"‚„"))
        return _is_in_hebrew_word(token, character, chunk[place + 1 : place + 3], is_quoted=is_quoted)
    if not after or _is_sign(after):
        return False
    if character == ":" and language in ENDING and after.isalpha() and not after.isupper():
        return True
    if character in ",:٫٬،":
        return before.isdecimal() and after.isdecimal()
    if character in APOSTROPHES:
        return not _NO_APOSTROPHE.search(before + after)
    return character in ".-&\N{HYPHEN}\N{NON-BREAKING HYPHEN}"


def _is_in_hebrew_word(token: str, sign: str, following: str, *, is_quoted: bool) -> bool:
    """Whether a sign after a Hebrew letter is no quotation mark.

    Args:
        token: The word before it.
        following: The next two characters.
        is_quoted: Whether the word follows a quotation mark.
    """
    is_stem = bool(token.strip(HEBREW_PREFIXES))
    if sign in APOSTROPHES:
        return is_stem if _HEBREW.match(following) else token[-1] in WITH_GERESH and not is_quoted
    if not _HEBREW.match(following):
        return False
    return not _HEBREW.match(following, 1) or (is_stem and not is_quoted)


def _base(chunk: str, place: int) -> str:
    """The character that the marks up to a place belong to: *❤* also after its variation selector."""
    while place > 0 and is_mark(chunk[place]):
        place -= 1
    return chunk[place]


def _is_abbreviation(word: str, following: str, language: str) -> bool:
    """Whether a full stop behind a word belongs to it."""
    lower = word.lower()
    if (lower in ABBREVIATIONS and lower not in COMMON_WORDS.get(language, ())) or _is_initials(word):
        return True
    if not following or _is_sign(word[0]):
        return False
    if lower in BEFORE_NUMBERS and following[0].isdecimal():
        return True
    if lower in BEFORE_NAMES.get(language, ()):
        return True
    if word.isdecimal():
        return language in ORDINALS and (len(word) <= 2 or following[0].islower())
    return (len(word) == 1 and word.isalpha()) or following[0].islower()


def _is_initials(word: str) -> bool:
    """Whether a word is letters and stops, as *U.S*, *z.B* and *जे.पी* are before their last full stop."""
    parts = ["".join(itertools.filterfalse(is_mark, part)) for part in word.split(".")]
    return len(parts) > 1 and all(part.isalpha() and len(part) <= LONGEST_INITIAL for part in parts)


def _without_clitic(word: str, language: str) -> list[str]:
    """A word, and apart from it what an apostrophe joins to it."""
    cut = 0
    if language in ELIDING:
        cut = match.end() if (match := _ELISION.match(word)) else 0
    elif language in CONTRACTING:
        cut = match.start() if (match := _CLITIC.search(word)) else 0
    return [word[:cut], word[cut:]] if 0 < cut < len(word) else [word]


@lru_cache(maxsize=10_000)
def _is_sign(character: str) -> bool:
    return category(character)[0] in "PS" and character not in RAISED


def _is_punctuation(character: str) -> bool:
    """Whether it is punctuation, and never part of a word as *%*, *#* and apostrophes are."""
    return category(character)[0] == "P" and character not in "%‰#&@*/_" + APOSTROPHES


@lru_cache(maxsize=10_000)
def is_mark(character: str) -> bool:
    """Whether a character only changes or joins the one before it."""
    return category(character) in ("Mn", "Mc", "Me", "Cf") or character in SPACING_MARKS
