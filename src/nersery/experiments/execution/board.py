"""What the jobs of a run do now, on standard error."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import Any

from nersery.core.progress import print_line
from nersery.experiments.execution.cells import Cell


class Board:
    """Shows what the jobs do: in a terminal a line for each cell that runs, in a log the lines as they come."""

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._lines = quiet, dict[Cell, str]()

    def show(self, text: str, rows: Sequence[Any]) -> None:
        """Show a line of progress."""
        if not sys.stderr.isatty():
            print_line(text)
        elif rows:
            self._lines[rows[0][0]] = text
            self._draw()

    def note(self, text: str) -> None:
        """Show a note; it stays."""
        if not self._quiet:
            print_line(f"note: {text}", end="\n")

    def remove(self, cell: Cell) -> None:
        """Remove the line of a cell."""
        self._lines.pop(cell, None)
        self._draw()

    def clear(self) -> None:
        """Remove all lines."""
        self._lines.clear()
        self._draw()

    def _draw(self) -> None:
        """Draw all lines, and leave the cursor in front of them, where notes of the jobs may overwrite them."""
        if not self._quiet and sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            lines = "\n".join(line[:width] for line in self._lines.values())
            up = f"\x1b[{len(self._lines) - 1}A" if len(self._lines) > 1 else ""
            print(f"\r\x1b[J{lines}{up}\r", end="", file=sys.stderr, flush=True)
