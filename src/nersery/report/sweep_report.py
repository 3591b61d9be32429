"""The report of a sweep: tables over several runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nersery.core.system.files import write_atomic, write_json
from nersery.core.system.folders import replaced_folder
from nersery.report.parts import SweepCell
from nersery.report.pictures import charts
from nersery.report.rendering import visible
from nersery.report.tables.table_columns import ReportTable
from nersery.report.templating import html_template, markdown_template


@dataclass(frozen=True)
class SweepReport:
    """The results of a sweep.

    Args:
        failures: The reason why a system failed, by the run and system.
        notes: What to know before trusting the figures, each with the runs that it applies to.
    """

    name: str
    description: str
    cells: list[SweepCell]
    tables: list[ReportTable]
    failures: dict[str, str]
    notes: dict[str, list[str]] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """The number of finished cells."""
        return sum(cell.f1 is not None for cell in self.cells)

    @property
    def found_nothing(self) -> bool:
        """Whether at least one training is finished, but no tagger found a correct entity."""
        return self.done > 0 and not any(cell.f1 for cell in self.cells)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "name": self.name,
            "description": self.description,
            "cells": [cell.model_dump() for cell in self.cells],
            "notes": self.notes,
            "failures": self.failures,
            "tables": {table.name: table.shown for table in self.tables},
        }


def write_sweep(report: SweepReport, folder: Path, *, is_over: bool = True) -> None:
    """Write ``report.json``, ``report.md``, ``report.html``, ``tables/*.csv`` and ``tables/*.tex``.

    Args:
        is_over: Whether the sweep is over. If not, the page reloads itself from time to time.
    """
    readable: dict[str, Any] = {name: visible(getattr(report, name)) for name in ("description", "failures", "notes")}
    report = replace(report, **readable)
    write_json(folder / "report.json", report.as_dict())
    context = {
        "charts": charts,
        "is_over": is_over,
        "report": report,
        "tables": {table.name: table for table in report.tables},
        "hues": {},
        "size_panels": charts.size_panels(report.cells),
    }
    write_atomic(folder / "report.md", markdown_template("sweep.md.j2").render(context))
    write_atomic(folder / "report.html", html_template("sweep.html.j2").render(context))
    with replaced_folder(folder / "tables") as tables:
        for table in report.tables:
            (tables / f"{table.name}.csv").write_text(table.csv, "utf-8")
            (tables / f"{table.name}.tex").write_text(table.latex, "utf-8")
