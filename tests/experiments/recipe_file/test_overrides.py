from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from nersery.core.errors import SettingsError
from nersery.experiments.recipe import load
from nersery.experiments.recipe_file.overrides import settings_from, toml_value
from nersery.experiments.systems import MethodSettings
from nersery.io.input_files.shipped import shipped
from tests.experiments.recipe_helpers import GOOD, NAMED, Write, issue, issues


def test_a_number_of_thousands_of_digits_is_text() -> None:
    assert toml_value("1" * 5000) == "1" * 5000


class TestOverrides:
    def test_overrides_set_values_in_existing_and_new_sections(self, write: Write):
        overrides = ["sample.size=5", "tagger.steps=3", "tagger.scheme=BIOES", "seeds=[1, 2]", "name=with = sign"]
        recipe = load(write(GOOD), overrides)
        assert recipe.sample.size == 5
        assert recipe.tagger.settings["steps"] == 3
        assert recipe.tagger.settings["scheme"] == "BIOES"
        assert recipe.seeds == [1, 2]
        assert recipe.name == "with = sign"
        assert recipe.overrides == tuple(overrides)

    def test_quoted_keys_may_have_dots_and_spaces(self, write: Write):
        recipe = write(GOOD.replace("mention_replacement", "label_conditioned"))
        loaded = load(recipe, ['systems.label_conditioned.definitions."U.S. City"=a city'])
        assert loaded.systems[1].method is not None
        assert loaded.systems[1].method.settings["definitions"] == {"U.S. City": "a city"}

    def test_the_last_one_wins(self, write: Write):
        assert load(write(GOOD), ["name=a", "name=b"]).name == "b"

    def test_systems_are_addressed_by_name(self, write: Write):
        overrides = [
            "systems.first, v1.5.copies=2",
            "systems.mention_replacement.copies=3",
            "systems.other 🚀.copies=4",
            "systems.first, v1.5.rate=0.25",
        ]
        systems = load(write(NAMED), overrides).systems[1:]
        assert [system.copies for system in systems] == [2, 3, 4]
        assert systems[0].method == MethodSettings("mention_replacement", {"rate": 0.25})

    def test_a_named_system_can_be_addressed_by_its_method(self, write: Write):
        assert load(write(NAMED), ["systems.shuffle_within_segments.copies=7"]).systems[3].copies == 7

    def test_refuses_a_method_that_two_systems_share(self, write: Write):
        text = NAMED.replace("[[systems]]\nmethod", '[[systems]]\nname = "second"\nmethod')
        message = issue(write(text), "systems.mention_replacement.copies=7")
        assert '2 entries are called "mention_replacement"; expected one of first, v1.5, second, other 🚀' in message

    def test_a_renamed_system_is_addressed_by_its_new_name(self, write: Write):
        assert load(write(GOOD), ["systems.mention_replacement.name=x", "systems.x.copies=2"]).systems[1].copies == 2

    @pytest.mark.parametrize(
        ("override", "message"),
        [
            ("steps", "expected key=value"),
            ("=3", "expected key=value"),
            (" = 3", "expected key=value"),
            ("tagger..steps=3", "expected key=value"),
            ("systems.nobody.copies=3", 'no entry "nobody"; known: first, v1.5, mention_replacement, other'),
            ("systems.copies=3", "name the entry, e.g. systems.NAME.copies"),
            ("systems.other 🚀=3", "name the entry"),
            ("name.x=3", "name is a single value, not a section"),
            ("data.train.x=3", "train is a single value, not a section"),
            ("seeds.0.x=3", "seeds"),
            ("description=caf\udce9", "this is not UTF-8"),
            ("data.languages=[en, hi]", 'quotes: data.languages=["PER", "LOC"]'),
            ("tagger.stepz=3", 'no setting "stepz"; did you mean "steps"'),
            ("tagger.x.y=3", 'no setting "x"'),
            ("evalute.bootstrap_samples=100", 'unknown key "evalute"; did you mean "evaluate"'),
        ],
    )
    def test_refuses_wrong_overrides(self, write: Write, override: str, message: str):
        found = issue(write(f"seeds = [0, 1]\n{NAMED}"), override)
        assert message in found
        assert found.isprintable() or "🚀" in found

    def test_reports_all_wrong_overrides_among_valid_ones(self, write: Write):
        assert len(issues(write(GOOD), "x", "name=ok", "y", "seeds=3")) == 3

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("1e-4", 1e-4),
            ("true", True),
            ('"5"', "5"),
            ("bert-base-cased", "bert-base-cased"),
            ("", ""),
            ("1\nother = 2", "1\nother = 2"),
            ("[1, 2", "[1, 2"),
            ("#", "#"),
            ("{ a = 1 }", {"a": 1}),
            ("[" * 100_000, "[" * 100_000),
        ],
    )
    def test_values_are_toml_or_else_text(self, text: str, value: Any):
        assert toml_value(text) == value

    def test_parses_settings_of_a_method(self):
        assert settings_from(["definitions.'नया शहर'=city", 't."a.b"=1']) == {
            "definitions": {"नया शहर": "city"},
            "t": {"a.b": 1},
        }
        assert settings_from(["rate=0.3", " table = a=b.tsv"]) == {"rate": 0.3, "table": " a=b.tsv"}
        with pytest.raises(SettingsError) as caught:
            settings_from(["rate", "rate=0.3", "=x"])
        assert str(caught.value).count("expected key=value") == 2

    @pytest.mark.parametrize(
        ("pair", "right"),
        [
            ("types=[PER,LOC]", """'types=["PER", "LOC"]'"""),
            ("types=[PER]", """'types=["PER", "LOC"]'"""),
            ("definitions={PER=named person}", """'definitions={ PER = "person" }'"""),
        ],
    )
    def test_shows_the_quotes_that_the_shell_removed(self, pair: str, right: str):
        of_library = right.replace("'", "")
        with pytest.raises(
            SettingsError, match=rf"`overrides` {re.escape(pair)}: this .* quotes: {re.escape(of_library)}$"
        ):
            settings_from([pair])
        assert settings_from(["table=[1].tsv", "x=[]", "y={}"]) == {"table": "[1].tsv", "x": [], "y": {}}

    def test_a_path_of_windows_needs_other_slashes(self):
        with pytest.raises(SettingsError, match="For a path of Windows, write / in place of"):
            settings_from(['files={ PER = "C:\\Users\\names.txt" }'])

    def test_sets_single_entries_of_a_table(self):
        pairs = ['vectors={ en = "a.vec" }', "vectors.hi=b.vec", "definitions.Gene.x=part of DNA"]
        assert settings_from(pairs) == {
            "vectors": {"en": "a.vec", "hi": "b.vec"},
            "definitions": {"Gene.x": "part of DNA"},
        }
        with pytest.raises(SettingsError, match=r'"rate\.en=1": rate is a single value, not a table'):
            settings_from(["rate=0.3", "rate.en=1"])
        with pytest.raises(SettingsError, match='"vectors=b": this would overwrite an entry of vectors'):
            settings_from(["vectors.en=a", "vectors=b"])


class TestPaths:
    def test_paths_in_the_recipe_are_relative_to_its_folder(
        self, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        recipe = load(write(GOOD))
        assert recipe.path(recipe.data.train) == tmp_path / "train.conll"
        monkeypatch.chdir(tmp_path.parent)
        recipe = load(f"{tmp_path.name}/recipe.toml")
        assert recipe.path(recipe.data.train) == Path(tmp_path.name) / "train.conll"
        assert recipe.path("/abs/train.conll") == Path("/abs/train.conll")

    @pytest.mark.parametrize("value", ["new data.conll", '"new data.conll"', "./new data.conll"])
    def test_paths_on_the_command_line_are_relative_to_the_working_directory(
        self, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
    ):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.chdir(elsewhere)
        recipe = load(write(GOOD), [f"data.train={value}"])
        assert recipe.path(recipe.data.train) == elsewhere / "new data.conll"
        assert recipe.path(recipe.data.test) == tmp_path / "test.conll"

    def test_a_number_may_be_a_file_name(self, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.chdir(tmp_path)
        assert load(write(GOOD), ["data.train=2024"]).data.train == str(tmp_path / "2024")

    def test_expands_the_home_directory(self, write: Write, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("HOME", "/home/ada")
        recipe = load(write(GOOD.replace('"train.conll"', '"~/train.conll"')), ["data.test=~/test.conll"])
        assert str(recipe.path(recipe.data.train)) == "/home/ada/train.conll"
        assert recipe.data.test == "/home/ada/test.conll"
        assert os.sep in load(write(GOOD), ["data.train=~no-such-user/x"]).data.train

    def test_sets_files_by_language_on_the_command_line(
        self, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.chdir(elsewhere)
        path = write(GOOD.replace('"train.conll"', '{ en = "en.conll", hi = "hi.conll" }'))
        overrides = ["data.train.hi=new.conll", "data.train.ta=~no-such-user/ta.conll", "data.dev.en=example:dev.conll"]
        data = load(path, overrides).data
        assert data.train == {
            "en": "en.conll",
            "hi": str(elsewhere / "new.conll"),
            "ta": str(elsewhere / "~no-such-user/ta.conll"),
        }
        assert data.dev == {"en": "example:dev.conll"}
        data = load(path, ['data.train={ de = "de.conll" }', "data.test=new.conll"]).data
        assert data.train == {"de": str(elsewhere / "de.conll")}
        assert data.test == str(elsewhere / "new.conll")
        assert load(path, ["data.train=one.conll"]).data.train == str(elsewhere / "one.conll")
        data = load(path, ['data={ train = "a.conll", test = { ta = "ta.conll" }, encoding = "latin-1" }']).data
        assert (data.train, data.test) == (str(elsewhere / "a.conll"), {"ta": str(elsewhere / "ta.conll")})
        assert data.encoding == "latin-1"
        assert issue(path, "data.train.hi=") == "data.train.hi is '': expected a file"
        assert "data.train is ['a.conll', 'b.conll']: expected a string" in issue(
            path, 'data.train=["a.conll", "b.conll"]'
        )

    @pytest.mark.parametrize("value", ["example:train.conll", '"example:train.conll"'])
    def test_example_files_are_found(self, write: Write, value: str):
        recipe = load(write(GOOD), [f"data.train={value}"])
        assert recipe.path(recipe.data.train) == shipped("recipes/example") / "train.conll"

    def test_an_empty_override_removes_dev(self, write: Write):
        assert not load(write(GOOD.replace("[[", 'dev = "dev.conll"\n[[')), ["data.dev="]).data.dev
