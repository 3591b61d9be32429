"""Carries out the cells of runs, in this process or in several. The results are the same bytes.

A job is a process that carries out one cell at a time, as a run with one job does. Its results depend on its number
of threads, but not on other jobs.
"""

from __future__ import annotations

import base64
import pickle
import shutil
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nersery.core.errors import JobFailedError, NerseryError, SettingsError, shown
from nersery.core.outcome import BatchFunction
from nersery.core.progress import Progress, print_line
from nersery.core.random import is_whole
from nersery.core.system.files import os_message
from nersery.core.system.job_records import removed_folder_error
from nersery.core.system.process_settings import cores, wanted_threads
from nersery.core.warnings import NO_NOTES, is_in_terminal, print_error
from nersery.experiments.execution.cells import Cell, CellQueue
from nersery.experiments.run_state.clock import Clock
from nersery.experiments.run_state.run_folder import RunFolder
from nersery.experiments.run_state.versions import first_threads
from nersery.experiments.system_run import SystemRun
from nersery.pipeline.engines.base import Answer
from nersery.pipeline.engines.local import LocalEngine, refuse_where_none_can_start
from nersery.pipeline.engines.pool import Pool
from nersery.pipeline.engines.worker import WorkerTask, picklable
from nersery.pipeline.stage import Stage
from nersery.pipeline.stage_options import MAX_WORKERS

Row = tuple[Cell, int]
"""A cell, and how many cells of its run were taken before it."""


def threads_of_jobs(folders: Sequence[Path], jobs: int) -> int | None:
    """The number of threads of each job: what the user sets, what the runs began with, or else a share of the cores.

    Returns:
        None for a single job, which has the threads of this process.

    Raises:
        SettingsError: If the number of jobs is invalid, or this process may not start a job.
    """
    if not is_whole(jobs) or not 1 <= jobs <= MAX_WORKERS:
        raise SettingsError(f"jobs is {shown(jobs)}, expected a whole number from 1 to {MAX_WORKERS}")
    if jobs == 1:
        return None
    refuse_where_none_can_start("jobs=1")
    threads = next(filter(None, map(first_threads, folders)), None)
    return wanted_threads() or threads or max(1, cores() // jobs)


class CellRunner:
    """Carries out the cells of runs in a number of jobs.

    Args:
        runs: The run of a recipe, or the runs of a sweep.
        begin: Called before the first cell of a run; returns whether the run can start.
    """

    def __init__(self, runs: Sequence[RunFolder], begin: Callable[[int], bool]) -> None:
        self.runs, self.queue = runs, CellQueue([run.recipe for run in runs])
        self._begin, self._can_start = begin, dict[int, bool]()
        self._clocks = dict[Cell, ExitStack]()
        self._taken, self._reported = dict[int, int](), list[Cell]()

    def results(self, jobs: int) -> Iterator[tuple[Cell, Exception | None]]:
        """Yield cells as they finish, each with its error or None. After an error, the other cells continue.

        Raises:
            DiskError: If somebody has removed the folder of a run.
        """
        with closing(self._in_this_process() if jobs == 1 else self._by_jobs(jobs)) as results:
            for cell, error in results:
                self._reported.append(cell)
                if not (self.runs[cell.run].folder / "run.json").exists():  # what is written later is not a run
                    raise removed_folder_error(self.runs[cell.run].folder)
                yield cell, error

    def is_over(self, run: int, seed: int | None = None) -> bool:
        """Whether the results so far have all cells of a run, or all its cells with a seed."""
        recipe = self.runs[run].recipe
        reported = sum(cell.run == run and seed in (None, cell.seed) for cell in self._reported)
        return reported == (len(recipe.seeds) if seed is None else 1) * len(recipe.systems)

    def _take(self) -> Cell | None:
        """The next cell that may start, of a run that can start."""
        while (cell := self.queue.take()) is not None:
            if cell.run not in self._can_start:
                self._can_start[cell.run] = self._begin(cell.run)
            if self._can_start[cell.run]:
                self._taken[cell.run] = self._taken.get(cell.run, 0) + 1
                return cell
            self.queue.drop(cell.run)
        return None

    def _in_this_process(self) -> Generator[tuple[Cell, Exception | None]]:
        while (cell := self._take()) is not None:
            run, failure = self.runs[cell.run], None
            try:
                SystemRun(run, cell.seed, run.recipe.system(cell.system)).execute()
            except Exception as error:
                failure = error
            self.queue.finish(cell)
            yield cell, failure

    def _by_jobs(self, jobs: int) -> Generator[tuple[Cell, Exception | None]]:
        finished, first_run = deque[Cell](), self.runs[0]
        # Without the corpora, which would be sent to each job. A job reads those of the runs whose cells it gets.
        bare_runs = [replace(run, quiet=True, jobs=1, threads=None) for run in self.runs]
        stage = CellStage(tuple(bare_runs), first_run.quiet)
        board = ProgressBoard(first_run.quiet)

        def next_row() -> list[Row] | None:
            while (cell := self._take()) is not None:
                run = self.runs[cell.run]
                if not SystemRun(run, cell.seed, run.recipe.system(cell.system)).is_done:
                    self._clocks[cell] = ExitStack()
                    self._clocks[cell].enter_context(Clock(run.folder).running(cell.system, cell.seed))
                    return [(cell, self._taken[cell.run] - 1)]
                self.queue.finish(cell)
                finished.append(cell)
            return None

        task = WorkerTask(stage, 1, is_first=False, quiet=first_run.quiet)
        engine = LocalEngine(first_run.threads)
        try:
            with Pool(engine, task, jobs, board.note, ahead=1, show=board.show) as pool:
                for rows, answer in pool.answers_in_any_order(next_row):
                    cell: Cell = rows[0][0]  # type: ignore[index]
                    self.queue.finish(cell)
                    self._clocks.pop(cell).close()
                    board.remove(cell)
                    while finished:
                        yield finished.popleft(), None
                    yield cell, _error_in(answer)
                yield from ((earlier, None) for earlier in finished)
        finally:
            board.clear()
            for clock in self._clocks.values():
                clock.close()


def failure_text(error: Exception) -> str:
    """The text of an error, for a note."""
    if isinstance(error, OSError):
        return os_message(error)
    return error.text if isinstance(error, NerseryError) else f"{type(error).__name__}: {error}"


def _error_in(answer: Answer) -> Exception | None:
    """The error that made a cell fail: the exception that its job sent, or the end of the job."""
    if answer.output:
        return pickle.loads(base64.b64decode(answer.output))
    reason = next(iter(answer.tally.reasons), None)
    return JobFailedError(reason) if reason else None


@dataclass(frozen=True)
class CellStage(Stage[Row, Row]):
    """Carries out cells in the process of a job.

    Args:
        runs: The runs without their corpora, which a job reads itself.
        quiet: Show no progress and no notes.
    """

    runs: tuple[RunFolder, ...]
    quiet: bool = False

    def load(self) -> None:
        """There is nothing to load."""

    def fit(self, method: None, folder: Path | None, progress: Progress | None) -> BatchFunction[Any]:
        """The function over batches. It returns for each cell the exception that made it fail, or None."""
        NO_NOTES.set(self.quiet)
        return lambda rows: [self._carried_out(*row) for row in rows]  # type: ignore[misc]

    def _carried_out(self, cell: Cell, done: int) -> Exception | None:
        run = self.runs[cell.run]
        try:
            if not run.corpora:
                for other in self.runs:  # the corpora of all runs would take memory
                    other.corpora = {}
                run.quiet = True
                run.read_corpora()
                run.quiet = self.quiet
            run.done = done
            system = run.recipe.system(cell.system)
            SystemRun(run, cell.seed, system).train_and_score()  # the main process measures its time
        except Exception as error:
            return picklable(error)
        return None

    def row_name(self, row: Any) -> str:
        return str(row[0])

    def encode(self, made: Any) -> str:
        """An exception as text; empty for a cell without one."""
        return "" if made is None else base64.b64encode(pickle.dumps(made)).decode()


class ProgressBoard:
    """Shows what the jobs do: one line for each running cell in a terminal, the lines as they come in a log."""

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._lines = quiet, dict[Cell, str]()

    def show(self, text: str, rows: Sequence[Any]) -> None:
        """Show a line of progress."""
        if not is_in_terminal():
            print_line(text)
        elif rows:
            self._lines[rows[0][0]] = text
            self._draw()

    def note(self, text: str) -> None:
        """Show a note, which stays visible."""
        if not self._quiet:
            print_line(f"note: {text}", end="\n")

    def remove(self, cell: Cell) -> None:
        """Remove the line of a cell."""
        self._lines.pop(cell, None)
        self._draw()

    def clear(self) -> None:
        """Remove all lines."""
        self._lines.clear()
        self._draw()

    def _draw(self) -> None:
        """Draw all lines, and leave the cursor in front of them, where notes of the jobs may overwrite them."""
        from rich.cells import cell_len, set_cell_size  # Chinese characters are two columns wide

        if not self._quiet and is_in_terminal():
            width = shutil.get_terminal_size().columns - 1
            lines = "\n".join(set_cell_size(line, min(width, cell_len(line))) for line in self._lines.values())
            up = f"\x1b[{len(self._lines) - 1}A" if len(self._lines) > 1 else ""
            print_error(f"\r\x1b[J{lines}{up}\r", end="")
