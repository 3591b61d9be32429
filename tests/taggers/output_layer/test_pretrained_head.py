from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from nersery import Entity, Sentence
from nersery.annotate.tagger_labels import TaggerLabels
from nersery.core.errors import MissingResourceError
from nersery.models.pretrained.loading import ModelSource
from nersery.taggers.output_layer.pretrained_head import network_with_head, shared_rows
from nersery.taggers.tagger_folder.crf_file import CRF_FILE
from nersery.taggers.transformer import TransformerTagger

GOLD = [
    Sentence(("Ada", "lived", "in", "London"), (Entity(0, 1, "PER"), Entity(3, 4, "LOC")), id="a"),
    Sentence(("Grace", "saw", "Oslo"), (Entity(0, 1, "PER"), Entity(2, 3, "LOC")), id="b"),
]


@pytest.fixture(scope="module")
def trained(tiny_model: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tagger trained on LOC and PER."""
    folder = tmp_path_factory.mktemp("trained")
    tagger = TransformerTagger(model=tiny_model, steps=3, device="cpu", head_learning_rate=0.1)
    tagger.fit(GOLD)
    tagger.save(folder)
    return str(folder)


def built(model: str, *types: str, **settings: Any) -> TransformerTagger:
    """A tagger before its first step."""
    from nersery.taggers.output_layer.tag_set import TagSet

    tagger = TransformerTagger(model=model, device="cpu", **settings)
    tagger._build(TagSet.of(types))
    return tagger


def all_weights(tagger: TransformerTagger, folder: Path) -> dict[str, torch.Tensor]:
    """The weights in the files of the tagger, once it is saved, including those of the CRF."""
    tagger.save(folder)
    return {**load_file(folder / "model.safetensors"), **load_file(folder / CRF_FILE)}


def test_training_starts_from_the_weights_of_a_trained_tagger(trained: str, tmp_path: Path) -> None:
    again = built(trained, "LOC", "PER")
    before = TransformerTagger.load(trained, device="cpu")
    for name, weights in all_weights(before, tmp_path).items():
        assert torch.equal(all_weights(again, tmp_path)[name], weights), name
    assert again.predict(GOLD) == before.predict(GOLD)


@pytest.mark.parametrize(("name", "number", "shown"), [("LABEL_{0}", 0, "LABEL_0"), ("B-T{0}", 1, "")])
def test_load_refuses_outputs_that_are_not_tags(
    name: str, number: int, shown: str, trained: str, tmp_path: Path
) -> None:
    folder = tmp_path / "foreign"
    shutil.copytree(trained, folder)
    for file in ("nersery.json", "crf.safetensors"):
        (folder / file).unlink()
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {n: name.format(n) for n in range(number, number + len(config["id2label"]))}
    config["label2id"] = {label: n for n, label in config["id2label"].items()}
    (folder / "config.json").write_text(json.dumps(config))
    for load in (TransformerTagger.load, lambda name: TaggerLabels(tagger=str(name)).check()):
        with pytest.raises(MissingResourceError, match=rf'"{shown}", which is not a tag.*"id2label": \{{"0": "O"'):
            load(folder)
    if number:
        built(str(folder), "LOC").predict(GOLD)


def test_known_tags_keep_their_weights_and_others_are_new(trained: str, tmp_path: Path) -> None:
    before, again = TransformerTagger.load(trained, device="cpu"), built(trained, "CORP", "PER")
    known, names = ([*tagger.network.config.id2label.values()] for tagger in (before, again))
    old, new = (tagger.network.classifier for tagger in (before, again))
    for row, name in enumerate(names):
        if name in known:
            assert torch.equal(new.weight[row], old.weight[known.index(name)])
            assert new.bias[row] == old.bias[known.index(name)]
        else:
            assert new.bias[row] == 0
            assert 0 < new.weight[row].abs().max() < 0.2
    rows = [names.index("B-PER"), names.index("I-PER")]
    its = [known.index("B-PER"), known.index("I-PER")]
    theirs, ours = (all_weights(tagger, tmp_path) for tagger in (before, again))
    assert torch.equal(ours["transitions"][rows][:, rows], theirs["transitions"][its][:, its])
    assert torch.equal(ours["start"][rows], theirs["start"][its])
    assert not ours["transitions"][names.index("B-CORP")].any()
    assert names[1] == "B-CORP"
    assert again.network.num_labels == len(names)


def test_head_is_new_without_a_common_tag(trained: str, tmp_path: Path) -> None:
    before = TransformerTagger.load(trained, device="cpu").network.classifier
    again = built(trained, "GENE")
    assert again.network.classifier.weight.abs().max() < 0.2
    assert before.weight.abs().max() > 0.2, "the trained head is told from a new one"
    assert not all_weights(again, tmp_path)["transitions"].any()


def test_a_continued_tagger_is_saved_and_read_like_any_other(trained: str, tmp_path: Path) -> None:
    tagger = TransformerTagger(model=trained, steps=2, device="cpu")
    tagger.fit([GOLD[0].with_entities([Entity(0, 1, "PER"), Entity(3, 4, "CITY")])])
    tagger.save(tmp_path)
    assert TransformerTagger.load(tmp_path, device="cpu").predict(GOLD) == tagger.predict(GOLD)
    assert json.loads((tmp_path / "config.json").read_text())["id2label"]["1"] == "B-CITY"


def test_a_linear_head_needs_no_transitions(trained: str, tmp_path: Path) -> None:
    built(trained, "LOC", "PER", head="linear").save(tmp_path)
    assert not (tmp_path / CRF_FILE).exists()


def test_error_about_damaged_transitions(trained: str, tmp_path: Path) -> None:
    import shutil

    folder = shutil.copytree(trained, tmp_path / "tagger")
    (folder / CRF_FILE).write_bytes(b"no weights")
    with pytest.raises(MissingResourceError, match=CRF_FILE):
        built(str(folder), "LOC", "PER")


def test_an_encoder_gets_a_new_head(tiny_model: str) -> None:
    network = network_with_head(ModelSource(tiny_model), ("O", "B-PER", "I-PER"))
    assert network.classifier.out_features == 3
    assert network.config.label2id == {"O": 0, "B-PER": 1, "I-PER": 2}


def test_the_outside_tag_alone_is_not_a_common_tag() -> None:
    assert shared_rows(["O", "B-PER"], ["O", "B-LOC"]) == {}
    assert shared_rows(["O", "B-PER"], ["LABEL_0", "LABEL_1"]) == {}
