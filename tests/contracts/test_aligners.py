"""The contract of all aligners. A new one needs a line in `SETTINGS`."""

import math
import random

import pytest

from nersery.core import registry
from nersery.core.errors import UnfittedError
from nersery.core.outcome import Reject
from nersery.crosslingual.aligners.base import Pair
from tests.crosslingual.fakes import put_on_path

SETTINGS = {
    "embeddings": {"device": "cpu", "precision": "fp32"},
    "ensemble": {"device": "cpu", "precision": "fp32"},
    "external": {"program": "fast_align"},
    "statistical": {},
}
"""Settings of a small aligner of each kind; embeddings get a tiny model, too, and external aligners a fake program."""

WORDS = {"the": "el", "house": "casa", "river": "río", "big": "grande", "Ada": "Ada", "sees": "ve", "1,000": "1.000"}
ODD = [
    Pair(("ירושלים", "היא", "עיר"), ("القدس", "مدينة")),
    Pair(("🚀", "👨‍👩‍👧", "东京"), ("東京", "🚀", "e\u0301")),
    Pair(("a",), ("b",)),
    Pair(("a",) * 40, ("a",)),
    Pair(("\u200b", "\u200d", "'"), ("«", "\u0301")),
    Pair(("same", "words", "."), ("same", "words", ".")),
    Pair(("o" * 500,), ("q" * 400, "1" * 300)),
]


def corpus():
    rng = random.Random(0)
    sentences = [rng.sample(list(WORDS), rng.randint(1, len(WORDS))) for _ in range(25)]
    return [Pair(tuple(words), tuple(WORDS[word] for word in reversed(words))) for words in sentences] + ODD


PAIRS = corpus()


def test_every_aligner_is_covered():
    assert set(SETTINGS) == set(registry.names("align"))


@pytest.fixture(params=SETTINGS, scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def new(tiny_models, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        put_on_path(patch, tmp_path_factory.mktemp("bin"), "fast_align")
        models = {key: {"model": str(tiny_models["wordpiece"])} for key in ("embeddings", "ensemble")}
        yield lambda name: registry.create("align", name, SETTINGS[name] | models.get(name, {}))


def fitted(new, name, pairs=PAIRS):
    aligner = new(name)
    aligner.check()
    aligner.fit(pairs)
    return aligner


@pytest.fixture(scope="module")
def ready(new, name):
    return fitted(new, name)


def test_links_are_in_range_sorted_and_once_each(ready):
    found = ready.align(PAIRS)
    assert len(found) == len(PAIRS)
    assert any(found)
    for pair, alignment in zip(PAIRS, found, strict=True):
        if isinstance(alignment, Reject):
            assert alignment.reason
            continue
        assert isinstance(alignment, tuple)
        places = [(link.source, link.target) for link in alignment]
        assert places == sorted(set(places))
        assert all(0 <= source < len(pair.source) and 0 <= target < len(pair.target) for source, target in places)
        assert all(type(number) is int for place in places for number in place)
        assert all(type(link.probability) is float and 0 < link.probability <= 1 for link in alignment)
        assert not any(math.isnan(link.probability) for link in alignment)


def test_links_do_not_depend_on_the_batch_or_order(ready):
    together = ready.align(PAIRS)
    assert [ready.align([pair])[0] for pair in PAIRS] == together
    assert ready.align(PAIRS[::-1])[::-1] == together
    assert ready.align(PAIRS * 2) == together * 2
    assert ready.align(PAIRS[3:9]) == together[3:9]


def test_training_is_reproducible(new, name, ready):
    assert fitted(new, name).align(PAIRS) == ready.align(PAIRS)


def test_empty_input(new, name):
    assert list(fitted(new, name, []).align([])) == []


def test_one_pair_is_enough(new, name):
    (alignment,) = fitted(new, name, PAIRS[:1]).align(PAIRS[:1])
    assert isinstance(alignment, tuple)


def test_a_side_without_words_has_no_links(new, name):
    pairs = [Pair((), ("a", "b")), Pair(("a",), ()), Pair((), ()), *PAIRS]
    found = fitted(new, name, pairs).align(pairs)
    assert all(alignment == () for alignment in found[:3])
    assert any(found[3:])


def test_align_before_fit_is_an_error_unless_pretrained(new, name):
    if name == "embeddings":  # its model has learnt elsewhere
        assert isinstance(new(name).align(PAIRS[:1])[0], tuple)
        return
    with pytest.raises(UnfittedError, match="is not fitted: call fit"):
        new(name).align(PAIRS[:1])
