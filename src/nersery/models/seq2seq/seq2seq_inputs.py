"""What methods say to a sequence-to-sequence model, in words.

A text is a tuple of words. One that begins with `OWN` is none of a corpus: a tag token, or a
`GAP`.
"""

from __future__ import annotations

from dataclasses import dataclass

from nersery.core.errors import SettingsError
from nersery.models.masked.masked_inputs import OWN

UNKNOWN = OWN + "unknown"
"""What the model wrote where its vocabulary has no subword for a word."""
BROKEN = OWN + "broken"
"""A word that the model wrote with half a character in it."""


@dataclass(frozen=True, slots=True)
class TextPair:
    """What a model learns: to turn one text into another.

    Args:
        language: Of both texts, as in `nersery.core.sentence.Sentence`; empty is the model's own.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    language: str = ""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How texts are drawn from a model.

    Args:
        top_k: Each subword is drawn from so many of the most probable ones, by their probabilities.
        candidates: Texts drawn for a source, of which the most probable is kept.
        max_subwords: A text that has not ended after so many subwords, tag tokens included, is unfinished.

    Raises:
        SettingsError: When a number is below 1.
    """

    top_k: int = 10
    candidates: int = 5
    max_subwords: int = 100

    def __post_init__(self) -> None:
        for name in ("top_k", "candidates", "max_subwords"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}, expected 1 or more")


@dataclass(frozen=True, slots=True)
class Generated:
    """The most probable of the texts drawn for a source; a finished one goes before any unfinished one.

    Args:
        words: Words, and tag tokens as they were added. What is neither stands as a word that begins with `OWN` too:
            `GAP` for a mask token or sentinel, `UNKNOWN`, `BROKEN`, and `OWN` with its name for any
            other special token, such as padding.
        log_probability: The mean over its subwords, its end included, among all subwords of the vocabulary. A sum would
            favour short texts.
        finished: Whether the model ended it; otherwise it hit the limit of subwords, and its end is missing.
    """

    words: tuple[str, ...]
    log_probability: float
    finished: bool
