import copy
import json
import re
from html.parser import HTMLParser
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from nersery.report import rendering
from nersery.report.model import Report
from nersery.report.parts import SweepCell
from nersery.report.sweep_report import SweepReport, write_sweep
from tests.report.report_fixture import build, sentence
from tests.standins import files

EVIL = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}",
    "{% raw %}",
    "a|b`c`*d*_e_[f](g)&amp;",
]
HEADLINE = "mention_replacement: 48.3 F1, 2.1 above gold only (95\u00a0% interval 0.4 to 3.8, p = 0.018)."


def render_html(report):
    return rendering.render_html(Report.model_validate(report))


def render_markdown(report):
    return rendering.render_markdown(Report.model_validate(report))


def write_report(report, folder):
    rendering.write_report(Report.model_validate(report), folder)


class Page(HTMLParser):
    """The elements of a page and its visible text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br", "wbr"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} closes what it did not open"

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def with_evil(report):
    """The report with hostile text wherever a user's text can stand."""
    evil = " ".join(EVIL)
    child = sentence("x", "nothing")
    child |= {"id": evil, "words": EVIL, "entities": [{"start": 0, "end": 2, "type": EVIL[0]}], "language": evil}
    system = report["systems"][1]
    system |= {
        "name": evil,
        "method": evil,
        "generation": {"read": 5, "written": 4, "rejected": 1, "reasons": {evil: 1}},
    }
    system["examples"] = [{"parent": {**child, "words": [*EVIL[::-1]]}, "child": child, "scores": {evil: 1.0}}]
    system["reject_examples"] = [{"reason": evil, "stage": evil, "parent": None, "child": child}]
    system["per_type"][evil] = system["per_type"]["PER"]
    entity = child["entities"][0]
    shown = {"words": EVIL, "id": evil, "language": evil, "gold": [entity], "predicted": [entity]}
    system["errors"] = {
        "per_type": {evil: {"correct": 1, evil: 2}},
        "confusion": {evil: {evil: 3, "PER": 1}},
        "examples": [{**shown, "kind": evil, "gold_entity": entity, "predicted_entity": None}],
    }
    change = {**shown, "kind": "fixed", "before": [], "after": [entity], "entity": entity}
    system["changes"] = {"per_type": {evil: {"fixed": 1}}, "examples": [change]}
    report["files"].append({"system": evil, "label": evil, "path": "javascript:alert(1)//" + evil})
    report["run_time"][evil] = {"estimate": 1.0, "seconds": [2.0]}
    for key in ("name", "description", "command", "nersery"):
        report[key] = evil
    report["notes"].append(evil)
    report["versions"][evil] = report["recipe"][evil] = evil
    report["data"][evil] = {"path": evil, "sha256": evil, "sentences": 1, "types": {evil: 3}}
    report["sample"]["protocol"] = evil
    return report


def test_the_page_says_what_the_run_says():
    page = Page(render_html(build()))
    assert page.open == []
    for text in (
        HEADLINE, "nersery run demo --out runs/demo", "3 of 300 test sentences", "46.2 ± 0.6", "−5.2 to −1.9",
        "339 to 347", "agreement < 1", "optimizer.learning_rate", "5.23.0", "किशोर कुमार", "أم كلثوم",
    ):  # fmt: skip
        assert text in page.text, text


def test_the_page_is_whole_in_itself_and_runs_no_script():
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


def test_sentences_carry_direction_and_language():
    tags = Page(render_html(build())).tags
    sentences = [attributes for tag, attributes in tags if attributes.get("class") == "sentence"]
    assert sentences
    assert all(attributes["dir"] == "auto" for attributes in sentences)
    assert {"en", "hi", "ar", "zh"} <= {attributes.get("lang") for attributes in sentences}


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


def test_markdown_has_the_figures():
    text = render_markdown(build())
    row = next(line for line in text.splitlines() if line.startswith("| mention_replacement"))
    assert cells(row) == [
        "mention_replacement", "49.6 ± 0.4", "47.2 ± 0.4", "48.3 ± 0.4", "+2.1", "0.4 to 3.8", "0.018",
        "0.037", "339 to 347", "478 to 494",
    ]  # fmt: skip
    assert "⟨**agnès varda** · PER⟩" in text
    assert "- duplicates: read 860, kept 850, rejected 10 (of another 8, of gold 2)" in text


def test_diversity_of_the_methods_that_have_it():
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


def test_errors_by_kind_of_every_method():
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


def test_one_seed_is_said_to_have_no_spread():
    report = build() | {"seeds": [0]}
    for system in report["systems"]:
        for measure in (system["f1"], system["precision"], system["recall"]):
            measure |= {"std": None, "values": measure["values"][:1]}
    for text in (render_html(report), render_markdown(report)):
        assert "one run: no spread" in text
        assert "One seed: the spread is unknown" in text
    assert "Seed 0 (one run: no spread)" in render_markdown(report)


def test_a_report_of_nothing_renders():
    for report in ({}, {"systems": []}, {"systems": [{"name": "gold"}]}, {"systems": [{"name": "a", "method": "a"}]}):
        assert "Nothing was scored." in render_html(report)
        assert "Nothing was scored." in render_markdown(report)


def test_a_sample_without_a_size_is_no_sample_and_nersery_has_one_version():
    report = build()
    report["sample"] = {"size": None, "protocol": "stratified"}
    report["versions"]["nersery"] = "0.1.0"
    for text in (Page(render_html(report)).text, render_markdown(report)):
        assert "sample of" not in text
        assert "stratified sample" not in text
    names = [line for line in render_markdown(report).split("\n") if line.startswith("| nersery |")]
    assert names == ["| nersery | 0.1.0 |"]


def in_languages(report, *names):
    """The report with scores by language, and a file of each for testing."""
    for system in report["systems"]:
        system["per_language"] = dict.fromkeys(names, system["per_type"]["PER"])
    test = report["data"]["test"]
    languages = {name: {**test, "path": f"{name}.conll"} for name in names}
    report["data"]["test"] = {key: test[key] for key in ("sentences", "words", "types")} | {"languages": languages}
    return report


def test_scores_and_files_by_language():
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


def test_without_languages_nothing_is_said_of_them():
    for text in (Page(render_html(build())).text, render_markdown(build())):
        assert "language" not in text.lower()


def keys(value, path=()):
    """The paths of all keys, one for each shape; what a sentence is made of must be there."""
    if isinstance(value, dict) and "words" not in value:
        for key, part in value.items():
            yield (*path, key)
            yield from keys(part, (*path, key))
    elif isinstance(value, list) and value:
        yield from keys(value[-1], (*path, len(value) - 1))


def small():
    """A report with one of each part."""
    report = build()
    report |= {
        "systems": [report["systems"][0], report["systems"][2]],
        "recipe": {},
        "data": {"test": report["data"]["test"]},
    }
    for system in report["systems"]:
        system["per_type"] = {"PER": system["per_type"]["PER"]}
    return in_languages(report, "hi")


SMALL = small()


@pytest.mark.parametrize("path", [path for path in keys(SMALL) if path[-1] != "child"], ids=str)
def test_any_part_may_be_null_or_missing(path):
    report = copy.deepcopy(SMALL)
    *way, last = path
    place = report
    for step in way:
        place = place[step]
    place[last] = None
    assert "</html>" in render_html(report)
    assert "## Versions" in render_markdown(report)


def test_many_types_and_long_names():
    report = build()
    system = report["systems"][1]
    system["name"] = "a_method_with_a_name_that_is_longer_than_any_screen_is_wide" * 2
    system["per_type"] = {f"type-{number}": system["per_type"]["PER"] for number in range(80)}
    html = render_html(report)
    hues = {line.split(";")[0] for line in html.split("--hue: ")[1:]}
    assert len(hues) >= 80
    assert system["name"] in Page(html).text


def test_a_report_without_the_baseline_names_it_all_the_same():
    report = build()
    del report["systems"][0]
    text = Page(render_html(report)).text
    assert "Against gold only" in text
    assert "fixed: “أم كلثوم” PER" in text


def test_a_history_in_markdown_has_no_escapes_to_see():
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


@pytest.mark.parametrize(("f1", "warned"), [(0.0, True), (0.5, False), (None, False)])
def test_a_sweep_in_which_nothing_is_found_says_so(tmp_path: Path, f1: float | None, warned: bool):
    write_sweep(SweepReport("s", "", [SweepCell(size=8, system="gold", f1=f1)], [], {}), tmp_path)
    for name in ("report.html", "report.md"):
        assert ("Every F1 is 0" in (tmp_path / name).read_text("utf-8")) == warned


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


def test_write_report_writes_the_same_bytes_and_no_other_file(tmp_path: Path):
    names = ["report.html", "report.json", "report.md", "tables"]
    write_report(build(), tmp_path)
    first = files(tmp_path)
    write_report(copy.deepcopy(build()), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert files(tmp_path) == first
    assert json.loads((tmp_path / "report.json").read_bytes()) == build()
    assert "किशोर".encode() in (tmp_path / "report.json").read_bytes()


def test_json_stays_json_with_a_diverged_loss_and_a_broken_file_name(tmp_path: Path):
    report = build()
    report["systems"][0]["training"][0]["evaluations"][0] |= {"loss": float("nan"), "score": float("inf")}
    report["data"]["train"]["path"] = "\udcff.conll"
    write_report(report, tmp_path)
    read = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert read["systems"][0]["training"][0]["evaluations"][0] == {"step": 30, "loss": None, "score": None}
    assert read["data"]["train"]["path"] == "\udcff.conll"


def test_rendering_leaves_the_report_as_it_was():
    report = build()
    render_html(report)
    assert report == build()
