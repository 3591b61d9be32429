from __future__ import annotations

import re
from pathlib import Path

import pytest

from nersery.core.errors import SettingsError
from nersery.experiments.recipe import load
from nersery.experiments.recipe_file.overrides import settings_from
from tests.experiments.recipe_helpers import CHAIN, GOOD, Write, issue, issues


class TestWrongRecipes:
    def test_refuses_a_grid_without_dev(self, write: Write):
        recipe = GOOD + "[tagger.grid]\nlearning_rate = [0.1, 0.2]\n"
        assert "name a file as dev" in issue(write(recipe))
        load(write(recipe.replace("[[systems]]", 'dev = "dev.conll"\n[[systems]]')))

    @pytest.mark.parametrize(
        ("table", "key"),
        [
            (r'name = "a\u0000"', "name"),
            (r'[data]\ntrain = "a\u0000"', "data.train"),
            (r'[tagger]\nmodel = "a\u0000"', "tagger.model"),
            (r'[[systems]]\nselect = ["a\u0000"]', "systems.select"),
        ],
    )
    def test_refuses_a_null_character_in_names(self, table: str, key: str, write: Write):
        found = issue(write(table.replace(r"\n", "\n")))
        assert found == rf"{key} has the character \u0000, which no name may have; remove it"

    def test_refuses_a_null_character_in_an_override(self, write: Write):
        assert "data.dev has the character \\u0000" in issue(write(GOOD), r'data.dev="a\u0000.conll"')
        with pytest.raises(SettingsError, match=r"model has the character \\u0000"):
            settings_from([r'model="a\u0000"'])

    def test_reports_all_issues_at_once(self, write: Write):
        found = issues(
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
[[systems]]
method = "mention_replacment"
[[systems]]
method = "mention_replacement"
rate = 1.5
copies = 0
[[systems]]
copies = 2
[[systems]]
name = "../x"
method = "mention_replacement"
select = ["agrement", 5]
"""
            ),
            "seeds.x=3",
        )
        expected = [
            '`overrides` "seeds.x=3": name the entry',
            'unknown key "nane"; did you mean "name"?',
            "name is missing: expected e.g.",
            "seeds is [0, 0]: expected a list of different whole numbers",
            "keep_taggers is 'yes': expected true or false",
            'data has no setting "trian"; did you mean "train"?',
            'data needs the setting "train"',
            "sample.size is 'many': expected a whole number",
            "evaluate.bootstrap_samples is 5: expected 100 or more",
            'data needs the setting "test"',
            'tagger.preset "mlem" is unknown; did you mean "melm"?',
            'tagger: no tagger method is called "transfomer"; did you mean "transformer"?',
            "select is 'duplicates', not a list",
            'system 1 "mention_replacment": no augment method is called "mention_replacment"; did you mean "mention_r',
            'system 2 "mention_replacement": rate is 1.5, expected a number in [0, 1]',
            'system 2 "mention_replacement": copies is 0: expected 1 or more',
            "system 3: method is missing; known: ",
            "system 4 \"../x\": name is '../x': expected one without slashes",
            'system 4 "../x": select: no select method is called "agrement"; did you mean "agreement"?',
            'system 4 "../x": select: 5 is not a selector',
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
            ('seeds = ""', "seeds is ''"),
            ("description = 3", "description is 3: expected a string"),
            ("keep_taggers = 1", "keep_taggers is 1: expected true or false"),
            ('keep_taggers = ""', "keep_taggers is '': expected true or false"),
            (
                "data = { train = 'a', test = 'b', language = ['en'] }",
                "expected a string; for several, set data.languages",
            ),
            (
                "data = { train = 'a', test = 'b', languages = ['en'] }",
                r"data.languages is \['en'\], but no file name contains {language}",
            ),
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
                "data.train: 'hindi' is not a language, expected a BCP 47 tag",
            ),
            ("data = { train = { 'हि' = 'a' }, test = 'b' }", "data.train: 'हि' is not a language"),
            ("data = { train = { '' = 'a' }, test = 'b' }", "data.train: '' is not a language"),
            ("data = { train = { 'en/../x' = 'a' }, test = 'b' }", "is not a language"),
            ("data = { train = { de = 'a', deu = 'b' }, test = 'b' }", "data.train: de and deu are the same language"),
            ("data = { train = { en = 'a', EN = 'b' }, test = 'b' }", "data.train: en and EN are the same language"),
            ("data = { train = { en = 'a', hi = 'a' }, test = 'b' }", "data.train: en and hi have the same file, a"),
            ("data = { train = ['a', 'b'], test = 'b' }", r"data.train is \['a', 'b'\]"),
            ("data = { train = 'a', test = 'b', word_column = 0 }", "data: word_column is 0"),
            ("data = { train = 'a', test = 'b', tag_column = true }", "data.tag_column is True"),
            ("sample = 3", r"sample is not a section \[sample\]"),
            ("sample = { size = 0 }", "sample.size is 0: expected 1 or more"),
            ("sample = { size = true }", "sample.size is True"),
            ("sample = { dev_size = -1 }", "sample.dev_size is -1: expected 1 or more"),
            ("sample = { protocol = 'stratifed' }", 'unknown protocol; did you mean "stratified"'),
            ("sample = { sizes = 3 }", 'sample has no setting "sizes"; did you mean "size"'),
            ("tagger = 3", r"tagger is not a section \[tagger\]"),
            ("tagger = { steps = 0 }", "tagger: .*steps is 0, expected 1 or more"),
            ("tagger = { join = 5 }", "tagger: .*join is 5: expected true or false"),
            ("tagger = { steps = true }", "tagger: transformer.steps is True"),
            ("tagger = { steps = 3, epochs = 3 }", "tagger: .*steps and epochs are both given"),
            ("tagger = { learning_rate = 'high' }", "tagger: transformer.learning_rate is 'high'"),
            ("tagger = { clip = inf }", "tagger: transformer.clip is inf: expected finite numbers"),
            ("tagger = { head = 'crff' }", "tagger: transformer.head is 'crff'"),
            ("tagger = { method = 3 }", "tagger: method is 3; known: bilstm_crf, transformer"),
            ("tagger = { preset = ['melm'] }", "tagger.preset .* is unknown"),
            ("evaluate = { bootstrap_samples = 99 }", "bootstrap_samples is 99: expected 100 or more"),
            ("evaluate = { bootstrap_samples = 1000000000000 }", "expected at most 10000000"),
            ("evaluate = { samples = 100 }", 'evaluate has no setting "samples"'),
            ("systems = 3", r"systems is 3, not a list: write \[\[systems\]\]"),
            ("systems = [3]", r"system 1 is 3; write \[\[systems\]\]"),
            ("systems = [{ method = 3 }]", "system 1: method is 3; known: "),
            ("systems = [{ method = 'mention_replacement', rat = 0.3 }]", 'no setting "rat"; did you mean "rate"'),
            (
                "systems = [{ method = 'mention_replacement', gold_copies = 1.5 }]",
                "gold_copies is 1.5: expected a whole number",
            ),
            (
                "systems = [{ method = 'mention_replacement', gold_copies = 9999999999 }]",
                "gold_copies is 9999999999: expected at most 1000000",
            ),
            (
                "systems = [{ method = 'mention_replacement', copies = true }]",
                "copies is True: expected a whole number",
            ),
            (
                "systems = [{ method = 'mention_replacement', select = 'duplicates' }]",
                "select is 'duplicates', not a list",
            ),
            (
                "systems = [{ method = 'mention_replacement', select = [{ method = 'duplicates', similarity = 2 }] }]",
                'system 1 "mention_replacement": select: similarity is 2',
            ),
            ("select = [{ threshold = 1 }]", "select: method is missing; known: agreement, "),
        ],
    )
    def test_reports_a_single_issue(self, write: Write, line: str, message: str):
        lines = {"name": 'name = "x"', "data": 'data = { train = "a", test = "b" }'}
        lines[line.split(" = ")[0]] = line
        assert re.search(message, issue(write("\n".join(lines.values()))))

    @pytest.mark.parametrize(
        "name", ["", ".", "..", "a/b", "a\\\\b", "/abs", "a\\nb", " a", "a ", ".hidden", "x" * 201, "व" * 70]
    )
    def test_refuses_names_that_are_not_valid_folder_names(self, write: Write, name: str):
        assert "name is" in issue(write(GOOD + f'name = "{name}"'))
        assert issue(write(GOOD.replace("mine", name))).startswith("name is ")

    @pytest.mark.parametrize("name", ["gold", "sample", "Gold", "SAMPLE", "Gold only"])
    def test_refuses_reserved_names(self, write: Write, name: str):
        assert "the names gold, gold only, sample, teachers are reserved" in issue(write(GOOD + f'name = "{name}"'))

    @pytest.mark.parametrize(
        ("one", "other"), [("a", "a"), ("system", "SYSTEM"), ("é", "e\u0301"), ("straße", "STRASSE")]
    )
    def test_refuses_two_names_for_the_same_folder(self, write: Write, one: str, other: str):
        system = '[[systems]]\nmethod = "mention_replacement"\n'
        text = f'{GOOD}name = "{one}"\n{system}name = "{other}"\n'
        assert issue(write(text)).startswith("2 systems are called")

    @pytest.mark.parametrize(
        ("override", "message"),
        [
            ("systems.c.base=d", "system \"c\": base is 'd', expected a system above it; known: a, b"),
            ("systems.c.base=bb", 'did you mean "b"?'),
            ("systems.c.base=c", "system \"c\": base is 'c', expected a system above it"),
            ("systems.b.base=c", "system \"b\": base is 'c', expected a system above it; known: a"),
            ("systems.a.base=b", "system \"a\": base is 'b', expected a system above it; this is the first one"),
            ("systems.a.base=gold", "system \"a\": base is 'gold', expected a system above it; this is the first one"),
            ("systems.b.base=3", 'system 2 "b": base is 3: expected a string'),
            ("systems.b.base=false", 'system 2 "b": base is False: expected a string'),
            ('systems.b.base=["a"]', "system 2 \"b\": base is ['a']: expected a string"),
        ],
    )
    def test_refuses_an_invalid_base(self, write: Write, override: str, message: str):
        assert message in issue(write(CHAIN), override)

    @pytest.mark.parametrize(
        ("override", "message"),
        [
            (
                "systems.b.method=mention_replacement",
                'system "b": "a" and "b" have the same method, mention_replacement: a system and its base need',
            ),
            (
                "systems.c.method=mention_replacement",
                'system "c": "a" and "c" have the same method, mention_replacement',
            ),
        ],
    )
    def test_refuses_the_same_method_for_a_system_and_its_base(self, write: Write, override: str, message: str):
        """Both would give the same id to their sentence from a gold sentence."""
        assert message in issue(write(CHAIN), override)

    def test_a_system_based_on_itself_is_a_single_issue(self, write: Write):
        assert len(issues(write(CHAIN), "systems.b.base=b")) == 1

    def test_refuses_two_unnamed_systems_of_one_method(self, write: Write):
        assert 'called "mention_replacement"; give them' in issue(write(GOOD + GOOD[GOOD.index("[[") :]))

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"name = ", "is not a TOML file in UTF-8"),
            (b'name = "a"\nname = "b"', "is not a TOML file in UTF-8"),
            ('name = "é"'.encode("latin-1"), "is not a TOML file in UTF-8: .*Save it as UTF-8"),
            ('name = "e"'.encode("utf-16"), "is not a TOML file in UTF-8: .*Save it as UTF-8"),
            (b"a = " + b"[" * 100_000, "is not a TOML file in UTF-8"),
            (b"a = " + b"1" * 5000, "is not a TOML file in UTF-8"),
            (rb'train = "C:\Users\me.conll"', "write it in 'single quotes', or with / in place of"),
            (rb'train = "C:\data\me.conll"', "write it in 'single quotes', or with / in place of"),
            (b"", "the section \\[data\\] is missing"),
        ],
    )
    def test_refuses_files_that_are_not_recipes(self, tmp_path: Path, content: bytes, message: str):
        path = tmp_path / "recipe.toml"
        path.write_bytes(content)
        with pytest.raises(SettingsError, match=message):
            load(str(path))

    @pytest.mark.parametrize("name", ["dmeo", "nowhere/recipe.toml", "x" * 5000, "a\0b", ""])
    def test_refuses_missing_recipes(self, name: str):
        with pytest.raises(SettingsError, match="there is no recipe"):
            load(name)

    def test_suggests_a_shipped_recipe(self):
        with pytest.raises(SettingsError, match='did you mean "demo"'):
            load("dmeo")

    def test_suggests_a_recipe_with_a_similar_name(self, tmp_path: Path):
        (tmp_path / "mine.toml").touch()
        with pytest.raises(SettingsError, match=r"did you mean mine\.toml\?"):
            load(str(tmp_path / "mien.toml"))

    def test_refuses_a_folder_as_recipe(self, tmp_path: Path):
        with pytest.raises(SettingsError, match="neither a file nor"):
            load(str(tmp_path))
        (tmp_path / "recipe.toml").touch()
        with pytest.raises(SettingsError, match=r"is a folder, expected a recipe: did you mean .*recipe\.toml\?"):
            load(str(tmp_path))
