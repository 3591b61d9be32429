"""White space between words: in texts, in new sentences, and in scripts that are written without it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from unicodedata import category

from nersery.core.sentence_validation import MAX_SENTENCE_LENGTH
from nersery.core.text.text_forms import is_punctuation

Offsets = tuple[tuple[int, int], ...]
NO_SPACES = re.compile(
    "([\u0e00-\u109f\u1780-\u17ff\u1980-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\u2e80-\u2fdf々-〇\u3040-\u312f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\ua4cf\ua980-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9d"
    "\U00016fe0-\U0001b2ff\U00020000-\U0003ffff])"
)
"""A character of Thai, Lao, Tibetan, Burmese, Khmer, New Tai Lue, Tai Tham, Balinese, Chinese, Japanese, Yi, Javanese,
or of Tangut, Khitan and Nüshu.
"""
FULL_WIDTH = re.compile("[\u3000-\u303f\uff00-\uff65]")
"""Punctuation, digits and Latin letters as Chinese and Japanese print them."""
CLOSING_PUNCTUATION = ",.;:!?%‰…،؛؟۔।॥։՞՝።፣፤፥፦፧܀܁܂߸߹᙮᠂᠃᠄᱾᱿⹁꯫"
"""Punctuation that follows a word without a space, besides closing brackets and quotation marks."""
OPENING_PUNCTUATION = "¿¡"
"""Punctuation that a word follows without a space, besides opening brackets and quotation marks."""
HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")
"""A Korean letter or syllable."""


def lacks_spaces(text: str) -> bool:
    """Whether a text has characters of a script without spaces.

    >>> lacks_spaces("北京"), lacks_spaces("Oslo")
    (True, False)
    """
    return NO_SPACES.search(text) is not None


def are_written_together(word: str, following: str) -> bool:
    """Whether two words are written without a space: both are of a script without spaces, or one is its punctuation.

    A word with Hangul is Korean, which has spaces also beside Chinese characters.

    >>> pairs = ("北京", "很"), ("Oslo", "。"), ("北京", "Oslo"), ("國會", "會長은")
    >>> [are_written_together(*pair) for pair in pairs]
    [True, True, False, False]
    """
    pair = word[-1] + following[0]
    return bool(FULL_WIDTH.search(pair)) or (all(map(lacks_spaces, pair)) and not HANGUL.search(word + following))


def joined_words(words: Sequence[str]) -> str:
    """The words as a text for readers: with spaces between them, but not between those that `are_written_together`.

    >>> joined_words(["New", "York"]), joined_words(["北", "京", "大学"])
    ('New York', '北京大学')
    """
    return words[0] + "".join(
        following if are_written_together(word, following) else f" {following}" for word, following in pairwise(words)
    )


def is_space_usual(word: str, following: str) -> bool:
    """Whether a space is usual between two words.

    >>> pairs = ("in", "Oslo"), ("Oslo", "."), ("(", "Oslo"), ("in", ".NET"), ("北京", "很")
    >>> [is_space_usual(*pair) for pair in pairs]
    [True, False, False, True, False]
    """
    return _may_have_space(word[-1], following[:2]) and not are_written_together(word, following)


@lru_cache(maxsize=10_000)
def _may_have_space(last: str, following: str) -> bool:
    """Whether a space is usual between two words, unless they `are_written_together`."""
    opens = last in OPENING_PUNCTUATION or category(last) in ("Ps", "Pi")
    closes = category(following[0]) in ("Pe", "Pf") or (
        following[0] in CLOSING_PUNCTUATION and not following[1:].isalnum()
    )
    return not (opens or closes)


def are_spaced_alike(pair: tuple[str, str], reference: tuple[str, str]) -> bool:
    """Whether two words may be spaced as two others are: where they meet, they have the same kinds of characters.

    Punctuation that stays, such as the hyphen of *Oslo-based*, is also spaced alike beside other punctuation.

    >>> are_spaced_alike(("Rome", "-"), ("Oslo", "-")), are_spaced_alike(("Yahoo!", "-"), ("Oslo", "-"))
    (True, True)
    >>> are_spaced_alike(("Oslo", "the"), ("Oslo", "-")), are_spaced_alike(("Oslo", "("), ("Oslo", ","))
    (False, False)
    """
    (word, following), (other, behind) = pair, reference
    ends, begins = is_punctuation(word[-1]), is_punctuation(following[0])
    return (
        (ends == is_punctuation(other[-1]) or (begins and following == behind))
        and (begins == is_punctuation(behind[0]) or (ends and word == other))
        and is_space_usual(word, following) == is_space_usual(other, behind)
    )


def would_merge(word: str, following: str) -> bool:
    """Whether two words would be read as one if no space were between them, although a space is usual.

    >>> [would_merge(*pair) for pair in (("5", "mg"), ("-", "-"), ("Oslo", "-"), ("北京", "很"))]
    [True, True, False, False]
    """
    last, first = word[-1], following[0]
    return (last == first or not (is_punctuation(last) or is_punctuation(first))) and is_space_usual(word, following)


def spaces_in(offsets: Sequence[tuple[int, int]]) -> list[bool]:
    """Whether white space follows each word but the last.

    >>> spaces_in(((0, 2), (3, 7), (7, 8)))
    [True, False]
    """
    return [end < start for (_, end), (start, _) in pairwise(offsets)]


def offsets_of(words: Sequence[str], spaces: Sequence[bool | None]) -> Offsets:
    """The characters ``[start, end)`` of each word in a text of their own; none if the text would be too long.

    Args:
        spaces: Whether a space follows each word but the last; None if it is not known.

    >>> offsets_of(("in", "Oslo", "."), (True, None))
    ((0, 2), (3, 7), (7, 8))
    """
    start, end = 0, len(words[0])
    offsets = [(start, end)]
    for word, following, space in zip(words[:-1], words[1:], spaces, strict=True):
        start = end + (is_space_usual(word, following) if space is None else space)
        end = start + len(following)
        offsets.append((start, end))
    return tuple(offsets) if end <= MAX_SENTENCE_LENGTH else ()


def offsets_in_text(
    words: Sequence[str], offsets: Offsets, reference: Sequence[str], reference_offsets: Offsets
) -> Offsets:
    """The offsets of words in a text of their own: those given if they are, otherwise by the spacing of a reference.

    Args:
        reference: The words of another sentence. Pairs of words that are neighbours in it too are spaced like them.
        reference_offsets: Their offsets.
    """
    if offsets and offsets[0][0] == 0 and [end - start for start, end in offsets] == [*map(len, words)]:
        return offsets
    known = dict(zip(pairwise(reference), spaces_in(reference_offsets), strict=True))
    return offsets_of(words, [known.get(pair) for pair in pairwise(words)])
