import json
import os
import random
import subprocess
import sys
import tracemalloc
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iterstrat.ml_stratifiers import IterativeStratification

from nersery import Corpus, Entity, Sentence
from nersery.core.errors import SettingsError
from nersery.experiments.data.folds import fold
from nersery.experiments.data.sampling import PROTOCOLS, id_list, sample, sample_languages


def corpus_of(kinds):
    """One sentence for each collection of types."""
    return Corpus(
        Sentence(
            (*(f"w{n}" for n in range(len(types))), f"s{number}"),
            tuple(Entity(n, n + 1, type_) for n, type_ in enumerate(types)),
            id=f"s{number}",
        )
        for number, types in enumerate(kinds)
    )


def skewed(seed, size=400):
    """Types of very different frequency that occur together, and some sentences without entities."""
    rng = random.Random(seed)
    rates = {"PER": 0.5, "LOC": 0.35, "ORG": 0.15, "CW": 0.04}
    return corpus_of([[t for t, rate in rates.items() if rng.random() < rate] for _ in range(size)])


def ids(corpus):
    return [sentence.id for sentence in corpus]


def sentences_with(corpus):
    return Counter(type_ for sentence in corpus for type_ in {entity.type for entity in sentence.entities})


def distance(corpus, chosen):
    """The sum of the differences between the types' shares of sentences in a sample and in the corpus."""
    whole, part = sentences_with(corpus), sentences_with(chosen)
    return sum(abs(whole[type_] / len(corpus) - part[type_] / len(chosen)) for type_ in corpus.types)


@pytest.mark.parametrize("protocol", PROTOCOLS)
class TestEveryProtocol:
    @pytest.mark.parametrize("size", [4, 57, 399, 400])
    def test_returns_the_requested_number_in_corpus_order(self, protocol, size):
        corpus = skewed(1)
        chosen = sample(corpus, size, protocol, seed=2)
        assert len(chosen) == size
        positions = [corpus.sentences.index(sentence) for sentence in chosen]
        assert positions == sorted(positions)

    def test_depends_on_the_seed_but_not_on_the_order(self, protocol):
        corpus = skewed(1)
        shuffled = Corpus(random.Random(9).sample(corpus.sentences, len(corpus)))
        chosen = sample(corpus, 50, protocol, seed=2)
        assert sorted(ids(chosen)) == sorted(ids(sample(shuffled, 50, protocol, seed=2)))
        assert ids(chosen) != ids(sample(corpus, 50, protocol, seed=3))

    def test_has_a_description(self, protocol):
        assert PROTOCOLS[protocol].__doc__.split("\n")[0].endswith(".")

    @pytest.mark.parametrize("size", [0, -1, 11])
    def test_refuses_an_impossible_size(self, protocol, size):
        with pytest.raises(SettingsError, match=f"cannot sample {size} of 10 sentences"):
            sample(skewed(1, 10), size, protocol)


def test_the_hash_seed_of_python_does_not_matter():
    code = """if True:
        from nersery import Corpus, Entity, Sentence
        from nersery.experiments.data.sampling import PROTOCOLS, sample, sample_languages
        corpus = Corpus(
            Sentence(("w",) * 5, tuple(Entity(k, k + 1, "ABCDE"[k]) for k in range(5) if n % (k + 2) == 0))
            for n in range(60)
        )
        for protocol in PROTOCOLS:
            print([sentence.id for sentence in sample(corpus, 9, protocol)])
    """
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == len(PROTOCOLS)


def in_languages(corpus, languages):
    """The corpus once in each language, with languages alternating."""
    made = [replace(s, id=f"{language}/{s.id}", language=language) for s in corpus for language in languages]
    return Corpus(made)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_language_has_its_own_sample(protocol):
    corpus = in_languages(skewed(1, 60), ["en", "hi", ""])
    chosen = sample_languages(corpus, 20, protocol, seed=3)
    assert [s for s in corpus if s in chosen] == list(chosen)
    numbers = {}
    for language in ("en", "hi", ""):
        own = [sentence for sentence in corpus if sentence.language == language]
        expected = sample(Corpus(own), 20, protocol, seed=3)
        assert [sentence for sentence in chosen if sentence.language == language] == list(expected)
        numbers[language] = {sentence.id.split("/")[1] for sentence in expected}
    assert numbers["en"] != numbers["hi"]
    assert ids(sample_languages(corpus, 60, protocol)) == ids(corpus)


def test_the_default_seed_is_0_and_the_default_protocol_stratified():
    corpus = in_languages(skewed(1, 60), ["en", "hi"])
    assert sample_languages(corpus, 9) == sample_languages(corpus, 9, "stratified", seed=0)
    assert sample(corpus, 9) == sample(corpus, 9, "stratified", seed=0)


def test_ambiguous_ids_are_written_as_json():
    for id_ in ('"a"', "a\nb", "a\u2028b"):
        assert json.loads(id_list([Sentence(("w",), id=id_)])) == id_
    for id_ in ('a"', "a b", "\u00e9"):
        assert id_list([Sentence(("w",), id=id_)]) == f"{id_}\n"


def test_names_the_language_that_has_too_few_sentences():
    corpus = Corpus([*in_languages(skewed(1, 9), ["en"]), *in_languages(skewed(1, 5), ["hi"])])
    with pytest.raises(SettingsError, match="hi: cannot sample 7 of 5 sentences"):
        sample_languages(corpus, 7)


def test_an_unknown_protocol_gets_a_hint():
    with pytest.raises(SettingsError, match='did you mean "stratified"'):
        sample(skewed(1), 5, "stratify")


def test_random_samples_are_nested_and_even():
    corpus = skewed(1, 40)
    small, large = (sample(corpus, size, "random", seed=5) for size in (10, 20))
    assert {*ids(small)} < {*ids(large)}
    drawn = Counter(id_ for seed in range(600) for id_ in ids(sample(corpus, 10, "random", seed=seed)))
    assert len(drawn) == 40
    assert all(abs(count - 150) < 50 for count in drawn.values()), "150 expected, standard deviation 10.6"


@pytest.mark.parametrize("seed", range(20))
def test_every_type_includes_every_type(seed):
    corpus = skewed(3, 300)
    assert sample(corpus, 6, "every_type", seed=seed).types == corpus.types


def test_every_type_equals_a_random_sample_that_lacks_no_type():
    corpus = skewed(3)
    complete = 0
    for seed in range(20):
        at_random = sample(corpus, 100, "random", seed=seed)
        if at_random.types == corpus.types:
            complete += 1
            assert sample(corpus, 100, "every_type", seed=seed) == at_random
    assert complete > 10


def test_every_type_leaves_as_many_places_as_possible_random():
    """The sentence with the rarest type also covers the next rarest, so one more place is free."""
    corpus = corpus_of([["A"]] * 3 + [["A", "B"]] + [["C"]] * 300)
    chosen = [sentences_with(sample(corpus, 3, "every_type", seed=seed)) for seed in range(10)]
    assert sum(each == {"A": 1, "B": 1, "C": 2} for each in chosen) >= 9


def test_every_type_finds_dense_sentences_when_the_sample_is_small():
    corpus = corpus_of([["A"], ["B"], ["C"], ["A", "B"], ["C", "D"], ["D"]] + [["A"]] * 20)
    for seed in range(10):
        assert ids(sample(corpus, 2, "every_type", seed=seed)) == ["s3", "s4"]


def test_every_type_reports_how_many_sentences_it_needs():
    with pytest.raises(SettingsError, match=r"each of 3 types \(A, B, C\) was found: 3 sentences"):
        sample(corpus_of([["A"], ["B"], ["C"], ["A"]]), 2, "every_type")


@pytest.mark.parametrize("seed", range(5))
def test_every_type_samples_of_promptda_sizes_are_nested(seed):
    """S, M and L; a learning curve then shows growing parts of the same data."""
    corpus = skewed(4, 800)
    small, medium, large = (sample(corpus, size, "every_type", seed=seed) for size in (50, 150, 500))
    assert (len(small), len(medium), len(large)) == (50, 150, 500)
    assert small.types == corpus.types
    assert {*ids(small)} < {*ids(medium)} < {*ids(large)}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_sample_can_be_reconstructed_from_its_ids(protocol):
    corpus = skewed(1)
    chosen = sample(corpus, 50, protocol, seed=2)
    listed = id_list(chosen).splitlines()
    assert [corpus.by_id[id_] for id_ in listed] == list(chosen)


def test_every_type_without_types_is_random():
    corpus = corpus_of([[] for _ in range(9)])
    assert sample(corpus, 3, "every_type") == sample(corpus, 3, "random")


@pytest.mark.parametrize("size", [20, 60, 133, 350])
def test_stratified_shares_are_at_least_as_close_as_those_of_iterstrat(size):
    ours, theirs, at_random = [], [], []
    for seed in range(8):
        corpus = skewed(seed)
        labels = np.array([[t in {e.type for e in s.entities} for t in corpus.types] for s in corpus])
        share = size / len(corpus)
        folds = IterativeStratification(labels, np.array([share, 1 - share]), np.random.RandomState(seed))
        theirs.append(distance(corpus, [corpus[int(n)] for n in np.flatnonzero(folds == 0)]))
        ours.append(distance(corpus, sample(corpus, size, "stratified", seed=seed)))
        at_random.append(distance(corpus, sample(corpus, size, "random", seed=seed)))
    assert np.mean(ours) <= np.mean(theirs) + 1e-9
    assert np.mean(ours) < np.mean(at_random) / 3


@settings(deadline=None)
@given(st.data())
def test_stratified_shares_are_exact_if_types_do_not_co_occur(data):
    """The corpus then consists of groups, each of which must contribute its share, rounded up or down."""
    groups = data.draw(st.dictionaries(st.sampled_from("ABCDE"), st.integers(1, 30), min_size=1))
    plain = data.draw(st.integers(0, 30))
    corpus = corpus_of([[type_] for type_, n in groups.items() for _ in range(n)] + [[]] * plain)
    size = data.draw(st.integers(1, len(corpus)))
    part = sentences_with(sample(corpus, size, "stratified"))
    part["none"] = size - part.total()
    for type_, n in {**groups, "none": plain}.items():
        assert abs(part[type_] - size * n / len(corpus)) < 1


def test_stratified_takes_the_sentences_dealt_to_the_sample():
    """Even of equal sentences: the smaller side is dealt to last."""
    assert ids(PROTOCOLS["stratified"](list(corpus_of([["A"]] * 10)), 1)) == ["s8"]


@pytest.mark.parametrize(
    ("kinds", "size", "chosen"),
    [
        (["B", "B", "AB"], 1, ["s0"]),  # A is the rarest: s2 goes to the rest, which lacks more, and s0 to the sample
        (["A", "A", "AB"], 1, ["s0"]),
        (["AB", "A", "AB"], 1, ["s2"]),  # B is: s0 goes to the rest, s2 to the sample, which then has its A, too
    ],
)
def test_stratified_deals_the_sentences_of_the_rarest_type_first(kinds, size, chosen):
    assert ids(PROTOCOLS["stratified"](list(corpus_of(kinds)), size)) == chosen


def test_stratified_skips_exchanges_for_many_type_sets(monkeypatch):
    corpus = skewed(1)
    before = sample(corpus, 57, "stratified")
    monkeypatch.setattr("nersery.experiments.data.sampling.MAX_TYPE_SETS", 3)
    quick = sample(corpus, 57, "stratified")
    assert len(quick) == 57
    assert distance(corpus, before) <= distance(corpus, quick) < distance(corpus, sample(corpus, 57, "random"))


def test_stratified_memory_does_not_grow_with_the_number_of_type_sets():
    rng = random.Random(0)
    names = [f"T{n}" for n in range(40)]
    corpus = corpus_of(rng.sample(names, 4) for _ in range(6000))
    tracemalloc.start()
    assert len(sample(corpus, 3000, "stratified")) == 3000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6, "the square of 6,000 takes 288 MB"


def test_stratified_gives_one_type_its_exact_share():
    chosen = sample(corpus_of([["A"]] * 50 + [[]] * 50), 10, "stratified", seed=4)
    assert sentences_with(chosen) == {"A": 5}


@pytest.mark.parametrize("folds", [2, 3, 7])
def test_every_fold_has_its_share_of_each_type_set(folds):
    corpus = skewed(1, 200)
    parts = [fold(corpus, folds, number) for number in range(folds)]
    assert sorted(id_ for part in parts for id_ in ids(part)) == sorted(ids(corpus))
    assert all(ids(part) == [id_ for id_ in ids(corpus) if id_ in part.by_id] for part in parts)
    for types in {frozenset(entity.type for entity in sentence.entities) for sentence in corpus}:
        counts = [sum({entity.type for entity in sentence.entities} == types for sentence in part) for part in parts]
        assert max(counts) - min(counts) <= 1
    shuffled = Corpus(random.Random(9).sample(corpus.sentences, len(corpus)))
    assert [{*ids(fold(shuffled, folds, number))} for number in range(folds)] == [{*ids(part)} for part in parts]
    assert ids(fold(corpus, folds, folds)) == []


def test_folds_are_random_but_reproducible():
    corpus = corpus_of([["A"], ["B"]] * 6)
    assert [ids(fold(corpus, 3, number)) for number in range(3)] == [
        ["s0", "s1", "s2", "s3"],
        ["s4", "s5", "s8", "s11"],
        ["s6", "s7", "s9", "s10"],
    ]
