"""A matrix between words, such as attention or alignment: a standalone SVG, which `templates/matrix.svg.j2` draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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


def matrix(
    title: str, rows: Sequence[Label], columns: Sequence[Label], inside: Iterable[Markup], legend: Sequence[Markup]
) -> Markup:
    """The whole picture.

    Args:
        inside: What stands in the matrix, whose first row and column begin at (0, 0): of `cell`, `frame` and `band`.
        legend: Two lines, which may have `tspan`.
    """
    left, top = (GAP + max(_pixels(label.shown) for label in labels) for labels in (rows, columns))
    width, height = CELL * len(columns), CELL * len(rows)
    page = max(NARROWEST, round(left + width + GAP)), round(top + height + FOOT)
    values = {"title": title, "rows": rows, "columns": columns, "inside": Markup("").join(inside), "legend": legend}
    sizes = {"left": left, "top": top, "width": width, "height": height, "page": page, "gap": GAP, "cell": CELL}
    return Markup(html_template("matrix.svg.j2").render(values | sizes) + "\n")


def _pixels(text: str) -> float:
    return CHARACTER * width_of(text) + CAPITAL * sum(map(str.isupper, text))


def cell(row: int, column: int, value: float, shade: float, names: tuple[str, str], inset: int = 0) -> Markup:
    """A shaded cell that names its row, its column and its value.

    Args:
        shade: In [0, 1].
        inset: Pixels that stay free on each side.
    """
    return Markup(
        '<rect class="cell" x="{0}" y="{1}" width="{2}" height="{2}" fill-opacity="{3:.2f}">'
        "<title>{4} → {5}: {6:.3f}</title></rect>"
    ).format(column * CELL + inset, row * CELL + inset, CELL - 2 * inset, shade, *names, value)


def frame(rows: tuple[int, int], columns: tuple[int, int]) -> Markup:
    """A frame around the cells of rows and columns, each ``[start, end)``."""
    return _area("chosen", rows, columns, inset=1)


def band(rows: tuple[int, int], columns: tuple[int, int]) -> Markup:
    """A coloured ground behind the cells of rows and columns, each ``[start, end)``."""
    return _area("band", rows, columns)


def _area(kind: str, rows: tuple[int, int], columns: tuple[int, int], inset: int = 0) -> Markup:
    (top, bottom), (left, right) = rows, columns
    width, height = CELL * (right - left) - 2 * inset, CELL * (bottom - top) - 2 * inset
    rect = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>')
    return rect.format(kind, CELL * left + inset, CELL * top + inset, width, height)
