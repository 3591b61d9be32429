"""Inputs and outputs of encoder-decoders, in words.

A text is a tuple of words. A word that begins with `OWN` is a tag token or `GAP`, and never occurs in a corpus.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nersery.models.masked.masked_inputs import OWN

UNKNOWN = OWN + "unknown"
"""A word for which the vocabulary has no subword."""
BROKEN = OWN + "broken"
"""A word that contains half a character."""


@dataclass(frozen=True, slots=True)
class TextPair:
    """A training pair.

    Args:
        language: Of both texts, as in `nersery.core.sentence.Sentence`; empty is the model's own.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    language: str = ""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling of texts.

    Args:
        top_k: Each subword is sampled from this many of the most probable ones, by probability.
        candidates: Texts per source, of which the most probable is kept.
        beams: After each subword the candidates of a source compete, instead of being written to their ends.
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
        words: Words and tag tokens. Anything else is a word that begins with `OWN` as well: `GAP` for a mask token or
            sentinel, `UNKNOWN`, `BROKEN`, and `OWN` with its name for other special tokens, such as padding.
        log_probability: The mean over its subwords, the end included, among the whole vocabulary. A sum would favour
            short texts.
        finished: Whether the model ended it; otherwise it reached ``max_subwords`` and is cut off.
    """

    words: tuple[str, ...]
    log_probability: float
    finished: bool


def generate_fitting(
    model: Any, sources: Sequence[TextPair | None], rngs: Sequence[random.Random], sampling: Sampling
) -> list[Generated | None]:
    """What a `Seq2Seq` writes for each source; None where there is no source, or it does not fit into the model."""
    due = [number for number, source in enumerate(sources) if source is not None and model.fits(source)]
    asked = [source for number in due if (source := sources[number])]
    texts = model.generate(
        [source.source for source in asked],
        [rngs[number] for number in due],
        sampling,
        [source.language for source in asked],
    )
    written = dict(zip(due, texts, strict=True))
    return [written.get(number) for number in range(len(sources))]
