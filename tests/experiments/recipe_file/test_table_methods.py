"""Files and models in settings of methods are relative to the recipe, wherever it is read from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nersery.core import registry
from nersery.core.settings import descriptions, file_settings
from nersery.core.settings.typed_settings import FileName, ModelName
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
def test_a_file_in_a_setting_is_relative_to_the_recipe(method: str, setting: str):
    assert entry(method, **{setting: "raw.txt"})[setting] == str(HERE / "raw.txt")


def test_each_file_in_a_table_is_relative_to_the_recipe():
    assert entry("code_mixing", vectors={"de": "de.vec"})["vectors"] == {"de": str(HERE / "de.vec")}


def test_empty_and_absolute_paths_are_unchanged():
    assert entry("aclm", adapt="")["adapt"] == ""
    assert entry("aclm", adapt="/raw.txt")["adapt"] == "/raw.txt"


def test_paths_of_selectors_tagger_and_nested_methods_are_resolved():
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


def test_a_preset_determines_the_tagger_whose_paths_are_resolved():
    placed = with_paths({"tagger": {"preset": "promptda_bilstm", "vectors": "words.vec"}}, HERE)
    assert placed["tagger"]["vectors"] == str(HERE / "words.vec")


def test_tagger_settings_of_a_system_are_resolved_like_the_recipe_s_tagger():
    table = {"tagger": {"method": "bilstm_crf"}, "systems": [{"tagger_settings": {"vectors": "words.vec"}}]}
    assert with_paths(table, HERE)["systems"] == [{"tagger_settings": {"vectors": str(HERE / "words.vec")}}]


def test_an_unnamed_nested_method_is_the_default():
    placed = entry("projected_labels", source="text.en", aligner={"priors": "known"})
    assert placed["aligner"]["priors"] == str(HERE / "known")


def test_a_model_is_a_folder_if_one_exists_next_to_the_recipe(tmp_path: Path):
    (tmp_path / "lm").mkdir()
    (tmp_path / "bundled").mkdir()
    table = {"systems": [{"method": "melm", "model": name} for name in ("lm", "bundled", "bert-base-cased")]}
    models = [system["model"] for system in with_paths(table, tmp_path)["systems"]]
    assert models == [str(tmp_path / "lm"), "bundled", "bert-base-cased"]


@pytest.mark.parametrize("table", [{"systems": 3}, {"systems": [3]}, {"systems": [{"method": 3}]}, {"select": [3]}])
def test_malformed_recipes_are_left_for_the_parser_to_refuse(table: dict[str, Any]):
    assert with_paths(table, HERE) == table


def test_files_on_the_command_line_are_relative_to_the_working_directory(tmp_path: Path):
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


def test_every_setting_that_names_a_file_or_model_is_marked():
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
        "files",
    }
    models = {"model", "tagger", "sentence_encoder"}
    for kind in registry.KINDS:
        for name in registry.names(kind):
            types = {key: hint["type"] for key, hint in descriptions.describe(kind, name)["settings"].items()}
            texts = {key for key, type_ in types.items() if "str" in type_ and "Any" not in type_}
            models_here = set() if name.startswith("llm_") else texts & models  # the model name is for a server
            naming = file_settings.file_and_model_types(registry.get(kind, name))
            assert {key for key, type_ in naming.items() if type_ == FileName} == texts & marked, name
            assert {key for key, type_ in naming.items() if type_ == ModelName} == models_here, name
