"""The options of jobs: how a stage runs, and how these options are separated from the settings of a method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nersery.core.errors import SettingsError, did_you_mean
from nersery.core.registry import check_values
from nersery.core.settings.ranges import Count, NotNegative, Range

if TYPE_CHECKING:
    from nersery.pipeline.engines.base import Engine

MAX_WORKERS = 1000
"""A larger number is probably a typing error."""


@dataclass(frozen=True)
class JobOptions:
    """How a stage runs: options of `nersery.augment` and the other functions, and of their commands.

    Args:
        shards: Rows per shard, each counted once per copy; the output is then a folder. None writes one file, in this
            process.
        workers: Processes that share the shards.
        engine: ``local`` or ``ray``.
        gpus: GPUs per worker, for Ray.
        batch_size: Items handed to the method at once; changes speed, never results. None takes the stage's own number.
        force: Overwrite the output, or an unfinished job with other settings.
        quiet: Show no progress.
    """

    shards: Count | None = None
    workers: Annotated[int, Range(1, MAX_WORKERS)] = 1
    engine: Literal["local", "ray"] = "local"
    gpus: NotNegative = 0.0
    batch_size: Count | None = None
    force: bool = False
    quiet: bool = False

    def __post_init__(self) -> None:
        check_values(self, "")
        if self.shards is None and (self.workers > 1 or self.engine != "local"):
            raise SettingsError("--workers and --engine need shards: set the rows per shard, e.g. --shards 10000")
        if self.shards is not None and self.engine == "local":
            from nersery.pipeline.engines.local import refuse_where_none_can_start

            refuse_where_none_can_start("neither shards nor workers")
        if self.gpus and self.engine != "ray":
            raise SettingsError("--gpus is for --engine ray; local workers share the available GPU")

    def new_engine(self) -> Engine[Any]:
        """Start the engine that the options name."""
        from nersery.pipeline.engines.local import LocalEngine
        from nersery.pipeline.engines.ray import RayEngine

        return RayEngine(self.workers, self.gpus, quiet=self.quiet) if self.engine == "ray" else LocalEngine()


def split_options(options: Mapping[str, Any]) -> tuple[JobOptions, dict[str, Any]]:
    """Split keyword arguments into the options of a job and the settings of a method."""
    names = {field.name for field in fields(JobOptions)}
    job = JobOptions(**{name: value for name, value in options.items() if name in names})
    return job, text_paths({name: value for name, value in options.items() if name not in names})


def options_without_settings(options: Mapping[str, Any]) -> JobOptions:
    """The options of a job without a method. Raises `SettingsError` if there are any other options."""
    job, others = split_options(options)
    if others:
        known = [field.name for field in fields(JobOptions)]
        raise SettingsError("\n".join(f'there is no option "{name}"; {did_you_mean(name, known)}' for name in others))
    return job


def text_paths(value: Any) -> Any:
    """Settings with paths as text, the form that methods and fingerprints use."""
    if isinstance(value, Mapping):
        return {key: text_paths(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [text_paths(item) for item in value]
    return str(value) if isinstance(value, Path) else value
