"""Runs a stage that turns rows into a corpus: in memory, into a file, or into shards with several workers.

The library, the commands and the experiments run every stage through this module.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any, Protocol, TypeVar

from nersery import io
from nersery.core.errors import NerseryError, SettingsError
from nersery.core.outcome import Reject, Result, Tally, collect
from nersery.core.progress import Progress
from nersery.core.system.files import as_path, refuse_unwritable
from nersery.core.system.job_records import foreign_files_error
from nersery.core.system.process_settings import wanted_threads
from nersery.core.version import __version__
from nersery.core.warnings import print_error
from nersery.io.temporary_tables.ids import with_distinct_ids
from nersery.models.pretrained.torch_state import torch_defaults
from nersery.models.training.training_state import BrokenStateError, OtherTrainingError, is_foreign
from nersery.pipeline.job import FileJob, run
from nersery.pipeline.stage import Stage
from nersery.pipeline.stage_options import JobOptions

T = TypeVar("T")


class Rows(Protocol):
    """The input of a stage, usually an `nersery.io.Source`."""

    def outcomes(self) -> Iterable[Any]:
        """The rows, with the rejects from reading them; each call reads them again."""

    def fingerprint(self) -> Any:
        """JSON values that identify these rows."""


@torch_defaults()
def run_stage(stage: Stage[Any, Any], rows: Rows, output: str | Path | None, options: JobOptions) -> Result | Tally:
    """Run a stage into a file or a folder of shards, or in memory if ``output`` is None.

    Raises:
        DataError: See `refuse_shared_ids`.
        Exception: The first exception, if every row fails.
    """
    refuse_shared_ids(rows)
    if output is not None:
        return stage_job(stage, rows, as_path(output, "output"), options).run()
    return collect(in_memory(stage, rows, options))


def refuse_shared_ids(rows: Rows) -> None:
    """Raise `DataError` if two sentences in memory share an id. Ids in files have already been checked."""
    for _ in with_distinct_ids(rows if isinstance(rows, io.InMemory) else ()):
        pass


def stage_job(stage: Stage[Any, Any], rows: Rows, output: Path, options: JobOptions) -> StageJob:
    """The job that `run_stage` runs. After a kill, it resumes only with the same stage, rows and files."""
    label = stage.label
    return StageJob(stage, rows, output, label, f"{label}: learn", stage_fingerprint(stage, rows), options)


def stage_fingerprint(stage: Stage[Any, Any], rows: Rows) -> dict[str, Any]:
    """All values that the result of a stage depends on: its fields, and the content of its rows and plug-in's files."""
    values = {field.name: fingerprint_value(getattr(stage, field.name)) for field in fields(stage)}  # type: ignore[arg-type]
    return {"stage": type(stage).__name__, **values, "rows": fingerprint_value(rows), "files": stage.files()}


def in_memory(stage: Stage[Any, Any], rows: Rows, options: JobOptions) -> Iterator[Any]:
    """The outcomes of a stage. Raises `SettingsError` for options that need shards."""
    if replace(options, batch_size=None, force=False, quiet=False) != JobOptions():
        raise SettingsError("shards and workers need an output: name the folder to write, output=...")
    method = stage.load()
    function, size = stage.fit(method, None, None), stage.items_at_once(method, options.batch_size)
    return run(stage.items(rows.outcomes()), function, batch_size=size, sentence_of=stage.sentence_of)


def corpus_job(
    target: Path, fingerprint: Mapping[str, Any], writer: io.Writer | None = None, *, rows: Any = None
) -> FileJob:
    """A job that writes a corpus file, and records what the format does not keep.

    Args:
        fingerprint: All values that the result depends on. An unfinished job resumes only with the same fingerprint.
        writer: None uses the writer for the target's extension.
        rows: The input that the sentences are made from, perhaps an `nersery.io.Source`.
    """
    writer = writer or io.writer(output_format(target))
    return FileJob(
        target,
        writer.encode,
        fingerprint={"nersery": __version__, **fingerprint},
        pack=writer.format.pack,
        makes_folder=writer.format.makes_folder,
        losses=io.Losses(writer.format, getattr(rows, "stems", ())),
        writer=writer,
    )


def output_format(path: Path, wanted: str | None = None, *, can_be_named: bool = False) -> str:
    """The format to write: ``wanted``, or else the format of the path's extension.

    Args:
        can_be_named: Whether the command has an option for ``wanted``.

    Raises:
        SettingsError: If the extension is unknown, or the path is standard output.
    """
    refuse_unwritable(path)
    return wanted or io.format_of(path, can_be_named=can_be_named)


@dataclass(frozen=True)
class StageJob:
    """Runs a stage into a file or a folder of shards. After a kill, the same job resumes, including its training.

    Args:
        label: Progress label.
        learn_label: Progress label while the method is fitted.
        fingerprint: All values that the result depends on, as JSON values.
    """

    stage: Stage[Any, Any]
    rows: Rows
    target: Path
    label: str
    learn_label: str
    fingerprint: Mapping[str, Any]
    options: JobOptions

    @property
    def training(self) -> Path:
        """The folder in which a training keeps its state until the job is finished."""
        return self.target.with_name(self.target.name + ".training")

    def run(self, *, keep_training: bool = False) -> Tally:
        """Run the job, or the remaining part of it after an earlier call.

        Args:
            keep_training: Keep the state of the training, for callers that copy what was learnt.

        Raises:
            NerseryError: A subclass that depends on the issue.
        """
        tally = self._into_file() if self.options.shards is None else self._into_shards(self.options.shards)
        if not keep_training:
            shutil.rmtree(self.training, ignore_errors=True)
        return tally

    def _into_file(self) -> Tally:
        # Check before the method is loaded. The environment needs the method, so the job is made again with it below.
        self._file_job().check_target(overwrite=self.options.force)
        check_training(self.training)
        method = self.stage.load()
        job = self._file_job(self._environment(method))
        total = _count(self.rows, self.stage) if self.stage.counts_rows(method) else None
        with Progress(self.learn_label, quiet=self.options.quiet) as progress:
            fit = partial(self.stage.fit, method, self.training, progress)
            function = resume_training(fit, self.training, force=self.options.force)
        with Progress(self.label, total, quiet=self.options.quiet) as progress:
            items, force = self.stage.items(unchanged(self.rows, self.fingerprint.get("rows"))), self.options.force
            size = self.stage.items_at_once(method, self.options.batch_size)
            tally = job.run(items, function, batch_size=size, progress=progress, overwrite=force)
        job.note_losses()
        return tally

    def _environment(self, method: Any, threads: int | None = None) -> Mapping[str, Any]:
        """What a model's results depend on in addition to its settings; empty for methods without a model."""
        if not self.stage.uses_model(method):
            return {}
        from nersery.models.pretrained.computer import environment
        from nersery.models.pretrained.loading import pick_device

        device = pick_device(getattr(method, "device", "auto"))
        return {"environment": environment(device, getattr(method, "precision", "auto"), threads)}

    def _full_fingerprint(self, environment: Mapping[str, Any]) -> dict[str, Any]:
        return {"nersery": __version__, **self.fingerprint, **environment}

    def _file_job(self, environment: Mapping[str, Any] = MappingProxyType({})) -> FileJob:
        fingerprint = self._full_fingerprint(environment)
        if self.stage.extension == "jsonl":
            job = corpus_job(self.target, fingerprint, rows=self.rows)
        else:  # a format that only the stage can write
            job = FileJob(self.target, self.stage.encode, fingerprint, blank=self.stage.blank)
        return replace(job, sentence_of=self.stage.sentence_of)

    def _into_shards(self, rows: int) -> Tally:
        from nersery.pipeline.engines.pool import Pool
        from nersery.pipeline.engines.worker import WorkerTask
        from nersery.pipeline.shards import ShardJob

        job = ShardJob(self.target, rows, {}, self._shard_format())
        job.check_target(overwrite=self.options.force)
        method = self.stage.load()
        if self.options.workers > 1 and (setting := getattr(method, "in_place_of_workers", "")):
            raise SettingsError(f"the limits of {self.label} apply to one process: set {setting} instead of workers")
        size = self.stage.items_at_once(method, self.options.batch_size)
        threads = wanted_threads() or 1  # as set in each worker by MessageHandler
        environment = self._environment(method, threads)
        job = replace(job, fingerprint=self._full_fingerprint(environment))
        check_training(self.training)
        total = _count(self.rows, self.stage)
        task = WorkerTask(self.stage, size, self.training, label=self.learn_label, quiet=self.options.quiet)

        def run_shards() -> Tally:
            engine, force = self.options.new_engine(), self.options.force
            with (
                Progress(self.label, total, quiet=self.options.quiet) as progress,
                Pool(engine, task, self.options.workers, self._note) as pool,
            ):
                items = self.stage.items(unchanged(self.rows, self.fingerprint.get("rows")))
                return job.run(items, pool.answers, batch_size=size, progress=progress, overwrite=force)

        return resume_training(run_shards, self.training, force=self.options.force)

    def _shard_format(self) -> str:
        extension, format = self.stage.extension, io.extensions().get(self.target.suffix.lower())
        allowed = [extension, "parquet"] if extension == "jsonl" else [extension]
        if format is not None and format not in allowed:
            raise SettingsError(f"{self.target}: shards cannot be {format}, expected {' or '.join(allowed)}")
        return format or extension

    def _note(self, text: str) -> None:
        if not self.options.quiet:
            print_error(f"note: {text}")


def fingerprint_value(value: Any) -> Any:
    """A field of a stage as a JSON value. Sentences become a digest of their content."""
    if hasattr(value, "fingerprint"):
        return value.fingerprint()
    if isinstance(value, str | int | float | NoneType):
        return value
    if isinstance(value, Mapping):
        return {str(key): fingerprint_value(content) for key, content in value.items()}
    if is_dataclass(value) and not isinstance(value, Iterable):
        values = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        settings = {name: v for name, v in values.items() if not callable(v)}
        return fingerprint_value({"class": type(value).__name__, **settings})
    return io.digest_of(value)


def _count(rows: Rows, stage: Stage[Any, Any]) -> int:
    """The number of items. Because this reads all rows, issues in them are reported before any work."""
    if hasattr(rows, "count"):
        return rows.count()
    return sum(1 if isinstance(row, Reject) else stage.items_per_row for row in rows.outcomes())


def unchanged(rows: Rows, before: Any) -> Iterator[Any]:
    """The rows. After the last one, raise `NerseryError` if their files have changed since the job began.

    Args:
        before: The fingerprint of the rows when the job began; None skips this check.
    """
    yield from rows.outcomes()
    if before is not None and not isinstance(rows, io.InMemory) and fingerprint_value(rows) != before:
        if isinstance(rows, io.Source) and not rows.file.path.exists():
            raise NerseryError(f"{rows.file.name} was removed while the job ran. Put it back, and repeat the command")
        name = f"the input {rows.file.name}" if isinstance(rows, io.Source) else "an input"
        raise NerseryError(
            f"{name} changed while the job ran, so the output would mix two versions. Start over (--force)"
        )


def check_training(folder: Path) -> None:
    """Raise `SettingsError` if the folder for a training's state, which is removed in the end, holds other files."""
    if folder.exists() and is_foreign(folder):
        raise foreign_files_error(folder, "an unfinished training", "folder")


def resume_training(fit: Callable[[], T], folder: Path, *, force: bool) -> T:
    """Resume an unfinished training. With ``force``, a training that cannot be resumed starts over.

    Raises:
        BrokenStateError: If the saved state is damaged.
        OtherTrainingError: If the saved state belongs to another training.
    """
    try:
        return fit()
    except (BrokenStateError, OtherTrainingError) as error:
        if not force:
            raise type(error)(f"{error}, or use --force") from None
    shutil.rmtree(folder)
    return fit()
