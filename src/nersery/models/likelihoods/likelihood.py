"""The likelihood of texts under a language model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Text = Sequence[str]
"""The words of a text."""


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The likelihood of text. The sum of two likelihoods is that of both texts.

    Args:
        log: Sum of the natural log probabilities of the subwords, at most 0.
        subwords: The number of subwords.

    >>> half, sure = Likelihood(math.log(0.5), 1), Likelihood(0.0, 1)
    >>> round(half.perplexity, 6), round((half + half + sure + sure).perplexity, 4)
    (2.0, 1.4142)
    """

    log: float = 0.0
    subwords: int = 0

    @property
    def perplexity(self) -> float:
        """Perplexity per subword, at least 1; NaN without subwords."""
        try:
            return math.exp(-self.log / self.subwords) if self.subwords else math.nan
        except OverflowError:
            return math.inf

    def __add__(self, other: Likelihood) -> Likelihood:
        """The likelihood of both texts; its perplexity is the micro average over subwords."""
        return Likelihood(self.log + other.log, self.subwords + other.subwords)
