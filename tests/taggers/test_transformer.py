"""What the transformer tagger learns, predicts and refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import CanineConfig, CanineModel, CanineTokenizer

from nersery.core.errors import SettingsError
from nersery.core.sentence import Entity, Sentence
from nersery.core.training_context import Training
from nersery.models.bundled_models import bundled, known_languages
from nersery.taggers.base import check_tagger_folder, load_tagger, strict_f1
from nersery.taggers.transformer import TransformerTagger
from tests.conftest import TINY
from tests.taggers.small_taggers import GOLD, small


@pytest.mark.parametrize(
    ("kind", "head", "scheme"), [("wordpiece", "crf", "BIOES"), ("bytes", "linear", "IOB2"), ("unigram", "crf", "IOB2")]
)
def test_learns_saves_and_loads(kind, head, scheme, tiny_models, tmp_path: Path) -> None:
    tagger = small(str(tiny_models[kind]), head=head, scheme=scheme)
    tagger.fit(GOLD, Training(GOLD))
    predicted = tagger.predict(GOLD)
    assert strict_f1(GOLD, predicted) > 0.95
    tagger.save(tmp_path / "tagger")
    check_tagger_folder(tmp_path / "tagger", force=True)  # holds no file of another kind
    again = load_tagger(tmp_path / "tagger").predict(GOLD)
    assert [(e, e.score) for s in again for e in s.entities] == [(e, e.score) for s in predicted for e in s.entities]


def test_trains_canine_with_its_several_embeddings_per_character(tmp_path: Path, few_canine_characters: None) -> None:
    sizes = {name: TINY[name] for name in ("hidden_size", "num_hidden_layers", "num_attention_heads")}
    config = CanineConfig(**sizes, intermediate_size=64, max_position_embeddings=64, num_hash_buckets=64)
    CanineModel(config).save_pretrained(tmp_path)
    CanineTokenizer(model_max_length=64).save_pretrained(tmp_path)
    tagger = small(str(tmp_path), steps=2)
    tagger.fit(GOLD[:2], Training(GOLD[:2]))
    assert [s.words for s in tagger.predict(GOLD)] == [s.words for s in GOLD]


def test_words_without_subwords_get_a_tag(tiny_model) -> None:
    tagger = small(tiny_model)
    odd = Sentence(("\u200b", "Grace", "\u200d", "lives"), (Entity(0, 1, "PER"), Entity(2, 3, "LOC")))
    tagger.fit([odd] * 8)
    assert tagger.predict([odd])[0].labels == odd.labels


@pytest.mark.parametrize(
    "settings", [{"steps": 0}, {"steps": 5, "epochs": 2}, {"warmup": 2.0}, {"dropout": 1.0}, {"max_subwords": 3}]
)
def test_settings_that_cannot_work_are_refused(settings) -> None:
    with pytest.raises(SettingsError, match=next(iter(settings))):
        TransformerTagger(**settings)


def test_a_trained_model_gets_a_new_head_for_new_types(tiny_model, tmp_path: Path) -> None:
    first = small(tiny_model, head="linear", steps=5)
    first.fit(GOLD)
    first.save(tmp_path / "ner")
    other = [Sentence(s.words, tuple(Entity(e.start, e.end, f"X{e.type}") for e in s.entities), id=s.id) for s in GOLD]
    again = small(str(tmp_path / "ner"), head="linear", steps=1, learning_rate=1e-9, head_learning_rate=1e-9)
    again.fit(other)
    assert again.types == ("XLOC", "XPER")
    new, old = (tagger.network.classifier.weight for tagger in (again, first))
    assert not torch.allclose(new, old, atol=1e-3)
    more = [Sentence(("Oslo",), (Entity(0, 1, "CITY"),)), *other]
    small(str(tmp_path / "ner"), steps=1).fit(more)


@pytest.mark.parametrize("cased", [True, False])
def test_notes_a_lower_case_encoder_on_text_with_capitals(
    cased: bool, tiny_model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bundled, "is_lower_case", lambda name: name == tiny_model)
    gold = [Sentence(tuple(map(str if cased else str.lower, one.words)), one.entities) for one in GOLD[:4]]
    small(tiny_model, steps=1).fit(gold)
    assert ("reads lower case only" in capsys.readouterr().err) == cased


def test_note_on_the_language_suggests_a_bundled_encoder(tiny_model: str, capsys: pytest.CaptureFixture[str]) -> None:
    small(tiny_model, steps=1).fit([Sentence(("Գյումրի", "է"), (Entity(0, 1, "LOC"),), language="hy")] * 2)
    assert "e.g. bundled-multilingual (extra multilingual), xlm-roberta-base or" in capsys.readouterr().err


def test_notes_another_language_that_an_english_model_can_spell(
    tiny_model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(known_languages, "BUNDLED", (tiny_model,))
    small(tiny_model, steps=1).fit([replace(sentence, language="es") for sentence in GOLD[:2]])
    assert "it covers only English, but there is text in es. Name a model of its language" in capsys.readouterr().err
