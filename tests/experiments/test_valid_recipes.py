from __future__ import annotations

from pathlib import Path

import pytest

from nersery.core import registry
from nersery.experiments.recipe import load, shipped_recipes
from nersery.experiments.recipe_file.data_files import SPLITS
from nersery.experiments.recipe_file.table_methods import presets
from nersery.experiments.systems import MethodSettings, System
from nersery.io.input_files.shipped import shipped
from nersery.report.system_names import GOLD
from tests.experiments.recipe_helpers import CHAIN, GOOD, NAMED, Write

NEED_FILES = {
    "code_mixing",
    *(name for name in shipped_recipes() if name.endswith(("_paper", "_multilingual", "_tuning"))),
}
"""Shipped recipes whose files the user must provide."""


class TestGoodRecipes:
    def test_omitted_settings_have_defaults(self, write: Write):
        recipe = load(write(GOOD))
        assert (recipe.name, recipe.seeds, recipe.keep_taggers, recipe.sample.size) == ("mine", [0], True, None)
        assert recipe.tagger.method == "transformer"
        assert recipe.tagger.settings == registry.defaults("tagger", "transformer")
        assert recipe.systems[0] == System(GOLD)
        assert recipe.systems[1].name == "mention_replacement"
        assert recipe.systems[1].method == MethodSettings("mention_replacement", {"rate": 0.3})

    def test_a_recipe_without_systems_is_only_the_baseline(self, write: Write):
        assert load(write(GOOD.split("[[")[0])).systems == [System(GOLD)]

    def test_accepts_a_byte_order_mark_and_windows_line_endings(self, tmp_path: Path):
        path = tmp_path / "recipe.toml"
        path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
        assert load(str(path)).name == "mine"

    def test_systems_without_selectors_get_those_of_the_recipe(self, write: Write):
        text = 'select = ["duplicates"]\n' + NAMED.replace("[[systems]]", "[[systems]]\nselect = []", 1)
        first, second, third = load(write(text)).systems[1:]
        assert first.select == []
        assert [selector.method for selector in second.select] == ["duplicates"]
        assert second.select == third.select

    def test_a_selector_may_have_settings(self, write: Write):
        recipe = load(write(GOOD + 'select = [{ method = "duplicates", similarity = 0.9 }]\n'))
        assert recipe.systems[1].select[0].settings["similarity"] == 0.9

    def test_a_recipe_is_converted_to_json(self, write: Write):
        recipe = load(write(GOOD), ["seeds=[1]"])
        assert recipe.as_dict()["systems"][1]["method"] == {
            "method": "mention_replacement",
            "settings": {"rate": 0.3},
            "kind": "augment",
        }
        assert not {"source", "overrides"} & set(recipe.as_dict())

    @pytest.mark.parametrize("name", ["देवनागरी", "نص‌ها", "a 👩‍🔬 b", "v1.5", "x" * 200, "con : * ?"])
    def test_accepts_names_in_any_script(self, write: Write, name: str):
        assert load(write(GOOD + f'name = "{name}"')).systems[1].name == name

    @pytest.mark.parametrize("name", shipped_recipes())
    def test_shipped_recipes_are_valid(self, name: str):
        recipe = load(name)
        assert recipe.description
        files = [file for split in SPLITS for file in recipe.data.files(split)]
        assert {file.split for file in files} >= {"train", "dev", "test"}
        for file in files:
            assert recipe.path(file.name).is_file() != (name in NEED_FILES)

    def test_a_system_may_have_a_base(self, write: Write):
        recipe = load(write(CHAIN), ["systems.c.base=a", "systems.c.copies=3"])
        assert [system.base for system in recipe.systems] == ["", "", "a", "a"]
        assert recipe.systems[3].copies == 3
        assert recipe.as_dict()["systems"][2]["base"] == "a"
        assert "base" not in recipe.systems[2].method.settings

    def test_accepts_a_file_for_each_language(self, write: Write, tmp_path: Path):
        table = '{ zh-Hant = "../zh.jsonl", en = "example:train.conll", hi = "हिंदी/train.conll" }'
        recipe = load(write(GOOD.replace('"train.conll"', table)))
        files = recipe.data.files("train")
        assert [file.label for file in files] == ["train (en)", "train (hi)", "train (zh-Hant)"]
        assert [recipe.path(file.name) for file in files] == [
            shipped("recipes/example") / "train.conll",
            tmp_path / "हिंदी/train.conll",
            tmp_path / "../zh.jsonl",
        ]
        assert [file.label for file in recipe.data.files("test")] == ["test"]
        assert recipe.data.files("dev") == []
        assert [recipe.data.has_languages(split) for split in SPLITS] == [True, False, False, False]
        assert recipe.as_dict()["data"]["train"]["hi"] == "हिंदी/train.conll"


class TestPresets:
    def test_settings_override_a_preset(self, write: Write):
        settings = load(write(GOOD + '[tagger]\npreset = "melm"\nbatch_size = 3\n')).tagger.settings
        assert settings["model"] == presets()["melm"]["model"] == "xlm-roberta-large"
        assert settings["batch_size"] == 3
        assert "preset" not in settings

    def test_steps_override_the_epochs_of_a_preset(self, write: Write):
        settings = load(write(GOOD + '[tagger]\npreset = "melm"\n'), ["tagger.steps=7"]).tagger.settings
        assert (settings["steps"], settings["epochs"]) == (7, None)

    @pytest.mark.parametrize("name", presets())
    def test_every_preset_is_applied(self, write: Write, name: str):
        tagger, preset = load(write(GOOD), [f"tagger.preset={name}"]).tagger, presets()[name]
        own = {key: value for key, value in preset.items() if key not in ("method", "description")}
        assert tagger.method == preset.get("method", "transformer")
        assert tagger.settings.items() >= own.items()
