"""Writes a report as JSON, as Markdown and as one self-contained HTML page.

The renderers read only the report and no clock: the same report gives the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nersery.core.files import write_atomic
from nersery.evaluate.error_analysis import CORRECT, KINDS
from nersery.report.escaping import html_template, markdown_template
from nersery.report.model import COLUMNS, Report
from nersery.report.verdict import verdict

GOLDEN_ANGLE = 137.508
"""Degrees between the hues of neighbouring types; keeps neighbours apart, however many types there are."""


def render_html(report: Report) -> str:
    """The report as one page that needs no network and runs no script."""
    return html_template("report.html.j2").render(_context(report))


def render_markdown(report: Report) -> str:
    """The report as Markdown (CommonMark with tables)."""
    text = markdown_template("report.md.j2").render(_context(report))
    return re.sub(r"\n{3,}", "\n\n", text)


def write_report(report: Report, folder: Path) -> None:
    """Write ``report.json``, ``report.md`` and ``report.html`` into a folder that exists."""
    data = json.dumps(report.as_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    # A file name may contain bytes that are not text; their escape is valid JSON.
    write_atomic(folder / "report.json", data.encode("utf-8", "backslashreplace").decode())
    write_atomic(folder / "report.md", render_markdown(report))
    write_atomic(folder / "report.html", render_html(report))


def _context(report: Report) -> dict[str, Any]:
    """What the templates read: the report, and selections of its systems."""
    report = Report.model_validate(_visible(report.as_dict()))
    systems, types = report.systems, report.types
    return {
        "report": report,
        "systems": systems,
        "reference": report.reference,
        "columns": COLUMNS.values(),
        "mistaken": [system for system in systems if system.mistakes],
        "mistake_kinds": (CORRECT, *KINDS),
        "mistake_meanings": KINDS,
        "self_trained": [system for system in systems if system.self_training],
        "taught": [system for system in systems if system.teachers],
        "tuned": [system for system in systems if system.grid],
        "diverse": [system for system in systems if any(measure for _, measure in system.diversity)],
        "verdict": verdict(report),
        "scored_types": [name for name in types if any(name in system.per_type for system in systems)],
        "languages": sorted({name for system in systems for name in system.per_language}),
        "data_types": [name for name in types if any(name in split.types for split in report.data.values())],
        "hues": {name: round(20 + number * GOLDEN_ANGLE) % 360 for number, name in enumerate(types)},
        "comparisons": report.comparisons,
        "setting_tables": setting_tables(report.recipe),
    }


_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {0x7F: 0x2421}


def _visible(value: Any) -> Any:
    """The same with control characters as pictures and lone surrogates escaped: neither may occur in a page."""
    if isinstance(value, dict):
        return {_visible(key): _visible(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_visible(part) for part in value]
    if isinstance(value, str):
        return value.translate(_PICTURES).encode("utf-8", "backslashreplace").decode()
    return value


def setting_tables(recipe: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """A recipe as titled tables of settings and values: one for each section, one for each entry of a list.

    >>> setting_tables({"seeds": [0, 1], "tagger": {"crf": True, "optimizer": {"lr": 0.1}}})
    [('general', [('seeds', '0, 1')]), ('tagger', [('crf', 'true'), ('optimizer.lr', '0.1')])]
    """
    general: list[tuple[str, str]] = []
    tables: list[tuple[str, list[tuple[str, str]]]] = []
    for key, value in recipe.items():
        if isinstance(value, Mapping):
            tables.append((key, list(_settings(value))))
        elif isinstance(value, list) and value and all(isinstance(part, Mapping) for part in value):
            for number, part in enumerate(value, 1):
                name = part.get("name") or part.get("method")
                tables.append((f"{key} {number}" + (f": {name}" if name else ""), list(_settings(part))))
        else:
            general += _settings({key: value})
    return ([("general", general)] if general else []) + tables


def _settings(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, part in value.items():
        name = f"{prefix}{key}"
        if isinstance(part, Mapping) and part:
            yield from _settings(part, f"{name}.")
        elif isinstance(part, list) and any(isinstance(one, Mapping | list) for one in part):
            yield from _settings({str(number): one for number, one in enumerate(part, 1)}, f"{name}.")
        else:
            yield name, _setting(part)


def _setting(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, list | Mapping):
        return ", ".join(map(_setting, value)) or "none"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
