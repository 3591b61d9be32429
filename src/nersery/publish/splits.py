"""Assigns sentences to splits, so that train contains nothing that is nearly the same as a sentence of dev or test."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, overload

from nersery.core.disjoint_sets import DisjointSets
from nersery.core.errors import DataError, Issue, SettingsError
from nersery.core.random import item_seed
from nersery.core.registry import check_values
from nersery.core.sentence import Sentence
from nersery.core.settings.ranges import RateAboveZero
from nersery.publish.groups import groups

TRAIN, DEV, TEST = SPLITS = ("train", "validation", "test")
"""The names of the splits in Hugging Face datasets. The later a split, the more it must be kept apart."""
NO_SPLIT = -1
"""Stands for no split in place of a split's number."""
ENOUGH = 2
"""Documents stay whole if the smallest split can have at least this many groups of them."""
Leaks = Literal["refuse", "drop", "keep"]
Leak = tuple[str, str]
"""The split of a sentence, and the later split that has a similar sentence."""
Repeated = tuple[str, Leak]
"""The id of a sentence that a later split has, too, and both splits."""


@dataclass(frozen=True)
class Division:
    """How to divide sentences.

    Args:
        dev_share: Share for validation of the sentences without a given split, in [0, 1).
        test_share: Share of them for test.
        similarity: Minimum share of common words of near-duplicates, in (0, 1].
        leaks: For sentences with a near-duplicate in a later given split: ``refuse`` all, ``drop`` or ``keep`` them.
            The card reports kept ones.
    """

    dev_share: float = 0.1
    test_share: float = 0.1
    similarity: RateAboveZero = 0.8
    leaks: Leaks = "refuse"
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.dev_share >= 0 and self.test_share >= 0 and self.dev_share + self.test_share < 1):
            raise SettingsError(
                f"the shares of dev and test are {self.dev_share:g} and {self.test_share:g}, expected numbers from 0 "
                "that leave something for train"
            )
        check_values(self, "")


class SentenceSubset(Sequence[Sentence]):
    """Some sentences of a corpus, by their numbers."""

    def __init__(self, corpus: Sequence[Sentence], numbers: Sequence[int]) -> None:
        self._corpus, self._numbers = corpus, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> Sentence: ...
    @overload
    def __getitem__(self, place: slice) -> SentenceSubset: ...
    def __getitem__(self, place: int | slice) -> Sentence | SentenceSubset:
        """The sentence at a position, or those of a slice."""
        numbers = self._numbers[place]
        return self._corpus[numbers] if isinstance(numbers, int) else SentenceSubset(self._corpus, numbers)


@dataclass(frozen=True)
class Divided:
    """The result of a division.

    Args:
        splits: Splits with sentences, in the order of `SPLITS`.
        groups: Number of groups of sentences that belong together.
        largest: Size of the largest group.
        leaks: Number of sentences per pair of splits with a near-duplicate in the later one.
        dropped: Ids of the dropped sentences.
        generated: Ids of generated sentences that were left out, because their group is in validation or test.
        documents: Number of documents that sentences come from.
        parted: Number of these documents with sentences in several splits.
    """

    splits: Mapping[str, SentenceSubset]
    groups: int
    largest: int
    leaks: Mapping[Leak, int]
    dropped: tuple[str, ...]
    generated: tuple[str, ...] = ()
    documents: int = 0
    parted: int = 0


def divide(
    sentences: Sequence[Sentence], given: Mapping[str, str], settings: Division, repeated: Sequence[Repeated] = ()
) -> Divided:
    """Divide sentences into splits. Near-duplicates and sentences of one parent share a split.

    So do sentences of one document, if no split is given and there are enough documents. Sentences of given splits
    stay there. Others join related sentences in train, or go at random to the splits that are not given. Generated ones
    go to train only. The shares refer to sentences that were not generated, if there are any. They hold for each
    language and in total, as far as groups allow.

    Args:
        sentences: With unique ids.
        given: The given split of each id that has one.
        repeated: Sentences that were dropped already.

    Raises:
        DataError: If leaks are refused and there is one, or if all sentences of a split are dropped.
    """
    sentence_groups = groups(sentences, settings.similarity)
    if not given:
        sentence_groups = _by_document(sentences, sentence_groups, settings)
    placed = array("b", [NO_SPLIT]) * len(sentences)
    for number, sentence in enumerate(sentences if given else ()):
        if sentence.id in given:
            placed[number] = SPLITS.index(given[sentence.id])
    free = [group for group in sentence_groups if all(placed[number] == NO_SPLIT for number in group)]
    leaking = _place_related(placed, sentence_groups)
    if leaking and settings.leaks == "refuse":
        raise _refused(sentences, leaking)
    generated = []
    made_numbers = {number for number, sentence in enumerate(sentences) if sentence.origin}
    if len(made_numbers) == len(sentences):
        made_numbers.clear()
    for number, split in _draw_splits(sentences, free, made_numbers, {*given.values()}, settings):
        if split == TRAIN or number not in made_numbers:
            placed[number] = SPLITS.index(split)
        else:
            generated.append(sentences[number].id)
    dropped = [*leaking] if settings.leaks == "drop" else []
    for number in dropped:
        placed[number] = NO_SPLIT
    numbers = {name: array("L", (n for n, at in enumerate(placed) if at == index)) for index, name in enumerate(SPLITS)}
    splits = {name: SentenceSubset(sentences, members) for name, members in numbers.items() if members}
    leaks = Counter([*leaking.values(), *(leak for _, leak in repeated)])
    if emptied := sorted({split for split, _ in leaks} - splits.keys(), key=SPLITS.index):
        raise DataError(
            f"{emptied[0]} would be empty: a later split has all its sentences or similar ones",
            fix="give other sentences, or keep similar ones (--leaks keep)",
        )
    documents = {name: {sentence.document for sentence in split} - {""} for name, split in splits.items()}
    split_counts = Counter(chain.from_iterable(documents.values()))
    return Divided(
        splits=splits,
        groups=len(sentence_groups),
        largest=max(map(len, sentence_groups), default=0),
        leaks=leaks,
        dropped=(*(id for id, _ in repeated), *(sentences[number].id for number in dropped)),
        generated=tuple(generated),
        documents=len(split_counts),
        parted=sum(count > 1 for count in split_counts.values()),
    )


def _place_related(placed: array[int], sentence_groups: Iterable[Sequence[int]]) -> dict[int, Leak]:
    """Place groups that have a sentence of a given split, their others in train. Returns the sentences that leak."""
    leaking: dict[int, Leak] = {}
    for group in sentence_groups:
        last = max(placed[number] for number in group)
        for number in group if last != NO_SPLIT else ():
            placed[number] = max(placed[number], 0)  # TRAIN, if none is given
            if placed[number] != last:
                leaking[number] = (SPLITS[placed[number]], SPLITS[last])
    return leaking


def _by_document(sentences: Sequence[Sentence], sets: list[array[int]], settings: Division) -> list[array[int]]:
    """The groups, merged by document. If too few or too large ones would remain, the groups as they were."""
    joined = DisjointSets()
    for index, group in enumerate(sets):
        for document in {sentences[number].document for number in group} - {""}:
            joined.join(index, document)
    merged: dict[object, array[int]] = defaultdict(lambda: array("L"))
    for index, group in enumerate(sets):
        merged[joined.root(index)].extend(group)
    shares = [share for share in (settings.dev_share, settings.test_share) if share]
    is_enough = len(merged) * min(shares, default=1) >= ENOUGH
    most = (1 - sum(shares)) * len(sentences)
    return [*merged.values()] if is_enough and max(map(len, merged.values())) <= most else sets


def _refused(sentences: Sequence[Sentence], leaking: Mapping[int, Leak]) -> DataError:
    return DataError(
        [
            Issue(
                f"{own} has this sentence, and {last} has a similar one or one made from the same parent",
                sentence=sentences[n].id,
            )
            for n, (own, last) in sorted(leaking.items())
        ],
        fix="leave them out (--leaks drop), keep them and let the card say so (--leaks keep), or give no splits",
    )


def _draw_splits(
    sentences: Sequence[Sentence],
    free: Iterable[Sequence[int]],
    generated: Collection[int],
    given: set[str],
    settings: Division,
) -> Iterator[tuple[int, str]]:
    """The number of each sentence in groups without a split, and its split.

    Args:
        generated: Numbers of generated sentences. They should be in train, and do not count for the shares.
    """
    shares = {DEV: settings.dev_share, TEST: settings.test_share}
    shares = {name: share for name, share in shares.items() if name not in given}
    shares = {TRAIN: 1 - sum(shares.values()), **shares}
    languages: dict[str, list[Sequence[int]]] = defaultdict(list)
    for group in free:
        _, language = min((sentences[number].id, sentences[number].language) for number in group)
        languages[language].append(group)
    lacks = dict.fromkeys(shares, 0.0)
    for language in sorted(languages):
        language_groups = languages[language]
        sizes = {group[0]: sum(number not in generated for number in group) for group in language_groups}
        if not (largest := max(sizes.values())):
            yield from ((number, TRAIN) for group in language_groups for number in group)
            continue
        wanted = {name: share * sum(sizes.values()) for name, share in shares.items()}
        least = min(lack for lack in wanted.values() if lack)
        # Make up for what earlier languages lack, by about one group. Otherwise, small ones would never get a test.
        most = max(map(abs, lacks.values()))
        part = min(1.0, largest / most) if most else 0.0
        lacks = {name: lack + part * lacks[name] for name, lack in wanted.items()}
        # Groups that are too large for a split come first, when train lacks most.
        # Draw by the ids of a group, so that the order of the sentences does not matter.
        ids = {group[0]: min(sentences[number].id for number in group) for group in language_groups}
        draws = {first: item_seed(settings.seed, "publish", id) for first, id in ids.items()}
        plain = {group[0]: sizes[group[0]] == len(group) for group in language_groups}
        for group in sorted(language_groups, key=lambda g: (sizes[g[0]] <= least, plain[g[0]], draws[g[0]])):
            size = sizes[group[0]]
            is_for_train = not plain[group[0]] and lacks[TRAIN] >= size
            name = TRAIN if not size or is_for_train else max(lacks, key=lacks.__getitem__)
            lacks[name] -= size
            yield from ((number, name) for number in group)
