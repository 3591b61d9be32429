"""What the page and the Markdown of a report show, and the files that are written."""

import copy
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from nersery.report.model import Report
from nersery.report.parts import SweepCell
from nersery.report.sweep_report import SweepReport, write_sweep
from tests.report.pages import (
    EVIL,
    HEADLINE,
    Page,
    cells,
    in_languages,
    render_html,
    render_markdown,
    with_evil,
    write_report,
)
from tests.report.report_fixture import build
from tests.standins import files


def test_the_page_shows_the_results_of_the_run():
    page = Page(render_html(build()))
    assert page.open == []
    for text in (
        HEADLINE, "nersery run demo --out runs/demo", "3 of 300 test sentences", "46.2 ± 0.6", "−5.2 to −1.9",
        "339 to 347", "agreement < 1", "optimizer.learning_rate", "5.23.0", "किशोर कुमार", "أم كلثوم",
    ):  # fmt: skip
        assert text in page.text, text


def test_the_page_is_self_contained_and_runs_no_script():
    html = render_html(build())
    tags = Page(html).tags
    assert {"script", "img", "iframe", "object", "form"}.isdisjoint(tag for tag, _ in tags)
    links = [attributes.get(key) for _, attributes in tags for key in ("href", "src") if key in attributes]
    assert all(link.startswith(("#", "data:", "./")) for link in links)
    assert "url(" not in html
    assert "@import" not in html
    policy = next(attributes["content"] for tag, attributes in tags if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_headings_are_in_order_and_tables_and_charts_have_names():
    tags = Page(render_html(build())).tags
    levels = [int(tag[1]) for tag, _ in tags if tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    names = [tag for tag, _ in tags]
    assert names.count("caption") == names.count("table")
    assert all(attributes.get("scope") for tag, attributes in tags if tag == "th")
    assert all(attributes.get("role") == "img" for tag, attributes in tags if tag == "svg")
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in tags:
        for reference in (attributes.get("aria-labelledby") or "").split():
            assert reference in ids


def test_sentences_have_a_direction_and_a_language():
    tags = Page(render_html(build())).tags
    sentences = [attributes for tag, attributes in tags if attributes.get("class") == "sentence"]
    assert sentences
    assert all(attributes["dir"] == "auto" for attributes in sentences)
    assert {"en", "hi", "ar", "zh"} <= {attributes.get("lang") for attributes in sentences}


def test_markdown_has_the_scores_and_the_examples():
    text = render_markdown(build())
    row = next(line for line in text.splitlines() if line.startswith("| mention_replacement"))
    assert cells(row) == [
        "mention_replacement", "49.6 ± 0.4", "47.2 ± 0.4", "48.3 ± 0.4", "+2.1", "0.4 to 3.8", "0.018",
        "0.037", "339 to 347", "478 to 494",
    ]  # fmt: skip
    assert "⟨**agnès varda** · PER⟩" in text
    assert "- duplicates: read 860, kept 850, rejected 10 (of another 8, of gold 2)" in text


def test_shows_diversity_only_if_it_was_measured():
    text = render_markdown(build())
    start = text.index("| Method | Diversity-E | Diversity-N | Diversity-L |")
    rows = [cells(line) for line in text[start:].split("\n\n")[0].split("\n")[2:]]
    assert [row[1:] for row in rows] == [["44.0 ± 3.0", "11.0 ± 1.0", "1.25 ± 0.25"]] * 3
    assert [row[0] for row in rows] == [system["name"] for system in build()["systems"][1:]]
    assert "1.25 ± 0.25" in Page(render_html(build())).text
    report = build()
    for system in report["systems"]:
        system["diversity"] = {}
    for shown in (Page(render_html(report)).text, render_markdown(report)):
        assert "Diversity" not in shown


def test_shows_errors_by_kind_for_every_method():
    text = render_markdown(build())
    start = text.index("## What goes wrong")
    head, _, *rows = (cells(line) for line in text[start:].split("\n")[2:8])
    assert head == ["Method", "Correct", "Boundary", "Type", "Both", "Missed", "Spurious"]
    assert [row[0] for row in rows] == [system["name"].replace("gold", "gold only") for system in build()["systems"]]
    assert rows[0][1:] == ["363", "241", "180", "143", "119", "101"]
    assert "- both: “नई दिल्ली” LOC, predicted “दिल्ली” ORG (sentence test-3)" in text
    assert "- missed: “लता” PER, predicted nothing (sentence test-3)" in text
    page = Page(render_html(build()))
    assert ("section", {"id": "errors", "aria-labelledby": "errors-title"}) in page.tags
    assert page.text.count("both: “नई दिल्ली” LOC, predicted “दिल्ली” ORG") == 4
    marked = [attributes for tag, attributes in page.tags if tag == "mark"]
    assert len(marked) > 4 * 6
    report = build()
    for system in report["systems"]:
        system["errors"] = {}
    for shown in (Page(render_html(report)).text, render_markdown(report)):
        assert "goes wrong" not in shown


def test_shows_scores_and_files_by_language():
    report = in_languages(with_evil(build()), "en", EVIL[0], "a|b", "")
    page = Page(render_html(report))
    assert page.open == []
    names = [tag for tag, _ in page.tags]
    assert "script" not in names
    assert names.count("caption") == names.count("table")
    assert {"id": "languages", "aria-labelledby": "languages-title"} in [attributes for _, attributes in page.tags]
    assert EVIL[0] + ".conll" in page.text
    assert "test (en, 300 sentences)" in page.text
    lines = render_markdown(report).split("\n")
    start = lines.index("## F1 by language") + 2
    rows = lines[start : lines.index("", start)]
    assert cells(rows[0])[:2] == ["Language", "Gold mentions"]
    assert [cells(row)[0] for row in rows[2:]] == ["none named", "&lt;script&gt;alert(1)&lt;/script&gt;", "a\\", "en"]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
    per_type = next(line for line in lines if line.startswith("| PER | 214"))
    assert cells(rows[-1])[1:] == cells(per_type)[1:]
    assert "- test (en, 300 sentences): en.conll (sha256 9f86" in "\n".join(lines)


@pytest.mark.parametrize(("f1", "warned"), [(0.0, True), (0.5, False), (None, False)])
def test_a_sweep_warns_if_every_f1_is_0(tmp_path: Path, f1: float | None, warned: bool):
    write_sweep(SweepReport("s", "", [SweepCell(size=8, system="gold", f1=f1)], [], {}), tmp_path)
    for name in ("report.html", "report.md"):
        assert ("Every F1 is 0" in (tmp_path / name).read_text("utf-8")) == warned


def test_write_report_writes_the_same_bytes_and_no_extra_file(tmp_path: Path):
    names = ["report.html", "report.json", "report.md", "tables"]
    write_report(build(), tmp_path)
    first = files(tmp_path)
    write_report(copy.deepcopy(build()), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert files(tmp_path) == first
    assert json.loads((tmp_path / "report.json").read_bytes()) == build()
    assert "किशोर".encode() in (tmp_path / "report.json").read_bytes()


def test_a_report_in_python_shows_the_f1_of_each_system():
    report = Report.model_validate(build())
    assert str(report) == repr(report)
    assert repr(report).startswith(f"Report({report.name!r}: {report.systems[0].label} F1 {report.systems[0].f1}, ")
    assert len(repr(report)) < 500


def test_rendering_does_not_change_the_report():
    report = build()
    render_html(report)
    assert report == build()


@pytest.mark.parametrize("is_over", [True, False])
def test_the_page_of_a_sweep_refreshes_until_the_sweep_is_over(tmp_path: Path, is_over: bool):
    write_sweep(SweepReport("s", "", [SweepCell()], [], {}), tmp_path, is_over=is_over)
    assert ('http-equiv="refresh"' in (tmp_path / "report.html").read_text("utf-8")) != is_over


def test_cross_validation_is_reported_by_folds() -> None:
    report = build() | {"recipe": {"sample": {"folds": 3}}}
    page, markdown = Page(render_html(report)).text, render_markdown(report)
    assert "over 3 folds" in markdown
    assert "summed over folds" in page
    for text in (page, markdown):
        assert "Folds" in text
        for seeds in ("over 3 seeds", "over seeds", "one seed", "history, seed", "seed 0: best"):
            assert seeds not in text


def test_a_training_on_all_sentences_is_not_a_fold() -> None:
    report = build() | {"recipe": {"sample": {"folds": 3}}, "seeds": [3]}
    for text in (Page(render_html(report)).text, render_markdown(report)):
        assert "Fold" not in text.replace("Folds", "")
        assert "one fold" not in text
