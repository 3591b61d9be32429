"""Which sentence goes into which split, so that nothing in dev or test was as good as seen in train."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from nersery.core.errors import DataError, Issue, SettingsError, did_you_mean
from nersery.core.random import item_seed
from nersery.core.sentence import Corpus, Sentence
from nersery.publish.groups import groups

TRAIN, DEV, TEST = SPLITS = ("train", "validation", "test")
"""As the datasets of Hugging Face call them; the later, the more it must be kept apart."""
Leaks = Literal["refuse", "drop", "keep"]
Leak = tuple[str, str]
"""The split that a sentence stands in, and the one further on that has its like."""


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
    similarity: float = 0.8
    leaks: Leaks = "refuse"
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.dev_share >= 0 and self.test_share >= 0 and self.dev_share + self.test_share < 1):
            raise SettingsError(
                f"the shares of dev and test are {self.dev_share:g} and {self.test_share:g}, expected numbers from 0 "
                "that leave something for train"
            )
        if self.leaks not in get_args(Leaks):
            raise SettingsError(f'leaks is "{self.leaks}"; {did_you_mean(self.leaks, get_args(Leaks))}')
        if not 0 < self.similarity <= 1:
            raise SettingsError(f"similarity is {self.similarity:g}, expected a number in (0, 1]")


@dataclass(frozen=True)
class Divided:
    """The result of a division.

    Args:
        splits: Splits with sentences, in the order of `SPLITS`.
        groups: Number of groups of sentences that belong together.
        largest: Size of the largest group.
        leaks: Number of sentences per pair of splits with a near-duplicate in the later one.
        dropped: Ids of the dropped ones.
    """

    splits: Mapping[str, Corpus]
    groups: int
    largest: int
    leaks: Mapping[Leak, int]
    dropped: tuple[str, ...]


def divide(sentences: Sequence[Sentence], given: Mapping[str, str], settings: Division) -> Divided:
    """Divide sentences into splits; near-duplicates and sentences of one parent share a split.

    Sentences of given splits stay. Others join related sentences in train, or go at random to the splits that are not
    given. The shares hold for each language and in total, as far as groups allow.

    Args:
        sentences: With unique ids.
        given: The given split of each id that has one.

    Raises:
        DataError: If leaks are refused and there is one.
    """
    found = groups(sentences, settings.similarity)
    placed: dict[str, str] = {}
    leaking: dict[str, Leak] = {}
    free = []
    for group in found:
        known = {given[sentence.id] for sentence in group if sentence.id in given}
        if not known:
            free.append(group)
            continue
        last = max(known, key=SPLITS.index)
        for sentence in group:
            own = placed[sentence.id] = given.get(sentence.id, TRAIN)
            if own != last:
                leaking[sentence.id] = (own, last)
    if leaking and settings.leaks == "refuse":
        raise _refused(sentences, leaking)
    placed |= _dealt(free, {*given.values()}, settings)
    dropped = dict.fromkeys(leaking) if settings.leaks == "drop" else {}
    left = [sentence for sentence in sentences if sentence.id not in dropped]
    splits = {name: Corpus(sentence for sentence in left if placed[sentence.id] == name) for name in SPLITS}
    return Divided(
        {name: corpus for name, corpus in splits.items() if corpus},
        len(found),
        max(map(len, found), default=0),
        Counter(leaking.values()),
        tuple(dropped),
    )


def _refused(sentences: Iterable[Sentence], leaking: Mapping[str, Leak]) -> DataError:
    return DataError(
        [
            Issue(f"{own} has this sentence, and {last} one like it or of one parent with it", sentence=sentence.id)
            for sentence in sentences
            if sentence.id in leaking
            for own, last in [leaking[sentence.id]]
        ],
        fix="leave them out (--leaks drop), keep them and let the card say so (--leaks keep), or give no splits",
    )


def _dealt(free: Iterable[list[Sentence]], given: set[str], settings: Division) -> dict[str, str]:
    """The split of each sentence of groups without one."""
    shares = {DEV: settings.dev_share, TEST: settings.test_share}
    shares = {name: share for name, share in shares.items() if name not in given}
    shares = {TRAIN: 1 - sum(shares.values()), **shares}
    languages: dict[str, list[list[Sentence]]] = defaultdict(list)
    for group in free:
        languages[group[0].language].append(group)
    placed: dict[str, str] = {}
    lacks = dict.fromkeys(shares, 0.0)
    for language in sorted(languages):
        own = languages[language]
        wanted = {name: share * sum(map(len, own)) for name, share in shares.items()}
        least = min(lack for lack in wanted.values() if lack)
        # What earlier languages lack is made up for, by about one group: else small ones would never get a test.
        most = max(map(abs, lacks.values()))
        part = min(1.0, max(map(len, own)) / most) if most else 0.0
        lacks = {name: lack + part * lacks[name] for name, lack in wanted.items()}
        # Larger groups than a split has room for come first, when train lacks most.
        for group in sorted(own, key=lambda group: (len(group) <= least, _draw(group, settings.seed))):
            name = max(lacks, key=lacks.__getitem__)
            lacks[name] -= len(group)
            placed |= dict.fromkeys((sentence.id for sentence in group), name)
    return placed


def _draw(group: Iterable[Sentence], seed: int) -> int:
    """A group's place in a random order, whatever the order of the sentences."""
    return item_seed(seed, "publish", min(sentence.id for sentence in group))
