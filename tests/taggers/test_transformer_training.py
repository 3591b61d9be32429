"""Training of the transformer tagger: learning rates, steps, the best checkpoint, and resuming."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertModel, BrosConfig, BrosModel

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.sentence import Entity, Sentence
from nersery.core.training_context import Training
from nersery.taggers.transformer import TransformerTagger
from tests.conftest import TINY
from tests.taggers.small_taggers import GOLD, small


@pytest.mark.parametrize(("layers", "rate"), [(6, 1e-4), (12, 4e-5)])
def test_deep_encoders_learn_at_a_lower_rate_by_default(
    layers: int, rate: float, tiny_model: str, tmp_path: Path
) -> None:
    deep = shutil.copytree(tiny_model, tmp_path / "deep")
    BertModel(BertConfig(vocab_size=500, **{**TINY, "num_hidden_layers": layers})).save_pretrained(deep)
    for named, expected in ((None, rate), (2e-5, 2e-5)):
        tagger = TransformerTagger(model=str(deep), steps=1, learning_rate=named)
        tagger.fit(GOLD[:4])
        assert tagger._plan(4).learning_rate == expected


def test_refuses_an_encoder_that_needs_more_than_text(tiny_model: str, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    BrosModel(BrosConfig(vocab_size=500, **TINY)).save_pretrained(folder)
    with pytest.raises(MissingResourceError, match=r"cannot read plain text: .*bbox.* Expected an encoder of text"):
        TransformerTagger(model=str(folder), steps=1).fit(GOLD[:4])


def test_keeps_the_weights_of_the_best_evaluation_on_dev(tiny_model, monkeypatch) -> None:
    scores = iter([0.1, 0.9, 0.2, 0.3])
    snapshots = []
    tagger = small(tiny_model, steps=8, evaluate_every=2)

    def fake(gold, predicted) -> float:
        snapshots.append(tagger.network.classifier.weight.detach().clone())
        return next(scores)

    monkeypatch.setattr("nersery.taggers.training.tagger_training.strict_f1", fake)
    history = tagger.fit(GOLD, Training(GOLD))
    assert history["best_step"] == 4
    kept = tagger.network.classifier.weight
    assert torch.equal(kept, snapshots[1])
    assert not torch.equal(kept, snapshots[3])


def test_dev_without_any_trained_type_is_not_evaluated(tiny_model, capsys) -> None:
    dev = [Sentence(("nobody", "came")), Sentence(("Brent", "rose"), (Entity(0, 1, "OIL"),))]
    history = small(tiny_model, steps=4, evaluate_every=1).fit(GOLD, Training(dev))
    assert (history["best_step"], history["evaluations"]) == (4, [])
    assert "dev has no entity of a type that the tagger learns" in capsys.readouterr().err


def test_patience_without_dev_is_noted(tiny_model, capsys) -> None:
    small(tiny_model, steps=1, patience=2).fit(GOLD)
    assert "patience needs dev" in capsys.readouterr().err


def test_patience_stops_early(tiny_model, monkeypatch) -> None:
    monkeypatch.setattr("nersery.taggers.training.tagger_training.strict_f1", lambda gold, predicted: 0.5)
    history = small(tiny_model, steps=50, evaluate_every=5, patience=2).fit(GOLD, Training(GOLD))
    assert history["steps"] == 15


def test_default_number_of_steps(tiny_model) -> None:
    plan = TransformerTagger(model=tiny_model)._plan(16 * 200)
    assert plan.total_steps(16 * 200) == 600
    assert TransformerTagger(model=tiny_model)._plan(100).total_steps(100) == 300
    assert TransformerTagger(model=tiny_model, epochs=2)._plan(160).total_steps(160) == 20


def test_a_window_can_begin_and_end_within_an_entity(tiny_model) -> None:
    long = Sentence(tuple("Oslo" for _ in range(200)), (Entity(0, 200, "LOC"),))
    for scheme in ("IOB2", "BIOES"):
        tagger = small(tiny_model, scheme=scheme, steps=2)
        tagger.fit([long, *GOLD])
        assert float(tagger._loss(tagger._examples(long)).detach()) < 20


def test_sets_the_dropout_of_the_model(tiny_model) -> None:
    tagger = small(tiny_model, dropout=0.42, steps=1)
    tagger.fit(GOLD)
    assert tagger.network.dropout.p == 0.42


@pytest.fixture
def stopped(tiny_model, tmp_path: Path, monkeypatch, saves_each_step: None) -> Path:
    """The state of a training that ended before its eighth step."""
    tagger, left = small(tiny_model, steps=12, evaluate_every=3), iter(range(7))
    original = tagger._loss
    monkeypatch.setattr(tagger, "_loss", lambda batch: (next(left), original(batch))[1])
    with pytest.raises(StopIteration):
        tagger.fit(GOLD, Training(GOLD[:4], seed=2, folder=tmp_path / "state"))
    return tmp_path / "state"


def test_refuses_to_resume_with_other_data_or_settings(tiny_model, stopped: Path) -> None:
    other = [GOLD[0].with_entities(()), *GOLD[1:]]
    for difference, gold, dev, changes in (
        ("gold: the content has changed", other, GOLD[:4], {}),
        ("dev: the content has changed", GOLD, other[:4], {}),
        ("dev: the content has changed", GOLD, [], {}),
        ("settings.dropout: was None, now 0.3", GOLD, GOLD[:4], {"dropout": 0.3}),
        ("seed: was 2, now 3", GOLD, GOLD[:4], {"seed": 3}),
    ):
        tagger = small(tiny_model, steps=12, evaluate_every=3, dropout=changes.get("dropout"))
        with pytest.raises(SettingsError, match=difference):
            tagger.fit(gold, Training(dev, seed=changes.get("seed", 2), folder=stopped))


def test_training_does_not_move_the_crf_to_the_cpu(tiny_model, monkeypatch) -> None:
    moved = []
    monkeypatch.setattr(torch.nn.Module, "cpu", lambda self: moved.append(self) or self)
    small(tiny_model, steps=2).fit(GOLD, Training(GOLD))
    assert not moved
