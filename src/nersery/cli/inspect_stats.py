"""The command that counts what is in corpora: inspect stats."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument

from nersery import io
from nersery.cli import options, tables
from nersery.cli.app import inspect_group
from nersery.core.errors import DataError, Issue, printable
from nersery.core.warnings import note


@inspect_group.command(
    "stats",
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery inspect stats train.conll dev.conll test.conll\n\n"
    "  nersery inspect stats train.conll --repair lost-prefix --json | jq '.[0].types'",
)
def stats(
    files: Annotated[list[str], Argument(help="Corpora, or - for standard input.", metavar="INPUT...")],
    json: options.AsJson = False,
) -> None:
    """Count sentences, words, entities by type, and dropped sentences by reason; list the errors of a file."""
    reading = options.shared(io.ReadOptions)
    from nersery.evaluate.corpus_statistics import corpus_statistics

    rows = []
    issues: list[Issue] = []
    fixes: list[str] = []
    for name in files:
        try:
            rows.append(corpus_statistics(io.open_corpus(name, reading), name))
        except DataError as error:
            issues += error.issues
            fixes.append(error.fix)
    if issues:
        raise DataError(issues, fix="; ".join(dict.fromkeys(fixes)))
    if json:
        options.print_json(rows)
    else:
        _print_stats(rows)


def _print_stats(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        print(printable(f"{row['file']}  ({row['format']})"))
        size = max(1, row["sentences"])
        print(
            f"  {row['sentences']:,} sentences, {row['words']:,} words ({row['words'] / size:.1f} a sentence, "
            f"longest {row['longest_sentence']:,})"
        )
        print(
            f"  {row['entities']:,} entities over {row['entity_words']:,} words; "
            f"{row['sentences_without_entities']:,} sentences without entities"
        )
        types = {printable(type_): count for type_, count in row["types"].items()}
        for type_, count in zip(tables.padded(types), types.values(), strict=True):
            print(f"    {type_}  {count:>7,}  {100 * count / row['entities']:5.1f} %")
        for first, *others in row["similar_types"]:
            listed = " and ".join(f'"{other}"' for other in others)
            note(f'{listed} may be slips for "{first}"; to use one name: nersery dataset convert --type OLD=NEW')
        for title in ("generated_by", "repaired"):
            if row[title]:
                counts = ", ".join(f"{key} {count:,}" for key, count in row[title].items())
                print(printable(f"  {title.replace('_', ' ')}: {counts}"))
        for title, reasons in (("rejected", row["reasons"]), ("dropped before", row["dropped"])):
            if reasons:
                print(f"  {title}: {sum(reasons.values()):,} sentences")
            for reason, count in reasons.items():
                print(f"    {count:>7,}  {printable(reason)}")
    if len(rows) > 1:
        _print_types(rows)


def _print_types(rows: list[dict[str, Any]]) -> None:
    """How often each type stands in each file, for splits side by side."""
    shown = tables.table("type", *(row["file"] for row in rows), figures_from=1)
    for type_ in sorted({type_ for row in rows for type_ in row["types"]}):
        shown.add_row(tables.text(type_), *(f"{row['types'].get(type_, 0):,}" for row in rows))
    tables.show(shown)
