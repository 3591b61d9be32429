"""How commands carry out a stage: in this process into one file, or over shards by several workers."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from nersery import io
from nersery.cli.options import (
    ReadingCommand,
    check_training,
    file_job,
    read_options,
    resumed,
)
from nersery.core.errors import DiskError, SettingsError, did_you_mean
from nersery.core.files import replaced_folder
from nersery.core.outcome import Tally
from nersery.core.version import __version__
from nersery.crosslingual.aligner_checkpoint import PLACE
from nersery.pipeline.job import BATCH_SIZE, FileJob

if TYPE_CHECKING:
    from nersery.pipeline.engines.worker import Orders
    from nersery.pipeline.shards import ShardJob
    from nersery.pipeline.stage import Engine, Stage

ENGINES = ("local", "ray")
_PANEL = "Many rows"


@dataclass(frozen=True)
class Sharding:
    """Whether and how a stage is carried out over shards.

    Args:
        shards: Rows of a shard; None writes one file, in this process.
        workers: How many are at work at a time.
        engine: One of `ENGINES`.
        gpus: Of each worker, for Ray.
    """

    shards: int | None = None
    workers: int = 1
    engine: str = "local"
    gpus: float = 0.0

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise SettingsError(f'there is no engine "{self.engine}"; {did_you_mean(self.engine, ENGINES)}')
        if self.shards is None and (self.workers > 1 or self.engine != "local"):
            raise SettingsError("workers need shards: say how many rows one has, e.g. --shards 10000")
        if self.gpus and self.engine != "ray":
            raise SettingsError("--gpus is for --engine ray; local workers share the GPU that is there")

    def start(self, *, quiet: bool) -> Engine[Any]:
        """The engine."""
        from nersery.pipeline.engines.local import LocalEngine
        from nersery.pipeline.engines.ray import RayEngine

        if self.engine == "ray":
            return RayEngine(self.workers, self.gpus, quiet=quiet)
        return LocalEngine()


def sharding(
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="ROWS",
            help="Cut the input into shards of ROWS rows; OUTPUT is then a folder of JSONL files, or of Parquet "
            "files if its name ends with .parquet. The same command resumes after the last finished shard.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes that share the work, with one thread each.", rich_help_panel=_PANEL)
    ] = 1,
    engine: Annotated[
        str,
        typer.Option(
            help="Where workers run: local, or ray (here, or on the cluster that RAY_ADDRESS names).",
            rich_help_panel=_PANEL,
        ),
    ] = "local",
    gpus: Annotated[
        float, typer.Option(min=0, help="GPUs of each worker, such as 0.5; for ray.", rich_help_panel=_PANEL)
    ] = 0.0,
) -> Sharding:
    """Whether a command shares out its work, and how. The parameters become options of each `ShardedCommand`."""
    return Sharding(shards, workers, engine, gpus)


class ShardedCommand(ReadingCommand):
    """A command that reads corpora and can share out its work."""

    option_groups = (read_options, sharding)


class Rows(Protocol):
    """What a stage is carried out on, as a rule an `io.Source`."""

    def outcomes(self) -> Iterable[Any]:
        """The rows, read anew with each call, and what was rejected as they were read."""


@dataclass(frozen=True)
class StageJob:
    """A stage from rows into a file or a folder of shards; a training before it goes on after a kill too.

    Args:
        label: What the progress is called.
        made_by: All that the result depends on, as JSON values.
        batch_size: Sentences at once.
        force: Overwrite the target, or a job that was left unfinished.
        keep: Folder for what was learnt, if that is kept as `nersery.crosslingual.aligner_checkpoint` does.
    """

    stage: Stage[Any, Any]
    rows: Rows
    target: Path
    label: str
    made_by: Mapping[str, Any]
    sharding: Sharding = Sharding()
    batch_size: int = BATCH_SIZE
    force: bool = False
    quiet: bool = False
    keep: Path | None = None

    @property
    def training(self) -> Path:
        """Where a training keeps its state until the job is done."""
        return self.target.with_name(self.target.name + ".training")

    def run(self) -> Tally:
        """Carry it out, or what an earlier call left over.

        Raises:
            NerseryError: Of the kind that fits what is wrong.
        """
        if self.keep is None:
            tally = self._carried_out()
        else:
            with replaced_folder(self.keep) as folder:
                tally = self._carried_out()
                self._keep_learnt(self.training / PLACE, folder)
        shutil.rmtree(self.training, ignore_errors=True)
        return tally

    def _keep_learnt(self, learnt: Path, folder: Path) -> None:
        try:
            shutil.copytree(learnt, folder, dirs_exist_ok=True)
        except (OSError, shutil.Error) as error:
            raise DiskError(
                f"{self.target} is written, but what was learnt could not be kept in {self.keep}: {_reason(error)}. "
                f"It lies in {learnt}, from where you can copy it, or name that folder itself by priors"
            ) from None

    def _carried_out(self) -> Tally:
        return self._into_file() if self.sharding.shards is None else self._into_shards(self.sharding.shards)

    def _into_file(self) -> Tally:
        from nersery.core.progress import Progress

        job = self._file_job()
        job.check_target(overwrite=self.force)
        check_training(self.training)
        method = self.stage.load()
        total = _count(self.rows, self.stage)
        with Progress(f"{self.label}: learn", quiet=self.quiet) as progress:
            step = resumed(partial(self.stage.fit, method, self.training, progress), self.training, force=self.force)
        with Progress(self.label, total, quiet=self.quiet) as progress:
            return job.run(
                self.stage.items(self.rows.outcomes()),
                step,
                batch_size=self.batch_size,
                progress=progress,
                overwrite=self.force,
            )

    def _file_job(self) -> FileJob:
        """The loop into a corpus file, of the format that its name says, or into one that the stage alone can write."""
        if self.stage.extension == "jsonl":
            return file_job(self.target, self.made_by)
        made_by = {"nersery": __version__, **self.made_by}
        return FileJob(self.target, self.stage.encode, io.reject_line, made_by, blank=self.stage.blank)

    def _into_shards(self, rows: int) -> Tally:
        from nersery.pipeline.engines.worker import Orders
        from nersery.pipeline.shards import ShardJob

        format = self._format()
        job = ShardJob(self.target, rows, {"nersery": __version__, **self.made_by}, format)
        job.check_target(overwrite=self.force)
        check_training(self.training)
        total = _count(self.rows)
        orders = Orders(self.stage, self.batch_size, self.training, label=f"{self.label}: learn", quiet=self.quiet)
        return resumed(partial(self._run_shards, job, orders, total), self.training, force=self.force)

    def _format(self) -> str:
        """That of the shards, by the name of the folder."""
        own, format = self.stage.extension, io.extensions().get(self.target.suffix.lower())
        known = [own, "parquet"] if own == "jsonl" else [own]
        if format is not None and format not in known:
            raise SettingsError(f"{self.target}: shards cannot be {format}, expected {' or '.join(known)}")
        return format or own

    def _run_shards(self, job: ShardJob, orders: Orders[Any, Any], total: int) -> Tally:
        from nersery.core.progress import Progress
        from nersery.pipeline.engines.pool import Pool

        engine = self.sharding.start(quiet=self.quiet)
        with (
            Progress(self.label, total, quiet=self.quiet) as progress,
            Pool(engine, orders, self.sharding.workers, self._say) as pool,
        ):
            return job.run(
                self.rows.outcomes(),
                pool.answers,
                batch_size=self.batch_size,
                progress=progress,
                overwrite=self.force,
            )

    def _say(self, text: str) -> None:
        if not self.quiet:
            print(f"note: {text}", file=sys.stderr, flush=True)


def _reason(error: OSError) -> str:
    """Why a folder could not be copied; the standard library lists the files with the error of each."""
    if isinstance(error, shutil.Error) and error.args and error.args[0]:
        return str(error.args[0][0][-1])
    return error.strerror or str(error)


def _count(rows: Rows, stage: Stage[Any, Any] | None = None) -> int:
    """How many rows there are, or items of a stage; reading them all says what is wrong with them before any work.

    Rows that have a count of their own are counted, and looked at, as they say.
    """
    count: Callable[[], int] | None = getattr(rows, "count", None)
    if count is not None:
        return count()
    return sum(1 for _ in (stage.items(rows.outcomes()) if stage else rows.outcomes()))
