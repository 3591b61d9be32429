"""A run: executes a recipe in a folder, for each seed and each system, including the baseline; see `SystemRun`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nersery.core.counting import in_minutes
from nersery.core.errors import WaitingError, first_failure
from nersery.core.system.files import refuse_within, remove_folder
from nersery.core.system.job_records import write_job_record
from nersery.core.system.locks import locked
from nersery.experiments.execution.cells import makespan
from nersery.experiments.execution.jobs import CellRunner, failure_text, threads_of_jobs
from nersery.experiments.execution.run_time import estimates
from nersery.experiments.recipe_file.data_files import SPLITS
from nersery.experiments.results import build_report
from nersery.experiments.run_state.clock import Clock
from nersery.experiments.run_state.fingerprint import check_folder, remove_abandoned, run_fingerprint
from nersery.experiments.run_state.prerequisites import check_prerequisites
from nersery.experiments.run_state.run_folder import RunFolder
from nersery.experiments.run_state.trained_taggers import teachers_folder
from nersery.experiments.run_state.versions import began_with, changed_versions, check_computer, versions
from nersery.experiments.system_run import SystemRun
from nersery.experiments.systems import System
from nersery.report.model import Report
from nersery.report.rendering import write_report


@dataclass
class Run(RunFolder):
    """Runs a recipe in its folder."""

    def __post_init__(self) -> None:
        if self.threads is None:
            self.threads = threads_of_jobs([self.folder], self.jobs)

    def execute(self) -> Report:
        """Run all unfinished stages and write the report.

        Raises:
            DataError: If the files cannot be used; raised before anything runs.
            SettingsError: If the folder belongs to another run.
            WaitingError: If systems wait for a person, and all others are done.
        """
        failures: list[Exception] = []
        with self.started() as fingerprint:
            if not self.quiet:  # timing some steps takes a while
                seconds = Clock(self.folder).estimates(self.recipe, self.corpora, self.threads, self.say)
                total = makespan(self.recipe, seconds, self.jobs)
                text = f"estimated total run time: {in_minutes(total)}" if total else "the run time was not estimated"
                self.say(text)
            cells = CellRunner([self], lambda _: True)
            for cell, error in cells.results(self.jobs):
                if error is not None:
                    failures.append(error)
                    is_raised_at_once = len(failures) == 1 and cells.is_over(0)
                    waits = isinstance(error, WaitingError)  # the last error names all that wait
                    reason = "" if waits or is_raised_at_once else f": {failure_text(error)}"
                    self.say(f"note: {cell} {'waits' if waits else 'failed'}{reason}")
                elif not failures and cells.is_over(0, cell.seed):
                    self.remove_taggers(cell.seed)
            if failures:
                raise first_failure(failures)
            report = build_report(self, fingerprint["inputs"])
            write_report(report, self.folder)
        return report

    @contextmanager
    def started(self) -> Iterator[dict[str, Any]]:
        """Check everything and lock the folder, so that `run_system` may be called. Yields the run's fingerprint."""
        fingerprint = self.check()
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder):
            abandoned = check_folder(self.folder, fingerprint)  # another process may have worked here since the check
            for note in remove_abandoned(self.folder, abandoned):
                self.say(f"note: {note}")
            Clock(self.folder).resume()
            current = versions(self.threads)
            recorded = began_with(self.folder) or current
            if difference := changed_versions(recorded, current):
                self.say(f"note: this run continues with {difference}")
            write_job_record(self.folder / "run.json", {**fingerprint, "versions": recorded})
            if self.jobs > 1:
                for seed in self.recipe.seeds:
                    self.sampled(seed)  # here, because two jobs must not draw them at once
            yield fingerprint

    def check(self) -> dict[str, Any]:
        """Check files, folder and models before anything runs.

        Returns:
            The fingerprint of the run.

        Raises:
            NerseryError: Of the class that fits the issue.
        """
        for file in (file for split in SPLITS for file in self.recipe.data.files(split)):
            refuse_within(self.folder, self.recipe.path(file.name))
        self.read_corpora()
        check_folder(self.folder, fingerprint := run_fingerprint(self.recipe))
        self.inputs = fingerprint["inputs"]
        cells = (SystemRun(self, seed, system) for seed in self.recipe.seeds for system in self.recipe.systems)
        if not all(cell.is_done for cell in cells):
            check_computer(self.folder, self.threads)
        types = {type_ for split in ("train", "dev") for type_ in self.corpora[split].types}
        self.notes += check_prerequisites(self.recipe, types, self.corpora.get("raw", ()))
        return fingerprint

    def plan(self) -> dict[str, Any]:
        """Run `check`, and return as JSON values what `execute` would do and how long that would take."""
        self.check()
        seconds = estimates(self.recipe, self.corpora, self.threads, say=self.say)
        return {
            "recipe": self.recipe.source,
            "systems": [system.name for system in self.recipe.systems],
            "seeds": self.recipe.seeds,
            "notes": self.notes,
            "seconds": seconds,
            "jobs": self.jobs,
            "seconds_in_all": makespan(self.recipe, seconds, self.jobs),
        }

    def remove_taggers(self, seed: int) -> None:
        """Remove the taggers of a seed whose systems are all done, unless the recipe keeps them."""
        if not self.recipe.keep_taggers:
            for system in self.recipe.systems:
                remove_folder(self.path(seed, system, "tagger"))
            remove_folder(teachers_folder(self.folder, seed))

    def run_system(self, seed: int, system: System) -> None:
        """Train and score one system, unless that has been done."""
        SystemRun(self, seed, system).execute()
