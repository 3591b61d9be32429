"""A matrix between words, such as attention or alignment: a standalone SVG, which `templates/matrix.svg.j2` draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from nersery.report.escaping import html_template
from nersery.report.pictures.charts import width_of

CELL = 20
"""Width and height of a word's column and row, in pixels."""
CHARACTER = 7.5
"""Width of a character of a label, in pixels, as fonts have it at most on average."""
CAPITAL = 3
"""By how much a capital is wider, in pixels, in bold as entities are."""
GAP = 8
FOOT = 70
NARROWEST = 560


@dataclass(frozen=True, slots=True)
class Label:
    """What a row or a column says.

    Args:
        shown: As much of the words as there is room for.
        kind: A class of the template's style sheet.
        text: All words.
    """

    shown: str
    kind: str
    text: str


class Area(NamedTuple):
    """Some rows and columns of the matrix, each ``[start, end)`` from 0.

    Args:
        kind: A class of the template's style sheet: ``cell``, ``band`` (a ground behind cells) or ``chosen`` (a frame).
        inset: Pixels that stay free on each side.
        shade: Of a cell, in [0, 1].
        title: Of a cell.
    """

    kind: str
    rows: tuple[int, int]
    columns: tuple[int, int]
    inset: int = 0
    shade: float = 0.0
    title: str = ""


def matrix(
    title: str, rows: Sequence[Label], columns: Sequence[Label], inside: Iterable[Area], legend: Sequence[Markup]
) -> Markup:
    """The whole picture.

    Args:
        legend: Two lines, which may have `tspan`.
    """
    left, top = (GAP + max(_pixels(label.shown) for label in labels) for labels in (rows, columns))
    width, height = CELL * len(columns), CELL * len(rows)
    page = max(NARROWEST, round(left + width + GAP)), round(top + height + FOOT)
    values = {"title": title, "rows": rows, "columns": columns, "inside": inside, "legend": legend}
    sizes = {"left": left, "top": top, "width": width, "height": height, "page": page, "gap": GAP, "cell": CELL}
    return Markup(html_template("matrix.svg.j2").render(values | sizes) + "\n")


def _pixels(text: str) -> float:
    return CHARACTER * width_of(text) + CAPITAL * sum(map(str.isupper, text))


def cell(row: int, column: int, value: float, shade: float, names: tuple[str, str], inset: int = 0) -> Area:
    """A shaded cell that names its row, its column and its value."""
    title = f"{names[0]} → {names[1]}: {value:.3f}"
    return Area("cell", (row, row + 1), (column, column + 1), inset, shade, title)
