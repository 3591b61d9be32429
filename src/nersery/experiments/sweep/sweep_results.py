"""The scores of a sweep so far, as the papers' tables."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nersery.experiments.recipe import Recipe
from nersery.experiments.results import training_report
from nersery.experiments.run_state.made_files import read_result
from nersery.experiments.run_state.run_folder import RunFolder
from nersery.experiments.sweep.sweep_settings import SettingsTable, SweepPoint, SweepSettings
from nersery.experiments.systems import System
from nersery.report.parts import Measure, SweepCell
from nersery.report.system_names import label_of
from nersery.report.tables.table_columns import MEASURE, NAME, TEXT, Column, ReportTable

AVERAGE = "Avg"


@dataclass
class SweepResults:
    """The scores of a sweep.

    Args:
        recipe: The recipe with the sweep.
        sweep: What it varies.
        runs: The run of each point.
    """

    recipe: Recipe
    sweep: SweepSettings
    runs: Sequence[tuple[SweepPoint, RunFolder]]
    _records: dict[Path, Any] = field(default_factory=dict, init=False)

    def cells(self) -> list[SweepCell]:
        """The scores of every system of every run with every seed."""
        return [
            SweepCell(size=point.size, language=point.language, system=system.name, seed=seed, f1=f1)
            for point, run in self.runs
            for system in run.recipe.systems
            for seed, f1 in zip(run.recipe.seeds, self._scores(run, system), strict=True)
        ]

    def tables(self) -> list[ReportTable]:
        """The table of all systems, and one for each entry of ``sweep.settings``."""
        tables = [self._main(), *(self._varied(n, t) for n, t in enumerate(self.sweep.tables, start=1))]
        return [table for table in tables if table.rows]

    @property
    def _caption(self) -> str:
        return f"F1 on {self.sweep.score} in percent points, mean ± standard deviation over seeds"

    def _main(self) -> ReportTable:
        """A row for each size and system, a column for each language and their average."""
        swept_names = {name for table in self.sweep.tables for name in table.systems}
        sources = {table.system for table in self.sweep.tables}
        systems = [s for s in self.recipe.systems if s.name not in swept_names - sources]
        swept = self.sweep.languages  # each has its own runs; otherwise the scores of a run by language
        languages = swept or self._tested()
        runs = {(point.size, point.language): run for point, run in self.runs}
        sizes: list[int | None] = [*self.sweep.sizes] or [None]
        rows = []
        for size, system in itertools.product(sizes, systems):
            by_language = [
                self._scores(runs[size, language], system) if swept else self._scores(runs[size, ""], system, language)
                for language in languages or [""]
            ]
            averages = [average.mean if average else None for average in map(_measure, zip(*by_language, strict=True))]
            measures = [*map(_measure, by_language), *([_measure(averages)] if len(languages) > 1 else [])]
            rows.append((str(size or self.recipe.sample.size or "all"), label_of(system.name), *measures))
        headings = [*(languages or ["F1"]), *([AVERAGE] if len(languages) > 1 else [])]
        columns = [Column("Sentences", TEXT), Column("Method", NAME), *(Column(name, MEASURE) for name in headings)]
        return ReportTable("systems", self._caption, columns, rows)

    def _tested(self) -> list[str]:
        """The languages of the test files; none for dev, because its score is known only for all languages together."""
        files = self.recipe.data.files("test") if self.sweep.score == "test" else []
        return [file.language for file in files if file.language]

    def _varied(self, number: int, table: SettingsTable) -> ReportTable:
        """A row for each point and value of the second setting, a column for each value of the first."""
        systems = {system.name: system for system in self.recipe.systems}
        column_values, *row_values = table.values
        labels = [[f"{table.keys[1]} = {value}"] for value in row_values[0]] if row_values else [[]]
        rows = []
        for (point, run), (index, label) in itertools.product(self.runs, enumerate(labels)):
            names = table.systems[index :: len(labels)]
            rows.append((point.name, *label, *(_measure(self._scores(run, systems[name])) for name in names)))
        columns = [Column("Run", NAME), *([Column(table.keys[1], TEXT)] if row_values else [])]
        columns += [Column(f"{table.keys[0]} = {value}", MEASURE) for value in column_values]
        return ReportTable(
            f"{number}-{'-'.join(table.keys)}", f"{self._caption}; {table.system}, by {table.keys[0]}", columns, rows
        )

    def _scores(self, run: RunFolder, system: System, language: str = "") -> list[float | None]:
        """F1 of a system with each seed; None if it is unknown."""
        return [self._score(run.path(seed, system, "result.json"), language) for seed in run.recipe.seeds]

    def _score(self, path: Path, language: str) -> float | None:
        if not path.exists():
            return None
        if path not in self._records:
            self._records[path] = read_result(path)
        result = self._records[path]
        if self.sweep.score == "dev":
            return training_report(result["training"]).dev_f1
        scores = result["scores"]
        by_language = scores.get("per_language", {language: scores["micro"]})  # a single language has none
        group = by_language.get(language) if language else scores["micro"]
        return float(group["f1"]) if group else None


def _measure(values: Sequence[float | None]) -> Measure | None:
    """Mean and deviation over seeds or languages; None if a value is unknown."""
    known = [value for value in values if value is not None]
    return Measure.of(known) if len(known) == len(values) else None
