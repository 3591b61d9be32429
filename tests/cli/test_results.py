"""`nersery inspect results`: several runs in one table."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from nersery.cli import inspect_measures as _measures  # noqa: F401 - it adds the command
from nersery.report.model import Report
from nersery.report.rendering import write_report
from nersery.report.tables.table_columns import NAME, P_VALUE, Column, ReportTable
from tests.cli.calls import call
from tests.report.report_fixture import build


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs, the second with a hostile name."""
    monkeypatch.chdir(tmp_path)
    for folder, name in (("one", "demo"), ("two", "a | b & [bold]c[/]")):
        Path(folder).mkdir()
        write_report(Report.model_validate({**build(), "name": name}), Path(folder))
    return tmp_path


def test_a_row_for_each_system_of_each_run(runs: Path):
    rows = json.loads(call("inspect", "results", "one", "two", "--json").out)

    assert [row["Run"] for row in rows] == ["demo"] * 4 + ["a | b & [bold]c[/]"] * 4
    assert [row["Method"] for row in rows[:3]] == ["gold only", "label_wise_token_replacement", "mention_replacement"]
    assert rows[0]["Difference"] == rows[0]["95 % interval"] == rows[0]["p"] == "–"
    assert (rows[2]["F1"], rows[2]["Difference"]) == ("48.3 ± 0.4", "+2.1")
    assert rows[2]["95 % interval"] == "0.4 to 3.8"
    assert rows[2]["Training sentences"] == "339 to 347"


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("text", "a | b & [bold]c[/]"),
        ("markdown", r"| a \| b &"),
        ("latex", r"a \textbar{} b \& {[}bold]c{[}/] & gold only & 3"),
    ],
)
def test_names_are_escaped_in_every_format(runs: Path, form: str, shown: str):
    assert shown in call("inspect", "results", "one", "two", "--as", form).out


def test_runs_with_the_same_name_are_distinguished_by_their_folders(runs: Path):
    Path("three").mkdir()
    write_report(Report.model_validate({**build(), "name": "demo"}), Path("three"))
    rows = json.loads(call("inspect", "results", "one", "two", "three", "--json").out)
    assert [row["Run"] for row in rows[::4]] == ["demo (one)", "a | b & [bold]c[/]", "demo (three)"]


def test_a_report_of_another_version_is_read(runs: Path):
    Path("one/report.json").write_text(json.dumps({**build(), "of_a_later_version": 1}), "utf-8")
    assert json.loads(call("inspect", "results", "one", "--json").out)[2]["F1"] == "48.3 ± 0.4"


def test_runs_of_a_sweep_are_named_and_sorted_by_size(runs: Path):
    for size in ("1000", "20", "100"):
        Path("sweep", size).mkdir(parents=True)
        write_report(Report.model_validate({**build(), "name": "mine"}), Path("sweep", size))
    Path("sweep/report.json").write_text('{"cells": []}', "utf-8")
    rows = json.loads(call("inspect", "results", "sweep", "--json").out)
    assert [row["Run"] for row in rows[::4]] == ["mine 20", "mine 100", "mine 1000"]


def test_latex_does_not_read_a_name_as_an_argument_of_the_row_above():
    table = ReportTable("t", "", [Column("Method", NAME), Column("p", P_VALUE)], [("[a]", 0.0001), ("*b", 0.5)])

    assert table.latex.count("{[}a] & $<$ 0.001 \\\\\n{*}b & 0.5 \\\\") == 1


def test_csv_has_numbers(runs: Path):
    rows = list(csv.DictReader(io.StringIO(call("inspect", "results", "one", "--as", "csv").out)))

    assert float(rows[0]["F1"]) == pytest.approx(46.19)
    assert rows[0]["Training sentences"] == "100 100 100"
    assert (rows[2]["95 % interval low"], rows[2]["p"]) == ("0.4", "0.0184")


def test_a_sweep_shows_all_its_runs(runs: Path):
    Path("sweep").mkdir()
    Path("sweep/report.json").write_text('{"cells": []}')
    for name in ("one", "two"):
        Path(name).rename(f"sweep/{name}")

    assert len(json.loads(call("inspect", "results", "sweep", "--json").out)) == 8


def test_an_unfinished_run_is_named(runs: Path):
    Path("three").mkdir()
    result = call("inspect", "results", "one", "three")

    assert result.code == 3
    assert "three: there is no report.json" in result.err
    assert "nersery run or grow finishes it" in result.err


def test_unfinished_runs_of_a_sweep_are_counted(runs: Path):
    Path("sweep").mkdir()
    cells = [{"size": size, "language": "", "seed": seed} for size in (10, 20) for seed in (0, 1)]
    Path("sweep/report.json").write_text(json.dumps({"cells": cells}))
    none = call("inspect", "results", "sweep")
    assert (none.code, "sweep: no run of the sweep is finished" in none.err) == (3, True)
    Path("one").rename("sweep/10")
    some = call("inspect", "results", "sweep", "--json")
    assert len(json.loads(some.out)) == 4
    assert "note: sweep: 1 of 2 runs of the sweep are not finished, and left out" in some.err


@pytest.mark.parametrize("content", ["{", "[]", '{"systems": 3}', '{"cells": [3]}', "\x00"])
def test_what_is_not_a_report_is_refused(runs: Path, content: str):
    Path("one/report.json").write_text(content)
    result = call("inspect", "results", "one")

    assert result.code == 3
    assert "report.json: this is not the report of a run" in result.err
