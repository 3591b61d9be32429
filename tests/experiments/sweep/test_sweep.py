"""A sweep shares work, resumes cell by cell, survives a failing cell, and writes the papers' tables."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import nersery
from nersery.core.errors import DataError, NerseryError, SettingsError
from nersery.experiments.recipe import load
from nersery.experiments.sweep import sweep_runner
from nersery.experiments.sweep.sweep_runner import Sweep
from nersery.experiments.sweep.sweep_settings import with_swept_systems
from nersery.experiments.system_run import SystemRun
from nersery.report.tables.table_columns import NAME, POINTS, Column, ReportTable
from nersery.select.base import SelectStage
from tests.experiments.run_helpers import Trainings, execute
from tests.standins import Memory, files

SETTINGS = (
    'sweep.settings=[{ system = "one", copies = [1, 2, 3] }, { system = "one", rate = [0.5, 1.0], copies = [1, 2] }]'
)
ONE = 'systems=[{ name = "one", method = "mention_replacement", copies = 2, rate = 0.5 }]'


def sweep(*overrides: str, out: str = "sweep") -> Any:
    return Sweep(load("recipe.toml", overrides), Path(out), quiet=True)


def table(name: str, out: str = "sweep") -> list[list[str]]:
    with Path(out, "tables", f"{name}.csv").open(encoding="utf-8") as stream:
        return [*csv.reader(stream)]


@pytest.mark.usefixtures("folder")
class TestSettings:
    def test_gold_and_the_value_of_the_recipe_are_trained_once(self, memory: Trainings):
        sweep(ONE, SETTINGS).execute()
        names = sorted(path.name for path in Path("sweep/run/seed-0").iterdir() if path.name != "sample")
        assert names == ["gold", "one", "one copies=1", "one copies=3", "one rate=1.0", "one rate=1.0 copies=1"]
        assert len(memory) == len(names)

    def test_names_and_tables_show_values_as_in_the_recipe(self):
        entry = {"name": "one", "method": "flipda"}
        values = {"select": [[], ["duplicates", "agreement"]], "in_turn": [True, False]}
        _, [one], issues = with_swept_systems(
            {"systems": [entry], "sweep": {"settings": [{"system": "one", **values}]}}
        )
        assert not issues
        assert 'one select=["duplicates", "agreement"]' in one.systems[2]
        assert not any("True" in name or "False" in name or "'" in name for name in one.systems)
        assert one.values == (("[]", '["duplicates", "agreement"]'), ("true", "false"))

    def test_tables_have_a_column_for_each_value(self):
        report = sweep(ONE, SETTINGS).execute()
        assert [one.name for one in report.tables] == ["systems", "1-copies", "2-rate-copies"]
        text = Path("sweep/report.md").read_text("utf-8")
        headings = re.findall("^## (.*)$", text, re.MULTILINE)
        assert [heading.partition("; ")[2] for heading in headings] == ["", "one, by copies", "one, by rate"]
        assert table("systems")[0] == ["Sentences", "Method", "F1", "F1 std"]
        assert [row[:2] for row in table("systems")[1:]] == [["16", "gold only"], ["16", "one"]]
        heading, row = table("1-copies")
        assert heading[::2] == ["Run", "copies = 1 std", "copies = 2 std", "copies = 3 std"]
        result = json.loads(Path("sweep/run/seed-0/one copies=3/result.json").read_text("utf-8"))
        assert float(row[5]) == pytest.approx(100 * result["scores"]["micro"]["f1"], abs=1e-3)
        assert [row[:2] for row in table("2-rate-copies")[1:]] == [["run", "copies = 1"], ["run", "copies = 2"]]

    def test_gold_sentences_with_another_tagger_have_the_name_of_all_reports(self):
        other = 'systems=[{ name = "gold, longer", tagger_settings = { longest = 2 } }]'
        sweep(other, "sweep.sizes=[16]").execute()
        assert [row[:2] for row in table("systems")[1:]] == [["16", "gold only"], ["16", "gold only, longer"]]

    def test_equal_selectors_run_once(self, monkeypatch: pytest.MonkeyPatch):
        selected = list[str]()
        fit = SelectStage.fit
        monkeypatch.setattr(SelectStage, "fit", lambda self, *rest: selected.append(self.method) or fit(self, *rest))
        one = 'systems=[{ name = "one", method = "mention_replacement", select = ["duplicates", "agreement"] }]'
        sweep(one, 'sweep.settings=[{ system = "one", upsampling = [0.5] }]').execute()
        assert selected == ["duplicates", "agreement"]
        for name in ("2-agreement.jsonl", "2-agreement.jsonl.rejects.jsonl"):
            ours, theirs = (Path("sweep/run/seed-0", system, name) for system in ("one", "one upsampling=0.5"))
            assert ours.exists() == theirs.exists()
            assert not ours.exists() or ours.read_bytes() == theirs.read_bytes()

    def test_fewer_copies_are_the_first_of_more_and_equal_a_separate_run(self):
        sweep(ONE, 'sweep.settings=[{ system = "one", copies = [1, 3] }]').execute()
        execute('systems=[{ name = "one copies=1", method = "mention_replacement", rate = 0.5 }]', out="alone")
        for name in ("generated.jsonl", "generated.jsonl.rejects.jsonl", "predicted.jsonl"):
            ours, theirs = (Path(out, "seed-0/one copies=1", name).read_bytes() for out in ("sweep/run", "alone"))
            assert ours == theirs
        assert Path("alone/seed-0/one copies=1/generated.jsonl").stat().st_size

    def test_values_may_be_lists_and_tables(self, memory: Trainings):
        stages = "[{ steps = 2 }, { steps = 1 }]"
        overrides = [
            'systems=[{ name = "one", method = "mention_replacement", select = [] }]',
            'sweep.settings=[{ system = "one", select = [["duplicates"], []] }, '
            f'{{ system = "one", second_stage = {stages} }}]',
        ]
        sweep(*overrides).execute()
        made = 'one select=["duplicates"]', *(f'one second_stage={{ "steps" = {steps} }}' for steps in (1, 2))
        names = {path.name for path in Path("sweep/run/seed-0").iterdir()}
        assert names == {"gold", "one", "sample", *made}
        assert table("1-select")[0][1::2] == ['select = ["duplicates"]', "select = []"]
        assert all(table("1-select")[1][1::2])
        assert table("2-second_stage")[0][1::2] == ['second_stage = { "steps" = 2 }', 'second_stage = { "steps" = 1 }']

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ('[{ system = "two", copies = [1] }]', "expected the name of a system.* [Kk]nown: one"),
            ('[{ system = "one" }]', "it varies 0 settings, expected 1 or 2"),
            ('[{ system = "one", copies = 3 }]', "copies is 3, expected a list of different values"),
            ('[{ system = "one", copies = [3, 3] }]', "expected a list of different values"),
            ('[{ system = "one", rat = [1] }]', 'no setting "rat"'),
            ('[{ system = "one", rate = [7.0] }]', "rate is 7, expected a number in"),
        ],
    )
    def test_refuses_wrong_settings(self, settings: str, message: str):
        with pytest.raises(SettingsError, match=message):
            load("recipe.toml", [ONE, f"sweep.settings={settings}"])

    @pytest.mark.parametrize(
        "values",
        ["gold_copies = [1]", "upsampling = [0.0]", "second_stage = [{}]", "tagger_settings = [{}]", "select = [[]]"],
    )
    def test_default_values_add_no_system(self, values: str):
        recipe = load("recipe.toml", [ONE, f'sweep.settings=[{{ system = "one", {values} }}]'])
        assert [system.name for system in recipe.systems] == ["gold", "one"]

    def test_system_names_are_distinct_folder_names(self):
        overrides = [
            'systems=[{ name = "x", method = "synonym_replacement", table = "a/b" }]',
            f'sweep.settings=[{{ system = "x", table = ["c/d", "c_d", "C_D", "{"long/" * 50}x"] }}]',
        ]
        for name in ("a/b", "c/d", "c_d", "C_D", f"{'long/' * 50}x"):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text("a\tb\n")
        _, first, *others = [system.name for system in load("recipe.toml", overrides).systems]
        assert [first, others[0]] == ["x", "x table=c_d"]
        assert [name[:-8] for name in others[1:3]] == ["x table=c_d ", "x table=C_D "]
        assert len(others[3].encode()) == 200
        assert len({name.casefold() for name in others}) == 4

    def test_files_are_relative_to_the_recipe(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        text = 'sweep.settings = [{ system = "x", table = ["one", "two"] }]\nsystems = [{ name = "x", method = "'
        text = f'{text}synonym_replacement", table = "one" }}]\n{Path("recipe.toml").read_text().split("[[")[0]}'
        Path("swept.toml").write_text(text)
        for name in ("one", "two"):
            Path(name).write_text("a\tb\n")
        beside = load("swept.toml")
        Path("elsewhere").mkdir()
        monkeypatch.chdir("elsewhere")
        _, _, swept = load("../swept.toml").systems
        assert swept.method is not None
        assert swept.method.settings["table"] == "../two"
        for path in ("../swept.toml", str(tmp_path / "swept.toml")):  # a run is resumed from any working directory
            recipe = load(path)
            assert [system.name for system in recipe.systems] == [system.name for system in beside.systems]
            assert recipe.sweep is not None
            assert beside.sweep is not None
            assert recipe.sweep.tables == beside.sweep.tables

    @pytest.mark.parametrize(
        ("overrides", "message"),
        [
            (['sweep.score="dev"', "data.dev="], r'sweep.score is "dev", but \[data\] has no dev'),
            (["sweep.sizes=[8]", 'data={ train = "a" }', "sample={ folds = 2 }"], "leave out sweep.sizes"),
            (['sweep.settings=[{ system = ["one"], copies = [1] }]'], "expected the name of a system"),
            (['sweep.settings=[{ system = "one", raet = [1] }]'], 'entry 1: mention_.* no setting "raet"; .*"rate"'),
        ],
    )
    def test_refuses_conflicting_settings(self, overrides: list[str], message: str):
        with pytest.raises(SettingsError, match=f"1 issue in.*\n.*{message}"):
            load("recipe.toml", [ONE, *overrides])

    def test_refuses_sweep_settings_without_systems(self):
        with pytest.raises(SettingsError, match=r"expected the name of a system.*; there are no \[\[systems\]\]$"):
            load("recipe.toml", ["systems=[]", 'sweep.settings=[{ system = "one", copies = [1] }]'])

    def test_a_recipe_without_a_sweep_is_unchanged(self):
        assert with_swept_systems({"systems": [{"method": "melm"}]}) == ({"systems": [{"method": "melm"}]}, [], [])


@pytest.mark.usefixtures("languages")
class TestLanguages:
    def test_sizes_and_languages_have_own_runs_and_an_average(self):
        report = nersery.run(
            "recipe.toml",
            output="sweep",
            overrides=[ONE, "sweep.sizes=[8, 16]", 'sweep.languages=["en", "hi"]'],
            quiet=True,
        )
        assert {path.parent.name for path in Path("sweep").glob("*/report.json")} == {"8-en", "8-hi", "16-en", "16-hi"}
        heading, *rows = table("systems")
        assert heading[2::2] == ["en", "hi", "Avg"]
        assert [row[:2] for row in rows] == [["8", "gold only"], ["8", "one"], ["16", "gold only"], ["16", "one"]]
        assert float(rows[0][6]) == pytest.approx((float(rows[0][2]) + float(rows[0][4])) / 2, abs=1e-3)
        assert report.done == len(report.cells) == 8
        assert json.loads(Path("sweep/8-hi/report.json").read_text("utf-8"))["sample"]["size"] == 8
        page = Path("sweep/report.html").read_text("utf-8")
        assert "F1 against training size" in page
        assert page.count("F1 by training sentences: ") == 2

    def test_one_tagger_is_scored_in_each_language(self):
        sweep(ONE, "sweep.sizes=[8]").execute()
        heading, *rows = table("systems")
        assert heading[2::2] == ["en", "hi", "Avg"]
        assert all(rows[0][2::2])

    def test_a_single_language_has_a_column(self):
        sweep(ONE, "sweep.sizes=[8]", 'data.test={ hi = "hi/test.conll" }').execute()
        heading, *rows = table("systems")
        assert heading[2::2] == ["hi"]
        assert all(row[2] for row in rows)

    def test_refuses_a_language_without_a_test_set(self):
        with pytest.raises(SettingsError, match=r'"ta" has no train set: .*\n.*sweep.languages: "ta" has no test set'):
            load("recipe.toml", ['sweep.languages=["en", "ta"]'])

    def test_refuses_a_language_without_raw_text_that_a_system_labels(self):
        overrides = ['data.raw={ en = "en/test.conll" }', 'sweep.languages=["en", "hi"]']
        load("recipe.toml", overrides)
        with pytest.raises(SettingsError, match=r'"hi" has no raw set: name a file as data\.raw\.hi'):
            load("recipe.toml", [*overrides, 'systems=[{ method = "tagger_labels" }]'])
        load("recipe.toml", ["data.raw=test.conll", *overrides[1:], 'systems=[{ method = "tagger_labels" }]'])

    def test_cross_validation_needs_no_test_set_and_dev_scores_a_dev_set(self):
        train = 'data={ train = { en = "en/train.conll", hi = "hi/train.conll" } }'
        load("recipe.toml", [train, "sample={ folds = 2 }", 'sweep.languages=["en"]'])
        with pytest.raises(SettingsError, match=r'"hi" has no dev set: name a file as data\.dev\.hi'):
            load("recipe.toml", ['data.dev={ en = "a" }', 'sweep.languages=["en", "hi"]', 'sweep.score="dev"'])

    def test_reports_dev_scores(self):
        report = sweep(ONE, 'sweep.score="dev"').execute()
        result = json.loads(Path("sweep/run/seed-0/gold/result.json").read_text("utf-8"))["training"]
        known = [e["score"] for e in result.get("evaluations", []) if e["step"] == result["best_step"]]
        assert [cell.f1 for cell in report.cells][:1] == (known or [None])

    def test_dev_scores_are_those_of_the_second_stage(self, monkeypatch: pytest.MonkeyPatch):
        fit, scores = Memory.fit, iter([0.25, 0.5, 0.75])

        def scored(self: Memory, *arguments: Any, **options: Any) -> dict[str, Any]:
            fit(self, *arguments, **options)
            self.history |= {"evaluations": [{"step": 1, "score": next(scores)}]}
            return self.history

        monkeypatch.setattr(Memory, "fit", scored)
        system = 'systems=[{ method = "mention_replacement", second_stage = { steps = 1 } }]'
        report = sweep(system, 'sweep.score="dev"').execute()
        assert [cell.f1 for cell in report.cells] == [0.25, 0.75]


@pytest.mark.usefixtures("folder")
class TestFailures:
    def test_others_continue_after_a_failure_that_the_report_explains(self, monkeypatch: pytest.MonkeyPatch, capsys):
        whole = SystemRun.train_and_score

        def fails(self: SystemRun) -> None:
            if self.system.name == "one copies=1":
                raise DataError("no luck")
            if self.system.name == "one copies=3":
                raise MemoryError("too large")
            whole(self)

        monkeypatch.setattr(SystemRun, "train_and_score", fails)
        job = Sweep(
            load("recipe.toml", [ONE, 'sweep.settings=[{ system = "one", copies = [1, 2, 3] }]']), Path("sweep")
        )
        report = job.execute()
        assert report.failures == {
            "run, one copies=1, seed 0": "no luck",
            "run, one copies=3, seed 0": "MemoryError: too large",
        }
        row = table("1-copies")[1]
        assert (row[1], row[5]) == ("", "")
        assert row[3]
        page, markdown = (Path(f"sweep/report.{kind}").read_text("utf-8") for kind in ("html", "md"))
        assert "run, one copies=1, seed 0: no luck" in page
        assert "run, one copies=1, seed 0: no luck" in markdown
        assert "2 of 4 trainings are finished" in markdown
        assert "failed, the others continue: no luck" in capsys.readouterr().err
        monkeypatch.undo()

    def test_only_failed_systems_are_tried_again(self, memory: Trainings, monkeypatch: pytest.MonkeyPatch):
        with monkeypatch.context() as patch:
            patch.setattr(SystemRun, "_predict", lambda *_: (_ for _ in ()).throw(DataError("no luck")))
            with pytest.raises(NerseryError, match=r"every system of the sweep failed. The first: no luck"):
                sweep(ONE, "sweep.sizes=[8, 16]").execute()
        trained = len(memory)
        report = sweep(ONE, "sweep.sizes=[8, 16]").execute()
        assert report.done == 4
        assert len(memory) == trained  # the taggers existed
        before = files(Path("sweep"))
        written = list[object]()
        monkeypatch.setattr(sweep_runner, "write_sweep", lambda report, *_, **__: written.append(report))
        sweep(ONE, "sweep.sizes=[8, 16]").execute()
        assert len(written) == 2  # when it begins and when it ends
        after = files(Path("sweep"))
        assert {path for path in before if before[path] != after.get(path)} <= {p for p in before if "run_time" in p}

    def test_refuses_a_file_that_is_edited_between_two_runs(self, monkeypatch: pytest.MonkeyPatch):
        whole = SystemRun.train_and_score

        def edits(self: SystemRun) -> None:
            whole(self)
            Path("test.conll").write_text("Rex B-PER\nis O\n", "utf-8")

        monkeypatch.setattr(SystemRun, "train_and_score", edits)
        with pytest.raises(DataError, match=r"test\.conll: this file has changed since the run began"):
            sweep(ONE, "sweep.sizes=[4, 6]").execute()

    def test_too_large_a_size_does_not_stop_the_others(self):
        report = sweep(ONE, "sweep.sizes=[8, 999]").execute()
        assert [*report.failures] == ["999"]
        assert 'http-equiv="refresh"' not in Path("sweep/report.html").read_text("utf-8")
        assert "sample.size is 999" in report.failures["999"]
        with pytest.raises(DataError, match=r"sample.size is 999 by sweep.sizes, but train has .* lower it there"):
            sweep(ONE, "sweep.sizes=[8, 999]", out="other").check()

    def test_a_check_names_each_file_once_and_estimates_the_time_of_all_runs(
        self, capsys: pytest.CaptureFixture[str], memory: Trainings
    ):
        job = Sweep(load("recipe.toml", [ONE, "sweep.sizes=[8, 12, 16]", "seeds=[0, 1]"]), Path("sweep"))
        plan = job.plan()
        notes = capsys.readouterr().err
        assert [notes.count(f"{split}: ") for split in ("train", "dev", "test")] == [1, 1, 1]
        assert all(notes.count(note) == 1 for note in plan["notes"])
        assert plan["seconds_in_all"] > 0
        assert len(memory) == 1  # timed once for all runs

    def test_notes_in_the_report_name_their_runs(self):
        Path("test.conll").write_text(Path("dev.conll").read_text("utf-8"), "utf-8")
        report = sweep(ONE, "sweep.sizes=[8, 12]", out="run").execute()
        note = next(one for one in report.notes if "also occur in test" in one)
        assert report.notes[note] == ["8", "12"]
        for name in ("report.json", "report.md", "report.html"):
            assert note.partition(",")[0] in Path("run", name).read_text("utf-8")

    def test_refuses_another_sweep_in_the_folder_but_accepts_new_sizes(self):
        sweep(ONE, "sweep.sizes=[8]").execute()
        with pytest.raises(SettingsError, match=r"sweep holds a run with other settings:\n.*tagger"):
            sweep(ONE, "sweep.sizes=[8]", "tagger.longest=1").execute()
        with pytest.raises(SettingsError, match=r"sweep holds a run with other settings:\n.*sweep"):
            execute(ONE, out="sweep")
        assert sweep(ONE, "sweep.sizes=[8, 16]").execute().done == 4
        assert Path("sweep/16/report.html").is_file()

    def test_a_finished_system_cannot_be_left_out(self):
        sweep(ONE, "sweep.sizes=[8]").execute()
        with pytest.raises(SettingsError, match=r"sweep holds a run with other settings:\n.*systems.one"):
            sweep("systems=[]", "sweep.sizes=[8]").execute()

    def test_the_command_of_a_run_resumes_it(self, memory: Trainings):
        sweep(ONE, "sweep.sizes=[8, 16]").execute()
        command = json.loads(Path("sweep/16/report.json").read_text("utf-8"))["command"]
        _, _, recipe, _, folder, *options = shlex.split(command)
        memory.clear()
        assert Sweep(load(recipe, options[1::2]), Path(folder), quiet=True).execute().done == 2
        assert memory == []

    def test_taggers_are_kept_for_the_retry_of_a_failed_system(self, monkeypatch: pytest.MonkeyPatch):
        whole = SystemRun.train_and_score
        fails = {"one"}

        def train_and_score(self: SystemRun) -> None:
            if self.system.name in fails:
                raise DataError("no luck")
            whole(self)

        monkeypatch.setattr(SystemRun, "train_and_score", train_and_score)
        sweep(ONE, "keep_taggers=false").execute()
        assert Path("sweep/run/seed-0/gold/tagger").is_dir()
        fails.clear()
        sweep(ONE, "keep_taggers=false").execute()
        assert not list(Path("sweep").rglob("tagger"))

    def test_refuses_a_sweep_in_the_folder_of_a_run(self):
        execute(ONE)
        with pytest.raises(SettingsError, match="run holds a run with other settings"):
            sweep(ONE, "sweep.sizes=[8]", out="run").execute()


def test_latex_tables_have_escaped_names_and_a_caption() -> None:
    columns = [Column("Method", NAME), Column("F1 & more", POINTS)]
    made = ReportTable("x", "In %", columns, [("a_b", 0.5), ("c", None)]).latex
    assert re.findall(r"^.*\\\\$", made, re.M) == [r"Method & F1 \& more \\", r"a\_b & 50.0 \\", r"c & – \\"]
    assert r"\begin{tabular}{lr}" in made
    assert r"\caption{In \%}" in made
