"""One table of several runs, with a row for each of their systems."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

from pydantic import ValidationError

from nersery.core.errors import DataError, Issue
from nersery.core.warnings import note
from nersery.report.model import Report
from nersery.report.tables.table_columns import (
    COUNTS,
    GAIN,
    INTERVAL,
    MEASURE,
    NAME,
    P_VALUE,
    TEXT,
    Column,
    ReportTable,
)

REPORT_FILE = "report.json"
FINISH = "name the folder of a finished run, e.g. runs/demo; the same nersery run or grow finishes it"


def reports_in(folder: str | Path) -> Iterator[Report]:
    """The report of a finished run, or the reports of a sweep's finished runs in the order of their names.

    Raises:
        DataError: If the folder has no report.
    """
    file = Path(folder) / REPORT_FILE
    try:
        content = json.loads(file.read_text("utf-8"))
        if "cells" not in content:
            yield Report.model_validate(content, extra="ignore")  # another version may have written other keys
            return
        run_count = len({(cell["size"], cell["language"]) for cell in content["cells"]})
    except FileNotFoundError:
        raise DataError(Issue(f"there is no {REPORT_FILE}", str(folder)), fix=FINISH) from None
    except (ValueError, LookupError, TypeError, ValidationError):
        issue = Issue("this is not the report of a run", str(file))
        raise DataError(issue, fix="repeat its nersery run or grow, which writes it again") from None
    runs = [file.parent for file in Path(folder).glob(f"*/{REPORT_FILE}")]
    if run_count and not runs:
        raise DataError(Issue("no run of the sweep is finished", str(folder)), fix=FINISH)
    if len(runs) < run_count:
        note(f"{folder}: {run_count - len(runs)} of {run_count} runs of the sweep are not finished, and left out")
    for run in sorted(runs, key=lambda run: (int((re.match(r"\d+", run.name) or ["0"])[0]), run.name)):
        for report in reports_in(run):
            yield report.model_copy(update={"name": f"{report.name} {run.name}" if len(runs) > 1 else report.name})


def reports_of(folders: Sequence[str]) -> list[Report]:
    """The reports in all folders. If several have the same name, the folder is appended to it.

    Raises:
        DataError: If a folder has no report.
    """
    named_reports = [(folder, report) for folder in folders for report in reports_in(folder)]
    counts = Counter(report.name for _, report in named_reports)
    return [
        report.model_copy(update={"name": f"{report.name} ({folder})"}) if counts[report.name] > 1 else report
        for folder, report in named_reports
    ]


def results_table(reports: Iterable[Report]) -> ReportTable:
    """F1 of every system of every run, with the difference from gold only in the same run."""
    columns = [
        Column("Run", TEXT, "run"), Column("Method", NAME, "system.label"),
        Column("Seeds", of=lambda item: len(item.system.f1.values)),
        Column("Training sentences", COUNTS, "system.train_sentences"), Column("F1", MEASURE, "system.f1"),
        Column("Difference", GAIN, "system.tested.difference"),
        Column("95 % interval", INTERVAL, lambda item: None if item.system.tested.low is None else item.system.tested),
        Column("p", P_VALUE, "system.tested.p"),
    ]  # fmt: skip
    items = (SimpleNamespace(run=report.name, system=system) for report in reports for system in report.systems)
    caption = "F1 in percent points (micro average, whole entities), and the difference from gold only in the same run"
    return ReportTable.of("results", caption, columns, items)
