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
    from nersery.experiments.recipe import Recipe
    from nersery.experiments.runner import Run
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
    from nersery.experiments.runner import Run  # here, because it takes seconds that a wrong recipe need not wait for

    folder = out or Path("runs") / loaded.name
    options.refuse_odd_bytes(folder)
    if log:
        from nersery.experiments.execution.tracking import check_tracker, log_run

        check_tracker(log)
        if loaded.sweep:
            raise SettingsError("--log takes a single run, and this recipe has a sweep: leave out --log")
    if loaded.sweep:
        _sweep(loaded, folder, jobs, check=check, json=json, quiet=quiet)
        return
    job = Run(loaded, folder, quiet, jobs)
    if check:
        plan = _plan(job)
        if json:
            options.print_json(plan)
        else:
            _print_plan(plan)
        return
    report = job.execute()
    if log:
        log_run(log, report, job.folder)
    if json:
        options.print_json(report.as_dict())
    else:
        _print_summary(report, job.folder)
    if recipe in shipped_recipes():
        remark(f"Next: nersery copy {recipe} my-recipe.toml, put your own files into its [data]")


def _sweep(recipe: Recipe, folder: Path, jobs: int, *, check: bool, json: bool, quiet: bool) -> None:
    """Run or check a recipe with a sweep."""
    from nersery.experiments.sweep_runner import Sweep

    job = Sweep(recipe, folder, quiet, jobs)
    runs = [part.name for part, _ in job.runs()]
    if check:
        notes, systems = job.check(), [system.name for system in recipe.systems]
        plan: dict[str, Any] = {
            "recipe": recipe.source,
            "runs": runs,
            "systems": systems,
            "seeds": recipe.seeds,
            "notes": notes,
        }
        plan["seconds_in_all"] = job.seconds()
        if json:
            options.print_json(plan)
        else:
            _print_plan({**plan, "seconds": {}, "jobs": jobs})
        return
    report = job.execute()
    if json:
        options.print_json(report.as_dict())
        return
    print(f"{report.done} of {len(report.cells)} trainings are finished\nreport: {folder / 'report.html'}")


def _plan(job: Run) -> dict[str, Any]:
    """What a run would do, and how long that would take, after a check of its files."""
    from nersery.experiments.execution.cells import makespan
    from nersery.experiments.execution.run_time import estimates

    job.check()
    seconds = estimates(job.recipe, job.corpora, job.threads)
    return {
        "recipe": job.recipe.source,
        "systems": [system.name for system in job.recipe.systems],
        "seeds": job.recipe.seeds,
        "notes": job.notes,
        "seconds": seconds,
        "jobs": job.jobs,
        "seconds_in_all": makespan(job.recipe, seconds, job.jobs),
    }


def _print_plan(plan: dict[str, Any]) -> None:
    from nersery.report.model import label_of
    from nersery.report.number_format import in_minutes, plural

    state = "valid" + f", with {plural(len(plan['notes']), 'note')}" * bool(plan["notes"])
    runs = f" Runs: {', '.join(plan['runs'])}." if "runs" in plan else ""
    print(
        f"{plan['recipe']}: {state}.{runs} Systems: {', '.join(map(label_of, plan['systems']))}. Seeds: {plan['seeds']}"
    )
    for name, seconds in plan["seconds"].items():
        print(f"  {label_of(name)}: about {in_minutes(seconds)} a seed on this machine")
    shared = f" with {plan['jobs']} jobs" if plan["jobs"] > 1 else ""
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
