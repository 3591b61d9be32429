"""The command that needs no recipe: grow."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from nersery import io
from nersery.cli.app import app
from nersery.cli.options import AsJson, Quiet, ReadingCommand, print_json, refuse_odd_bytes, shared, values_by_type
from nersery.cli.tables import padded

if TYPE_CHECKING:
    from nersery.experiments.grow.plan import Plan


@app.command(
    "grow",
    cls=ReadingCommand,
    epilog="Examples:\n\n  nersery grow train.conll --raw unlabelled.txt --minutes 30 --out runs/grow\n\n"
    "  nersery grow train.conll --raw unlabelled.txt --plan\n\n"
    "  nersery grow train.conll --raw unlabelled.txt --define PER='named person' --define LOC='named place'\n\n"
    "  nersery grow train.conll labelled.jsonl --raw unlabelled.txt --out runs/grow-2",
)
def grow(
    *,
    train: Annotated[list[str], Argument(help="Labelled sentences; several files are joined.", metavar="TRAIN...")],
    raw: Annotated[str | None, Option(help="Raw text in the same language.", metavar="TEXT")] = None,
    test: Annotated[str | None, Option(help="Labelled sentences used only to score the result.")] = None,
    minutes: Annotated[
        float, Option(help="Total minutes, over all calls. The first call sets the length of trainings.")
    ] = 30,
    model: Annotated[str, Option(help="An encoder or tagger to try too.")] = "",
    define: Annotated[
        list[str] | None,
        Option(metavar="TYPE=WORDS", help="What a type means, for questions about raw text; may be repeated."),
    ] = None,
    out: Annotated[Path, Option(help="Output folder.")] = Path("runs/grow"),
    plan: Annotated[bool, Option("--plan", help="Print the plan and its estimated time.")] = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find the best tagger for labelled sentences and raw text within a time limit. The same command resumes."""
    refuse_odd_bytes(out)
    from nersery.experiments.grow.session import GrowJob

    raw_file, test_file = (None if name is None else io.input_path(name) for name in (raw, test))
    files = tuple(map(io.input_path, train))
    definitions = values_by_type("--define", define or [], 'TYPE=WORDS, e.g. GENE="gene or protein"')
    options = shared(io.ReadOptions)
    job = GrowJob(
        files, out, raw_file, test_file, model, options, minutes=minutes, quiet=quiet, definitions=definitions
    )
    if plan:
        planned = job.plan()
        notes = [*planned.material.notes, *planned.notes]
        print_json({"seconds": planned.seconds(), "notes": notes}) if json else _show(planned)
        return
    result = job.execute()
    if json:
        print_json({**asdict(result), "folder": str(result.folder)})
    else:
        print(result)


def _show(plan: Plan) -> None:
    from nersery.report.model import label_of
    from nersery.report.number_format import in_minutes

    folds, tagger = plan.table["sample"]["folds"], plan.table["tagger"]
    training_text = f"{tagger['steps']} steps a training with {tagger['model']}"
    print(f"{folds} folds, {training_text}, {len(plan.material.raw):,} raw sentences. On one fold:")
    estimates = {label_of(name): seconds for name, seconds in plan.seconds().items()}
    for name, seconds in zip(padded(estimates), estimates.values(), strict=True):
        print(f"  {name}  {in_minutes(seconds):>8}")
    print(f"all on one fold: {in_minutes(sum(estimates.values()))}; what does not fit into the time is left out")
    for note in [*plan.material.notes, *plan.notes]:
        print(f"note: {note}")
