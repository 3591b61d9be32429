"""The options of commands that can run over shards."""

from __future__ import annotations

from typing import Annotated

import typer

from nersery.cli.options import ReadingCommand, read_options
from nersery.pipeline.stage_job import Sharding

_PANEL = "Many rows"


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
