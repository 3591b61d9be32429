"""One option replaces all models of a recipe; missing models are reported with a remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.experiments.recipe import load, shipped_recipes
from nersery.experiments.recipe_file.model_sets import CHECKPOINTS, MODELS, PAPER, conversion, with_models
from nersery.experiments.run_state.prerequisites import _advice, check_prerequisites
from tests.experiments.recipe_helpers import GOOD, Write

EVERYWHERE = (
    GOOD
    + """
[[systems]]
method = "aclm"
sentence_encoder = "some/encoder"
select = ["perplexity", { method = "agreement", tagger = "some/tagger" }]
[[systems]]
method = "mulda"
[[systems]]
name = "after"
base = "mulda"
method = "melm"
[[systems]]
method = "tagger_labels"
teacher = { model = "some/encoder", steps = 3 }
[tagger]
preset = "melm"
epochs = 2
"""
).replace('test = "', 'raw = "raw.txt"\ntest = "')


def test_replaces_all_models(write: Write, capsys) -> None:
    recipe = load(write(EVERYWHERE), models="bundled-multilingual")
    aclm, labels = recipe.system("aclm"), recipe.system("tagger_labels")
    assert aclm.method is not None
    assert labels.method is not None
    chosen = "bundled-multilingual"
    assert (aclm.method.settings["model"], aclm.method.settings["sentence_encoder"]) == (chosen, chosen)
    perplexity, agreement = aclm.select
    assert (perplexity.settings["model"], agreement.settings["tagger"]) == (chosen, None)
    assert labels.method.settings["teacher"] == {"model": chosen, "steps": 3}
    assert recipe.tagger.settings["model"] == chosen


def test_replacing_the_model_of_a_preset_drops_its_rates(write: Write) -> None:
    tagger = load(write(EVERYWHERE), models="bundled").tagger.settings
    assert (tagger["learning_rate"], tagger["head"], tagger["epochs"]) == (None, "crf", 2)


def test_leaves_out_systems_without_a_model_and_those_that_need_them(write: Write) -> None:
    assert [s.name for s in load(write(EVERYWHERE), models="bundled").systems[2:]] == ["aclm", "tagger_labels"]
    notes = with_models({"systems": [{"method": "mulda"}, {"name": "b", "merge": ["mulda"]}]}, "bundled")[1]
    assert notes == [
        "mulda is left out: there is no bundled encoder-decoder",
        'b is left out: there is no bundled model for "mulda", which it needs',
    ]


def test_leaves_out_the_sweep_of_a_left_out_system(write: Write) -> None:
    sweep = '[sweep]\nsettings = [{ system = "mulda", copies = [1, 2] }, { system = "c", copies = [1, 2] }]\n'
    systems = '[[systems]]\nmethod = "mulda"\n[[systems]]\nname = "c"\nmethod = "eda"\n'
    head = 'name = "x"\n[data]\ntrain = "a"\ntest = "b"\n'
    assert len(load(write(head + systems + sweep)).systems) == 5
    assert [one.name for one in load(write(head + systems + sweep), models="bundled").systems] == [
        "gold", "c", "c copies=2"
    ]  # fmt: skip


def test_paper_replaces_only_bundled_models(write: Write) -> None:
    recipe = load(write(EVERYWHERE), models=PAPER)
    aclm, after = recipe.system("aclm").method, recipe.system("after").method
    assert aclm is not None
    assert after is not None
    assert (aclm.settings["model"], aclm.settings["sentence_encoder"]) == ("facebook/mbart-large-50", "some/encoder")
    assert after.settings["model"] == "xlm-roberta-base"


@pytest.mark.parametrize(
    ("name", "model", "rate"), [("aclm", "xlm-roberta-large", 1e-2), ("demo", "xlm-roberta-large", 2e-5)]
)
def test_a_bundled_tagger_gets_the_paper_s_settings(name: str, model: str, rate: float) -> None:
    settings = load(name, models=PAPER).tagger.settings
    assert (settings["model"], settings["learning_rate"], settings["steps"]) == (model, rate, None)


def test_overrides_apply_after_the_model_set(write: Write) -> None:
    recipe = load(write(EVERYWHERE), ["tagger.model=mine"], "bundled")
    assert recipe.tagger.settings["model"] == "mine"


@pytest.mark.parametrize("name", shipped_recipes())
@pytest.mark.parametrize("models", MODELS)
def test_every_shipped_recipe_accepts_every_model_set(name: str, models: str) -> None:
    assert load(name, models=models).models == models


def test_steps_replace_the_epochs_of_a_preset() -> None:
    settings = load("melm", ["tagger.steps=7"], PAPER).tagger.settings
    assert (settings["steps"], settings["epochs"]) == (7, None)


def test_refuses_an_unknown_model_set() -> None:
    with pytest.raises(SettingsError, match=r'`models` "bundle" is unknown; did you mean "bundled"'):
        load("demo", models="bundle")


def test_missing_models_are_listed_with_size_and_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    with pytest.raises(MissingResourceError) as raised:
        check_prerequisites(load("aclm_multilingual"))
    message = str(raised.value)
    assert message.startswith(
        "4 models of the recipe are not on this machine:\n  xlm-roberta-large (2.2 GB), for trans"
    )
    assert "facebook/mbart-large-50 (2.4 GB), for mulda, aclm\n" in message
    assert "6.2 GB of disk" in message
    assert "All need" in message
    assert conversion("facebook/mbart-large-50", "mbart-large-50") in message
    assert 'models="bundled" runs it with the small models that come with nersery, and leaves out "mulda"' in message


def test_a_single_missing_model_is_reported_in_the_singular() -> None:
    text = _advice(load("aclm_multilingual"), {"facebook/mbart-large-50": ["mulda"]})
    assert text.startswith("1 model of the recipe is not on this machine:\n")


def test_the_models_of_papers_are_known() -> None:
    named = {name for name in MODELS[PAPER].values() if name}
    assert named <= CHECKPOINTS.keys()
    compile(conversion("facebook/mbart-large-50", "folder"), "conversion", "exec")
