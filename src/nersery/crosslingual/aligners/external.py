"""Links from a word aligner that is installed separately: eflomal, fast_align, mgiza or GIZA++."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from nersery.core.errors import DataError, Issue
from nersery.core.outcome import Reject
from nersery.core.registry import unfitted
from nersery.core.settings.ranges import CountOrZero
from nersery.core.settings.typed_settings import hidden
from nersery.core.system.files import written_atomically
from nersery.core.training_context import NO_TRAINING, Training
from nersery.crosslingual.aligner_components.aligner_checkpoint import learnt_path
from nersery.crosslingual.aligner_components.external_programs import PROGRAMS, OutputError
from nersery.crosslingual.aligner_components.symmetrization import Heuristic, symmetrize
from nersery.crosslingual.aligners.base import Aligner, Alignment, Link, Pair, Pairs
from nersery.crosslingual.hmm.vocabulary import Vocabulary

UNSEEN = "a pair that the program was not given"
TOO_LONG = "the program cannot read this many words"
TOO_UNEVEN = "the program cannot read sides so different in length"


@dataclass
class External(Aligner):
    """Runs a word aligner that is on the PATH, over all pairs at once.

    GIZA++ and mgiza give links the probabilities of their translation tables, others 1. Pairs that the program did not
    learn from are rejected. eflomal has no seed, so its links differ between calls. All pairs and links are held in
    memory.

    Args:
        program: ``eflomal``, ``fast_align``, ``mgiza`` or ``giza++``.
        symmetrize: How the links of both directions become one: `intersection`, `union`, `grow-diag`, `grow-diag-final`
            or `grow-diag-final-and`.
        ignore_case: Ignore case and variants of characters.
        prefix: Count words by this many first letters; 0: all. Words with digits stay whole.
        arguments: More command-line arguments for the program.

    Reference:
        eflomal: Östling and Tiedemann (2016), PBML 106. fast_align: Dyer, Chahuneau and Smith (2013), NAACL. GIZA++:
        Och and Ney (2003), Computational Linguistics 29. mgiza: Gao and Vogel (2008), Parallel Implementations of Word
        Alignment Tool.

    Departures:
        - Words are cut to prefixes (`prefix`), which helps with little text.
        - Pairs that GIZA++ would cut or leave out (over 100 words, or a side nine times as long as the other) are
          rejected.
    """

    program: Literal["eflomal", "fast_align", "mgiza", "giza++"] = "eflomal"
    symmetrize: Heuristic = "intersection"
    ignore_case: bool = True
    prefix: CountOrZero = 4
    arguments: tuple[str, ...] = ()
    _stored: _StoredLinks | None = hidden(default=None)

    def check(self) -> None:
        PROGRAMS[self.program].find()

    def fit(self, pairs: Pairs, training: Training = NO_TRAINING) -> None:
        """Run the program on all pairs, or load the links that were saved before a kill.

        Raises:
            MissingResourceError: If the program is not on the PATH.
            NerseryError: If the program fails.
            DataError: If its output does not fit the pairs, with the line in the output.
            OtherTrainingError: If the training folder belongs to other settings or pairs.
        """
        learnt = learnt_path(self, pairs, training.folder)
        if learnt is not None and learnt.exists():
            self._stored = _StoredLinks(**load_file(learnt))
            return
        self._stored = _StoredLinks.of(
            self._run_program({_digest(pair): pair for pair in pairs if not self._skip_reason(pair)})
        )
        if learnt is not None:
            with written_atomically(learnt) as unfinished:
                save_file(vars(self._stored), unfinished)

    def _run_program(self, by_digest: Mapping[int, Pair]) -> dict[int, Alignment]:
        self.check()
        pairs = by_digest.values()
        source, target = (Vocabulary(self.ignore_case, self.prefix) for _ in range(2))
        sources = [source.add(pair.source) for pair in pairs]
        targets = [target.add(pair.target) for pair in pairs]
        if not pairs:
            return {}
        with tempfile.TemporaryDirectory(prefix="nersery-") as folder:
            try:
                program = PROGRAMS[self.program]
                directions = program.run(sources, targets, Path(folder), self.arguments)
                points = [sorted(symmetrize(*both, self.symmetrize)) for both in zip(*directions, strict=True)]
                probabilities = program.probabilities(points, sources, targets, Path(folder))
            except OutputError as error:
                fix = "check the version of the program, and whether arguments change its output"
                raise DataError(Issue(str(error), f"the answer of {self.program}", error.line), fix=fix) from error
        return {
            digest: tuple(Link(*point, chance) for point, chance in zip(chosen, chances, strict=True))
            for digest, chosen, chances in zip(by_digest, points, probabilities, strict=True)
        }

    def _skip_reason(self, pair: Pair) -> str:
        """Why a pair is not given to the program; empty if it is."""
        lengths = sorted((len(pair.source), len(pair.target)))
        program = PROGRAMS[self.program]
        if lengths[1] > program.max_words:
            return TOO_LONG
        return TOO_UNEVEN if lengths[1] >= program.max_ratio * max(lengths[0], 1) else ""

    def align(self, pairs: Sequence[Pair]) -> list[Alignment | Reject]:
        """The links that the program found in each pair. A pair that it was not given is rejected.

        Raises:
            UnfittedError: If `fit` was not called.
        """
        if self._stored is None:
            raise unfitted(self, "align", "fit with all pairs")
        return [self._outcome(pair) for pair in pairs]

    def _outcome(self, pair: Pair) -> Alignment | Reject:
        assert self._stored is not None
        if not pair.source or not pair.target:
            return ()
        if reason := self._skip_reason(pair):
            return Reject(reason)
        alignment = self._stored.alignment(_digest(pair))
        return Reject(UNSEEN) if alignment is None else alignment


@dataclass
class _StoredLinks:
    """A program's links of each pair, in arrays that need little memory.

    Args:
        digests: Digests of the pairs, sorted. Shape: (pairs).
        ends: The end of each pair's links in `points`. Shape: (pairs).
        points: The links of all pairs, one pair after the other. Shape: (links, 2).
        probabilities: Probabilities of the links. Shape: (links).
    """

    digests: NDArray[np.uint64]
    ends: NDArray[np.int64]
    points: NDArray[np.int32]
    probabilities: NDArray[np.float64]

    @classmethod
    def of(cls, alignments: Mapping[int, Alignment]) -> _StoredLinks:
        digests = sorted(alignments)
        links = [link for digest in digests for link in alignments[digest]]
        return cls(
            np.array(digests, np.uint64),
            np.cumsum([len(alignments[digest]) for digest in digests], dtype=np.int64),
            np.array([link[:2] for link in links], np.int32).reshape(-1, 2),
            np.array([link.probability for link in links], np.float64),
        )

    def alignment(self, digest: int) -> Alignment | None:
        """The links of a pair, None if the program did not read it."""
        index = int(np.searchsorted(self.digests, np.uint64(digest)))
        if index == len(self.digests) or self.digests[index] != digest:
            return None
        start = self.ends[index - 1] if index else 0
        span = slice(start, self.ends[index])
        both = zip(self.points[span].tolist(), self.probabilities[span].tolist(), strict=True)
        return tuple(Link(source, target, probability) for (source, target), probability in both)


def _digest(pair: Pair) -> int:
    """A short digest of a pair's words. Two of ten million pairs share one with a probability of 3 in a million."""
    text = repr((pair.source, pair.target)).encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())
