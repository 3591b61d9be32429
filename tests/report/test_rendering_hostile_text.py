"""Markup, control characters and broken file names in a report are shown as text."""

import json
import re
from itertools import groupby
from pathlib import Path

from markdown_it import MarkdownIt

from nersery.report.sweep_report import SweepReport, write_sweep
from tests.report.pages import EVIL, Page, render_html, render_markdown, with_evil, write_report
from tests.report.report_fixture import build, sentence


def test_hostile_text_is_text_on_the_page():
    page = Page(render_html(with_evil(build())))
    assert page.open == []
    assert {"script", "img"}.isdisjoint(tag for tag, _ in page.tags)
    assert not any(key.startswith("on") for _, attributes in page.tags for key in attributes)
    for text in EVIL:
        assert page.text.count(text) >= 10, text
    assert "49" not in "".join(page.text.split("{{7*7}}")[1:3])


def test_hostile_text_is_text_in_markdown():
    tokens = MarkdownIt("commonmark").enable("table").parse(render_markdown(with_evil(build())))
    inline = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in [*tokens, *inline]}
    assert kinds.isdisjoint({"html_block", "html_inline", "code_inline", "link_open", "image", "em_open", "fence"})
    text = "".join(child.content for child in inline)
    for evil in EVIL:
        assert text.count(evil) >= 10, evil


def test_hostile_text_keeps_the_columns_of_markdown_tables():
    lines = render_markdown(with_evil(build())).split("\n")
    tables = [list(rows) for table, rows in groupby(lines, key=lambda line: line.startswith("|")) if table]
    assert len(tables) == 20
    for rows in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1, rows[0]


def test_a_history_in_markdown_shows_no_escapes():
    report = build()
    report["systems"][1]["selection"][0]["history"] = {"0": {"rates": [0.5], "why": "a`b <i>"}}
    tokens = MarkdownIt("commonmark").parse(render_markdown(report))
    shown = "".join(part.content for token in tokens for part in token.children or () if part.type == "text")
    assert '{ "rates": [ 0.5 ], "why": "a`b <i>" }' in re.sub(" +", " ", shown)


def test_a_sweep_shows_control_characters_and_broken_file_names(tmp_path: Path):
    write_sweep(SweepReport("s", "a\x1bb", [], [], {"size-1": "no file \udcff"}), tmp_path)
    for name in ("report.html", "report.md", "report.json"):
        text = (tmp_path / name).read_text("utf-8")
        assert "a␛b" in text
        assert "udcff" in text


def test_control_characters_and_broken_file_names_are_shown():
    report = build()
    report["systems"][1]["examples"] = [{"parent": None, "child": sentence("1", "a\x00b \x1bc d\x85e\u2028f")}]
    report["data"]["train"]["path"] = "\udcff.conll"
    report["systems"][2]["name"] = "a\u202eb"
    text = Page(render_html(report)).text
    assert "a\\u202eb: 48.3 F1" in text
    assert "a␀b ␛c d\x85e\u2028f" in text
    assert "\\udcff.conll" in text
    assert "a␀b ␛c d e f" in render_markdown(report)


def test_json_stays_json_with_a_diverged_loss_and_a_broken_file_name(tmp_path: Path):
    report = build()
    report["systems"][0]["training"][0]["evaluations"][0] |= {"loss": float("nan"), "score": float("inf")}
    report["data"]["train"]["path"] = "\udcff.conll"
    write_report(report, tmp_path)
    read = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert read["systems"][0]["training"][0]["evaluations"][0] == {"step": 30, "loss": None, "score": None}
    assert read["data"]["train"]["path"] == "\udcff.conll"
