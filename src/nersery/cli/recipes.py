"""The command that does everything: run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from nersery.cli import options, tables
from nersery.cli.app import app
from nersery.core.errors import SettingsError
from nersery.core.warnings import remark

if TYPE_CHECKING:
    from nersery.report.model import Report


@app.command(
    epilog="Examples:\n\n  nersery run demo --out runs/demo\n\n"
    "  nersery run my-recipe.toml --out runs/mine --set data.train=my.conll --set 'seeds=[0, 1, 2]'\n\n"
    "  nersery run melm --models bundled --check"
)
def run(
    recipe: Annotated[
        str, Argument(help="A TOML file, or the name of a shipped recipe (`nersery list recipes`).", metavar="RECIPE")
    ],
    out: Annotated[Path | None, Option(help="Folder of the run; by default runs/NAME.")] = None,
    overrides: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change the recipe, e.g. tagger.steps=100 or systems.NAME.copies=5; may be repeated.",
        ),
    ] = None,
    models: Annotated[
        str, Option(help="Replace all models: bundled, bundled-multilingual, or paper (the papers').")
    ] = "",
    check: Annotated[bool, Option("--check", help="Only check the files and estimate the time.")] = False,
    jobs: Annotated[int, Option(min=1, help="Processes that share systems, seeds and cores.")] = 1,
    log: Annotated[str, Option(help="Also log to mlflow or wandb.")] = "",
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Run an experiment: sample, augment, train, evaluate, report. The same command resumes."""
    from nersery.experiments.recipe import load, shipped_recipes

    loaded = load(recipe, overrides or [], models)
    # Here, because it takes seconds that a wrong recipe need not wait for.
    from nersery.experiments.sweep_runner import job_of
    from nersery.report.model import Report

    folder = out or Path("runs") / loaded.name
    options.refuse_odd_bytes(folder)
    if log:
        from nersery.experiments.execution.tracking import check_tracker, log_run

        check_tracker(log)
        if loaded.sweep:
            raise SettingsError("--log takes a single run, and this recipe has a sweep: leave out --log")
    job = job_of(loaded, folder, jobs, quiet=quiet)
    if check:
        plan = job.plan()
        if json:
            options.print_json(plan)
        else:
            _print_plan(plan, jobs)
        return
    report = job.execute()
    if log and isinstance(report, Report):
        log_run(log, report, folder)
    if json:
        options.print_json(report.as_dict())
    elif isinstance(report, Report):
        _print_summary(report, folder)
    else:
        print(f"{report.done} of {len(report.cells)} trainings are finished\nreport: {folder / 'report.html'}")
    if recipe in shipped_recipes() and not loaded.sweep:
        remark(f"Next: nersery copy {recipe} my-recipe.toml, put your own files into its [data]")


def _print_plan(plan: dict[str, Any], jobs: int) -> None:
    from nersery.report.model import label_of
    from nersery.report.number_format import in_minutes, plural

    state = "valid" + f", with {plural(len(plan['notes']), 'note')}" * bool(plan["notes"])
    runs = f" Runs: {', '.join(plan['runs'])}." if "runs" in plan else ""
    print(
        f"{plan['recipe']}: {state}.{runs} Systems: {', '.join(map(label_of, plan['systems']))}. Seeds: {plan['seeds']}"
    )
    for name, seconds in plan.get("seconds", {}).items():
        print(f"  {label_of(name)}: about {in_minutes(seconds)} a seed on this machine")
    shared = f" with {jobs} jobs" if jobs > 1 else ""
    print(f"  all: about {in_minutes(plan['seconds_in_all'])}{shared}")


def _print_summary(report: Report, folder: Path) -> None:
    from nersery.report.number_format import p_text, signed

    labels = tables.padded([system.label for system in report.systems])
    for label, system in zip(labels, report.systems, strict=True):
        line = f"{label}  F1 {system.f1}"
        if test := system.against_gold:
            line += f"   {signed(test.difference)} against gold only (95 % {test.interval}, {p_text(test.p or 0.0)})"
        print(line)
    print(f"report: {folder / 'report.html'}")
