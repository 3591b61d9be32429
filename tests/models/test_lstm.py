"""A tiny model on texts in which each word determines the next."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nersery.core.errors import SettingsError
from nersery.core.progress import Progress
from nersery.models.lstm import ROWS, LSTMLanguageModel, frequent, training_plan
from nersery.models.tokens import UNKNOWN

TEXTS = [("a", "b", "c"), ("d", "e")] * 4
WORDS = ["a", "b", "c", "d", "e"]
PLAN = replace(training_plan(40, 4, 0.03), optimizer="adam", schedule="constant")


def make(words: list[str] = WORDS, seed: int = 0) -> LSTMLanguageModel:
    return LSTMLanguageModel(words, embedding=8, hidden=16, dropout=0.0, seed=seed, device="cpu")


def generators(count: int) -> list[random.Random]:
    return [random.Random(number) for number in range(count)]


@pytest.fixture(scope="module")
def learnt() -> LSTMLanguageModel:
    model = make()
    model.fit(TEXTS, PLAN)
    return model


def test_learns_words_order_and_end(learnt: LSTMLanguageModel) -> None:
    counts = Counter(learnt.sample(generators(60), max_words=10))
    assert {text for text, count in counts.items() if count > 5} == set(TEXTS)
    assert counts[TEXTS[0]] + counts[TEXTS[1]] > 45


def test_a_low_temperature_writes_the_most_probable_text(learnt: LSTMLanguageModel) -> None:
    assert len(set(learnt.sample(generators(20), max_words=10, temperature=0.01))) == 1
    assert len(set(learnt.sample(generators(60), max_words=10, temperature=5.0))) > 10


def test_unknown_words_share_one_token() -> None:
    model = make(["a", "b"])
    model.fit([("a", "x", "b"), ("a", "y", "b")] * 4, PLAN)
    assert Counter(model.sample(generators(40), max_words=10)).most_common(1)[0][0] == ("a", UNKNOWN, "b")


def test_a_text_that_does_not_end_is_none() -> None:
    model = make()
    texts = model.sample(generators(40), max_words=4)
    assert None in texts
    assert max(len(text) for text in texts if text is not None) <= 4
    longer = model.sample(generators(40), max_words=30)
    assert [text for text in longer if text is not None and len(text) <= 4] == [t for t in texts if t is not None]


def test_a_text_depends_only_on_its_generator() -> None:
    model = make()
    together = model.sample(generators(ROWS + 5), max_words=8)
    alone = [model.sample([rng], max_words=8)[0] for rng in generators(ROWS + 5)]
    assert together == alone
    assert len(set(together)) > 5


def test_words_are_sampled_in_proportion_to_their_probability() -> None:
    """At zero weights all words and the end are equally probable; the beginning and padding are not drawn."""
    model = make(["a", "b"])
    torch.nn.init.zeros_(model.network.output.weight)
    counts = Counter((text or ("more",))[:1] for text in model.sample(generators(4000), max_words=1))
    firsts = [counts[("a",)], counts[("b",)], counts[(UNKNOWN,)]]
    assert counts[()] == 0
    assert all(4000 / 16 * 0.7 < count < 4000 / 16 * 1.3 for count in firsts)


def test_texts_continue_their_starts(learnt: LSTMLanguageModel) -> None:
    starts = [("a",), ("d",), ("a", "b")] * 5
    texts = learnt.sample(generators(15), max_words=10, starts=starts)
    assert all(text is not None and text[: len(start)] == start for text, start in zip(texts, starts, strict=True))
    assert texts.count(TEXTS[0]) > 7
    assert texts.count(TEXTS[1]) > 3


def test_keeps_the_best_weights_on_dev() -> None:
    model = make()
    history = model.fit(TEXTS, PLAN, dev=[("c", "b")])
    assert history.best is not None
    assert history.best.step < history.steps
    assert history.best.score == max(evaluation.score for evaluation in history.evaluations) < 0


def test_the_dev_loss_is_the_mean_over_words_for_any_batch_size() -> None:
    plans = [replace(PLAN, epochs=None, steps=1, batch_size=size, learning_rate=1e-12) for size in (1, 8)]
    dev = [("a",), ("a", "b", "c", "d", "e")]
    scores = [make().fit(TEXTS, plan, dev=dev).evaluations[0].score for plan in plans]
    assert scores[0] == pytest.approx(scores[1])
    one, five = (make().fit(TEXTS, plans[0], dev=[text]).evaluations[0].score for text in dev)
    assert scores[0] == pytest.approx((2 * one + 6 * five) / 8)
    assert abs(one - five) > 1e-3


def test_the_gradient_is_a_sum_over_texts() -> None:
    """The gradient of a sum is longer than that of a mean, as the paper's rate of 1 with clipping requires."""
    moved = []
    for texts in (TEXTS[:1], TEXTS[:1] * 4):
        model = make()
        before = model.network.output.weight.detach().clone()
        model.fit(texts, replace(PLAN, optimizer="sgd", epochs=1, clip=1e9, learning_rate=1e-3))
        moved.append(float((model.network.output.weight.detach() - before).norm()))
    assert moved[1] == pytest.approx(4 * moved[0], rel=1e-3)


def test_weights_depend_on_the_seed() -> None:
    first, second, other = (make(seed=seed) for seed in (0, 0, 1))
    for model in (first, second):
        model.fit(TEXTS, replace(PLAN, epochs=2), seed=5)
    assert torch.equal(first.network.output.weight, second.network.output.weight)
    assert not torch.equal(make().network.output.weight, other.network.output.weight)


def test_a_finished_training_is_loaded(tmp_path: Path) -> None:
    first = make()
    first.fit(TEXTS, replace(PLAN, epochs=2), folder=tmp_path / "state", fingerprint={"of": "test"})
    second = make(seed=1)
    progress = Progress("learn")
    second.fit(TEXTS, replace(PLAN, epochs=2), folder=tmp_path / "state", fingerprint={"of": "test"}, progress=progress)
    assert torch.equal(first.network.output.weight, second.network.output.weight)
    assert progress.total == 4
    with pytest.raises(SettingsError):
        make().fit(TEXTS, replace(PLAN, epochs=2), folder=tmp_path / "state", fingerprint={"of": "other"})


def test_the_vocabulary_has_frequent_words_and_all_tag_tokens() -> None:
    assert frequent([("a", "b", "a", "\t<b-X>"), ("c", "b")], 2) == ["\t<b-X>", "a", "b"]
    assert frequent([("b", "a")], 1) == ["a", "b"]
