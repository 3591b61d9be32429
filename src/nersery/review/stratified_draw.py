"""A sample of the sentences to review, even over entity types and methods."""

from __future__ import annotations

from array import array
from collections import defaultdict
from heapq import heappush, heappushpop

from nersery.core.random import item_seed
from nersery.core.sentence import Sentence


class StratifiedDraw:
    """Draws sentences so that all pairs of a type and a method get the same number, if they have them.

    A sentence with entities of several types belongs to several pairs; one without entities to a pair of its own. The
    draw depends on ids alone, so that the same command shows the same sentences. Memory: `goal` numbers for each pair.

    >>> from nersery.core.sentence import Entity
    >>> draw = StratifiedDraw(2)
    >>> for number in range(9):
    ...     draw.add(number, Sentence(("Oslo",), (Entity(0, 1, "LOC"),) * (number < 8), id=str(number)))
    >>> 8 in draw.drawn(), len(draw.drawn())
    (True, 2)
    """

    def __init__(self, goal: int) -> None:
        self._goal = goal
        self._smallest: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)

    def add(self, number: int, sentence: Sentence) -> None:
        """Note a sentence by its number."""
        method = sentence.origin.method if sentence.origin else ""
        chance = -(item_seed("review", sentence.id) >> 64)  # a heap gives up its smallest: negated, the largest
        for type_ in {entity.type for entity in sentence.entities} or {""}:
            heap = self._smallest[type_, method]
            if len(heap) < self._goal:
                heappush(heap, (chance, number))
            else:
                heappushpop(heap, (chance, number))

    def drawn(self) -> array[int]:
        """The numbers, one of each pair in turn, so that a review that stops early is even too."""
        queues = [[number for _, number in sorted(heap)] for _, heap in sorted(self._smallest.items())]
        chosen: dict[int, None] = {}
        while any(queues) and len(chosen) < self._goal:
            for queue in queues:
                while queue and queue[-1] in chosen:
                    queue.pop()
                if queue and len(chosen) < self._goal:
                    chosen[queue.pop()] = None
        return array("L", chosen)
