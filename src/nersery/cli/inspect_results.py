"""The command that puts several runs into one table: inspect results."""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Argument, Option

from nersery.cli import options, tables
from nersery.cli.app import inspect_group
from nersery.core.errors import SettingsError
from nersery.core.warnings import remark


@inspect_group.command(
    "results",
    epilog="Examples:\n\n  nersery inspect results runs/demo runs/mine\n\n"
    "  nersery inspect results runs/demo runs/mine --as latex",
)
def results(
    folders: Annotated[list[str], Argument(help="Folders of runs or sweeps.", metavar="RUN...")],
    form: Annotated[Literal["text", "markdown", "latex", "csv"], Option("--as", help="Format of the table.")] = "text",
    json: options.AsJson = False,
) -> None:
    """Show F1 of several runs in one table, with the difference from gold only and its interval."""
    if json and form != "text":
        raise SettingsError("--json and --as name two formats. Use one of them")
    from nersery.report.escaping import markdown_table
    from nersery.report.tables.several_runs import reports_of, results_table

    table = results_table(reports_of(folders))
    if json:
        headings = [column.heading for column in table.columns]
        options.print_json([dict(zip(headings, row, strict=True)) for row in table.shown])
    elif form == "text":
        shown = tables.table(*(column.heading for column in table.columns), figures_from=2)
        for row in table.shown:
            shown.add_row(*map(tables.text, row))
        tables.show(shown)
        remark(table.caption)
    else:
        table_text = table.latex if form == "latex" else table.csv if form == "csv" else markdown_table(table)
        print(table_text.rstrip("\n"))
