"""A picture of the attention between the words of a sentence as SVG."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from markupsafe import Markup

from nersery.augment.templates.template import Attention, merge_entities
from nersery.core.errors import printable
from nersery.core.sentence import Sentence
from nersery.core.text.spacing import joined_words
from nersery.report.pictures.charts import shortened
from nersery.report.pictures.matrix import Label, MatrixRange, cell, matrix

MAX_LABEL_LENGTH = 28
"""The most characters of the words of a label; wide characters count twice."""
FAINTEST = 0.01
"""Cells with a weaker shade are left out."""
LEGEND = (
    Markup("A row attends to a column; a stronger shade means more attention."),
    Markup(
        '<tspan class="entity">an entity and its type</tspan>, <tspan class="keyword">a keyword</tspan>; framed: an '
        "entity attends to a keyword"
    ),
)


def attention_map(sentence: Sentence, attention: Attention, keywords: Collection[int]) -> Markup:
    """Draw the attention from rows to columns. An entity is one row and one column; entities and keywords are marked.

    Shades are relative to a row's highest attention to another word. In a framed cell, an entity attends to a keyword.

    Args:
        attention: Between the sentence's words; see `nersery.taggers.networks.word_attention.word_attention`.
        keywords: The positions of the keywords.

    Raises:
        ValueError: If the attention is not between the sentence's words.
    """
    units, merged = merge_entities(sentence, attention)
    types = {entity.start: entity.type for entity in sentence.entities}
    labels = []
    for start, end in units:
        words = printable(joined_words(sentence.words[start:end]))
        kind = "entity" if start in types else "keyword" if start in keywords else "word"
        type_ = printable(f" {types[start]}") if start in types else ""
        labels.append(Label(shortened(words, MAX_LABEL_LENGTH) + type_, kind, words + type_))
    title = f"Attention between words: {' '.join(label.text for label in labels)}"
    return matrix(title, labels, labels, _cells(labels, merged), LEGEND)


def _cells(labels: Sequence[Label], attention: Attention) -> Iterator[MatrixRange]:
    shades = _shades(attention)
    for row, source in enumerate(labels):
        for column, target in enumerate(labels):
            if shades[row, column] >= FAINTEST:
                yield cell(row, column, attention[row, column], shades[row, column], (source.text, target.text))
            if (source.kind, target.kind) == ("entity", "keyword"):
                yield MatrixRange("chosen", (row, row + 1), (column, column + 1), inset=1)


def _shades(attention: Attention) -> Attention:
    """The attention divided by the row's highest attention to another word, at most 1."""
    others = attention.copy()
    np.fill_diagonal(others, 0.0)
    highest = others.max(axis=1, keepdims=True)
    shares: Attention = np.divide(attention, highest, out=np.zeros_like(attention), where=highest > 0)
    return np.minimum(1.0, shares)
