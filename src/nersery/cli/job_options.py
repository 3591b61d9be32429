"""The options of commands that run a stage, and the report that these commands print at the end."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

from typer import Option

from nersery import io
from nersery.cli import options
from nersery.core.errors import SettingsError
from nersery.core.outcome import Tally
from nersery.pipeline.job import run
from nersery.pipeline.stage import Stage
from nersery.pipeline.stage_job import Rows, stage_job
from nersery.pipeline.stage_options import JobOptions

_large_corpora_option = partial(Option, rich_help_panel="Large corpora")


def job_options(
    shards: Annotated[
        int | None,
        _large_corpora_option(
            min=1,
            metavar="ROWS",
            help="Write a folder with one file for every ROWS sentences (times copies): JSONL, or Parquet if OUTPUT "
            "ends with .parquet. Repeat the command to resume.",
        ),
    ] = None,
    workers: Annotated[int, _large_corpora_option(min=1, help="Worker processes, with one thread each.")] = 1,
    engine: Annotated[
        str, _large_corpora_option(help="Where workers run: local, or ray (here, or on the cluster in RAY_ADDRESS).")
    ] = "local",
    gpus: Annotated[float, _large_corpora_option(min=0, help="GPUs per worker with ray, such as 0.5.")] = 0.0,
    batch_size: Annotated[int | None, Option(min=1, help="Sentences per batch; affects speed, not results.")] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> JobOptions:
    """Build the options for running a stage. The parameters become options of each `StageCommand`."""
    return JobOptions(shards, workers, cast(Any, engine), gpus, batch_size, force, quiet)


Plan = Annotated[bool, Option("--plan", help="For LLM methods: only estimate requests, tokens and dollars.")]


class StageCommand(options.ReadingCommand):
    """A command that reads corpora and can split its work into shards and among workers."""

    option_groups = (options.read_options, job_options)


def print_plan(stage: Stage[Any, Any], rows: Rows, *, as_json: bool) -> None:
    """Print the estimated requests, tokens and costs of a stage, without sending anything.

    Raises:
        SettingsError: If the method of the stage does not use a language model at an endpoint.
    """
    from nersery.models.llm.endpoint_method import EndpointMethod

    method = stage.create_method()
    if not isinstance(method, EndpointMethod):
        raise SettingsError(
            f"--plan is only for methods that use a language model on a server; {stage.method} does not"
        )
    with method.client.planning() as spending:
        step, size = stage.fit(method, None, None), stage.items_at_once(method, None)
        for _ in run(stage.items(rows.outcomes()), step, batch_size=size, sentence_of=stage.sentence_of):
            pass
    if as_json:
        options.print_json(spending.as_dict())
    else:
        print(f"estimated: {spending}")


def run_job(
    stage: Stage[Any, Any], rows: Rows, target: Path, job: JobOptions, *sources: io.Source, as_json: bool
) -> Tally:
    """Run the job of a command, and print the outcome of its rows.

    Args:
        sources: The inputs, to report what was repaired while they were read.
    """
    tally = stage_job(stage, rows, target, job).run()
    options.print_tally(target, tally, *sources, as_json=as_json)
    return tally
