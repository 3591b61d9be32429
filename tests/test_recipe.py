from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nersery import registry
from nersery.arms import GOLD, Arm, MethodSettings
from nersery.errors import SettingsError
from nersery.overrides import SPLITS, settings_of, toml_value
from nersery.places import presets, shipped
from nersery.recipe import load, shipped_recipes

GOOD = """
name = "mine"
[data]
train = "train.conll"
test = "test.conll"
[[augment]]
method = "mention_replacement"
"""
NAMED = """
name = "mine"
[data]
train = "train.conll"
test = "test.conll"
[[augment]]
name = "first, v1.5"
method = "mention_replacement"
[[augment]]
method = "mention_replacement"
[[augment]]
name = "other 🚀"
method = "shuffle_within_segments"
"""
CHAIN = """
name = "chain"
[data]
train = "train.conll"
test = "test.conll"
[[augment]]
name = "a"
method = "mention_replacement"
[[augment]]
name = "b"
on = "a"
method = "shuffle_within_segments"
[[augment]]
name = "c"
on = "b"
method = "label_wise_token_replacement"
"""
NEED_FILES = {"code_mixing"}
"""Shipped recipes that leave the files to their user."""

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a recipe and gives its path."""

    def write(text: str) -> str:
        path = tmp_path / "recipe.toml"
        path.write_text(text, "utf-8")
        return str(path)

    return write


def problems(recipe: str, *overrides: str) -> list[str]:
    """What a recipe is refused for, one problem an item, in order and numbered."""
    with pytest.raises(SettingsError) as caught:
        load(recipe, overrides)
    head, *lines = str(caught.value).split("\n  ")
    numbers, messages = zip(*(line.split(". ", 1) for line in lines), strict=True)
    assert list(numbers) == [str(number) for number in range(1, len(lines) + 1)]
    noun = "problem" if len(lines) == 1 else "problems"
    assert head == f"{recipe}: {len(lines)} {noun} in the recipe"
    return list(messages)


def problem(recipe: str, *overrides: str) -> str:
    """The only thing that a recipe is refused for."""
    (only,) = problems(recipe, *overrides)
    return only


class TestGoodRecipes:
    def test_what_is_not_said_has_defaults(self, write: Write):
        recipe = load(write(GOOD))
        assert (recipe.name, recipe.seeds, recipe.keep_taggers, recipe.sample.size) == ("mine", [0], True, None)
        assert recipe.tagger.method == "transformer"
        assert recipe.tagger.settings == registry.defaults("tagger", "transformer")
        assert recipe.arms[0] == Arm(GOLD)
        assert recipe.arms[1].name == "mention_replacement"
        assert recipe.arms[1].method == MethodSettings("mention_replacement", {"rate": 0.3})

    def test_no_arm_is_a_baseline_alone(self, write: Write):
        assert load(write(GOOD.split("[[")[0])).arms == [Arm(GOLD)]

    def test_a_byte_order_mark_and_windows_line_ends(self, tmp_path: Path):
        path = tmp_path / "recipe.toml"
        path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
        assert load(str(path)).name == "mine"

    def test_selectors_of_the_recipe_are_those_of_arms_that_have_none(self, write: Write):
        text = 'select = ["duplicates"]\n' + NAMED.replace("[[augment]]", "[[augment]]\nselect = []", 1)
        first, second, third = load(write(text)).arms[1:]
        assert first.select == []
        assert [selector.method for selector in second.select] == ["duplicates"]
        assert second.select == third.select

    def test_a_selector_with_settings(self, write: Write):
        recipe = load(write(GOOD + 'select = [{ method = "duplicates", similarity = 0.9 }]\n'))
        assert recipe.arms[1].select[0].settings["similarity"] == 0.9

    def test_all_of_it_is_json(self, write: Write):
        recipe = load(write(GOOD), ["seeds=[1]"])
        assert recipe.as_dict()["arms"][1]["method"] == {
            "method": "mention_replacement",
            "settings": {"rate": 0.3},
            "kind": "augment",
        }
        assert not {"source", "overrides"} & set(recipe.as_dict())

    @pytest.mark.parametrize("name", ["देवनागरी", "نص‌ها", "a 👩‍🔬 b", "v1.5", "x" * 200, "con : * ?"])
    def test_names_in_any_script(self, write: Write, name: str):
        assert load(write(GOOD + f'name = "{name}"')).arms[1].name == name

    @pytest.mark.parametrize("name", shipped_recipes())
    def test_shipped_recipes(self, name: str):
        recipe = load(name)
        assert recipe.description
        files = [file for split in SPLITS for file in recipe.data.files(split)]
        assert {file.split for file in files} >= {"train", "dev", "test"}
        for file in files:
            assert recipe.path(file.name).is_file() != (name in NEED_FILES)

    def test_an_arm_that_goes_on_from_another(self, write: Write):
        recipe = load(write(CHAIN), ["augment.c.on=a", "augment.c.copies=3"])
        assert [arm.on for arm in recipe.arms] == ["", "", "a", "a"]
        assert recipe.arms[3].copies == 3
        assert recipe.as_dict()["arms"][2]["on"] == "a"
        assert "on" not in recipe.arms[2].method.settings

    def test_a_file_for_each_language(self, write: Write, tmp_path: Path):
        table = '{ zh-Hant = "../zh.jsonl", en = "example:train.conll", hi = "हिंदी/train.conll" }'
        recipe = load(write(GOOD.replace('"train.conll"', table)))
        files = recipe.data.files("train")
        assert [file.label for file in files] == ["train (en)", "train (hi)", "train (zh-Hant)"]
        assert [recipe.path(file.name) for file in files] == [
            shipped("examples") / "train.conll",
            tmp_path / "हिंदी/train.conll",
            tmp_path / "../zh.jsonl",
        ]
        assert [file.label for file in recipe.data.files("test")] == ["test"]
        assert recipe.data.files("dev") == []
        assert [recipe.data.has_languages(split) for split in SPLITS] == [True, False, False, False]
        assert recipe.as_dict()["data"]["train"]["hi"] == "हिंदी/train.conll"


class TestWrongRecipes:
    def test_everything_at_once(self, write: Write):
        found = problems(
            write(
                """
nane = "x"
seeds = [0, 0]
keep_taggers = "yes"
select = "duplicates"
[data]
trian = "a"
[sample]
size = "many"
[tagger]
preset = "mlem"
method = "transfomer"
[evaluate]
bootstrap_samples = 5
[[augment]]
method = "mention_replacment"
[[augment]]
method = "mention_replacement"
rate = 1.5
copies = 0
[[augment]]
copies = 2
[[augment]]
name = "../x"
method = "mention_replacement"
select = ["agrement", 5]
"""
            ),
            "seeds.x=3",
        )
        expected = [
            '--set "seeds.x=3": say which entry',
            'unknown key "nane"; did you mean "name"?',
            "select is 'duplicates', not a list",
            'augment 1 "mention_replacment": no augment method is called "mention_replacment"; did you mean "mention_r',
            'augment 2 "mention_replacement": rate is 1.5, expected a probability from 0 to 1',
            'augment 2 "mention_replacement": copies is 0, expected a whole number, 1 or more',
            "augment 3: method is missing; known: ",
            "augment 4 \"../x\": its name is '../x': expected one without slashes",
            'augment 4 "../x": select: no select method is called "agrement"; did you mean "agreement"?',
            'augment 4 "../x": select: 5 is no selector',
            'data has no setting "trian"; did you mean "train"?',
            'data needs the setting "train"',
            'data needs the setting "test"',
            "sample.size is 'many': Input should be a valid integer",
            'tagger.preset "mlem" is unknown; did you mean "melm"?',
            'tagger: no tagger method is called "transfomer"; did you mean "transformer"?',
            "name is missing: expected e.g.",
            "keep_taggers is 'yes': expected true or false",
            "seeds is [0, 0]: expected a list of different whole numbers",
            "evaluate.bootstrap_samples is 5, expected 100",
        ]
        assert len(found) == len(expected)
        for message, start in zip(found, expected, strict=True):
            assert message.startswith(start)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("seeds = 3", "seeds is 3: expected a list"),
            ("seeds = []", r"seeds is \[\]"),
            ("seeds = [0, -1]", "seeds is"),
            ("seeds = [true, false]", r"seeds is \[True, False\]"),
            ("seeds = [0.5]", "seeds is"),
            ('seeds = ["0"]', "seeds is"),
            (f"seeds = [{2**32}]", "from 0 to 4294967295"),
            ("description = 3", "description is 3: expected a string"),
            ("data = 3", r"data is not a section \[data\]"),
            ("data = { train = 'a', test = 'b', encoding = 'klingon' }", 'data: there is no encoding "klingon"'),
            ("data = { train = 'a', test = 'b', format = 'xml' }", 'data: there is no input format "xml"'),
            ("data = { train = 'a', test = 'b', repair = ['x'] }", 'data: there is no repair "x"'),
            ("data = { train = 'a', test = 'b', repair = 'x' }", "data.repair is 'x': expected a list, e.g. "),
            ("data = { train = 'a', test = 'b', scheme = 'BOI' }", "data: .*BOI"),
            ("data = { train = '', test = 'b' }", "data.train is empty: expected a file"),
            (
                "data = { train = 'a', test = {} }",
                "data.test is an empty table: expected a file for each language, e.g. {",
            ),
            ("data = { train = 'a', test = 'b', dev = {} }", "data.dev is an empty table"),
            ("data = { train = { en = '' }, test = 'b' }", "data.train.en is '': expected a file"),
            ("data = { train = 'a', dev = { en = 'a', hi = 3 }, test = 'b' }", "data.dev.hi is 3: expected a file"),
            (
                "data = { train = { hindi = 'a' }, test = 'b' }",
                "data.train: 'hindi' is no language, expected a BCP 47 tag",
            ),
            ("data = { train = { 'हि' = 'a' }, test = 'b' }", "data.train: 'हि' is no language"),
            ("data = { train = { '' = 'a' }, test = 'b' }", "data.train: '' is no language"),
            ("data = { train = { 'en/../x' = 'a' }, test = 'b' }", "is no language"),
            ("data = { train = { en = 'a', EN = 'b' }, test = 'b' }", "data.train: en and EN are one language"),
            ("data = { train = { en = 'a', hi = 'a' }, test = 'b' }", "data.train: en and hi have the same file, a"),
            ("data = { train = ['a', 'b'], test = 'b' }", r"data.train is \['a', 'b'\]"),
            ("data = { train = 'a', test = 'b', word_column = 0 }", "data: word_column is 0"),
            ("data = { train = 'a', test = 'b', tag_column = true }", "data.tag_column is True"),
            ("sample = 3", r"sample is not a section \[sample\]"),
            ("sample = { size = 0 }", "sample.size is 0, expected 1 or more"),
            ("sample = { size = true }", "sample.size is True"),
            ("sample = { dev_size = -1 }", "sample.dev_size is -1, expected 1 or more"),
            (
                "sample = { protocol = 'stratifed' }",
                'sample.protocol "stratifed" is unknown; did you mean "stratified"',
            ),
            ("sample = { sizes = 3 }", 'sample has no setting "sizes"; did you mean "size"'),
            ("tagger = 3", r"tagger is not a section \[tagger\]"),
            ("tagger = { steps = 0 }", "tagger: .*steps is 1 or more"),
            ("tagger = { steps = true }", "tagger: transformer.steps is True"),
            ("tagger = { steps = 3, epochs = 3 }", "tagger: .*only one of steps and epochs"),
            ("tagger = { learning_rate = 'high' }", "tagger: transformer.learning_rate is 'high'"),
            ("tagger = { clip = inf }", "tagger: transformer.clip is inf: expected finite numbers"),
            ("tagger = { head = 'crff' }", "tagger: transformer.head is 'crff'"),
            ("tagger = { method = 3 }", "tagger: method is 3; known: bilstm_crf, transformer"),
            ("tagger = { preset = ['melm'] }", "tagger.preset .* is unknown"),
            ("evaluate = { bootstrap_samples = 99 }", "bootstrap_samples is 99, expected 100"),
            ("evaluate = { bootstrap_samples = 1000000000000 }", "expected 100 to 10000000"),
            ("evaluate = { samples = 100 }", 'evaluate has no setting "samples"'),
            ("augment = 3", r"augment is 3, not a list: write \[\[augment\]\]"),
            ("augment = [3]", r"augment 1 is 3; write \[\[augment\]\]"),
            ("augment = [{ method = 3 }]", "augment 1: method is 3; known: "),
            ("augment = [{ method = 'mention_replacement', rat = 0.3 }]", 'no setting "rat"; did you mean "rate"'),
            (
                "augment = [{ method = 'mention_replacement', gold_copies = 1.5 }]",
                "gold_copies is 1.5, expected a whole",
            ),
            (
                "augment = [{ method = 'mention_replacement', gold_copies = 9999999999 }]",
                "gold_copies is 9999999999, expected at most 1000000",
            ),
            (
                "augment = [{ method = 'mention_replacement', copies = true }]",
                "copies is True, expected a whole number",
            ),
            (
                "augment = [{ method = 'mention_replacement', select = 'duplicates' }]",
                "select is 'duplicates', not a list",
            ),
            (
                "augment = [{ method = 'mention_replacement', select = [{ method = 'duplicates', similarity = 2 }] }]",
                'augment 1 "mention_replacement": select: similarity is 2',
            ),
            ("select = [{ threshold = 1 }]", "select: method is missing; known: agreement, "),
        ],
    )
    def test_one_thing(self, write: Write, line: str, message: str):
        lines = {"name": 'name = "x"', "data": 'data = { train = "a", test = "b" }'}
        lines[line.split(" = ")[0]] = line
        assert re.search(message, problem(write("\n".join(lines.values()))))

    @pytest.mark.parametrize(
        "name",
        ["", ".", "..", "a/b", "a\\\\b", "/abs", "a\\u0000b", "a\\nb", " a", "a ", ".hidden", "x" * 201, "व" * 70],
    )
    def test_names_that_no_folder_can_have(self, write: Write, name: str):
        assert "its name is" in problem(write(GOOD + f'name = "{name}"'))
        assert problem(write(GOOD.replace("mine", name))).startswith("name is ")

    @pytest.mark.parametrize("name", ["gold", "sample", "Gold", "SAMPLE"])
    def test_names_of_a_run_s_own_folders(self, write: Write, name: str):
        assert "every run has folders gold and sample" in problem(write(GOOD + f'name = "{name}"'))

    @pytest.mark.parametrize(("one", "other"), [("a", "a"), ("arm", "ARM"), ("é", "e\u0301"), ("straße", "STRASSE")])
    def test_two_names_for_one_folder(self, write: Write, one: str, other: str):
        arm = '[[augment]]\nmethod = "mention_replacement"\n'
        text = f'{GOOD}name = "{one}"\n{arm}name = "{other}"\n'
        assert problem(write(text)).startswith("2 augment entries are called")

    @pytest.mark.parametrize(
        ("override", "message"),
        [
            ("augment.c.on=d", "augment \"c\": on is 'd', expected an arm above it; Known: a, b"),
            ("augment.c.on=bb", 'did you mean "b"?'),
            ("augment.c.on=c", "augment \"c\": on is 'c', expected an arm above it"),
            ("augment.b.on=c", "augment \"b\": on is 'c', expected an arm above it; Known: a"),
            ("augment.a.on=b", "augment \"a\": on is 'b', expected an arm above it; this is the first one"),
            ("augment.a.on=gold", "augment \"a\": on is 'gold', expected an arm above it; this is the first one"),
            ("augment.b.on=3", 'augment "b": on is 3, expected an arm above it'),
            ("augment.b.on=false", 'augment "b": on is False, expected an arm above it'),
            ('augment.b.on=["a"]', "augment \"b\": on is ['a'], expected an arm above it"),
        ],
    )
    def test_arms_that_nothing_can_go_on_from(self, write: Write, override: str, message: str):
        assert message in problem(write(CHAIN), override)

    @pytest.mark.parametrize(
        ("override", "message"),
        [
            (
                "augment.b.method=mention_replacement",
                'augment "b": "a" and "b" have the same method, mention_replacement',
            ),
            (
                "augment.c.method=mention_replacement",
                'augment "c": "a" and "c" have the same method, mention_replacement',
            ),
        ],
    )
    def test_a_method_twice_in_a_row_of_arms(self, write: Write, override: str, message: str):
        """Both would call what they make of a gold sentence the same."""
        assert message in problem(write(CHAIN), override)

    def test_an_arm_on_itself_and_an_arm_on_that_one(self, write: Write):
        assert len(problems(write(CHAIN), "augment.b.on=b")) == 1

    def test_two_arms_of_one_method_without_names(self, write: Write):
        assert 'called "mention_replacement"; give each' in problem(write(GOOD + GOOD[GOOD.index("[[") :]))

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"name = ", "is not a TOML file in UTF-8"),
            (b'name = "a"\nname = "b"', "is not a TOML file in UTF-8"),
            ('name = "é"'.encode("latin-1"), "is not a TOML file in UTF-8"),
            (b"a = " + b"[" * 100_000, "is not a TOML file in UTF-8"),
            (b"", "the section \\[data\\] is missing"),
        ],
    )
    def test_files_that_are_no_recipes(self, tmp_path: Path, content: bytes, message: str):
        path = tmp_path / "recipe.toml"
        path.write_bytes(content)
        with pytest.raises(SettingsError, match=message):
            load(str(path))

    @pytest.mark.parametrize("name", ["dmeo", "nowhere/recipe.toml", "x" * 5000, "a\0b", ""])
    def test_recipes_that_are_not_there(self, name: str):
        with pytest.raises(SettingsError, match="there is no recipe"):
            load(name)

    def test_a_shipped_recipe_is_suggested(self):
        with pytest.raises(SettingsError, match='did you mean "demo"'):
            load("dmeo")

    def test_a_folder_is_no_recipe(self, tmp_path: Path):
        with pytest.raises(SettingsError, match="neither a file nor"):
            load(str(tmp_path))


class TestPresets:
    def test_settings_beside_a_preset_win(self, write: Write):
        settings = load(write(GOOD + '[tagger]\npreset = "melm"\nbatch_size = 3\n')).tagger.settings
        assert settings["model"] == presets()["melm"]["model"] == "xlm-roberta-large"
        assert settings["batch_size"] == 3
        assert "preset" not in settings

    def test_steps_take_the_place_of_a_preset_s_epochs(self, write: Write):
        settings = load(write(GOOD + '[tagger]\npreset = "melm"\n'), ["tagger.steps=7"]).tagger.settings
        assert (settings["steps"], settings["epochs"]) == (7, None)

    @pytest.mark.parametrize("name", presets())
    def test_every_preset(self, write: Write, name: str):
        tagger, preset = load(write(GOOD), [f"tagger.preset={name}"]).tagger, presets()[name]
        own = {key: value for key, value in preset.items() if key not in ("method", "description")}
        assert tagger.method == preset.get("method", "transformer")
        assert tagger.settings.items() >= own.items()


class TestOverrides:
    def test_values_in_sections_new_ones_too(self, write: Write):
        overrides = ["sample.size=5", "tagger.steps=3", "tagger.scheme=BIOES", "seeds=[1, 2]", "name=with = sign"]
        recipe = load(write(GOOD), overrides)
        assert recipe.sample.size == 5
        assert recipe.tagger.settings["steps"] == 3
        assert recipe.tagger.settings["scheme"] == "BIOES"
        assert recipe.seeds == [1, 2]
        assert recipe.name == "with = sign"
        assert recipe.overrides == tuple(overrides)

    def test_the_last_one_wins(self, write: Write):
        assert load(write(GOOD), ["name=a", "name=b"]).name == "b"

    def test_arms_by_name(self, write: Write):
        overrides = [
            "augment.first, v1.5.copies=2",
            "augment.mention_replacement.copies=3",
            "augment.other 🚀.copies=4",
            "augment.first, v1.5.rate=0.25",
        ]
        arms = load(write(NAMED), overrides).arms[1:]
        assert [arm.copies for arm in arms] == [2, 3, 4]
        assert arms[0].method == MethodSettings("mention_replacement", {"rate": 0.25})

    def test_an_arm_with_another_name_by_its_method(self, write: Write):
        assert load(write(NAMED), ["augment.shuffle_within_segments.copies=7"]).arms[3].copies == 7

    def test_a_method_of_two_arms_leaves_a_doubt(self, write: Write):
        text = NAMED.replace("[[augment]]\nmethod", '[[augment]]\nname = "second"\nmethod')
        message = problem(write(text), "augment.mention_replacement.copies=7")
        assert '2 entries are called "mention_replacement"; expected one of first, v1.5, second, other 🚀' in message

    def test_renaming_an_arm(self, write: Write):
        assert load(write(GOOD), ["augment.mention_replacement.name=x", "augment.x.copies=2"]).arms[1].copies == 2

    @pytest.mark.parametrize(
        ("override", "message"),
        [
            ("steps", "expected key=value"),
            ("=3", "expected key=value"),
            (" = 3", "expected key=value"),
            ("tagger..steps=3", "expected key=value"),
            ("augment.nobody.copies=3", 'no entry "nobody"; Known: first, v1.5, mention_replacement, other'),
            ("augment.copies=3", "say which entry, e.g. augment.NAME.copies"),
            ("augment.other 🚀=3", "say which entry"),
            ("name.x=3", "name is a single value, not a section"),
            ("data.train.x=3", "train is a single value, not a section"),
            ("seeds.0.x=3", "seeds"),
            ("description=caf\udce9", "this is not UTF-8"),
            ("tagger.stepz=3", 'no setting "stepz"; did you mean "steps"'),
            ("tagger.x.y=3", 'no setting "x"'),
            ("evalute.bootstrap_samples=100", 'unknown key "evalute"; did you mean "evaluate"'),
        ],
    )
    def test_wrong_ones(self, write: Write, override: str, message: str):
        found = problem(write(f"seeds = [0, 1]\n{NAMED}"), override)
        assert message in found
        assert found.isprintable() or "🚀" in found

    def test_wrong_ones_beside_good_ones_are_all_told(self, write: Write):
        assert len(problems(write(GOOD), "x", "name=ok", "y", "seeds=3")) == 3

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
    def test_values_are_toml_or_text(self, text: str, value: Any):
        assert toml_value(text) == value

    def test_settings_of_a_method(self):
        assert settings_of(["rate=0.3", " table = a=b.tsv"]) == {"rate": 0.3, "table": " a=b.tsv"}
        with pytest.raises(SettingsError) as caught:
            settings_of(["rate", "rate=0.3", "=x"])
        assert str(caught.value).count("expected key=value") == 2

    def test_a_line_of_a_table(self):
        pairs = ['vectors={ en = "a.vec" }', "vectors.hi=b.vec", "definitions.Gene.x=part of DNA"]
        assert settings_of(pairs) == {
            "vectors": {"en": "a.vec", "hi": "b.vec"},
            "definitions": {"Gene.x": "part of DNA"},
        }
        with pytest.raises(SettingsError, match=r'"rate\.en=1": rate is a single value, not a table'):
            settings_of(["rate=0.3", "rate.en=1"])


class TestPaths:
    def test_in_the_file_they_start_from_its_folder(
        self, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        recipe = load(write(GOOD))
        assert recipe.path(recipe.data.train) == tmp_path / "train.conll"
        monkeypatch.chdir(tmp_path.parent)
        recipe = load(f"{tmp_path.name}/recipe.toml")
        assert recipe.path(recipe.data.train) == Path(tmp_path.name) / "train.conll"
        assert recipe.path("/abs/train.conll") == Path("/abs/train.conll")

    @pytest.mark.parametrize("value", ["new data.conll", '"new data.conll"', "./new data.conll"])
    def test_on_the_command_line_from_where_the_user_is(
        self, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
    ):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.chdir(elsewhere)
        recipe = load(write(GOOD), [f"data.train={value}"])
        assert recipe.path(recipe.data.train) == elsewhere / "new data.conll"
        assert recipe.path(recipe.data.test) == tmp_path / "test.conll"

    def test_a_number_is_a_file_name_too(self, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.chdir(tmp_path)
        assert load(write(GOOD), ["data.train=2024"]).data.train == str(tmp_path / "2024")

    def test_home(self, write: Write, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("HOME", "/home/ada")
        recipe = load(write(GOOD.replace('"train.conll"', '"~/train.conll"')), ["data.test=~/test.conll"])
        assert str(recipe.path(recipe.data.train)) == "/home/ada/train.conll"
        assert recipe.data.test == "/home/ada/test.conll"
        assert os.sep in load(write(GOOD), ["data.train=~no-such-user/x"]).data.train

    def test_files_by_language_on_the_command_line(self, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
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
        assert problem(path, "data.train.hi=") == "data.train.hi is '': expected a file"

    @pytest.mark.parametrize("value", ["example:train.conll", '"example:train.conll"'])
    def test_examples(self, write: Write, value: str):
        recipe = load(write(GOOD), [f"data.train={value}"])
        assert recipe.path(recipe.data.train) == shipped("examples") / "train.conll"

    def test_dev_can_be_taken_away(self, write: Write):
        assert not load(write(GOOD.replace("[[", 'dev = "dev.conll"\n[[')), ["data.dev="]).data.dev
