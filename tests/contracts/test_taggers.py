"""The contract of all taggers. A new one needs a line in `SETTINGS`."""

import json
from pathlib import Path

import pytest
import torch

from nersery import Entity, Sentence
from nersery.core import registry
from nersery.core.errors import DataError, MissingResourceError, SettingsError, UnfittedError
from nersery.core.progress import Progress
from nersery.core.settings import descriptions
from nersery.core.training_context import Training
from nersery.taggers.base import load_tagger, strict_f1
from tests.killing import KilledError, KillingProgress

SETTINGS = {
    "bilstm_crf": {"learning_rate": 2e-2, "word_size": 16, "spelling_size": 16, "hidden_size": 16, "dropout": 0.2},
    "transformer": {"learning_rate": 5e-3, "head_learning_rate": 5e-3},
}
"""Settings of a small tagger of each kind; those with a pretrained encoder get a tiny one, too."""
ENCODERS = ("transformer",)

NAMES = ["Ada Lovelace", "Grace", "राम", "Halden"]
PLACES = ["London", "New York", "दिल्ली", "Oslo"]


def sentence(name, place):
    first, second = name.split(), place.split()
    start = len(first) + 2
    entities = (Entity(0, len(first), "PER"), Entity(start, start + len(second), "LOC"))
    return Sentence((*first, "lives", "in", *second, "."), entities, id=f"{name}-{place}")


GOLD = [sentence(name, place) for name in NAMES for place in PLACES]
ODD = [
    Sentence(("\u200b", "Grace", "\u200d"), (Entity(1, 2, "PER"),), id="nothing to see"),
    Sentence(("東京", "は", "🚀", "א", "lives"), (), id="unseen scripts"),
    Sentence(("o" * 10_000, "in", "e\u0301" * 300), (), id="long words"),
    Sentence(("lives", "in") * 300 + ("Oslo", "."), (Entity(600, 601, "LOC"),), id="long"),
    Sentence(("Grace",), (), id="short"),
]


def test_every_tagger_is_covered():
    assert set(SETTINGS) == set(registry.names("tagger"))


@pytest.fixture(scope="module")
def new(tiny_models):
    def build(name, **settings):
        if name not in SETTINGS:
            pytest.skip("not covered: test_every_tagger_is_covered fails")
        model = {"model": str(tiny_models["wordpiece"])} if name in ENCODERS else {}
        return registry.create("tagger", name, {"steps": 40, "batch_size": 8, **SETTINGS[name], **model, **settings})

    return build


@pytest.fixture(params=registry.names("tagger"), scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def trained(name, new):
    tagger = new(name)
    tagger.fit(GOLD, Training(GOLD))
    return tagger


def labels(sentences):
    return {s.id: [(entity, entity.score) for entity in s.entities] for s in sentences}


def weights(tagger, folder):
    """The bytes of all weights of a tagger."""
    tagger.save(str(folder))  # a string is accepted, too
    return {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}


# --- documentation and settings ---------------------------------------------------------------------------------------


def test_documentation_lists_departures_from_the_reference(name):
    assert "Departures:" in descriptions.documentation(registry.get("tagger", name))
    assert registry.check("tagger", name, {}) == []


@pytest.mark.parametrize(
    "settings",
    [{"steps": 0}, {"steps": 5, "epochs": 2}, {"warmup": 2.0}, {"dropout": 1.0}, {"batch_size": 0}, {"patience": 0}],
    ids=str,
)
def test_settings_that_cannot_work_are_refused(name, new, settings):
    with pytest.raises(SettingsError, match=next(iter(settings))):
        new(name, **{"steps": None, **settings})


def test_predict_and_save_before_fit_are_errors(name, new, tmp_path: Path):
    for use in (lambda tagger: tagger.predict(GOLD), lambda tagger: tagger.save(tmp_path)):
        with pytest.raises(UnfittedError, match="is not fitted: call fit, or load a saved tagger, before predict"):
            use(new(name))


# --- training ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["IOB2", "BIOES"])
def test_learns_the_gold_labels(name, new, scheme):
    tagger = new(name, scheme=scheme)
    history = tagger.fit(GOLD, Training(GOLD))
    predicted = tagger.predict(GOLD)
    assert strict_f1(GOLD, predicted) > 0.95
    assert [s.id for s in predicted] == [s.id for s in GOLD]
    assert all(0 < entity.score <= 1 for s in predicted for entity in s.entities)
    assert history["best_step"] <= history["steps"] == 40
    assert history == tagger.history
    assert tagger.types == ("LOC", "PER")


def test_history_records_whether_words_are_characters(name, new):
    for words, are_characters in ((("東", "京", "に"), True), (("東京", "に"), False), (("Oslo",), None)):
        gold = [Sentence(words, (Entity(0, 1, "LOC"),), id=str(number)) for number in range(10)]
        assert new(name, steps=1).fit(gold)["in_characters"] is are_characters


def test_history_records_whether_words_include_punctuation(name, new):
    for words, share in ((("Oslo,", "Bonn"), 1), (("Oslo", ","), 0)):
        gold = [Sentence(words, (Entity(0, 1, "LOC"),), id=str(number)) for number in range(10)]
        assert new(name, steps=1).fit(gold)["attached_signs"] == share
        in_two_languages = [*gold, Sentence(("Rom",), language="de")]
        assert new(name, steps=1).fit(in_two_languages)["attached_signs"] is None


def test_refuses_gold_without_sentences_or_entities(name, new):
    with pytest.raises(DataError, match="no training sentence"):
        new(name).fit([])
    with pytest.raises(DataError, match="has an entity"):
        new(name).fit([Sentence(("a",))])


def test_types_that_only_dev_has_count_as_missed(name, new):
    history = new(name, steps=3).fit(GOLD, Training([Sentence(("Oslo",), (Entity(0, 1, "CITY"),))]))
    assert [evaluation["score"] for evaluation in history["evaluations"]] == [0.0] * len(history["evaluations"])


def test_weights_depend_only_on_the_seed(name, new, tmp_path: Path):
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(len(found))
        tagger = new(name, steps=3)
        tagger.fit(GOLD, Training(seed=seed))
        found.append(weights(tagger, tmp_path / str(len(found))))
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_keeps_the_random_state_of_the_caller(name, new, trained, tmp_path: Path):
    trained.save(tmp_path / "tagger")
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    new(name, steps=2).fit(GOLD)
    load_tagger(tmp_path / "tagger").certainty(GOLD)
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.usefixtures("saves_each_step")
def test_resumes_a_killed_training(name, new, tmp_path: Path):
    whole, killed, again = (new(name, steps=12, evaluate_every=3) for _ in range(3))
    expected = whole.fit(GOLD, Training(GOLD[:4], seed=2))
    with pytest.raises(KilledError):
        killed.fit(GOLD, Training(GOLD[:4], seed=2, folder=tmp_path / "state", progress=KillingProgress(8)))
    progress = Progress("train", quiet=True)
    assert again.fit(GOLD, Training(GOLD[:4], seed=2, folder=tmp_path / "state", progress=progress)) == expected
    assert (progress.done, progress.total, progress.resumed) == (12, 12, 7)
    assert weights(again, tmp_path / "again") == weights(whole, tmp_path / "whole")
    with pytest.raises(SettingsError, match="gold: the content has changed"):
        new(name, steps=12, evaluate_every=3).fit(GOLD[1:], Training(GOLD[:4], seed=2, folder=tmp_path / "state"))


def test_warm_start_keeps_what_was_learnt(name, new):
    tagger = new(name)
    tagger.fit(GOLD)
    tagger.learning_rate, tagger.head_learning_rate, tagger.steps = 1e-7, 1e-7, 2
    tagger.fit([*GOLD, sentence("Grace", "Xanadu")], warm=True)
    assert strict_f1(GOLD, tagger.predict(GOLD)) > 0.95
    tagger.fit([sentence("Ada", "Oslo").with_entities([Entity(0, 1, "PER")])], warm=True)
    assert tagger.types == ("LOC", "PER"), "what gold does not have is not forgotten"
    assert strict_f1(GOLD, tagger.predict(GOLD)) > 0.95
    tagger.steps = 2
    tagger.fit(GOLD)
    assert strict_f1(GOLD, tagger.predict(GOLD)) < 0.9
    tagger.fit([*GOLD, Sentence(("Monday",), (Entity(0, 1, "DAY"),))], warm=True)
    assert tagger.types == ("DAY", "LOC", "PER")


# --- prediction -------------------------------------------------------------------------------------------------------


def test_labels_and_scores_do_not_depend_on_neighbours_or_order(trained):
    sentences = [*GOLD, *ODD]
    together = labels(trained.predict(sentences))
    assert any(together.values())
    assert labels(trained.predict(sentences[::-1])) == together
    assert labels(s for one in sentences for s in trained.predict([one])) == together
    assert labels(s for start in range(0, 20, 3) for s in trained.predict(sentences[start : start + 3])) == {
        s.id: together[s.id] for s in sentences
    }


def test_odd_words_and_long_sentences_are_labelled_to_their_end(name, new, trained):
    new(name, steps=2).fit(ODD)
    predicted = trained.predict(ODD)
    assert [s.words for s in predicted] == [s.words for s in ODD]
    assert Entity(600, 601, "LOC") in predicted[3].entities


def test_empty_input(trained):
    assert trained.predict([]) == []
    assert trained.certainty([]) == []


# --- certainty --------------------------------------------------------------------------------------------------------


def test_certainty_is_the_share_of_passes_that_predict_a_words_label(trained):
    shares = trained.certainty(GOLD, passes=4)
    assert [len(words) for words in shares] == [len(s) for s in GOLD]
    assert {share for words in shares for share in words} <= {0.0, 0.25, 0.5, 0.75, 1.0}
    assert {share for words in trained.certainty(GOLD, passes=1) for share in words} <= {0.0, 1.0}
    assert sum(map(sum, shares)) / sum(map(len, shares)) > 0.7


def test_certainty_is_the_same_after_loading(name, new, tmp_path: Path):
    """The dropout is neither that of the model nor the default."""
    tagger = new(name, steps=10, dropout=0.6)
    tagger.fit(GOLD)
    tagger.save(tmp_path / "tagger")
    expected = tagger.certainty(GOLD)
    assert load_tagger(tmp_path / "tagger").certainty(GOLD) == expected
    assert expected != new_dropout(tagger, 0.1).certainty(GOLD)


def new_dropout(tagger, rate):
    """The tagger with another dropout rate."""
    for module in tagger._network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = rate
    return tagger


def test_certainty_does_not_depend_on_neighbours_or_order(trained):
    sentences = [*GOLD, *ODD]
    together = trained.certainty(sentences, passes=3)
    assert trained.certainty(sentences[::-1], passes=3) == together[::-1]
    assert [trained.certainty([one], passes=3)[0] for one in sentences] == together


def test_certainty_judges_the_labels_of_the_given_sentences(trained):
    own = trained.predict(GOLD)
    swapped = [
        s.with_entities([Entity(e.start, e.end, {"PER": "LOC", "LOC": "PER"}[e.type]) for e in s.entities]) for s in own
    ]
    unknown = [s.with_entities([Entity(0, 1, "DAY")]) for s in own]
    right, wrong, none = (trained.certainty(sentences) for sentences in (own, swapped, unknown))
    for s, good, bad, nothing in zip(own, right, wrong, none, strict=True):
        named = [place for e in s.entities for place in e.positions]
        assert all(good[place] + bad[place] <= 1.0 for place in named)
        assert all(good[place] == bad[place] for place in range(len(s)) if place not in named)
        assert nothing[0] == 0.0
    assert sum(map(sum, right)) > sum(map(sum, wrong))


def test_certainty_depends_only_on_the_seed(trained):
    unsure = [s.with_entities([]) for s in ODD]
    first = trained.certainty(unsure, passes=20, seed=1)
    assert trained.certainty(unsure, passes=20, seed=1) == first
    assert trained.certainty(unsure, passes=20, seed=2) != first
    with pytest.raises(SettingsError, match="passes is 0"):
        trained.certainty(GOLD, passes=0)


def test_predictions_have_no_dropout_after_certainty(trained):
    before = labels(trained.predict(GOLD))
    trained.certainty(GOLD)
    assert labels(trained.predict(GOLD)) == before


# --- on disk ----------------------------------------------------------------------------------------------------------


def test_a_saved_tagger_predicts_the_same(trained, tmp_path: Path, capsys):
    trained.save(tmp_path / "tagger")
    again = load_tagger(tmp_path / "tagger")
    assert capsys.readouterr() == ("", "")
    assert type(again) is type(trained)
    assert labels(again.predict([*GOLD, *ODD])) == labels(trained.predict([*GOLD, *ODD]))
    assert again.certainty(ODD) == trained.certainty(ODD)
    assert (again.history, again.types) == (trained.history, trained.types)
    assert {path.suffix for path in (tmp_path / "tagger").iterdir()} <= {".safetensors", ".json", ".txt", ".py"}
    assert len({path.stat().st_mode for path in (tmp_path / "tagger").iterdir()}) == 1


def test_a_folder_does_not_choose_the_device(trained, tmp_path: Path):
    trained.save(tmp_path)
    description = tmp_path / "nersery.json"
    description.write_text(description.read_text("utf-8").replace('"device": "auto"', '"device": "cuda:7"'), "utf-8")
    assert load_tagger(tmp_path).device == "auto"


def test_damaged_folders_are_refused(trained, tmp_path: Path):
    trained.save(tmp_path)
    description = tmp_path / "nersery.json"
    whole = description.read_text("utf-8")
    description.write_text(whole.replace('"warmup"', '"warmdown"'), "utf-8")
    with pytest.raises(MissingResourceError, match=r'nersery\.json has "warmdown", .*known: .*, warmup') as caught:
        load_tagger(tmp_path)
    assert "__init__" not in str(caught.value)
    content = json.loads(whole)
    for wrong in ([], {"tagger": content["tagger"]}, *({**content, key: ["a"]} for key in content)):
        description.write_text(json.dumps(wrong), "utf-8")
        for load in (load_tagger, type(trained).load):
            with pytest.raises(MissingResourceError, match=r"nersery\.json is damaged: expected what"):
                load(tmp_path)
    description.write_text(whole, "utf-8")
    weights_file = tmp_path / "model.safetensors"
    weights_file.write_bytes(weights_file.read_bytes()[:-100])
    with pytest.raises(MissingResourceError, match=rf"{weights_file} is damaged: .*: train the tagger again"):
        load_tagger(tmp_path)
    weights_file.unlink()
    with pytest.raises(MissingResourceError, match=str(tmp_path)):
        load_tagger(tmp_path)
