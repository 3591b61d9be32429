"""Scores files with the same sentences, one sentence at a time, so that memory use stays constant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from nersery.core.errors import DataError
from nersery.core.sentence import Sentence
from nersery.evaluate.error_analysis import Errors
from nersery.evaluate.scores import PairCounter
from nersery.io.temporary_tables.ids import SeenIds
from nersery.io.temporary_tables.sentence_table import SentenceTable


@dataclass(frozen=True)
class StreamedScores:
    """The results of predictions that were read beside gold sentences, one sentence at a time.

    Args:
        counters: One counter for each labelling.
        errors: The errors of the first labelling, if requested.
    """

    counters: Sequence[PairCounter]
    errors: Errors | None


def score_streams(
    gold: Iterable[Sentence], labelled: Sequence[Iterable[Sentence]], *, errors: bool = False
) -> StreamedScores | None:
    """Score labellings of the same sentences in the same order. The result is None if words or order differ.

    Ids may differ if a labelling has ids that gold does not have, as in formats without ids. If both have the same ids
    at different positions, the result is None, too: the caller must then read everything.

    Args:
        labelled: Each labelling is read once, together with ``gold``.
        errors: Also find the errors of the first labelling. Sentences with an error are kept in memory.
    """
    counters, all_errors, ids = [PairCounter() for _ in labelled], Errors(), SeenIds()
    other_ids = [SeenIds() for _ in labelled]
    try:
        for number, (truth, *guesses) in enumerate(zip_longest(gold, *labelled), start=1):
            if truth is None or ids.add(truth.id or str(number), number) or any(i.find(truth.id) for i in other_ids):
                return None
            for index, (counter, known, guess) in enumerate(zip(counters, other_ids, guesses, strict=True)):
                if guess is None or guess.words != truth.words:
                    return None
                if guess.id != truth.id:
                    if ids.find(guess.id) or known.add(guess.id, number):
                        return None
                    guess = guesses[index] = replace(guess, id=truth.id)
                counter.add(truth, guess)
            if errors:
                all_errors.add(truth, guesses[0])
    except DataError:  # reading everything names all issues
        return None
    return StreamedScores(counters, all_errors if errors else None)


def score_by_id(
    gold: Iterable[Sentence], labelled: Sequence[Iterable[Sentence]], *, errors: bool = False
) -> StreamedScores | None:
    """Like `score_streams`, but for labellings in any order. Their sentences are stored in temporary files.

    Args:
        gold: Read once for each labelling, and once more.
    """
    try:
        tables = [SentenceTable(sentences) for sentences in labelled]
        result = score_streams(gold, [_in_order(gold, table) for table in tables], errors=errors)
    except DataError:  # reading everything names all issues
        return None
    is_whole = result is not None and all(len(table) == len(result.counters[0].sentence_counts) for table in tables)
    return result if is_whole else None


def _in_order(gold: Iterable[Sentence], table: SentenceTable) -> Iterator[Sentence]:
    """The sentences of a table in the order of gold, up to the first gold sentence that it lacks."""
    for truth in gold:
        if (sentence := table.find(truth.id)) is None:
            return
        yield sentence
