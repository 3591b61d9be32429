"""Tables of the report and their columns: how to write a value for readers, for CSV and for LaTeX (booktabs)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Self

from nersery.core.counting import MISSING, count, in_minutes
from nersery.core.errors import printable
from nersery.report.number_format import counts, millions, p_value, percent, signed

Row = tuple[Any, ...]
_ESCAPES = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "±": r"$\pm$",
    "<": "$<$", ">": "$>$", "|": r"\textbar{}",  # the default font shows other characters for these
    "[": "{[}", "*": "{*}",  # at the start of a row, they would be read as an argument of the preceding \\
}  # fmt: skip


def points(fraction: float | None) -> float | None:
    """A fraction in percent points with all digits that may matter.

    >>> points(0.48312345), points(None)
    (48.3123, None)
    """
    return None if fraction is None else round(100 * fraction, 4)


@dataclass(frozen=True)
class Kind:
    """How the values of a column are written.

    Args:
        shown: Formats a value for readers.
        plain: Splits a value into CSV fields, one for each of ``parts``.
        parts: The endings of the CSV headings.
        style: How the page shows it: ``type`` as a chip, ``gap`` shaded, ``interval`` with a bar, ``text`` aligned,
            ``prose`` aligned and wide enough to read.
    """

    shown: Callable[[Any], str] = str
    plain: Callable[[Any], tuple[Any, ...]] = lambda value: (value,)
    parts: tuple[str, ...] = ("",)
    style: str = ""

    @property
    def is_text(self) -> bool:
        """Whether the values are aligned on the left; numbers are aligned on the right."""
        return self.style in ("text", "prose", "name", "type")


def _mean_and_deviation(measure: Any) -> tuple[Any, ...]:
    return points(measure.mean), points(measure.std)


TEXT = Kind(style="text")
PROSE = Kind(style="prose")
NAME = Kind(style="name")
TYPE = Kind(style="type")
COUNT = Kind(count)
COUNTS = Kind(counts, lambda values: (" ".join(map(str, values)),))
"""A number for each seed."""
POINTS = Kind(percent, lambda value: (points(value),))
GAIN = Kind(signed, lambda value: (points(value),))
P_VALUE = Kind(p_value)
DURATION = Kind(in_minutes, lambda seconds: (seconds and round(seconds, 1),), (" (s)",))
PARAMETERS = Kind(millions)
MEASURE = Kind(str, _mean_and_deviation, ("", " std"))
GAP = Kind(lambda pair: str(pair[0]), lambda pair: _mean_and_deviation(pair[0]), ("", " std"), "gap")
"""A measure and the mean that it is compared with, which may be None."""
LENGTH = Kind(lambda measure: measure.in_words, lambda measure: (measure.mean, measure.std), ("", " std"))
INTERVAL = Kind(lambda ci: ci.interval, lambda ci: (points(ci.low), points(ci.high)), (" low", " high"), "interval")


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Args:
        of: How to get the value from an item, see `ReportTable.of`: an attribute such as ``tested.p``, or a function.
        remark: A sentence below the table that defines the number.
    """

    heading: str
    kind: Kind = COUNT
    of: str | Callable[[Any], Any] = ""
    remark: str = ""


@dataclass(frozen=True)
class ReportTable:
    """A table of the report.

    Args:
        name: Its anchor in the page, and the name of its CSV file.
        rows: Each has one value for each column; None is unknown.
        style: A class of the page's style sheet.
        baseline: The text of the first column in rows of the baseline.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    style: str = ""
    baseline: str = ""

    @classmethod
    def of(
        cls,
        name: str,
        caption: str,
        columns: Sequence[Column],
        items: Iterable[Any],
        style: str = "",
        baseline: str = "",
    ) -> Self:
        """Make a table with a row for each item; each column gets its value from the item."""
        getters = [attrgetter(column.of) if isinstance(column.of, str) else column.of for column in columns]
        rows = [tuple(get(item) for get in getters) for item in items]
        return cls(name, caption, columns, rows, style, baseline)

    @property
    def shown(self) -> list[list[str]]:
        """The rows for readers."""
        return [
            [MISSING if value is None else column.kind.shown(value) for column, value in self._cells(row)]
            for row in self.rows
        ]

    @property
    def remarks(self) -> list[str]:
        """The sentences below the table that define its numbers."""
        return [column.remark for column in self.columns if column.remark]

    @property
    def csv(self) -> str:
        """The table as comma-separated values: F1 and similar fractions in percent points, unknown values empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_text(column.heading + part) for column in self.columns for part in column.kind.parts)
        for row in self.rows:
            writer.writerow(_text(part) for column, value in self._cells(row) for part in _plain(column.kind, value))
        return text.getvalue()

    @property
    def latex(self) -> str:
        """The table as LaTeX: text is aligned on the left, numbers on the right."""
        rows = [[column.heading for column in self.columns], *self.shown]
        lines = [" & ".join(map(latex_text, row)) + r" \\" for row in rows]
        body = "\n".join([r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"])
        caption = rf"\caption{{{latex_text(self.caption)}}}"
        columns = "".join("l" if column.kind.is_text else "r" for column in self.columns)
        return (
            "\\begin{table}\n\\centering\n"
            f"\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n{caption}\n\\end{{table}}\n"
        )

    def _cells(self, row: Row) -> Iterator[tuple[Column, Any]]:
        return zip(self.columns, row, strict=True)


def _plain(kind: Kind, value: Any) -> Sequence[Any]:
    return [None] * len(kind.parts) if value is None else kind.plain(value)


def _text(part: Any) -> Any:
    """Put an apostrophe before text that begins like a formula, because a spreadsheet would compute it."""
    return f"'{part}" if isinstance(part, str) and part.startswith(("=", "+", "-", "@", "\t", "\r")) else part


def latex_text(text: str) -> str:
    r"""Escape text so that LaTeX shows it literally.

    >>> print(latex_text("[a] p < 0.001 & 48.3 ± 0.6 %"))
    {[}a] p $<$ 0.001 \& 48.3 $\pm$ 0.6 \%
    >>> print(latex_text("PER\u202e"))
    PER\textbackslash{}u202e
    """
    return re.sub(r"[\\~^−±<>|\[*&%$#_{}]", lambda match: _ESCAPES.get(match[0], "\\" + match[0]), printable(text))
