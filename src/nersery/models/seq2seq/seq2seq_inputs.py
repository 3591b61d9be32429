"""Inputs and outputs of encoder-decoders, in words.

A text is a tuple of words. A word that begins with `TOKEN_PREFIX` is a tag token or `GAP`, and is in no corpus.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextPair:
    """A training pair.

    Args:
        language: Language of both texts, as in `nersery.core.sentence.Sentence`. Empty takes the model's own.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    language: str = ""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling of texts.

    Args:
        top_k: Each subword is sampled from this many of the most probable ones, by probability.
        candidates: Texts per source. The most probable one is kept.
        beams: Let the candidates of a source compete after each subword, instead of writing each to its end.
        max_subwords: A text that has not ended after this many subwords, tag tokens included, is unfinished.
    """

    top_k: int = 10
    candidates: int = 5
    max_subwords: int = 100
    beams: bool = False


@dataclass(frozen=True, slots=True)
class Generated:
    """The most probable candidate for a source; finished candidates rank first.

    Args:
        words: Words and tag tokens. Anything else begins with `TOKEN_PREFIX` as well: `GAP` for a mask token or
            sentinel, `UNKNOWN`, `BROKEN`, and `TOKEN_PREFIX` with its name for other special tokens, such as padding.
        log_probability: The mean over its subwords, the end included, among the whole vocabulary. A sum would favour
            short texts.
        finished: Whether the model ended the text. Otherwise it reached ``max_subwords`` and is cut off.
    """

    words: tuple[str, ...]
    log_probability: float
    finished: bool
