"""The files and models that settings of methods name lie beside the recipe, whoever reads it and from where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nersery.core import descriptions, file_settings, registry
from nersery.core.typed_settings import FileName, ModelName
from nersery.experiments.recipe import load
from nersery.experiments.recipe_file.table_methods import with_paths

HERE = Path("elsewhere")


def entry(method: str, **settings: Any) -> dict[str, Any]:
    placed = with_paths({"systems": [{"method": method, **settings}]}, HERE)
    return placed["systems"][0]


@pytest.mark.parametrize(
    ("method", "setting"),
    [("aclm", "adapt"), ("aclm", "stop_words"), ("synonym_replacement", "table"), ("projected_labels", "more_source")],
)
def test_a_file_of_a_setting_lies_beside_the_recipe(method: str, setting: str):
    assert entry(method, **{setting: "raw.txt"})[setting] == str(HERE / "raw.txt")


def test_each_file_of_a_table_does():
    assert entry("code_mixing", vectors={"de": "de.vec"})["vectors"] == {"de": str(HERE / "de.vec")}


def test_no_file_stays_none_and_an_absolute_path_stays_one():
    assert entry("aclm", adapt="")["adapt"] == ""
    assert entry("aclm", adapt="/raw.txt")["adapt"] == "/raw.txt"


def test_selectors_the_tagger_and_methods_within_a_method():
    table = {
        "select": ["duplicates", {"method": "perplexity", "model": "lm"}],
        "tagger": {"method": "bilstm_crf", "vectors": "words.vec"},
        "systems": [
            {
                "method": "projected_labels",
                "source": "text.en",
                "aligner": {"method": "statistical", "priors": "known"},
                "select": [{"method": "self_training", "tagger": {"method": "bilstm_crf", "vectors": "words.vec"}}],
            }
        ],
    }
    placed = with_paths(table, HERE)
    system = placed["systems"][0]
    assert placed["select"] == table["select"]  # there is no folder lm, so it is a name
    assert placed["tagger"]["vectors"] == str(HERE / "words.vec")
    assert (system["source"], system["aligner"]["priors"]) == (str(HERE / "text.en"), str(HERE / "known"))
    assert system["select"][0]["tagger"]["vectors"] == str(HERE / "words.vec")


def test_a_preset_says_which_tagger_it_is():
    placed = with_paths({"tagger": {"preset": "promptda_bilstm", "vectors": "words.vec"}}, HERE)
    assert placed["tagger"]["vectors"] == str(HERE / "words.vec")


def test_settings_of_the_tagger_in_a_system_are_those_of_the_recipe_s_tagger():
    table = {"tagger": {"method": "bilstm_crf"}, "systems": [{"tagger_settings": {"vectors": "words.vec"}}]}
    assert with_paths(table, HERE)["systems"] == [{"tagger_settings": {"vectors": str(HERE / "words.vec")}}]


def test_a_method_within_that_is_not_named_is_the_default():
    placed = entry("projected_labels", source="text.en", aligner={"priors": "known"})
    assert placed["aligner"]["priors"] == str(HERE / "known")


def test_a_model_is_a_folder_where_there_is_one_beside_the_recipe(tmp_path: Path):
    (tmp_path / "lm").mkdir()
    (tmp_path / "bundled").mkdir()
    table = {"systems": [{"method": "melm", "model": name} for name in ("lm", "bundled", "bert-base-cased")]}
    models = [system["model"] for system in with_paths(table, tmp_path)["systems"]]
    assert models == [str(tmp_path / "lm"), "bundled", "bert-base-cased"]


@pytest.mark.parametrize("table", [{"systems": 3}, {"systems": [3]}, {"systems": [{"method": 3}]}, {"select": [3]}])
def test_what_is_no_recipe_stays_for_the_parser_to_refuse(table: dict[str, Any]):
    assert with_paths(table, HERE) == table


def test_files_named_on_the_command_line_start_from_where_the_user_is(tmp_path: Path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        'name = "r"\n[data]\ntrain = "t"\ndev = "d"\ntest = "e"\n[[systems]]\nmethod = "melm"\nadapt = "raw.txt"\n',
        "utf-8",
    )
    (beside,), (named,) = (
        [
            system.method.settings["adapt"]
            for system in load(str(recipe), overrides).systems
            if system.method is not None
        ]
        for overrides in ([], ["systems.melm.adapt=raw.txt"])
    )
    assert (beside, named) == (str(tmp_path / "raw.txt"), "raw.txt")


def test_no_setting_that_names_a_file_or_model_is_forgotten():
    marked = {
        "adapt",
        "stop_words",
        "table",
        "wordnet",
        "vectors",
        "priors",
        "source",
        "more_source",
        "more_target",
        "file",
    }
    models = {"model", "tagger", "sentence_encoder"}
    for kind in registry.KINDS:
        for name in registry.names(kind):
            types = {key: hint["type"] for key, hint in descriptions.describe(kind, name)["settings"].items()}
            texts = {key for key, type_ in types.items() if "str" in type_ and "Any" not in type_}
            models_here = set() if name.startswith("llm_") else texts & models  # a server knows that name
            naming = file_settings.naming(registry.get(kind, name))
            assert {key for key, type_ in naming.items() if type_ == FileName} == texts & marked, name
            assert {key for key, type_ in naming.items() if type_ == ModelName} == models_here, name
