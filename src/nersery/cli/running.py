"""Commands that run whole experiments: grow, which needs no recipe, and run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from nersery import io
from nersery.cli import options, tables
from nersery.cli.app import Command, app
from nersery.core.counting import in_minutes, plural
from nersery.core.errors import SettingsError, printable, printable_lines
from nersery.core.warnings import remark
from nersery.report.number_format import p_text, signed
from nersery.report.system_names import label_of

if TYPE_CHECKING:
    from nersery.experiments.grow.plan import Plan
    from nersery.report.model import Report


@app.command(
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery grow train.conll --raw unlabelled.txt --minutes 30 --out runs/grow\n\n"
    "  nersery grow train.conll --raw unlabelled.txt --plan\n\n"
    "  nersery grow train.conll --raw unlabelled.txt --define PER='named person' --define LOC='named place'\n\n"
    "  nersery grow train.conll --raw unlabelled.txt --names LOC=places.txt\n\n"
    "  nersery grow train.conll labelled.jsonl --raw unlabelled.txt --out runs/grow-2",
)
def grow(
    *,
    train: Annotated[list[str], Argument(help="Labelled sentences; several files are joined.", metavar="TRAIN...")],
    raw: Annotated[str | None, options.file("Unlabelled text in the same language.")] = None,
    test: Annotated[str | None, options.file("Labelled sentences used only to score the result.")] = None,
    minutes: Annotated[
        float, Option(help="Time limit, repeated calls included. The first call decides how long each tagger trains.")
    ] = 30,
    model: Annotated[str, Option(metavar="MODEL", help="Another encoder or tagger to try.")] = "",
    define: Annotated[
        list[str] | None,
        Option(metavar="TYPE=WORDS", help="What a type means, for the model that labels raw text; may be repeated."),
    ] = None,
    names: Annotated[
        list[str] | None,
        Option(metavar="TYPE=FILE", help="A list of names, one per line, to label in raw text; may be repeated."),
    ] = None,
    out: Annotated[Path, Option(help="Output folder.", metavar="FOLDER")] = Path("runs/grow"),
    plan: Annotated[bool, Option("--plan", help="Only print the plan and its estimated time.")] = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the best tagger for labelled sentences and raw text within a time limit. Repeat the command to resume."""
    options.refuse_non_utf_8(out)
    from nersery.experiments.grow.session import GrowJob

    raw_file, test_file = (None if name is None else io.input_path(name) for name in (raw, test))
    files = tuple(map(io.input_path, train))
    definitions = options.values_by_type("--define", define or [], 'TYPE=WORDS, e.g. GENE="gene or protein"')
    reading = options.option_group(io.ReadOptions)
    lists = options.values_by_type("--names", names or [], "TYPE=FILE, e.g. GENE=genes.txt")
    job = GrowJob(files, out, raw_file, test_file, model, reading, minutes, quiet, definitions=definitions, names=lists)
    if plan:
        planned = job.plan()
        notes = [*planned.data.notes, *planned.notes]
        options.print_json({"seconds": planned.seconds(), "notes": notes}) if json else _print_grow_plan(planned)
        return
    result = job.execute()
    if json:
        options.print_json({**asdict(result), "folder": str(result.folder)})
    else:
        print(printable_lines(str(result)))


def _print_grow_plan(plan: Plan) -> None:
    folds, tagger = plan.table["sample"]["folds"], plan.table["tagger"]
    training_text = f"{tagger['steps']} steps per training with {tagger['model']}"
    raw_text = plural(len(plan.data.raw), "raw sentence")
    print(printable(f"{folds} folds, {training_text}, {raw_text}. On one fold:"))
    estimates = {label_of(name): seconds for name, seconds in plan.seconds().items()}
    for name, seconds in zip(tables.padded(estimates), estimates.values(), strict=True):
        print(f"  {name}  {in_minutes(seconds):>8}")
    print(f"total on one fold: {in_minutes(sum(estimates.values()))}; what does not fit into the time is left out")
    for note in [*plan.data.notes, *plan.notes]:
        print(printable(f"note: {note}"))


@app.command(
    cls=Command,
    epilog="Examples:\n\n  nersery run demo --out runs/comparison\n\n"
    "  nersery run my-recipe.toml --out runs/mine --set data.train=my.conll --set 'seeds=[0, 1, 2]'\n\n"
    "  nersery run melm --models bundled --check",
)
def run(
    recipe: Annotated[
        str, Argument(help="A TOML file, or the name of a shipped recipe (`nersery list recipes`).", metavar="RECIPE")
    ],
    out: Annotated[Path | None, Option(help="Output folder; by default runs/NAME.", metavar="FOLDER")] = None,
    overrides: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change the recipe, e.g. tagger.steps=100 or systems.NAME.copies=5; may be repeated.",
        ),
    ] = None,
    models: Annotated[
        str, Option(help="Replace all models: bundled, bundled-multilingual, or paper (the paper's).")
    ] = "",
    check: Annotated[bool, Option("--check", help="Only check the files and estimate the time.")] = False,
    jobs: Annotated[int, Option(min=1, help="Parallel processes; they share systems, seeds and cores.")] = 1,
    log: Annotated[str, Option(help="Also log to mlflow or wandb.")] = "",
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Run an experiment: sample, augment, train, evaluate, report. Repeat the command to resume."""
    from nersery.experiments.recipe import load, shipped_recipes

    loaded = load(recipe, overrides or [], models)
    # Imported here because it takes seconds, and errors in a recipe should show at once.
    from nersery.experiments.run import run_or_sweep
    from nersery.report.model import Report

    folder = out or Path("runs") / loaded.name
    options.refuse_non_utf_8(folder)
    if log:
        from nersery.cli.tracking import check_tracker, log_run

        check_tracker(log)
        if loaded.sweep:
            raise SettingsError("--log is for single runs, but this recipe has a sweep: leave out --log")
    job = run_or_sweep(loaded, folder, jobs, quiet=quiet)
    if check:
        plan = job.plan()
        if json:
            options.print_json(plan)
        else:
            _print_run_plan(plan, jobs)
        return
    report = job.execute()
    if log and isinstance(report, Report):
        log_run(log, report, folder)
    if json:
        options.print_json(report.as_dict())
    elif isinstance(report, Report):
        _print_summary(report, folder)
    else:
        print(f"{report.done} of {len(report.cells)} trainings are finished")
        print(printable(f"report: {folder / 'report.html'}"))
    if recipe in shipped_recipes() and not loaded.sweep:
        remark(f"Next: nersery copy {recipe} my-recipe.toml, put your own files into its [data]")


def _print_run_plan(plan: dict[str, Any], jobs: int) -> None:
    state = "valid" + f", with {plural(len(plan['notes']), 'note')}" * bool(plan["notes"])
    runs = f" Runs: {', '.join(plan['runs'])}." if "runs" in plan else ""
    systems = "; ".join(map(label_of, plan["systems"]))  # names may have commas
    print(printable(f"{plan['recipe']}: {state}.{runs} Systems: {systems}. Seeds: {plan['seeds']}"))
    for name, seconds in plan.get("seconds", {}).items():
        print(printable(f"  {label_of(name)}: about {in_minutes(seconds)} per seed on this machine"))
    shared = f" with {jobs} jobs" if jobs > 1 else ""
    print(f"  total: about {in_minutes(plan['seconds_in_all'])}{shared}")


def _print_summary(report: Report, folder: Path) -> None:
    from nersery.report.verdict import verdict

    corrected = "corrected " if len(report.comparisons) > 1 else ""
    labels = tables.padded([system.label for system in report.systems])
    for label, system in zip(labels, report.systems, strict=True):
        line = f"{label}  F1 {system.f1}"
        if test := system.against_gold:
            p = "" if test.corrected_p is None else f", {corrected}{p_text(test.corrected_p)}"
            line += f"   {signed(test.difference)} against gold only (95 % {test.interval}{p})"
        print(line)
    headline = verdict(report)
    for sentence in (headline.sentence, *headline.details):
        print(printable(sentence))
    print(printable(f"report: {folder / 'report.html'}"))
