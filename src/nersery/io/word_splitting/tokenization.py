"""Splits plain text into words. Only white space, and zero width spaces beside Thai or Khmer, are lost."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Literal, get_args
from unicodedata import category

from nersery.core.errors import SettingsError, did_you_mean
from nersery.core.sentence import Sentence
from nersery.core.text.inflection import APOSTROPHES
from nersery.core.text.languages import primary
from nersery.core.text.spacing import HANGUL, NO_SPACES
from nersery.io.word_splitting.abbreviations import HYPHENS, STOPS, is_abbreviation
from nersery.io.word_splitting.scripts_without_spaces import (
    MAX_MEAN_LENGTH,
    continues_word,
    is_mark,
    runs_on,
    stands_alone,
)

Splitting = Literal["spaces", "punctuation", "signs", "characters"]
SPLITTINGS: tuple[str, ...] = get_args(Splitting)
Splitter = Callable[[str], list[str]]

JOINER = "\N{ZERO WIDTH JOINER}"
SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
"""Symbols that colour the emoji before them."""
REGIONS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
"""Symbols that make a flag in pairs."""
ELIDING = ("fr", "it", "ca", "oc")
"""Languages whose articles and pronouns lose their vowel before another vowel: *l'Italie*."""
CONTRACTING = ("", "en", "de")
"""Languages, including an unknown one, that join a short word by an apostrophe: *she's*, *geht's*."""
ENDING = ("fi", "sv", "hi", "mr", "ne")
"""Languages with a colon within words: before an ending, *EU:n*, or in place of a visarga, *स्वत:ला*."""
RAISED = "⁺⁻⁼⁽⁾₊₋₌₍₎"
"""Symbols of exponents, charges and indices, which belong to the word as raised digits do: *Fe³⁺*, *10⁻³*."""
_BEFORE_VOWEL = re.compile("[aeiouāēīōū]", re.IGNORECASE)
CLIPPED = {
    "af": re.compile(r"n(?!\w)"),
    "ha": re.compile(r"y(?:an?|ar|anci\w*)(?!\w)", re.IGNORECASE),
    "nl": re.compile(rf"[dkmnrst](?![\w{APOSTROPHES}])"),
    **dict.fromkeys(("haw", "sm", "to", "ty"), _BEFORE_VOWEL),
}
"""What follows an apostrophe that begins a word, *'s-Gravenhage*, or stands for a glottal stop, *‘o*."""
CUT_SHORT = {
    "it": re.compile("be|[Cc]a|mo|po"),
    "mt": re.compile("[mst]a|[jnt]ista|jisma|qata|sema|seta", re.IGNORECASE),
    "uz": re.compile(r"\w*[aeiou]g", re.IGNORECASE),
}
"""What comes before an apostrophe that ends a word: *un po'*, *ta' Malta*, or the letter *g'* of Uzbek, *tog'*."""
WITHIN_WORDS = "॰׳״_՛՜՞\N{GREEK KORONIS}"
"""Punctuation that a word may also end with, such as those that Armenian puts on a vowel: *Ո՞վ*."""
BEFORE_ELISION = "βγδζθκλμπστφχ"
"""Greek letters that end no word, so that an apostrophe after them stands for a vowel: *απ’ αυτό*."""
_FULL_WIDTH_NUMBER = re.compile("[０-９](?:[．：][０-９]|，[０-９]{3}(?![０-９]))")
"""A full-width comma belongs to a clause unless it separates thousands."""
_ABBREVIATES = re.compile("[\u1200-\u135a]/[\u1200-\u135a]")
"""An Ethiopic abbreviation with a slash, *ዶ/ር*."""
_PICTOGRAPHS = re.compile("[\U0001f000-\U0001faff\U0001fc00-\U0001fffd]")
"""The range that Unicode reserves for emoji, including those that this Python does not know yet."""
_URL = re.compile(r"(?:https?://|www\.)\S+|(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]+")
_AFTER_URL = ".,;:!?)]}\"'»”’।"
_CLITIC = re.compile(rf"[{APOSTROPHES}](?:s|ll|re|ve|d|m)$", re.IGNORECASE)
_HEBREW = re.compile("[א-ת]")
HEBREW_PREFIXES = "משהוכלב"
"""Letters that join the next word, also one in quotation marks: *ב'הארץ'*."""
WITH_GERESH = "גזצץ"
"""Letters that change their sound before an apostrophe, also at the end of a word: *ג'ורג'*."""
QUOTATION_MARKS = '"“”'
"""Quotation marks that may be a gershayim, which Hebrew acronyms have before their last letter: *ארה"ב*, *דו"חות*."""
_ELISION = re.compile(rf"^(?:\w{{1,3}}|\w+(?:ll|qu))[{APOSTROPHES}](?=\w)", re.IGNORECASE)
_NO_APOSTROPHE = re.compile(f"{NO_SPACES.pattern}|{HANGUL.pattern}")
"""A character of a script without spaces or of Hangul, where an apostrophe is a quotation mark: *'게임'에서*."""
ZERO_WIDTH_SPACE = "\u200b"
INVISIBLE = f"{ZERO_WIDTH_SPACE}\u200c\u200e\u200f\u2060\ufeff\xad"
"""Characters that may follow a full stop, such as marks of direction in Hebrew and Persian."""
_BETWEEN_WORDS = re.compile(f"(?<={NO_SPACES.pattern}){ZERO_WIDTH_SPACE}+|{ZERO_WIDTH_SPACE}+(?={NO_SPACES.pattern})")
"""How Khmer, Thai, Lao and Burmese text may show where words end."""
MAX_ATTACHED_SHARE = 0.5
"""The highest share of punctuation that ends words in split text. Abbreviations and times always keep theirs."""
MAX_STANDALONE_LENGTH = 4
"""The longest mean length in letters of a script without spaces if each line is one word: a name, not a sentence."""
SENTENCES_READ = 2000
"""The number of labelled sentences that are searched for punctuation such as commas."""
END_PUNCTUATION, MIN_PUNCTUATION = tuple(",;:?!،؛؟۔।॥։՝׃܀܁܂߸߹፡።፣፤፥፦၊။។᙮᠂᠃᱾᱿⹁꓾꓿꘍꘎꛳꫱꯫"), 10
"""Punctuation that ends words, and how much of it shows whether it is separate words."""
CLOSING = f"{QUOTATION_MARKS}{APOSTROPHES}»«›‹)]}}"
"""Characters that may follow this punctuation."""


def splitter(splitting: str, language: str = "") -> Splitter:
    """A function that splits a line into words.

    Args:
        splitting: ``spaces`` splits at white space. ``punctuation`` also separates punctuation and symbols, except
            inside numbers, addresses and abbreviations. ``characters`` also separates characters of scripts without
            spaces. ``signs`` makes every punctuation mark and symbol a separate word, also inside numbers and
            abbreviations.
        language: Decides where apostrophes and full stops belong; a code of two or three letters.

    Raises:
        SettingsError: If there is no such splitting.

    >>> splitter("punctuation")("Dr. Müller's firm (AT&T) paid $3.50.")
    ['Dr.', 'Müller', "'s", 'firm', '(', 'AT&T', ')', 'paid', '$', '3.50', '.']
    >>> splitter("characters")("東京へ Tokyo。")
    ['東', '京', 'へ', 'Tokyo', '。']
    """
    language = primary(language)
    if splitting == "spaces":  # all splitters can be pickled, so that a source can be sent to workers
        return str.split
    if splitting in ("punctuation", "characters"):
        return partial(_words, language=language, by_character=splitting == "characters")
    if splitting == "signs":
        return _split_at_punctuation
    raise SettingsError(f'there is no splitting "{splitting}"; {did_you_mean(splitting, SPLITTINGS)}')


def attached_punctuation(
    sentences: Iterable[Sequence[str]], min_count: int = MIN_PUNCTUATION
) -> tuple[float | None, str]:
    """The share of punctuation, such as commas, that ends a longer word, and such a word. The share of little is None.

    A full stop counts only at the end of a sentence. Elsewhere it belongs to an abbreviation. A quotation mark or
    bracket may follow it.

    >>> attached_punctuation([["Not", "Oslo,", "but", "e.g.", "Rome", "."]] * 5)
    (0.5, 'Oslo,')
    """
    punctuated = list[str]()
    for words in sentences:
        ends = [end for word in words if (end := word.rstrip(CLOSING))]
        punctuated += [word for word in ends if word.endswith(END_PUNCTUATION)]
        punctuated += [word for word in ends[-1:] if word.endswith(".")]
    longer = [word for word in punctuated if any(map(str.isalnum, word))]
    return len(longer) / len(punctuated) if len(punctuated) >= min_count else None, longer[0] if longer else ""


def attached_share(labelled: Iterable[Sentence]) -> float | None:
    """The share of `attached_punctuation` in labelled sentences; None if there is little punctuation."""
    return attached_punctuation(sentence.words for sentence in itertools.islice(labelled, SENTENCES_READ))[0]


def suggested_splitting(lines: Iterable[str]) -> Splitting:
    """The best way to split lines into words, judged by their parts between white space.

    >>> suggested_splitting(["Ada lives in Oslo."]), suggested_splitting(["Ada lives in Oslo ."])
    ('punctuation', 'spaces')
    >>> suggested_splitting(["王小明在北京工作很多年"]), suggested_splitting(["王 小 明 在 北 京"])
    ('characters', 'spaces')
    """
    sentences = [line.split() for line in lines]
    words = [*itertools.chain.from_iterable(sentences)]
    if runs_on(words, MAX_STANDALONE_LENGTH if max(map(len, sentences), default=0) == 1 else MAX_MEAN_LENGTH):
        has_borders = sum(ZERO_WIDTH_SPACE in word for word in words) > len(words) / 2
        return "punctuation" if has_borders else "characters"
    share, _ = attached_punctuation(sentences, min_count=1)
    return "punctuation" if share and share > MAX_ATTACHED_SHARE else "spaces"


def outer_punctuation(word: str, *, ends: bool = True) -> tuple[str, str]:
    """The punctuation that is attached to a word, before and after it; none if there is some within it, too.

    Args:
        ends: Whether a full stop counts. Within a sentence, it belongs to an abbreviation.

    >>> [outer_punctuation(word) for word in ("(Oslo),", "है।", "bis(s)", "50%,", "U.S.")]
    [('(', '),'), ('', '।'), ('', ''), ('', ','), ('', '')]
    """
    if not (_is_outer_punctuation(word[0]) or _is_outer_punctuation(word[-1])):
        return "", ""
    parts = _words(word, "", by_character=False)
    kept = [place for place, part in enumerate(parts) if not all(map(_is_outer_punctuation, part))]
    if not kept or kept != [*range(kept[0], kept[-1] + 1)] or "".join(parts) != word:
        return "", ""
    before, behind = "".join(parts[: kept[0]]), "".join(parts[kept[-1] + 1 :])
    return before, "" if behind.startswith(".") and not ends else behind


def _split_at_punctuation(text: str) -> list[str]:
    return [word for chunk in _BETWEEN_WORDS.sub(" ", text).split() for word in _punctuation_apart(chunk)]


def _punctuation_apart(chunk: str) -> list[str]:
    tokens: list[str] = []
    for place, character in enumerate(chunk):
        if tokens and (is_joined(chunk, place) or not (_is_punctuation(character) or _is_punctuation(tokens[-1][0]))):
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
    """The text with a space on both sides of each character that `stands_alone`, with its marks."""
    spread: list[str] = []
    for place, character in enumerate(text):
        if spread and continues_word(text, place):
            spread[-1] += character
        elif stands_alone(character) or (spread and stands_alone(spread[-1][0])):
            spread += " ", character
        else:
            spread.append(character)
    return "".join(spread)


def _words(text: str, language: str, *, by_character: bool) -> list[str]:
    """The words of a line. With ``by_character``, each character of a script without spaces is a word."""
    words: list[str] = []
    text = _BETWEEN_WORDS.sub(" ", text)
    chunks = (_spaced(text) if by_character else text).split()
    for chunk, following in zip(chunks, [*chunks[1:], ""], strict=False):
        if chunk.isalnum() or not any(map(_is_punctuation, chunk)):
            words.append(chunk)
        elif url := _URL.search(chunk):
            address = url[0].rstrip(_AFTER_URL)
            end = url.start() + len(address)
            words += _split_chunk(chunk[: url.start()], "", language)
            words += [address] if address else []
            words += _split_chunk(chunk[end:], following, language)
        else:
            words += _split_chunk(chunk, following, language)
    return words


def _split_chunk(chunk: str, following: str, language: str) -> Iterator[str]:
    """The words of a text without white space. Another such text, or none, follows it."""
    tokens: list[str] = []
    for place, character in enumerate(chunk):
        if tokens and _continues_word(chunk, place, tokens[-1], language):
            tokens[-1] += character
        else:
            tokens.append(character)
    stop = len(tokens) - 1
    while stop > 0 and _is_punctuation(tokens[stop][0]) and not _is_stop(tokens[stop]):
        stop -= 1
    following = "" if stop < len(tokens) - 1 else following
    if stop > 0 and _is_stop(tokens[stop]) and is_abbreviation(tokens[stop - 1], following, language):
        tokens[stop - 1 : stop + 1] = ["".join(tokens[stop - 1 : stop + 1])]
    for token in tokens:
        yield from _without_clitic(token, language)


def _is_stop(token: str) -> bool:
    return token.rstrip(INVISIBLE) in [*STOPS]


def _continues_word(chunk: str, place: int, token: str, language: str) -> bool:
    """Whether a character belongs to the word before it."""
    if is_joined(chunk, place):
        return True
    character, before = chunk[place], _base(chunk, place - 1)
    if character in REGIONS:
        return False
    if not _is_punctuation(character):
        opens = token in APOSTROPHES and language in CLIPPED and CLIPPED[language].match(chunk, place)
        return bool(opens) or not _is_punctuation(before) or before in "@#_" or any(map(_is_in_words, reversed(token)))
    if character == chunk[place - 1] and _is_punctuation(token[0]):
        return True  # an ellipsis or a dash of several characters
    if _is_punctuation(before):
        return character in HYPHENS and before in STOPS and not _is_punctuation(token[0])
    # not up to the end, because runs of punctuation may be long
    after = chunk[place + 1 : place + 4].lstrip(INVISIBLE)[:1]
    begin = place - len(token)
    is_quoted = chunk[begin - 1 : begin] in (*APOSTROPHES, "‚")
    if character in WITHIN_WORDS:
        return True
    if character in APOSTROPHES and not is_quoted:
        is_cut_short = language in CUT_SHORT and CUT_SHORT[language].fullmatch(token)
        if before in BEFORE_ELISION or is_cut_short:
            return True
    if _HEBREW.match(before) and character in QUOTATION_MARKS + APOSTROPHES:
        is_quoted = is_quoted or chunk[begin - 1 : begin] in (*QUOTATION_MARKS, "„")
        return _is_in_hebrew_word(token, character, chunk[place + 1 : place + 3], is_quoted=is_quoted)
    if character in STOPS and chunk[place + 1 : place + 2] in [*HYPHENS] and chunk[place + 2 : place + 3].isalpha():
        return is_abbreviation(token, chunk[place + 2], language)
    if not after or _is_punctuation(after):
        return False
    if character == ":" and language in ENDING and after.isalpha() and not after.isupper():
        return True
    if character in ",:٫٬،":
        return before.isdecimal() and after.isdecimal()
    if character in "．，：":
        return _FULL_WIDTH_NUMBER.match(chunk, place - 1) is not None
    if character in APOSTROPHES:
        return not _NO_APOSTROPHE.search(before + after)
    return character in f"&·{STOPS}{HYPHENS}" or _ABBREVIATES.match(chunk, place - 1) is not None


def _is_in_hebrew_word(token: str, character: str, following: str, *, is_quoted: bool) -> bool:
    """Whether punctuation after a Hebrew letter is part of the word, not a quotation mark.

    Args:
        token: The word before it.
        following: The next two characters.
        is_quoted: Whether the word follows a quotation mark.
    """
    is_stem = bool(token.strip(HEBREW_PREFIXES))
    if character in APOSTROPHES:
        return is_stem if _HEBREW.match(following) else token[-1] in WITH_GERESH and not is_quoted
    if not _HEBREW.match(following):
        return False
    return not _HEBREW.match(following, 1) or (is_stem and not is_quoted)


def _base(chunk: str, place: int) -> str:
    """The character to which the marks up to a position belong: *❤* also after its variation selector."""
    while place > 0 and is_mark(chunk[place]):
        place -= 1
    return chunk[place]


def _without_clitic(word: str, language: str) -> list[str]:
    """A word, and separately the part that an apostrophe joins to it."""
    cut = 0
    if language in ELIDING:
        cut = match.end() if (match := _ELISION.match(word)) else 0
    elif language in CONTRACTING:
        cut = match.start() if (match := _CLITIC.search(word)) else 0
    return [word[:cut], word[cut:]] if 0 < cut < len(word) else [word]


@lru_cache(maxsize=10_000)
def _is_punctuation(character: str) -> bool:
    kind = category(character)
    return (kind[0] in "PS" and character not in RAISED) or (kind == "Cn" and bool(_PICTOGRAPHS.match(character)))


def _is_in_words(character: str) -> bool:
    return not (_is_punctuation(character) or is_mark(character))


def _is_outer_punctuation(character: str) -> bool:
    """Whether a character is punctuation and never part of a word, unlike *%*, *#* and apostrophes."""
    return category(character)[0] == "P" and character not in "%‰#&@*/_" + APOSTROPHES
