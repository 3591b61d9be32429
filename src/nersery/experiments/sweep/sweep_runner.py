"""A sweep: a run for each size and language, and the papers' tables over all of them.

A folder holds one sweep. Each run has a folder within it, which resumes like any other::

    run.json                    the recipe, as for a single run; run.json.bak is a copy
    100-en/…, 200-en/…          the runs; see `nersery.experiments.runner`
    report.{json,md,html}       the tables, rewritten after each system
    tables/*.{csv,tex}
"""

from __future__ import annotations

from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from nersery.core.errors import ChangedInputError, NerseryError, WaitingError, first_failure
from nersery.core.progress import print_line
from nersery.core.sentence import Corpus
from nersery.core.system.job_records import write_job_record
from nersery.core.system.locks import locked
from nersery.experiments.execution.cells import makespan
from nersery.experiments.execution.jobs import CellRunner, failure_text, threads_of_jobs
from nersery.experiments.execution.run_time import estimates
from nersery.experiments.recipe import Recipe
from nersery.experiments.recipe_file.data_files import DataSettings
from nersery.experiments.results import build_report
from nersery.experiments.run_state.fingerprint import check_folder, run_fingerprint
from nersery.experiments.runner import Run
from nersery.experiments.sweep.sweep_results import SweepResults
from nersery.experiments.sweep.sweep_settings import SweepPoint, SweepSettings, sweep_points
from nersery.report.rendering import write_report
from nersery.report.sweep_report import SweepReport, write_sweep
from nersery.report.templating import markdown_table


@dataclass
class Sweep:
    """Runs all points of a sweep.

    Args:
        recipe: A recipe with a sweep.
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
    _errors: list[Exception] = field(default_factory=list, init=False)
    _corpora: dict[str, dict[str, Corpus]] = field(default_factory=dict, init=False)
    _inputs: dict[str, Any] = field(default_factory=dict, init=False)

    @property
    def settings(self) -> SweepSettings:
        """What is varied."""
        return self.recipe.sweep or SweepSettings()

    def runs(self) -> list[tuple[SweepPoint, Run]]:
        """The run of each point."""
        folders = {point: self.folder / point.name for point in sweep_points(self.settings)}
        threads = threads_of_jobs([*folders.values()], self.jobs)
        new_run = partial(Run, quiet=self.quiet, jobs=self.jobs, threads=threads, is_part=True, inputs=self._inputs)
        return [(point, new_run(self._recipe(point), folder)) for point, folder in folders.items()]

    def _recipe(self, point: SweepPoint) -> Recipe:
        sample, overrides = self.recipe.sample, list(self.recipe.overrides)
        if point.size is not None:
            sample = replace(sample, size=point.size, dev_size=point.size if sample.dev_size else None)
            overrides.append(f"sweep.sizes=[{point.size}]")
        if point.language:
            overrides.append(f'sweep.languages=["{point.language}"]')
        data: DataSettings = point.data(self.recipe.data)
        return replace(self.recipe, sample=sample, data=data, sweep=None, overrides=tuple(overrides))

    def check(self) -> list[str]:
        """Check the folder, and each language's files and models with the extreme sizes. Returns the notes."""
        check_folder(self.folder, run_fingerprint(self.recipe))
        sizes = self.settings.sizes
        extremes = {min(sizes), max(sizes)} if sizes else {None}
        notes: dict[str, None] = {}
        for point, run in self.runs():
            if point.size in extremes:
                is_known = point.language in self._corpora
                run.quiet = self.quiet or is_known  # these files were checked before
                run.check()
                if is_known:
                    for note in run.notes:
                        if note not in notes:
                            self._say(f"note: {note}")
                notes |= dict.fromkeys(run.notes)
                self._corpora[point.language] = run.corpora
        return [*notes]

    def plan(self) -> dict[str, Any]:
        """Like `Run.plan`, for all runs."""
        speeds: dict[str, Any] = {}
        runs, notes = self.runs(), self.check()
        seconds = 0.0
        for point, run in runs:
            estimated = estimates(run.recipe, self._corpora[point.language], run.threads, speeds, self._say)
            seconds += makespan(run.recipe, estimated, self.jobs)
        return {
            "recipe": self.recipe.source,
            "runs": [point.name for point, _ in runs],
            "systems": [system.name for system in self.recipe.systems],
            "seeds": self.recipe.seeds,
            "notes": notes,
            "seconds_in_all": seconds,
        }

    def execute(self) -> SweepReport:
        """Run everything that is not finished. A system that fails is noted, and the others continue.

        Raises:
            NerseryError: If the folder belongs to another run, or every system failed.
            WaitingError: If systems wait for a person, and all others are done.
        """
        check_folder(self.folder, fingerprint := run_fingerprint(self.recipe))
        self._inputs = fingerprint["inputs"]
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder):
            write_job_record(self.folder / "run.json", fingerprint)
            self._execute()
            report = self.report()
            write_sweep(report, self.folder)
        if self._errors and isinstance(waiting := first_failure(self._errors), WaitingError):
            raise waiting
        if self.failures and not report.done:
            raise NerseryError(f"every system of the sweep failed. The first: {next(iter(self.failures.values()))}")
        return report

    def _execute(self) -> None:
        points_and_runs = self.runs()
        names, runs = [point.name for point, _ in points_and_runs], [run for _, run in points_and_runs]
        fingerprints, failed = dict[int, dict[str, Any]](), set[int]()
        self.notes.clear()
        self._errors.clear()
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
                if (report := self.report()) != shown:  # cells of an earlier call do not change the report
                    write_sweep(shown := report, self.folder, is_over=False)
                if number not in failed and cells.is_over(number, cell.seed):
                    run.remove_taggers(cell.seed)
                if cells.is_over(number):
                    if number not in failed:
                        write_report(build_report(run, fingerprints[number]["inputs"]), run.folder)
                    stacks[number].close()
                    run.corpora.clear()
                    tables = "\n\n".join(str(markdown_table(table)) for table in self.results.tables())
                    self._say(f"\nafter {names[number]}:\n\n{tables}\n")

    def _note_failure(self, label: str, error: Exception) -> None:
        """Note an error instead of raising it, unless its cause also affects the other runs."""
        if isinstance(error, ChangedInputError):
            raise error
        self._errors.append(error)
        self.failures[label] = failure_text(error)
        outcome = "waits" if isinstance(error, WaitingError) else "failed"
        self._say(f"note: {label} {outcome}, the others continue: {self.failures[label]}")

    def _say(self, text: str) -> None:
        if not self.quiet:
            print_line(text, end="\n")

    @cached_property
    def results(self) -> SweepResults:
        """The scores so far."""
        return SweepResults(self.recipe, self.settings, self.runs())

    def report(self) -> SweepReport:
        """The report with the tables and all scores so far."""
        return SweepReport(
            name=self.recipe.name,
            description=self.recipe.description,
            cells=self.results.cells(),
            tables=self.results.tables(),
            failures=dict(self.failures),
            notes=deepcopy(self.notes),
        )
