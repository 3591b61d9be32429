"""Writes a report as JSON, as Markdown and as one self-contained HTML page.

The renderers read only the report, and no clock. The same report therefore gives the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nersery.core.counting import in_minutes
from nersery.core.errors import DIRECTIONS
from nersery.core.system.files import write_atomic
from nersery.core.system.folders import replaced_folder
from nersery.evaluate.changes import KINDS_OF_CHANGE
from nersery.evaluate.error_analysis import KINDS
from nersery.report.model import COLUMNS, Report
from nersery.report.number_format import unbroken
from nersery.report.pictures import charts
from nersery.report.system_names import BASELINE
from nersery.report.tables.report_tables import report_tables
from nersery.report.tables.setting_tables import setting_tables
from nersery.report.templating import html_template, markdown_template
from nersery.report.verdict import verdict

GOLDEN_ANGLE = 137.508
"""Degrees between the hues of neighbouring types. Neighbours stay distinct with any number of types."""


SECTIONS = (
    ("results", "Results", ""), ("search", "Tried", "tried"), ("reviewed", "Reviewed", "reviewed"),
    ("next", "Label next", "next"), ("changes", "Fixed and broken", "changes"),
    ("types", "Types", ""), ("seen", "Seen and unseen", "per-novelty"), ("languages", "Languages", "per-language"),
    ("errors", "Errors", "errors"), ("training", "Training", "has_curves"), ("grid", "Grid", "grid"),
    ("teachers", "Teachers", "teachers"), ("self-training", "Self-training", "self_trained"),
    ("generated", "Generated", "generating"), ("rejected", "Rejected", "stages"), ("time", "Run time", "run-time"),
    ("data", "Data", ""), ("files", "Files", "files"), ("settings", "Settings", ""),
)  # fmt: skip
"""Sections of the page: anchor, title in the navigation, and the table or value that the section needs, if any."""


def report_files(report: Report) -> dict[str, str]:
    """The text of ``report.json``, ``report.md``, ``report.html`` and ``tables/*.csv``, by file name.

    The Markdown is CommonMark with tables. The page needs no network and runs no script.
    """
    values = report.as_dict()
    context = _template_values(values)
    data = json.dumps(values, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    return {
        # A file name may contain bytes that are not text; their escape is valid JSON.
        "report.json": data.encode("utf-8", "backslashreplace").decode(),
        "report.md": re.sub(r"\n{3,}", "\n\n", markdown_template("report.md.j2").render(context)),
        "report.html": html_template("report.html.j2").render(context),
        **{f"tables/{name}.csv": table.csv for name, table in context["tables"].items()},
    }


def write_report(report: Report, folder: Path) -> None:
    """Write the `report_files` into an existing folder."""
    with replaced_folder(folder / "tables") as tables:
        for name, text in report_files(report).items():
            if name.startswith("tables/"):
                (tables / Path(name).name).write_text(text, "utf-8")
            else:
                write_atomic(folder / name, text)


def _template_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values for the templates, from a report's JSON values: the report, its tables and groups of its systems."""
    report = Report.model_validate(visible(values))
    report.description, report.notes = unbroken(report.description), list(map(unbroken, report.notes))
    systems, types, reference = report.systems, report.types, report.reference
    first_seed = report.seeds[0] if report.seeds else None
    charted = [system for system in systems if system.f1.mean is not None]
    leading, others = charts.leading(systems, reference)
    context: dict[str, Any] = {
        "charts": charts,
        "report": report,
        "files": report.files,
        "systems": systems,
        "leading_systems": leading,
        "other_systems": others,
        "charted": charted,
        "f1_scale": charts.f1_scale(charted),
        "has_intervals": any(system.f1_interval for system in charted),
        "difference_scale": charts.difference_scale(systems),
        "reference": reference,
        "base": BASELINE,
        "best": report.best,
        "labels": {system.name: system.label for system in systems},
        "columns": COLUMNS,
        "mistaken": [system for system in systems if system.errors.per_type],
        "mistake_meanings": KINDS,
        "kinds_of_change": KINDS_OF_CHANGE,
        "generating": [system for system in systems if system.examples],
        "has_curves": charts.curve_scales(system.training for system in systems),
        "self_trained": [system for system in systems if system.self_training],
        "verdict": verdict(report),
        "hues": {name: round(20 + number * GOLDEN_ANGLE) % 360 for number, name in enumerate(types)},
        "comparisons": report.comparisons,
        "setting_tables": setting_tables(report.recipe),
        "tables": report_tables(report),
        "total_time": _total_time(report),
        "grid_seed": next((s.grid.seed for s in systems if s.grid and s.grid.seed is not None), first_seed),
    }
    present = {"", *context["tables"], *(name for name, value in context.items() if value)}
    return context | {"sections": [(id_, title) for id_, title, needs in SECTIONS if needs in present]}


def _total_time(report: Report) -> str | None:
    """The time of all systems together, as text; None if it is unknown."""
    known = [seconds for times in report.run_time.values() for seconds in times.seconds if seconds is not None]
    if not known:
        return None
    at_least = any(times.killed for times in report.run_time.values())
    return "at least " * at_least + in_minutes(sum(known))


_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {0x7F: 0x2421}
_READABLE = str.maketrans(_PICTURES | {one: f"\\u{ord(one):x}" for one in DIRECTIONS})


def visible(value: Any) -> Any:
    """The value for a page: control characters as pictures; lone surrogates and direction marks as escapes."""
    if isinstance(value, str):
        if value.isascii() and value.isprintable():  # the usual case
            return value
        return value.translate(_READABLE).encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {visible(key): visible(part) for key, part in value.items()}
    if isinstance(value, list):
        return [visible(part) for part in value]
    return value
