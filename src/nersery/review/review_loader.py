"""Reads the sentences under review while the page already shows the first ones."""

from __future__ import annotations

import math
import threading
from array import array
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import Future, wait
from contextvars import copy_context
from heapq import heappush, heappushpop

from nersery import io
from nersery.core.errors import DataError, SettingsError, did_you_mean
from nersery.core.random import item_seed
from nersery.core.sentence import Sentence
from nersery.io.temporary_tables.sentence_table import SentenceTable
from nersery.review.decisions import Decisions

MAX_START_SECONDS = 1.0
"""Seconds to wait. The page shows a corpus that is read within this time completely from the start."""


class ReviewLoader:
    """Reads sentences into a table, and those that are shown beside them into another.

    Args:
        source: The sentences under review.
        decisions: The decisions, whose table receives the sentences. Each is compared with the decision on it.
        beside: The sentences to show beside those: the ones with the same id, and those that they were made from.
        by: Name of a score; the sentences with the lowest score come first.
        goal: The number of sentences to review, drawn evenly over types and methods; None shows all.

    Attributes:
        methods: The methods that made the sentences read so far, in the order of their first sentence.
        order: The numbers of the sentences in the order in which they are shown; None for the order of the file.
        loaded: Done when everything is read; has the error if that failed.
    """

    def __init__(
        self,
        source: io.Source,
        decisions: Decisions,
        beside: io.Source | None = None,
        by: str = "",
        goal: int | None = None,
    ) -> None:
        self._source, self._decisions, self._beside, self._by = source, decisions, beside, by
        self._sample = None if goal is None else StratifiedDraw(goal)
        self._known_first: list[str] = []
        self._types: dict[str, None] = {}
        self.methods: dict[str, None] = {}
        self.order: Sequence[int] | None = None
        self.beside = SentenceTable()
        self._first_read = threading.Event()
        self.loaded: Future[None] = Future()

    @property
    def types(self) -> list[str]:
        """The types of the sentences read so far; once `start` has returned, a type keeps its position."""
        return list(dict.fromkeys([*self._known_first, *self._types]))

    def start(self) -> None:
        """Read in the background, and return when there is something to show.

        Raises:
            NerseryError: If the sentences cannot be read, and that is known by then.
        """
        in_this_context = copy_context().run  # which keeps --quiet
        # no executor, whose threads would delay Ctrl-C
        threading.Thread(target=in_this_context, args=(self._load,), daemon=True).start()
        wait([self.loaded], None if self._by or self._sample else MAX_START_SECONDS)
        self._first_read.wait()
        self._known_first = sorted(self._types)
        if self.loaded.done():
            self.finish()

    def finish(self) -> None:
        """Wait until everything is read.

        Raises:
            NerseryError: If the sentences cannot be read, or a decision was made about another sentence.
        """
        self.loaded.result()

    def _load(self) -> None:
        try:
            self._read_corpus()
            self._read_beside()
            self.loaded.set_result(None)
        except BaseException as error:
            self.loaded.set_exception(error)
        finally:
            self._first_read.set()

    def _read_corpus(self) -> None:
        score_names: set[str] = set()
        scores = array("d")
        corpus = self._decisions.corpus
        for sentence in self._source:
            self._decisions.check(sentence)
            corpus.add(sentence, self._decisions.types_of(sentence))
            self.methods.update(dict.fromkeys([sentence.origin.method] if sentence.origin else []))
            self._types.update(dict.fromkeys(entity.type for entity in sentence.entities))
            score_names.update(sentence.scores)
            if self._sample:
                self._sample.add(len(corpus) - 1, sentence)
            scores.append(sentence.scores.get(self._by, math.inf))
            self._first_read.set()
        if not len(corpus):
            raise DataError(
                f"{self._source.file.name} has no sentence",
                fix="name a corpus with sentences; nersery inspect stats shows what is read",
            )
        self._decisions.check_all()
        if self._by and self._by not in score_names:
            hint = did_you_mean(self._by, sorted(score_names)) if score_names else "no sentence has any"
            raise SettingsError(f'no sentence has the score "{self._by}"; {hint}')
        self.order = self._sample.drawn() if self._sample else None
        if self._by:
            self.order = array("L", sorted(self.order or range(len(corpus)), key=scores.__getitem__))

    def _read_beside(self) -> None:
        if self._beside is None:
            return
        for sentence in self._beside:
            self.beside.add(sentence)
        if not any(map(self.shown_beside, self._decisions.corpus)):
            raise SettingsError(
                f"--beside {self._beside.file.name} has no sentence that belongs to one of the input: expected its "
                "parents, or sentences with the same ids"
            )

    def shown_beside(self, sentence: Sentence) -> list[Sentence]:
        """The sentences to show beside a sentence: the one with the same id, and its parents."""
        parents = sentence.origin.parents if sentence.origin else ()
        candidates = map(self.beside.find, dict.fromkeys((sentence.id, *parents)))
        return [other for other in candidates if other is not None]


class StratifiedDraw:
    """Draws sentences so that all pairs of a type and a method get the same number, if they have enough.

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
        """Add a sentence by its number."""
        method = sentence.origin.method if sentence.origin else ""
        chance = -(item_seed("review", sentence.id) >> 64)  # a heap drops its smallest number: negated, the largest
        for type_ in {entity.type for entity in sentence.entities} or {""}:
            heap = self._smallest[type_, method]
            if len(heap) < self._goal:
                heappush(heap, (chance, number))
            else:
                heappushpop(heap, (chance, number))

    def drawn(self) -> array[int]:
        """The numbers of the drawn sentences, one of each pair in turn, so that a partial review is balanced, too."""
        queues = [[number for _, number in sorted(heap)] for _, heap in sorted(self._smallest.items())]
        chosen: dict[int, None] = {}
        while any(queues) and len(chosen) < self._goal:
            for queue in queues:
                while queue and queue[-1] in chosen:
                    queue.pop()
                if queue and len(chosen) < self._goal:
                    chosen[queue.pop()] = None
        return array("L", chosen)
