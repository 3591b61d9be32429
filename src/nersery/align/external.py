"""Links by a word aligner that is installed on its own: eflomal, fast_align, mgiza or GIZA++."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nersery.align.base import Aligner, Link, Links, Pair
from nersery.align.programs import PROGRAMS, AnswerError
from nersery.align.stems import Vocabulary
from nersery.align.symmetrize import Heuristic, symmetrize
from nersery.errors import DataError, Problem, SettingsError
from nersery.loop import Reject
from nersery.training import NO_TRAINING, Training

UNSEEN = "a pair that the program was not given"
TOO_LONG = "the program cannot read so many words"
TOO_UNEVEN = "the program cannot read sides so different in length"


@dataclass
class External(Aligner):
    """Runs a word aligner that is on the PATH, over all pairs at once.

    The program sees numbers for words, so no character can confuse it. It gives no probabilities: all are 1. A pair
    that was not among those it learnt from is rejected, for most programs cannot align another one. eflomal draws at
    random without a seed: it never gives quite the same links twice.

    Args:
        program: ``eflomal``, ``fast_align``, ``mgiza`` or ``giza++``.
        symmetrize: How the links of both directions become one set: ``intersection``, ``union``, ``grow-diag``,
            ``grow-diag-final``, ``grow-diag-final-and``.
        lower: Whether words are counted without regard to case and to variants of one character.
        prefix: By how many of its first letters a word is counted; 0 takes all. Words with digits stay whole.
        arguments: More arguments for the program, as on a command line.

    Reference:
        Robert Östling and Jörg Tiedemann (2016). Efficient Word Alignment with Markov Chain Monte Carlo. PBML 106.
        Chris Dyer, Victor Chahuneau and Noah A. Smith (2013). A Simple, Fast, and Effective Reparameterization of IBM
        Model 2. NAACL. Franz Josef Och and Hermann Ney (2003). A Systematic Comparison of Various Statistical Alignment
        Models. Computational Linguistics 29 (GIZA++). Qin Gao and Stephan Vogel (2008). Parallel Implementations of
        Word Alignment Tool (mgiza).

    Departures:
        - Words are cut to prefixes first, which helps where there is little text; ``prefix = 0`` does not.
        - Pairs that GIZA++ would cut or leave out (over 100 words, or a side nine times as long as the other) are
          rejected.
    """

    program: Literal["eflomal", "fast_align", "mgiza", "giza++"] = "eflomal"
    symmetrize: Heuristic = "intersection"
    lower: bool = True
    prefix: int = 4
    arguments: tuple[str, ...] = ()
    _links: dict[bytes, Links] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.prefix < 0:
            raise SettingsError(f"prefix is {self.prefix}, expected 0 or more")

    def check(self) -> None:
        """Look for the program; see `Aligner.check`."""
        PROGRAMS[self.program].find()

    def fit(self, pairs: Sequence[Pair], training: Training = NO_TRAINING) -> None:
        """Let the program align all pairs.

        Raises:
            MissingResourceError: When the program is not there.
            NerseryError: When it fails.
            DataError: When its answer does not fit the pairs, with the place in it.
        """
        self.check()
        pairs = list({_digest(pair): pair for pair in pairs if not self._refused(pair)}.values())
        source, target = (Vocabulary(self.lower, self.prefix) for _ in range(2))
        sources = [words.tolist() for words in source.grow(pair.source for pair in pairs)]
        targets = [words.tolist() for words in target.grow(pair.target for pair in pairs)]
        self._links = {}
        if not pairs:
            return
        with tempfile.TemporaryDirectory(prefix="nersery-") as folder:
            try:
                forward, backward = PROGRAMS[self.program].run(sources, targets, Path(folder), self.arguments)
            except AnswerError as fault:
                raise DataError(
                    Problem(str(fault), f"the answer of {self.program}", fault.line),
                    fix="look whether the program is a version that this one knows, and whether arguments change "
                    "what it writes",
                ) from fault
        for pair, there, back in zip(pairs, forward, backward, strict=True):
            points = sorted(symmetrize(there, back, self.symmetrize))
            self._links[_digest(pair)] = tuple(Link(*point) for point in points)

    def _refused(self, pair: Pair) -> str:
        """Why the program is not given a pair; empty when it is."""
        lengths = sorted((len(pair.source), len(pair.target)))
        program = PROGRAMS[self.program]
        if lengths[1] > program.most_words:
            return TOO_LONG
        return TOO_UNEVEN if lengths[1] >= program.most_uneven * max(lengths[0], 1) else ""

    def align(self, pairs: Sequence[Pair]) -> list[Links | Reject]:
        """The links that the program gave each pair; one that it was not given is rejected.

        Raises:
            SettingsError: When `fit` was not called.
        """
        if self._links is None:
            raise SettingsError("the program has not read anything yet; call fit first, with all pairs")
        return [self._found(pair) for pair in pairs]

    def _found(self, pair: Pair) -> Links | Reject:
        assert self._links is not None
        if not pair.source or not pair.target:
            return ()
        if refused := self._refused(pair):
            return Reject(refused)
        links = self._links.get(_digest(pair))
        return Reject(UNSEEN) if links is None else links


def _digest(pair: Pair) -> bytes:
    """A short mark of a pair's words."""
    text = repr((pair.source, pair.target)).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(text, digest_size=16).digest()
