"""A sweep: a run for each size and language, and the papers' tables over all of them.

A folder holds one sweep. Each run has a folder within it, which resumes like any other::

    run.json                    the recipe, as of a run
    100-en/…, 200-en/…          the runs; see `nersery.experiments.runner`
    report.{json,md,html}       the tables, rewritten after each system
    tables/*.{csv,tex}
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from nersery.core.errors import ChangedInputError, NerseryError
from nersery.core.files import as_path, write_json
from nersery.core.locks import locked
from nersery.core.progress import print_line
from nersery.core.sentence import Corpus
from nersery.experiments.execution.cells import makespan
from nersery.experiments.execution.jobs import CellRunner, failure_text, threads_of_jobs
from nersery.experiments.run_time import estimates
from nersery.experiments.recipe import Recipe, load
from nersery.experiments.recipe_file.data_files import DataSettings
from nersery.experiments.results import both_trainings, build_report
from nersery.experiments.run_state.fingerprint import check_folder, run_fingerprint
from nersery.experiments.run_state.run_folder import read_record
from nersery.experiments.runner import Run
from nersery.experiments.sweep import Part, SettingsTable, SweepSettings, parts
from nersery.experiments.systems import System
from nersery.report.escaping import markdown_table
from nersery.report.model import Report
from nersery.report.parts import Measure, SweepCell
from nersery.report.rendering import write_report
from nersery.report.sweep_report import SweepReport, write_sweep
from nersery.report.tables.table_columns import MEASURE, NAME, TEXT, Column, ReportTable

AVERAGE = "Avg"


def run(
    recipe: str | Path,
    *,
    output: str | Path | None = None,
    overrides: Iterable[str] = (),
    models: str = "",
    quiet: bool = False,
    jobs: int = 1,
) -> Report | SweepReport:
    """Run an experiment in a folder, or resume it, and return its report; with a sweep, that of all runs.

    Args:
        recipe: A TOML file, or the name of a shipped recipe.
        output: The folder; None writes to ``runs/NAME``.
        overrides: Changes of the recipe, ``key=value``.
        models: Replaces all models, see `nersery.experiments.recipe_file.model_sets`.
        jobs: Processes that share the systems and seeds; a script with several needs ``if __name__ == "__main__":``.
    """
    named_folder = None if output in (None, "") else as_path(output, "output")
    loaded = load(str(recipe), overrides, models)
    return job_of(loaded, named_folder or Path("runs") / loaded.name, jobs, quiet=quiet).execute()


def job_of(recipe: Recipe, folder: Path, jobs: int, *, quiet: bool) -> Run | Sweep:
    """The run of a recipe, or its sweep."""
    return (Sweep if recipe.sweep else Run)(recipe, folder, quiet, jobs)


@dataclass
class Sweep:
    """Runs all parts of a sweep.

    Args:
        recipe: With a sweep.
        folder: Created if missing; the folder of another run or sweep is refused.
        quiet: Show no progress.
        jobs: Processes that share the cells of all runs.
    """

    recipe: Recipe
    folder: Path
    quiet: bool = False
    jobs: int = 1
    failures: dict[str, str] = field(default_factory=dict, init=False)
    notes: dict[str, list[str]] = field(default_factory=dict, init=False)
    _results: dict[Path, Any] = field(default_factory=dict, init=False)
    _corpora: dict[str, dict[str, Corpus]] = field(default_factory=dict, init=False)
    _inputs: dict[str, Any] = field(default_factory=dict, init=False)

    @property
    def settings(self) -> SweepSettings:
        """What is varied."""
        return self.recipe.sweep or SweepSettings()

    def runs(self) -> list[tuple[Part, Run]]:
        """The run of each part."""
        folders = {part: self.folder / part.name for part in parts(self.settings)}
        threads = threads_of_jobs([*folders.values()], self.jobs)
        new_run = partial(Run, quiet=self.quiet, jobs=self.jobs, threads=threads, is_part=True, inputs=self._inputs)
        return [(part, new_run(self._recipe(part), folder)) for part, folder in folders.items()]

    def _recipe(self, part: Part) -> Recipe:
        sample, overrides = self.recipe.sample, list(self.recipe.overrides)
        if part.size is not None:
            sample = replace(sample, size=part.size, dev_size=part.size if sample.dev_size else None)
            overrides.append(f"sweep.sizes=[{part.size}]")
        if part.language:
            overrides.append(f'sweep.languages=["{part.language}"]')
        data: DataSettings = part.data(self.recipe.data)
        return replace(self.recipe, sample=sample, data=data, sweep=None, overrides=tuple(overrides))

    def check(self) -> list[str]:
        """Check the folder, and each language's files and models with the extreme sizes; the notes on them."""
        check_folder(self.folder, run_fingerprint(self.recipe))
        sizes = self.settings.sizes
        extremes = {min(sizes), max(sizes)} if sizes else {None}
        notes: dict[str, None] = {}
        for part, run in self.runs():
            if part.size in extremes:
                is_known = part.language in self._corpora
                run.quiet = self.quiet or is_known  # the same files again
                run.check()
                if is_known:
                    for note in run.notes:
                        if note not in notes:
                            self._say(f"note: {note}")
                notes |= dict.fromkeys(run.notes)
                self._corpora[part.language] = run.corpora
        return [*notes]

    def plan(self) -> dict[str, Any]:
        """As `Run.plan`."""
        speeds: dict[str, Any] = {}
        runs, notes = self.runs(), self.check()
        seconds = 0.0
        for part, run in runs:
            estimated = estimates(run.recipe, self._corpora[part.language], run.threads, speeds, self._say)
            seconds += makespan(run.recipe, estimated, self.jobs)
        return {
            "recipe": self.recipe.source,
            "runs": [part.name for part, _ in runs],
            "systems": [system.name for system in self.recipe.systems],
            "seeds": self.recipe.seeds,
            "notes": notes,
            "seconds_in_all": seconds,
        }

    def execute(self) -> SweepReport:
        """Run everything that is not finished; a system that fails is noted, and the others continue.

        Raises:
            NerseryError: If the folder belongs to another run, or every system failed.
        """
        check_folder(self.folder, fingerprint := run_fingerprint(self.recipe))
        self._inputs = fingerprint["inputs"]
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder):
            write_json(self.folder / "run.json", fingerprint)
            self._execute()
            report = self.report()
            write_sweep(report, self.folder)
        if self.failures and not report.done:
            raise NerseryError(f"every system of the sweep failed. The first: {next(iter(self.failures.values()))}")
        return report

    def _execute(self) -> None:
        parts_and_runs = self.runs()
        names, runs = [part.name for part, _ in parts_and_runs], [run for _, run in parts_and_runs]
        fingerprints, failed = dict[int, dict[str, Any]](), set[int]()
        self.notes.clear()
        shown: SweepReport | None = None
        with ExitStack() as stack:
            stacks = [stack.enter_context(ExitStack()) for _ in runs]

            def begin(number: int) -> bool:
                self._say(f"run {names[number]} ({number + 1} of {len(runs)})")
                try:
                    fingerprints[number] = stacks[number].enter_context(runs[number].started())
                except Exception as error:
                    self._note_failure(names[number], error)
                for note in runs[number].notes:
                    self.notes.setdefault(note, []).append(names[number])
                return number in fingerprints

            cells = CellRunner(runs, begin)
            for cell, error in cells.results(self.jobs):
                number, run = cell.run, runs[cell.run]
                if error is not None:
                    failed.add(number)
                    self._note_failure(f"{names[number]}, {cell}", error)
                if (report := self.report()) != shown:  # a cell of an earlier call says nothing new
                    write_sweep(shown := report, self.folder, is_over=False)
                if number not in failed and cells.is_over(number, cell.seed):
                    run.remove_taggers(cell.seed)
                if cells.is_over(number):
                    if number not in failed:
                        write_report(build_report(run, fingerprints[number]["inputs"]), run.folder)
                    stacks[number].close()
                    run.corpora.clear()
                    tables = "\n\n".join(str(markdown_table(table)) for table in self.tables())
                    self._say(f"\nafter {names[number]}:\n\n{tables}\n")

    def _note_failure(self, label: str, error: Exception) -> None:
        """Note an error instead of raising it, unless its cause concerns the other runs, too."""
        if isinstance(error, ChangedInputError):
            raise error
        self.failures[label] = failure_text(error)
        self._say(f"note: {label} failed, the others continue: {self.failures[label]}")

    def _say(self, text: str) -> None:
        if not self.quiet:
            print_line(text, end="\n")

    # --- results ----------------------------------------------------------------------------------------------------

    def report(self) -> SweepReport:
        """The tables, and every score that is there so far."""
        cells = [
            SweepCell(size=part.size, language=part.language, system=system.name, seed=seed, f1=f1)
            for part, run in self.runs()
            for system in run.recipe.systems
            for seed, f1 in zip(run.recipe.seeds, self._scores(run, system), strict=True)
        ]
        about = self.recipe.name, self.recipe.description
        return SweepReport(*about, cells, self.tables(), dict(self.failures), deepcopy(self.notes))

    def tables(self) -> list[ReportTable]:
        """The table of all systems, and one for each entry of ``sweep.settings``."""
        tables = [self._main(), *(self._varied(n, t) for n, t in enumerate(self.settings.tables, start=1))]
        return [table for table in tables if table.rows]

    @property
    def _caption(self) -> str:
        return f"F1 on {self.settings.score} in percent points, mean ± standard deviation over seeds"

    def _main(self) -> ReportTable:
        """A row for each size and system, a column for each language and their average."""
        swept_names = {name for table in self.settings.tables for name in table.systems}
        sources = {table.system for table in self.settings.tables}
        systems = [s for s in self.recipe.systems if s.name not in swept_names - sources]
        swept = self.settings.languages  # each with runs of its own; else the scores of a run by language
        languages = swept or self._tested()
        runs = {(part.size, part.language): run for part, run in self.runs()}
        sizes: list[int | None] = [*self.settings.sizes] or [None]
        rows = []
        for size, system in itertools.product(sizes, systems):
            by_language = [
                self._scores(runs[size, language], system) if swept else self._scores(runs[size, ""], system, language)
                for language in languages or [""]
            ]
            averages = [average.mean if average else None for average in map(_measure, zip(*by_language, strict=True))]
            measures = [*map(_measure, by_language), *([_measure(averages)] if len(languages) > 1 else [])]
            name = "gold only" if system.is_baseline else system.name
            rows.append((str(size or self.recipe.sample.size or "all"), name, *measures))
        headings = [*(languages or ["F1"]), *([AVERAGE] if len(languages) > 1 else [])]
        columns = [Column("Sentences", TEXT), Column("Method", NAME), *(Column(name, MEASURE) for name in headings)]
        return ReportTable("systems", self._caption, columns, rows)

    def _tested(self) -> list[str]:
        """The languages of the test files; none for dev, whose score is known only for all languages together."""
        files = self.recipe.data.files("test") if self.settings.score == "test" else []
        return [file.language for file in files if file.language]

    def _varied(self, number: int, table: SettingsTable) -> ReportTable:
        """A row for each part and value of the second setting, a column for each value of the first."""
        systems = {system.name: system for system in self.recipe.systems}
        column_values, *row_values = table.values
        labels = [[f"{table.keys[1]} = {value}"] for value in row_values[0]] if row_values else [[]]
        rows = []
        for (part, run), (index, label) in itertools.product(self.runs(), enumerate(labels)):
            names = table.systems[index :: len(labels)]
            rows.append((part.name, *label, *(_measure(self._scores(run, systems[name])) for name in names)))
        columns = [Column("Run", NAME), *([Column(table.keys[1], TEXT)] if row_values else [])]
        columns += [Column(f"{table.keys[0]} = {value}", MEASURE) for value in column_values]
        return ReportTable(
            f"{number}-{'-'.join(table.keys)}", f"{self._caption}; {table.system}, by {table.keys[0]}", columns, rows
        )

    def _scores(self, run: Run, system: System, language: str = "") -> list[float | None]:
        """F1 of a system with each seed; None where it is unknown."""
        return [self._score(run.path(seed, system, "result.json"), language) for seed in run.recipe.seeds]

    def _score(self, path: Path, language: str) -> float | None:
        if not path.exists():
            return None
        if path not in self._results:
            self._results[path] = read_record(path)
        result = self._results[path]
        if self.settings.score == "dev":
            return both_trainings(result["training"]).dev_f1
        scores = result["scores"]
        by_language = scores.get("per_language", {language: scores["micro"]})  # one language alone has none
        group = by_language.get(language) if language else scores["micro"]
        return float(group["f1"]) if group else None


def _measure(values: Sequence[float | None]) -> Measure | None:
    """Mean and deviation over seeds or languages; None if a value is unknown."""
    known = [value for value in values if value is not None]
    return Measure.of(known) if len(known) == len(values) else None
