"""The table at the end of `make torture`: what was tried, how often, the result, and the time.

A scenario reports how often it tried something with ``record_property("tried", "1,000 sentences")``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

RESULTS = ("passed", "failed", "error", "skipped")
HEADER = ("scenario", "tried", "result", "seconds")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table if a scenario was run."""
    reports = [report for result in RESULTS for report in terminalreporter.stats.get(result, ())]
    ended = [
        report for report in reports if isinstance(report, pytest.TestReport)
    ]  # pytest lists the files with errors
    scenarios = sorted(filter(is_scenario, ended), key=lambda report: report.nodeid)
    if not scenarios:
        return
    terminalreporter.section("torture")
    for line in lines([HEADER, *map(row, scenarios), *other_tests(ended)]):
        terminalreporter.write_line(line)


def is_scenario(report: pytest.TestReport) -> bool:
    """Whether the report is of a test in this folder."""
    return report.nodeid.startswith("tests/torture/")


def row(report: pytest.TestReport) -> tuple[str, ...]:
    """The row of a scenario."""
    file, _, test = report.nodeid.partition("::")
    name = test.replace("test_", "", 1).replace("::", " ").replace("_", " ")
    area = file.rpartition("/")[2].removeprefix("test_").removesuffix(".py").replace("_", " ")
    tried = ", ".join(str(value) for key, value in report.user_properties if key == "tried")
    result = "passed" if report.passed else f"{report.outcome} in {report.when}"
    return f"{area}: {name}", tried or "once", result, f"{report.duration:.1f}"


def other_tests(ended: Iterable[pytest.TestReport]) -> Iterator[tuple[str, ...]]:
    """One line for all tests that `make test` runs, or skips, too."""
    others = [report for report in ended if not is_scenario(report)]
    if others:
        results = [report.outcome for report in others if report.when == "call" or not report.passed]
        counts = ", ".join(f"{results.count(one)} {one}" for one in ("passed", "failed", "skipped") if one in results)
        yield "all other tests", f"{len(results):,} tests", counts, f"{sum(one.duration for one in others):.1f}"


def lines(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """The rows with columns of equal width.

    >>> list(lines([("a", "tried", "b", "1"), ("long", "x", "passed", "20")]))
    ['a     tried  b        1', 'long  x      passed  20']
    """
    table = list(rows)
    first, second, third, last = (max(map(len, column)) for column in zip(*table, strict=True))
    for what, tried, result, seconds in table:
        yield f"{what:{first}}  {tried:{second}}  {result:{third}}  {seconds:>{last}}"
