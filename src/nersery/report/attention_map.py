"""A picture of the attention between the words of a sentence: a standalone SVG, for light and dark pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from nersery.augment.denoising.templates import Attention, merge_entities
from nersery.core.errors import printable
from nersery.core.sentence import Sentence
from nersery.report.charts import shortened, width_of

CELL = 20
"""Width and height of a word's column and row, in pixels."""
CHARACTER = 7.5
"""Width of a character of a label, in pixels, as fonts have it at most on average."""
CAPITAL = 3
"""By how much a capital is wider, in pixels, in bold as entities are."""
LONGEST = 28
"""Characters of the words of a label; wide ones count twice."""
GAP = 8
FOOT = 64
NARROWEST = 500
FAINTEST = 0.01
"""Cells of a weaker shade are left out."""
STYLE = """
text { font: 12px system-ui, sans-serif; }
.entity { font-weight: 700; } .keyword { text-decoration: underline; }
.frame, .chosen { fill: none; } .chosen { stroke-width: 2; }
.page { fill: #fff; } .frame { stroke: #d0d7de; } .cell { fill: #0550ae; } .chosen { stroke: #1a7f37; }
.word { fill: #57606a; } .entity { fill: #953800; } .keyword { fill: #116329; }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117; } .frame { stroke: #30363d; } .cell { fill: #79c0ff; } .chosen { stroke: #7ee787; }
  .word { fill: #9198a1; } .entity { fill: #ffa657; } .keyword { fill: #7ee787; }
}
"""
"""Without variables, which not every program that shows SVG knows."""


@dataclass(frozen=True, slots=True)
class _Label:
    """What a row and a column say: their words, as much of them as is shown, and what they are."""

    text: str
    shown: str
    kind: str


def attention_map(sentence: Sentence, attention: Attention, keywords: Collection[int]) -> Markup:
    """The attention from each row to each column, an entity being one of both; entities and keywords are marked.

    Shades are relative to a row's highest attention to another word. Where a cell is framed, an entity attends to a
    keyword.

    Args:
        attention: Between the sentence's words; see `nersery.taggers.components.word_attention.word_attention`.
        keywords: Their positions.

    Raises:
        ValueError: When the attention is not between the sentence's words.
    """
    units, merged = merge_entities(sentence, attention)
    types = {entity.start: entity.type for entity in sentence.entities}
    labels = []
    for start, end in units:
        words = printable(" ".join(sentence.words[start:end]))
        kind = "entity" if start in types else "keyword" if start in keywords else "word"
        type_ = printable(f" {types[start]}") if start in types else ""
        labels.append(_Label(words + type_, shortened(words, LONGEST) + type_, kind))
    return _drawn(labels, merged)


def _drawn(labels: Sequence[_Label], attention: Attention) -> Markup:
    margin = GAP + max(_pixels(label.shown) for label in labels)
    size = CELL * len(labels)
    width, height = max(NARROWEST, round(margin + size + GAP)), round(margin + size + FOOT)
    parts = [
        Markup('<rect class="page" width="{}" height="{}"/>').format(width, height),
        *(_row_head(label, margin, place) for place, label in enumerate(labels)),
        *(_column_head(label, margin, place) for place, label in enumerate(labels)),
        Markup('<g transform="translate({0:.1f} {0:.1f})">{1}</g>').format(margin, _cells(labels, attention)),
        _legend(round(margin + size)),
    ]
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img"'
        ' aria-labelledby="title"><title id="title">Attention between words: {2}</title><style>{3}</style>{4}</svg>\n'
    ).format(width, height, " ".join(label.text for label in labels), Markup(STYLE), Markup("").join(parts))


def _pixels(text: str) -> float:
    return CHARACTER * width_of(text) + CAPITAL * sum(map(str.isupper, text))


def _row_head(label: _Label, margin: float, place: int) -> Markup:
    text = Markup('<text class="{}" text-anchor="end" x="{:.1f}" y="{:.1f}">{}<title>{}</title></text>')
    y = margin + CELL * (place + 0.7)
    return text.format(label.kind, margin - GAP / 2, y, label.shown, label.text)


def _column_head(label: _Label, margin: float, place: int) -> Markup:
    text = Markup('<text class="{}" transform="translate({:.1f} {:.1f}) rotate(-90)">{}<title>{}</title></text>')
    x = margin + CELL * (place + 0.7)
    return text.format(label.kind, x, margin - GAP / 2, label.shown, label.text)


def _cells(labels: Sequence[_Label], attention: Attention) -> Markup:
    shades = _shades(attention)
    parts = []
    for row, source in enumerate(labels):
        for column, target in enumerate(labels):
            x, y = column * CELL, row * CELL
            if shades[row, column] >= FAINTEST:
                cell = Markup(
                    '<rect class="cell" x="{0}" y="{1}" width="{2}" height="{2}" fill-opacity="{3:.2f}">'
                    "<title>{4} → {5}: {6:.3f}</title></rect>"
                )
                title = source.text, target.text, attention[row, column]
                parts.append(cell.format(x, y, CELL, shades[row, column], *title))
            if (source.kind, target.kind) == ("entity", "keyword"):
                frame = Markup('<rect class="chosen" x="{0}" y="{1}" width="{2}" height="{2}"/>')
                parts.append(frame.format(x + 1, y + 1, CELL - 2))
    parts.append(Markup('<rect class="frame" width="{0}" height="{0}"/>').format(CELL * len(labels)))
    return Markup("").join(parts)


def _shades(attention: Attention) -> Attention:
    """The attention as a share of the row's highest to another word, at most 1."""
    others = attention.copy()
    np.fill_diagonal(others, 0.0)
    highest = others.max(axis=1, keepdims=True)
    shares: Attention = np.divide(attention, highest, out=np.zeros_like(attention), where=highest > 0)
    return np.minimum(1.0, shares)


def _legend(top: int) -> Markup:
    return Markup(
        '<text class="word" x="{0}" y="{1}">A row attends to a column, the more the stronger the shade.</text>'
        '<text class="word" x="{0}" y="{2}"><tspan class="entity">an entity and its type</tspan>, '
        '<tspan class="keyword">a keyword</tspan>; framed: an entity attends to a keyword</text>'
    ).format(GAP, top + 26, top + 46)
