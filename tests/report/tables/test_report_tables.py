import base64
import csv
import io
import re

import pytest

from nersery.report.model import Report
from nersery.report.tables.report_tables import report_tables
from tests.report.pages import Page, render_html, with_evil
from tests.report.report_fixture import build


def rows(name, report=None):
    return list(csv.DictReader(io.StringIO(report_tables(Report.model_validate(report or build()))[name].csv)))


def test_every_table_of_the_page_can_be_downloaded_as_csv():
    page = Page(render_html(build()))
    links = {a["download"]: a["href"] for tag, a in page.tags if tag == "a" and "download" in a}
    tables = report_tables(Report.model_validate(build()))
    assert set(links) == {f"{name}.csv" for name in tables}
    for name, table in tables.items():
        kind, _, content = links[f"{name}.csv"].partition("base64,")
        assert kind == "data:text/csv;charset=utf-8;"
        assert base64.b64decode(content).decode() == table.csv


def test_scores_are_percent_points_with_their_spread():
    gold, *_, best, _ = rows("scores")
    assert gold["Method"] == "gold only"
    assert gold["Difference"] == gold["95 % interval low"] == ""
    assert float(gold["F1"]) == pytest.approx(46.19)
    assert float(best["F1 std"]) == pytest.approx(0.4, abs=0.05)
    assert (best["95 % interval low"], best["95 % interval high"]) == ("0.4", "3.8")
    assert best["Training sentences"] == "343 347 339"


def test_run_times_are_shown_with_the_estimate():
    gold, replaced = rows("run-time")
    assert gold["Estimated per seed (s)"] == "40.0"
    assert gold["Total time (s)"] == "120.7"
    assert replaced["Time per seed (s)"] == "75.0"
    text = Page(render_html(build())).text
    assert "at least: a process was killed" in text
    assert "at least 4.5 min" in text


def test_lists_wrong_types_and_includes_right_ones_in_the_matrix():
    assert {(row["Gold"], row["Predicted"], row["Entities"]) for row in rows("confusion-full")} == {("LOC", "ORG", "7")}
    loc, org, per = rows("confusion")
    assert (loc["LOC"], loc["ORG"], loc["PER"]) == ("93", "7", "0")
    assert org["ORG"] == "0"
    assert per["PER"] == "107"


def test_text_that_looks_like_a_formula_stays_text():
    report = build()
    report["systems"][1]["name"] = "=1+1"
    assert rows("scores", report)[1]["Method"] == "'=1+1"
    assert {"'=1+1", "'=1+1 std"} < set(rows("per-type", report)[0])


def test_hostile_text_does_not_break_the_columns():
    for table in report_tables(Report.model_validate(with_evil(build()))).values():
        lengths = {len(row) for row in csv.reader(io.StringIO(table.csv))}
        assert len(lengths) == 1, table.name


def test_links_to_files_are_relative_to_the_page():
    links = [a["href"] for tag, a in Page(render_html(with_evil(build()))).tags if tag == "a" and "./" in a["href"]]
    assert "./seed-0/gold/predicted.jsonl" in links
    assert all(re.fullmatch(r"[\w./%~()!*-]+", link) for link in links)


def test_changes_show_both_labelings():
    page = Page(render_html(build()))
    assert "fixed: “أم كلثوم” PER" in page.text
    assert [row["Fixed"] for row in rows("changes")] == ["2", "2", "2"]
