"""Particles and verb endings that Korean attaches to words, such as *에서* in *학교에서*."""

from __future__ import annotations

from collections.abc import Sequence

BEHIND_VOWEL = {"은": "는", "이": "가", "을": "를", "과": "와", "으로": "로"}
"""For each particle that follows a consonant, its form after a vowel."""
_BEHIND_CONSONANT = {vowel: consonant for consonant, vowel in BEHIND_VOWEL.items()}
_PARTICLES = "의 에 에서 에게 에는 에도 에서는 에서의 에게서 에게는 까지 부터 마다 처럼 보다 들은 들이 들을 들의"
_VERB_ENDINGS = """이다 이며 이었다 입니다 하다 하고 하는 하며 하여 하지 하면 하게 하기 하던 한다 했다 했던 했으며
    하였다 하였으며 합니다 했습니다 되다 되고 되는 되며 되어 된다 됐다 되었다 되었으며 됩니다 되었습니다"""
ENDINGS = frozenset((*BEHIND_VOWEL, *_BEHIND_CONSONANT, *_PARTICLES.split(), *_VERB_ENDINGS.split()))
FIRST, LAST, FINALS, RIEUL = 0xAC00, 0xD7A3, 28, 8
"""The first and last syllable in Unicode, the number of final consonants (with none as one), and the index of *ㄹ*."""


def endings(parts: Sequence[str]) -> tuple[str, ...]:
    """The particles and verb endings among the parts of a word, such as its subwords. The first part is never one.

    >>> endings(["학교", "에서", "는"]), endings(["하", "노", "이"]), endings(["작곡", "가"]), endings(["바로"])
    (('에서', '는'), (), (), ())
    """
    place = len(parts)
    while place > 1 and _fits(parts[place - 2], parts[place - 1]):
        place -= 1
    return tuple(parts[place:])


def has_ending(word: str) -> bool:
    """Whether a word appears to end in a particle or verb ending.

    >>> has_ending("것을"), has_ending("사람"), has_ending("가을")
    (True, False, False)
    """
    return any(_fits(word[:at], word[at:]) for at in range(1, len(word)))


def with_endings(stem: str, ending: Sequence[str]) -> str:
    """A word with particles or a verb ending; the first takes the form that the word requires.

    >>> with_endings("바다", ["은"]), with_endings("서울", ["으로", "는"]), with_endings("책", ["를"])
    ('바다는', '서울로는', '책을')
    """
    if not ending or _fits(stem, ending[0]):
        return "".join((stem, *ending))
    first, *rest = ending
    return "".join((stem, BEHIND_VOWEL.get(first) or _BEHIND_CONSONANT.get(first, first), *rest))


def _fits(stem: str, ending: str) -> bool:
    """Whether an ending may follow a word, judged by the last syllable of the word."""
    if ending not in ENDINGS or not FIRST <= ord(stem[-1]) <= LAST:
        return ending in ENDINGS and stem[-1].isalnum()
    final = (ord(stem[-1]) - FIRST) % FINALS
    if ending == "로" or ending == "으로":
        return (final in (0, RIEUL)) == (ending == "로")
    return not (ending in BEHIND_VOWEL and final == 0) and not (ending in _BEHIND_CONSONANT and final)
