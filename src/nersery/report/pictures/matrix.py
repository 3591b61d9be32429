"""A matrix between words, such as attention or alignment: a standalone SVG drawn by `templates/matrix.svg.j2`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from nersery.report.pictures.charts import width_of
from nersery.report.templating import html_template

CELL = 20
"""Width and height of a word's column and row, in pixels."""
CHARACTER = 7.5
"""Upper limit of the average width of a label's characters over common fonts, in pixels."""
CAPITAL = 3
"""Additional width of a capital letter in bold, as in entities, in pixels."""
GAP = 8
FOOT = 70
NARROWEST = 560


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a row or a column.

    Args:
        shown: The text, shortened to the room that there is.
        kind: A class of the template's style sheet.
        text: The whole text.
    """

    shown: str
    kind: str
    text: str


class MatrixRange(NamedTuple):
    """A range of rows and a range of columns of the matrix, each ``[start, end)`` from 0.

    Args:
        kind: A class of the template's style sheet: ``cell``, ``band`` (a background) or ``chosen`` (a frame).
        inset: Free pixels on each side.
        shade: The shade of a cell, in [0, 1].
        title: The title of a cell.
    """

    kind: str
    rows: tuple[int, int]
    columns: tuple[int, int]
    inset: int = 0
    shade: float = 0.0
    title: str = ""


def matrix(
    title: str, rows: Sequence[Label], columns: Sequence[Label], inside: Iterable[MatrixRange], legend: Sequence[Markup]
) -> Markup:
    """Draw the whole picture.

    Args:
        legend: Two lines, which may contain ``tspan`` elements.
    """
    left, top = (GAP + max(_pixels(label.shown) for label in labels) for labels in (rows, columns))
    width, height = CELL * len(columns), CELL * len(rows)
    widest = max(left + width, *(GAP + _pixels(line.striptags()) for line in legend))
    page = max(NARROWEST, round(widest + GAP)), round(top + height + FOOT)
    values = {"title": title, "rows": rows, "columns": columns, "inside": inside, "legend": legend}
    sizes = {"left": left, "top": top, "width": width, "height": height, "page": page, "gap": GAP, "cell": CELL}
    return Markup(html_template("matrix.svg.j2").render(values | sizes) + "\n")


def _pixels(text: str) -> float:
    return CHARACTER * width_of(text) + CAPITAL * sum(map(str.isupper, text))


def cell(row: int, column: int, value: float, shade: float, names: tuple[str, str], inset: int = 0) -> MatrixRange:
    """A shaded cell with a title that names its row, its column and its value."""
    title = f"{names[0]} → {names[1]}: {value:.3f}"
    return MatrixRange("cell", (row, row + 1), (column, column + 1), inset, shade, title)
