"""The GLiNER annotator with stand-ins, and with a tiny untrained model where the package is installed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence, annotate
from nersery.annotate.gliner import GlinerLabels, load_gliner
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.io import write


def labelled(monkeypatch: pytest.MonkeyPatch, words: str, *found: tuple[int, int, str, float], **settings: Any) -> Any:
    answers = [dict(zip(("start", "end", "label", "score"), one, strict=True)) for one in found]
    model = SimpleNamespace(
        inference=lambda texts, labels, threshold: [answers],
        config=SimpleNamespace(max_len=8),
        data_processor=SimpleNamespace(words_splitter=str.split),
    )
    monkeypatch.setattr("nersery.annotate.gliner.load_gliner", lambda name, device: model)
    return annotate(Corpus([Sentence(tuple(words.split()))]), GlinerLabels("m", types=["PER", "LOC"], **settings))


def test_character_spans_become_whole_words(monkeypatch: pytest.MonkeyPatch) -> None:
    result = labelled(monkeypatch, "Ada Lovelace's Oslo", (1, 12, "person", 0.9), (15, 19, "location", 0.8))
    assert result.corpus[0].entities == (Entity(0, 2, "PER", 0.9), Entity(2, 3, "LOC", 0.8))
    assert [entity.score for entity in result.corpus[0].entities] == [0.9, 0.8]


def test_keeps_the_best_of_overlapping_entities(monkeypatch: pytest.MonkeyPatch) -> None:
    result = labelled(monkeypatch, "New York Times", (0, 8, "location", 0.6), (4, 14, "person", 0.7))
    assert result.corpus[0].labels == ((1, 3, "PER"),)


def test_a_long_sentence_is_rejected_rather_than_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [reject.reason for reject in labelled(monkeypatch, "a " * 9).rejects] == ["too long for the model"]


def test_refuses_missing_types_and_equal_definitions() -> None:
    with pytest.raises(SettingsError, match="does not know which types to find"):
        GlinerLabels("m").fit([])
    with pytest.raises(SettingsError, match="same definition"):
        GlinerLabels("m", types=["A", "B"], definitions={"A": "thing", "B": "thing"}).fit([])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    gliner = pytest.importorskip("gliner", exc_type=ImportError)
    from transformers import BertConfig, BertModel

    from tests.conftest import TINY, build_tokenizer

    encoder, folder = tmp_path_factory.mktemp("encoder"), tmp_path_factory.mktemp("gliner")
    build_tokenizer("wordpiece", encoder)
    BertModel(BertConfig(**{**TINY, "vocab_size": 600})).save_pretrained(encoder)
    config = gliner.GLiNERConfig(
        model_name=str(encoder), hidden_size=32, max_len=20, max_width=4, fine_tune=True, num_layers=1, num_rnn_layers=1
    )
    model = gliner.GLiNER.from_config(config)
    model.save_pretrained(folder, safe_serialization=True)
    return str(folder)


def test_labels_of_a_real_model_do_not_depend_on_the_batch_size(tiny: str) -> None:
    sentences = Corpus(Sentence(("Ada", "met", "Grace", "in", "Oslo", *["x"] * n)) for n in range(6))
    results = [
        annotate(sentences, "gliner", model=tiny, types=["PER", "LOC"], threshold=0.0, batch_size=size)
        for size in (1, 6)
    ]
    assert results[0] == results[1]
    assert any(sentence.entities for sentence in results[0].corpus)
    assert not results[0].rejects


def test_gliner_trains_on_the_files_that_convert_writes(tiny: str, tmp_path: Path) -> None:
    from gliner import GLiNER

    gold = Corpus(
        [
            Sentence(("Ada", "Lovelace", "met", "राम", "."), (Entity(0, 2, "PER"), Entity(3, 4, "PER")), "a"),
            Sentence(("👩\u200d👩\u200d👧", "in", "New", "York"), (Entity(2, 4, "LOC"),), "b"),
            Sentence(("nothing",), id="c"),
        ]
    )
    write(gold, tmp_path / "train.json", format="gliner")
    examples = json.loads((tmp_path / "train.json").read_text("utf-8"))
    model = GLiNER.from_pretrained(tiny, local_files_only=True)
    collate = model.data_collator_class(model.config, data_processor=model.data_processor, return_id_to_classes=True)
    batch = collate(examples)
    found = [
        {(*batch["span_idx"][row, span].tolist(), batch["id_to_classes"][row][int(type_) + 1]) for span, type_ in ones}
        for row, ones in enumerate(labels.nonzero() for labels in batch["labels"])
    ]
    assert found == [{(0, 1, "PER"), (3, 3, "PER")}, {(2, 3, "LOC")}, set()], "first and last word"
    pytest.importorskip("accelerate")
    model.train_model(
        examples, examples, output_dir=tmp_path / "out", max_steps=2, per_device_train_batch_size=2, use_cpu=True,
        dataloader_num_workers=0, save_strategy="no", disable_tqdm=True,
    )  # fmt: skip


def test_refuses_a_folder_without_a_gliner_model(tmp_path: Path) -> None:
    pytest.importorskip("gliner", exc_type=ImportError)
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(MissingResourceError, match=r"expected gliner_config.json and model.safetensors"):
        load_gliner(str(tmp_path), "cpu")
