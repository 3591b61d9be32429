"""Symmetrization: combine the links from source to target and those from target to source into one set."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Point = tuple[int, int]
"""A position in the source and a position in the target."""
Points = set[Point]
MIN_PROBABILITY = 1e-6
"""The probability of links that a heuristic adds although one direction finds them impossible."""
Heuristic = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]

NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(forward: Collection[Point], backward: Collection[Point], heuristic: Heuristic) -> Points:
    """The links on which both directions agree, and those of the others that the heuristic adds.

    - ``intersection``: none.
    - ``union``: all.
    - ``grow-diag``: repeatedly, links beside an added link, also diagonally, if one of their words is not yet linked.
    - ``grow-diag-final``: then links with a word that is not yet linked, first of ``forward``, then of ``backward``.
    - ``grow-diag-final-and``: the same, but only if both words are not yet linked.

    If the order matters, links are added in the order of their source and target positions.

    Args:
        forward: Links found from source to target, as positions in the source and in the target.
        backward: Links found from target to source, also as positions in the source and in the target.

    Reference:
        Philipp Koehn, Franz Josef Och and Daniel Marcu (2003). Statistical Phrase-Based Translation. NAACL, section
        4.5. Koehn et al. (2005). Edinburgh System Description for the 2005 IWSLT Speech Translation Evaluation.

    >>> sorted(symmetrize({(0, 0), (1, 1)}, {(0, 0), (1, 2)}, "grow-diag"))
    [(0, 0), (1, 1), (1, 2)]
    """
    return _HEURISTICS[heuristic](set(forward), set(backward))


def mutually_best(probabilities: NDArray[np.floating], threshold: float) -> NDArray[np.bool_]:
    """The links that are the best of both their words, and those that touch such links directly or through others.

    Args:
        probabilities: Shape: (source words, target words).
        threshold: Links with a probability that is not above this are left out.

    >>> mutually_best(np.array([[0.9, 0.5], [0.1, 0.2]]), 0.3).tolist()
    [[True, True], [False, False]]
    """
    likely = probabilities > threshold
    linked = (
        likely
        & (probabilities == probabilities.max(0, initial=0))
        & (probabilities == probabilities.max(1, keepdims=True, initial=0))
    )
    while True:
        border = np.pad(linked, 1)
        neighbours = border[:-2, 1:-1] | border[2:, 1:-1] | border[1:-1, :-2] | border[1:-1, 2:]
        grown: NDArray[np.bool_] = linked | (likely & neighbours)
        if (grown == linked).all():
            return grown
        linked = grown


def _grow_diag(forward: Points, backward: Points) -> Points:
    alignment = forward & backward
    candidates = forward | backward
    sources, targets = {source for source, _ in alignment}, {target for _, target in alignment}
    # A new link may have free neighbours too, so repeat this until nothing is added.
    before = -1
    while before < len(alignment):
        before = len(alignment)
        for source, target in sorted(candidates):
            if (source, target) not in alignment:  # it may have been added in the last round, or in this one
                continue
            for down, right in NEIGHBOURS:
                point = (source + down, target + right)
                if point in candidates and (point[0] not in sources or point[1] not in targets):
                    alignment.add(point)
                    sources.add(point[0])
                    targets.add(point[1])
    return alignment


def _grow_diag_final(forward: Points, backward: Points, needed: Callable[[tuple[bool, bool]], bool]) -> Points:
    """As `_grow_diag`, then the links of each direction in turn, if any or all (`needed`) of their words are free."""
    alignment = _grow_diag(forward, backward)
    sources, targets = {source for source, _ in alignment}, {target for _, target in alignment}
    for direction in (forward, backward):
        for source, target in sorted(direction - alignment):
            if needed((source not in sources, target not in targets)):
                alignment.add((source, target))
                sources.add(source)
                targets.add(target)
    return alignment


_HEURISTICS: dict[Heuristic, Callable[[Points, Points], Points]] = {
    "intersection": operator.and_,
    "union": operator.or_,
    "grow-diag": _grow_diag,
    "grow-diag-final": partial(_grow_diag_final, needed=any),
    "grow-diag-final-and": partial(_grow_diag_final, needed=all),
}
