"""Tables for people, printed by Rich: in colour if the terminal has colours, plain and unwrapped in a file.

Rich gets only `Text`, so it never reads a user's text as markup.
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
"""The width of output to a file, in characters, so that nothing is wrapped."""
MAX_TYPE_LENGTH = 40
"""The columns for a type in a table of figures; JSON has the whole name."""
NONE = "-"
"""Shown in place of a missing figure."""
RIGHT_TO_LEFT = ("R", "AL", "AN")


def text(content: str, style: str = "") -> Text:
    """A user's text, made safe for terminals; right-to-left text cannot move the columns beside it."""
    from rich.text import Text

    return Text(_isolated(content), style=style)


def type_name(name: str) -> Text:
    """A type for a table of figures: the beginning of a long name, which would move the figures out of the terminal."""
    return text(short_type(name))


def short_type(name: str) -> str:
    """The beginning of the name of a type, with … if the rest is left out.

    >>> short_type("PER"), len(short_type("B" * 300))
    ('PER', 40)
    """
    from rich.text import Text

    shown = Text(printable(name))
    shown.truncate(MAX_TYPE_LENGTH, overflow="ellipsis")
    return shown.plain


def _isolated(content: str) -> str:
    shown = printable(content)
    if any(bidirectional(character) in RIGHT_TO_LEFT for character in shown):
        shown = f"\N{FIRST STRONG ISOLATE}{shown}\N{POP DIRECTIONAL ISOLATE}"
    return shown


def concatenated(parts: Iterable[Text | str | tuple[str, str]]) -> Text:
    """The texts in a row. A tuple is a text that is already safe to show, and its style."""
    from rich.text import Text

    return Text.assemble(*parts)


def marked(content: str, style: str, mark: str) -> Text:
    """A user's text in a style, or between two marks if the output shows no styles."""
    return text(f"{mark}{content}{mark}") if _console().color_system is None else text(content, style)


def check_mark(holds: bool) -> str:
    """A check mark for yes, a cross for no, if the encoding of the output can represent them."""
    marks = "✗✓" if (sys.stdout.encoding or "").lower().startswith("utf") else "-+"
    return marks[holds]


def padded(names: Collection[str]) -> list[str]:
    """Names made safe for terminals like `text`, and padded to the display width of the widest.

    >>> padded(["abc", "a\\u202e"])
    ['abc    ', 'a\\\\u202e']
    >>> padded(["שם"]) == ["\\N{FIRST STRONG ISOLATE}שם\\N{POP DIRECTIONAL ISOLATE}"]
    True
    """
    from rich.cells import cell_len

    shown = [*map(_isolated, names)]
    width = max(map(cell_len, shown), default=0)
    return [name + " " * (width - cell_len(name)) for name in shown]


def table(*head: str, figures_from: int | None = None, gaps: bool = False) -> Table:
    """A table with a head.

    Args:
        figures_from: Index of the first column with figures, which are aligned right; None has no such columns.
        gaps: Put an empty line between rows.
    """
    from rich import box
    from rich.table import Table

    result = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, leading=int(gaps))
    for number, title in enumerate(head):
        figures = figures_from is not None and number >= figures_from
        result.add_column(text(title), justify="right" if figures else "left", overflow="fold")
    return result


def grid() -> Table:
    """A table within a cell, with a text column, a figure column and possibly more."""
    from rich.table import Table

    result = Table.grid(padding=(0, 1, 0, 0))
    result.add_column()
    result.add_column(justify="right")  # no third: Rich measures a table too small if its last column is empty
    return result


def show(*parts: RenderableType) -> None:
    """Print to standard output by `print`, so that a closed pipe is handled as for all other output."""
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
