"""A matrix between words, such as attention or alignment: a standalone SVG, for light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nersery.report.charts import width_of

CELL = 20
"""Width and height of a word's column and row, in pixels."""
CHARACTER = 7.5
"""Width of a character of a label, in pixels, as fonts have it at most on average."""
CAPITAL = 3
"""By how much a capital is wider, in pixels, in bold as entities are."""
GAP = 8
FOOT = 70
NARROWEST = 560
STYLE = """
text { font: 12px system-ui, sans-serif; }
.entity { font-weight: 700; } .keyword { text-decoration: underline; }
.lost { font-weight: 700; text-decoration: line-through; } .frame, .chosen { fill: none; } .chosen { stroke-width: 2; }
.page { fill: #fff; } .frame { stroke: #d0d7de; } .cell { fill: #0550ae; } .chosen { stroke: #1a7f37; }
.word { fill: #57606a; } .entity { fill: #953800; } .keyword { fill: #116329; } .lost { fill: #cf222e; }
.band { fill: #953800; fill-opacity: .1; }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117; } .frame { stroke: #30363d; } .cell { fill: #79c0ff; } .chosen { stroke: #7ee787; }
  .word { fill: #9198a1; } .entity { fill: #ffa657; } .keyword { fill: #7ee787; } .lost { fill: #ff7b72; }
  .band { fill: #ffa657; }
}
"""
"""Without variables, which not every program that shows SVG knows."""


@dataclass(frozen=True, slots=True)
class Label:
    """What a row or a column says.

    Args:
        shown: As much of the words as there is room for.
        kind: A class of `STYLE`.
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
        inside: What stands in the matrix, whose first row and column begin at (0, 0); `cell` and `frame` make it.
        legend: Two lines, which may have `tspan`.
    """
    left, top = (GAP + max(_pixels(label.shown) for label in labels) for labels in (rows, columns))
    width, height = CELL * len(columns), CELL * len(rows)
    page = max(NARROWEST, round(left + width + GAP)), round(top + height + FOOT)
    row = Markup('<text class="{}" text-anchor="end" x="{:.1f}" y="{:.1f}">{}<title>{}</title></text>')
    column = Markup('<text class="{}" transform="translate({:.1f} {:.1f}) rotate(-90)">{}<title>{}</title></text>')
    line = Markup('<text class="word" x="{}" y="{}">{}</text>')
    middles = [CELL * (at + 0.7) for at in range(max(len(rows), len(columns)))]
    parts = [
        Markup('<rect class="page" width="{}" height="{}"/>').format(*page),
        *(
            row.format(one.kind, left - GAP / 2, top + y, one.shown, one.text)
            for one, y in zip(rows, middles, strict=False)
        ),
        *(
            column.format(one.kind, left + x, top - GAP / 2, one.shown, one.text)
            for one, x in zip(columns, middles, strict=False)
        ),
        Markup('<g transform="translate({:.1f} {:.1f})">').format(left, top),
        *inside,
        Markup('<rect class="frame" width="{}" height="{}"/></g>').format(width, height),
        *(line.format(GAP, round(top + height) + 28 + 22 * at, text) for at, text in enumerate(legend)),
    ]
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img"'
        ' aria-labelledby="title"><title id="title">{2}</title><style>{3}</style>{4}</svg>\n'
    ).format(*page, title, Markup(STYLE), Markup("").join(parts))


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
    (y, width), (x, height) = (rows[0], columns[1] - columns[0]), (columns[0], rows[1] - rows[0])
    rect = Markup('<rect class="chosen" x="{}" y="{}" width="{}" height="{}"/>')
    return rect.format(CELL * x + 1, CELL * y + 1, CELL * width - 2, CELL * height - 2)
