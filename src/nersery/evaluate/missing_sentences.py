"""Handles sentences that only some of the compared files have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nersery.core.errors import DataError, Issue
from nersery.core.sentence import Corpus
from nersery.evaluate.scores import SAME_SENTENCES, paired


def shared_sentences(first: Corpus, second: Corpus, name: str) -> tuple[Corpus, Corpus, tuple[int, int]]:
    """The sentences that both corpora have, and the number of sentences left out of each.

    Args:
        name: The file of the second corpus.

    Raises:
        DataError: If they have no sentence in common.
    """
    shared = [sentence for sentence in first if sentence.id in second.by_id]
    if not shared:
        raise DataError(Issue("it has no sentence from the first file", name), fix=SAME_SENTENCES)
    left_out = (len(first) - len(shared), len(second) - len(shared))
    return Corpus(shared), Corpus(second.by_id[sentence.id] for sentence in shared), left_out


def check_pairs(truth: Corpus, other: Corpus, name: str, missing: str) -> None:
    """Raise `DataError` if a file has other sentences.

    Args:
        missing: The user's choice, see `with_some_missing`. With ``refuse``, the error names the other choices.
    """
    try:
        paired(truth, other)
    except DataError as error:
        issues = [replace(issue, file=name) for issue in error.issues]
        if missing != "refuse":
            raise DataError(issues, fix=SAME_SENTENCES) from None
        hint = ". If a file lacks sentences, use --missing leave-out or missed" if is_comparable(truth, other) else ""
        raise DataError(issues, fix=error.fix + hint) from None


def is_comparable(first: Corpus, second: Corpus) -> bool:
    """Whether the corpora have sentences in common, and each of these has the same words in both."""
    shared = first.by_id.keys() & second.by_id.keys()
    return bool(shared) and all(first.by_id[id].words == second.by_id[id].words for id in shared)


def note_of_missing(truth: Corpus, other: Corpus, name: str) -> str:
    """A text on how many gold sentences a file lacks, and how many of its own are not in gold; empty if both are 0."""
    absent = sum(sentence.id not in other.by_id for sentence in truth)
    more = len(other) - (len(truth) - absent)
    if not absent and not more:
        return ""
    lacking = f"{absent} of {len(truth)} gold sentences are not in {name}" if absent else ""
    ignored = f"{more} sentences of {name} are not in gold and are not scored" if more else ""
    return "; ".join(filter(None, (lacking, ignored)))


def with_some_missing(truth: Corpus, files: Sequence[tuple[str, Corpus]], missing: str) -> tuple[Corpus, list[Corpus]]:
    """The gold sentences to score, and each file's labels of them.

    Args:
        missing: ``missed`` scores a sentence that a file lacks without entities; ``leave-out`` drops it everywhere.

    Raises:
        DataError: If a file has no remaining gold sentence.
    """
    kept = Corpus(s for s in truth if missing == "missed" or all(s.id in corpus.by_id for _, corpus in files))
    for name, corpus in files:
        if not any(sentence.id in corpus.by_id for sentence in kept):
            raise DataError(
                Issue("no gold sentence can be scored: their ids are not in this file", name), fix=SAME_SENTENCES
            )
    return kept, [Corpus(corpus.by_id.get(s.id, s.with_entities(())) for s in kept) for _, corpus in files]
