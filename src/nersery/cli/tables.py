"""Tables for people, by rich: in colour where a terminal has it, whole and plain in a file.

Rich never reads a user's text as markup: it gets `Text` alone.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING
from unicodedata import bidirectional

from nersery.core.errors import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

WIDEST = 100_000
"""Columns of a file, where nothing is wrapped."""
NONE = "-"
"""In place of a figure that is not there."""
RIGHT_TO_LEFT = ("R", "AL", "AN")


def text(content: str, style: str = "") -> Text:
    """A user's text that does nothing to a terminal; right-to-left text cannot move the columns beside it."""
    from rich.text import Text

    shown = printable(content)
    if any(bidirectional(character) in RIGHT_TO_LEFT for character in shown):
        shown = f"\N{FIRST STRONG ISOLATE}{shown}\N{POP DIRECTIONAL ISOLATE}"
    return Text(shown, style=style)


def joined(parts: Iterable[Text | str | tuple[str, str]]) -> Text:
    """Texts in a row; a tuple is a text that is safe to show, and its style."""
    from rich.text import Text

    return Text.assemble(*parts)


def marked(content: str, style: str, mark: str) -> Text:
    """A user's text in a style, or between two marks where no style is shown."""
    return text(f"{mark}{content}{mark}") if _console().color_system is None else text(content, style)


def sign(holds: bool) -> str:
    """Yes or no, as a character that the output can hold."""
    signs = "✗✓" if (sys.stdout.encoding or "").lower().startswith("utf") else "-+"
    return signs[holds]


def padded(names: Collection[str]) -> list[str]:
    """Names that are as wide as the widest of them, as a terminal shows them; they do nothing to it.

    >>> padded(["abc", "a\\u202e"])
    ['abc    ', 'a\\\\u202e']
    """
    from rich.cells import cell_len

    shown = [*map(printable, names)]
    width = max(map(cell_len, shown), default=0)
    return [name + " " * (width - cell_len(name)) for name in shown]


def table(*head: str, figures_from: int | None = None, gaps: bool = False) -> Table:
    """A table with a head.

    Args:
        figures_from: From which column on figures stand, flush right; None has no such column.
        gaps: Put an empty line between rows.
    """
    from rich import box
    from rich.table import Table

    result = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, leading=int(gaps))
    for number, title in enumerate(head):
        figures = figures_from is not None and number >= figures_from
        result.add_column(text(title), justify="right" if figures else "left")
    return result


def grid() -> Table:
    """A table within a cell: a text, a figure, and what else there may be."""
    from rich.table import Table

    result = Table.grid(padding=(0, 1, 0, 0))
    result.add_column()
    result.add_column(justify="right")  # rich measures a table too small that has an empty column at its end
    return result


def show(*parts: RenderableType) -> None:
    """Print to standard output, which a closed pipe may cut short, as everywhere."""
    console = _console()
    if not console.is_terminal:
        console.width = WIDEST
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    lines = capture.get().rstrip("\n").split("\n")
    print("\n".join(lines if console.is_terminal else (line.rstrip() for line in lines)))


def _console() -> Console:
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)
