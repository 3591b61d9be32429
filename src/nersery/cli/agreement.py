"""The command that compares two people's labels: agree."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from nersery import io
from nersery.cli import app, tables
from nersery.cli.options import AsJson, input_path, print_json, read_relabelled, reads_corpora
from nersery.data import Corpus

if TYPE_CHECKING:
    from nersery.evaluate.kappa import Agreement


@app.command(
    epilog="Examples:\n\n  nersery agree anna.conll bela.conll\n\n"
    "  nersery agree anna.conll bela.conll --json | jq .all_words.kappa"
)
@reads_corpora
def agree(
    first: Annotated[str, typer.Argument(help="Labelled by one person.", metavar="FIRST")],
    second: Annotated[str, typer.Argument(help="The same sentences, labelled by another.", metavar="SECOND")],
    json: AsJson = False,
    *,
    reading: io.ReadOptions,
) -> None:
    """Cohen's kappa over words, and F1 over whole entities, of two labellings of the same sentences."""
    from nersery.evaluate.kappa import agreement

    one = Corpus(io.open_corpus(input_path(first), reading))
    found = agreement(one, read_relabelled(one, second, reading))
    print_json(found.as_dict()) if json else _print(found)


def _print(found: Agreement) -> None:
    shown = tables.table("", "kappa", "alike", "by chance", "words", figures_from=1)
    for name, kappa in (("all words", found.all_words), ("words in an entity", found.marked_words)):
        value = "-" if kappa.value is None else f"{kappa.value:.3f}"
        shares = [f"{100 * share:.1f} %" if kappa.words else "-" for share in (kappa.observed, kappa.expected)]
        shown.add_row(tables.text(name), value, *shares, f"{kappa.words:,}")
    tables.show(shown)
    print()
    shown = tables.table("", "F1", "alike", "first", "second", figures_from=1)
    for name, counts in {**found.entities.per_type, "entities": found.entities.micro}.items():
        figures = (f"{counts.correct:,}", f"{counts.gold:,}", f"{counts.predicted:,}")
        f1 = f"{100 * counts.f1:.1f}" if counts.gold + counts.predicted else "-"
        shown.add_row(tables.text(name), f1, *figures)
    tables.show(shown)
    print(
        "all words: with those in no entity; words in an entity: of the first, the second or both. "
        "Entities are alike when their borders and types are",
        file=sys.stderr,
    )
