"""Cross-validation folds that keep near-copies of a sentence together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from nersery.augment.base import ancestors
from nersery.core.disjoint_sets import DisjointSets
from nersery.core.random import item_seed
from nersery.core.sentence import Corpus, Sentence, types_in
from nersery.core.text.text_forms import unspaced

GROUPS_A_FOLD = 3
"""Documents, and parents with their generated sentences, stay together if there are this many groups per fold."""


def fold(corpus: Corpus, folds: int, number: int) -> Corpus:
    """One fold of a corpus for cross-validation. Sentences with the same set of types are spread over the folds.

    Equal sentences are in the same fold. So are the sentences of a document, and generated sentences and their
    parents, if that leaves enough groups; see `note_of_documents`.

    Args:
        number: From 0. The folds with numbers below ``folds`` make up the corpus; any other fold is empty.

    >>> corpus = Corpus(Sentence((word,)) for word in ("one", "two", "three", "four", "five"))
    >>> [len(fold(corpus, 2, number)) for number in range(3)]
    [3, 2, 0]
    """
    numbers = _numbers(corpus, folds)
    return Corpus(sentence for sentence in corpus if numbers[sentence.id] == number)


def note_of_documents(corpus: Corpus, folds: int) -> str:
    """A note if sentences of a document are in several folds; else empty."""
    numbers, folds_of_documents = _numbers(corpus, folds), defaultdict[str, set[int]](set)
    for sentence in corpus:
        if sentence.document:
            folds_of_documents[sentence.document].add(numbers[sentence.id])
    divided = sum(len(numbers_of_document) > 1 for numbers_of_document in folds_of_documents.values())
    if not divided or len(folds_of_documents) < 2:  # a single mark at the start of a file means nothing
        return ""
    counted = f"{divided} of {len(folds_of_documents)} documents of train are split across folds"
    why = f"for {folds} folds, they are too few or too large, or share sentences"
    return f"{counted}, so F1 may be too high: {why}"


def _numbers(corpus: Corpus, folds: int) -> dict[str, int]:
    """The fold of each sentence, by its id."""
    groups = _groups(corpus, whole=True)
    weights = {root: len({*map(_text, group)}) for root, group in groups.items()}
    if len(groups) < GROUPS_A_FOLD * folds or max(weights.values()) * folds > sum(weights.values()):
        groups = _groups(corpus, whole=False)
        weights = dict.fromkeys(groups, 1)
    # Repeats count once. Otherwise, the fold with the most frequent line would get nothing else.
    sizes = [0] * folds
    numbers: dict[str, int] = {}
    for root in sorted(groups, key=lambda root: (-weights[root], *_order(groups[root]))):
        smallest = sizes.index(min(sizes))
        sizes[smallest] += weights[root]
        numbers |= dict.fromkeys((sentence.id for sentence in groups[root]), smallest)
    return numbers


def _order(group: Sequence[Sentence]) -> tuple[list[str], int]:
    return sorted(types_in(group)), min(item_seed(0, "fold", sentence.id) for sentence in group)


def _groups(corpus: Corpus, *, whole: bool) -> dict[object, list[Sentence]]:
    """Groups of sentences that stay together: equal ones; with ``whole``, also those of a document or one ancestor."""
    joined = DisjointSets()
    for sentence in corpus if whole else ():
        if sentence.document:
            joined.join(_text(sentence), (sentence.document,))
        for id in ancestors(sentence) if sentence.origin else ():
            joined.join(_text(sentence), _text(corpus.by_id[id]) if id in corpus.by_id else ("id", id))
    groups = defaultdict[object, list[Sentence]](list)
    for sentence in corpus:
        groups[joined.root(_text(sentence))].append(sentence)
    return groups


def _text(sentence: Sentence) -> str:
    return unspaced(sentence.words)
