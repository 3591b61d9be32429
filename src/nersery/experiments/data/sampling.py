"""Small samples of a corpus, by the protocols of the papers.

The only random step is an order of the sentences that depends on the seed and their ids alone. So the order of the
corpus does not matter, and adding a sentence does not change the order of the others.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType

from nersery.core.errors import SettingsError, require_choice, shown
from nersery.core.random import checked_seed, is_whole, item_seed
from nersery.core.sentence import Corpus, Sentence, types_in
from nersery.core.text.languages import canonical
from nersery.io.reading import Sentences, opened

Protocol = Callable[[Sequence[Sentence], int], Iterable[Sentence]]
"""Chooses ``size`` of the sentences, which are in random order."""

TypeSet = frozenset[str]
"""The types that occur in a sentence."""

NO_ENTITY = ""
"""Stands for sentences without entities in stratification; no type has this name."""

MAX_TYPE_SETS = 2000
"""If a corpus has more distinct sets of types, stratification skips its last step."""


def sample(corpus: Sentences, size: int, protocol: str = "stratified", seed: int = 0) -> Corpus:
    """Draw sentences without replacement; they keep their ids and the order of the corpus.

    Args:
        corpus: Sentences, or the name of a file of them.
        size: Number of sentences, from 1 to the size of the corpus.
        protocol: ``random``, ``stratified`` or ``every_type``.

    Raises:
        SettingsError: If the protocol is unknown or cannot draw a sample of this size.

    >>> corpus = Corpus(Sentence((word,)) for word in "abcdefgh")
    >>> [sentence.id for sentence in sample(corpus, 3, "random", seed=1)]
    ['1', '2', '8']
    """
    if not is_whole(size):
        raise SettingsError(f"size is {shown(size)}, expected a whole number")
    corpus, seed = corpus if isinstance(corpus, Corpus) else Corpus(opened(corpus)), checked_seed(seed)
    require_choice(protocol, "protocol", PROTOCOLS)
    if not 1 <= size <= len(corpus):
        raise SettingsError(
            f"cannot sample {size} of {len(corpus)} sentences: give a size from 1 to the size of the corpus"
        )
    shuffled = sorted(corpus, key=lambda sentence: item_seed(seed, "sample", sentence.id))
    chosen = {sentence.id for sentence in PROTOCOLS[protocol](shuffled, size)}
    return Corpus(sentence for sentence in corpus if sentence.id in chosen)


def sample_languages(corpus: Corpus, size: int, protocol: str = "stratified", seed: int = 0) -> Corpus:
    """Draw ``size`` sentences of each language independently; see `sample`.

    Raises:
        SettingsError: If `sample` fails for a language, which is named, or if no sentence has a language.

    >>> words = (("en", "one"), ("en", "two"), ("hi", "एक"), ("hi", "दो"), ("hi", "तीन"))
    >>> corpus = Corpus(Sentence((word,), language=language) for language, word in words)
    >>> [sentence.language for sentence in sample_languages(corpus, 1)]
    ['en', 'hi']
    """
    parts: dict[str, list[Sentence]] = {}
    for sentence in corpus:
        parts.setdefault(canonical(sentence.language), []).append(sentence)
    if parts.keys() <= {""}:
        raise SettingsError(
            "no sentence has a language, so none can be sampled by language. CoNLL and text have none: use JSONL, "
            "or sample the file of each language separately"
        )
    chosen: set[str] = set()
    for language, sentences in parts.items():
        try:
            chosen |= sample(Corpus(sentences), size, protocol, seed).by_id.keys()
        except SettingsError as error:
            raise SettingsError(f"{language or 'no language'}: {error}") from error
    return Corpus(sentence for sentence in corpus if sentence.id in chosen)


def id_list(sentences: Iterable[Sentence]) -> str:
    """The ids, one per line; an id with a line break is written as a JSON string.

    >>> print(id_list([Sentence(("Ada",), id="a/1"), Sentence(("Oslo",), id="two\\nlines")]), end="")
    a/1
    "two\\nlines"
    """
    return "".join(f"{_line(sentence.id)}\n" for sentence in sentences)


def _line(id: str) -> str:
    return id if id.splitlines() == [id] and id[0] != '"' else json.dumps(id)


def at_random(shuffled: Sequence[Sentence], size: int) -> Sequence[Sentence]:
    """All sentences are equally likely; a smaller sample is part of a larger one.

    Reference:
        Zhou et al. 2022, MELM.
    """
    return shuffled[:size]


def every_type(shuffled: Sequence[Sentence], size: int) -> Iterable[Sentence]:
    """At random, but with at least one mention of each type of the corpus.

    Sentences with missing types replace the last ones of a random sample.

    Reference:
        Liu et al. 2022, PromptDA.

    Raises:
        SettingsError: If the sample is too small for all types.
    """
    cover = _first_of_each_type(shuffled)
    if len(cover) > size:
        cover = _densest_cover(shuffled)
    if len(cover) > size:
        types = types_in(cover)
        raise SettingsError(
            f"no sample of {size} with a mention of each of {len(types)} types ({', '.join(sorted(types))}) was found: "
            f"{len(cover)} sentences are enough. "
            "Raise the size, or use the protocol stratified or random"
        )
    chosen = {sentence.id for sentence in cover}
    others = (sentence for sentence in shuffled if sentence.id not in chosen)
    return [*cover, *islice(others, size - len(cover))]


def _first_of_each_type(shuffled: Sequence[Sentence]) -> list[Sentence]:
    """The first sentence with each type, from the rarest type on, except for types that earlier choices cover."""
    counts = Counter(type_ for sentence in shuffled for type_ in types_in([sentence]))
    first = {type_: sentence for sentence in reversed(shuffled) for type_ in types_in([sentence])}
    cover: list[Sentence] = []
    covered: set[str] = set()
    for type_ in sorted(counts, key=lambda type_: (counts[type_], type_)):
        if type_ not in covered:
            cover.append(first[type_])
            covered |= types_in([first[type_]])
    return cover


def _densest_cover(shuffled: Sequence[Sentence]) -> list[Sentence]:
    """A greedy cover: repeatedly the first sentence with the most missing types."""
    missing = types_in(shuffled)
    cover: list[Sentence] = []
    while missing:
        cover.append(max(shuffled, key=lambda sentence: len(types_in([sentence]) & missing)))
        missing -= types_in([cover[-1]])
    return cover


def stratified(shuffled: Sequence[Sentence], size: int) -> Iterable[Sentence]:
    """Keep each type's share of the sentences as in the corpus, by iterative stratification.

    Sentences go to the sample or the rest, those of the rarest type first, each to the side that lacks more of that
    type. Sentences without entities count as another type.

    Reference:
        Sechidis et al. 2011, On the Stratification of Multi-Label Data; used by Ghosh et al. 2023, ACLM.

    Departures:
        The paper meets the size approximately. Here it is exact: the sentences that change the shares least are moved,
        then sentences are exchanged while that improves the shares (with up to 2,000 distinct sets of types).
    """
    type_sets = [frozenset(types_in([sentence]) or {NO_ENTITY}) for sentence in shuffled]
    dealt = _iterative_stratification(type_sets, size)
    quota = _balanced_counts(Counter(type_sets), Counter(type_sets[position] for position in dealt), size)
    chosen = []
    # Sentences that were dealt come first, so that only the surplus of a set of types is replaced.
    dealt_first = sorted(range(len(type_sets)), key=lambda position: (position not in dealt, position))
    for position in dealt_first:
        if quota[type_sets[position]] > 0:
            quota[type_sets[position]] -= 1
            chosen.append(shuffled[position])
    return chosen


def _iterative_stratification(type_sets: Sequence[TypeSet], size: int) -> set[int]:
    """The positions that iterative stratification assigns to the sample."""
    remaining = Counter(type_ for types in type_sets for type_ in types)
    # What both sides still need, in units of 1/len(type_sets) of a sentence, so that all numbers are integers.
    shares = [size, len(type_sets) - size]
    needed = [Counter({type_: count * share for type_, count in remaining.items()}) for share in shares]
    room = [len(type_sets) * share for share in shares]
    waiting = set(range(len(type_sets)))
    chosen: set[int] = set()
    while waiting:
        rarest = min((type_ for type_ in remaining if remaining[type_]), key=lambda type_: (remaining[type_], type_))
        for position in sorted(position for position in waiting if rarest in type_sets[position]):
            side = int((needed[0][rarest], room[0]) < (needed[1][rarest], room[1]))  # ties go to the sample
            if side == 0:
                chosen.add(position)
            waiting.remove(position)
            remaining.subtract(type_sets[position])
            needed[side].subtract(dict.fromkeys(type_sets[position], len(type_sets)))
            room[side] -= len(type_sets)
    return chosen


def _balanced_counts(corpus: Counter[TypeSet], dealt: Counter[TypeSet], size: int) -> Counter[TypeSet]:
    """How many sentences of each set of types to take: exactly ``size``, with shares as close as possible."""
    import numpy as np

    sets = sorted(corpus, key=sorted)
    names = sorted({type_ for types in sets for type_ in types})
    member = np.array([[type_ in types for type_ in names] for types in sets], dtype=np.int64)
    shared = member @ member.T if len(sets) <= MAX_TYPE_SETS else None
    available = np.array([corpus[types] for types in sets])
    taken = np.array([dealt[types] for types in sets])
    total, infinite = int(available.sum()), np.iinfo(np.int64).max // 4  # so that a sum of two cannot overflow
    while True:
        lacks = size * (available @ member) - total * (taken @ member)
        # Change of the squared error of the shares if a sentence of each set is added or removed.
        cost_of_adding = np.where(taken < available, member @ (total - 2 * lacks), infinite)
        cost_of_removing = np.where(taken > 0, member @ (total + 2 * lacks), infinite)
        if (missing := size - int(taken.sum())) != 0:
            taken[(cost_of_adding if missing > 0 else cost_of_removing).argmin()] += np.sign(missing)
            continue
        if shared is None:
            break
        exchange = cost_of_adding[:, None] + cost_of_removing[None, :] - 2 * total * shared
        new, old = np.unravel_index(exchange.argmin(), exchange.shape)
        if exchange[new, old] >= 0:
            break
        taken[new] += 1
        taken[old] -= 1
    return Counter(dict(zip(sets, taken.tolist(), strict=True)))


PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {"random": at_random, "stratified": stratified, "every_type": every_type}
)
"""Every protocol by name; the first line of its docstring is its description."""
