"""A parser for rendered reports, and a report full of hostile text."""

from html.parser import HTMLParser

from nersery.report import rendering
from nersery.report.model import Report
from tests.report.report_fixture import sentence

EVIL = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}",
    "{% raw %}",
    "a|b`c`*d*_e_[f](g)&amp;",
]


HEADLINE = "mention_replacement: 48.3 F1, 2.1 above gold only (95\u00a0% interval 0.4 to 3.8, p = 0.018)."


def render_html(report):
    return rendering.report_files(Report.model_validate(report))["report.html"]


def render_markdown(report):
    return rendering.report_files(Report.model_validate(report))["report.md"]


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
    """The report with hostile text wherever a user's text can occur."""
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
    shown = {"words": EVIL, "id": evil, "language": evil, "gold": [entity]}
    system["errors"] = {
        "per_type": {evil: {"correct": 1, evil: 2}},
        "confusion": {evil: {evil: 3, "PER": 1}},
        "examples": [{**shown, "kind": evil, "predicted": [entity], "gold_entity": entity, "predicted_entity": None}],
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


def in_languages(report, *names):
    """The report with scores by language, and a test file for each language."""
    for system in report["systems"]:
        system["per_language"] = dict.fromkeys(names, system["per_type"]["PER"])
    test = report["data"]["test"]
    languages = {name: {**test, "path": f"{name}.conll"} for name in names}
    report["data"]["test"] = {key: test[key] for key in ("sentences", "words", "types")} | {"languages": languages}
    return report
