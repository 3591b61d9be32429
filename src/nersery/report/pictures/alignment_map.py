"""A picture of the alignment of two sentences and the entities that it projects: an SVG for light and dark pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from nersery.core.alignments import Alignment
from nersery.core.errors import DataError, Issue, SettingsError, printable
from nersery.core.outcome import Reject
from nersery.core.sentence import Entity, Sentence
from nersery.core.system.files import write_output
from nersery.crosslingual.label_projection.projection import Projection, Task, alignment_issue
from nersery.report.pictures.charts import shortened
from nersery.report.pictures.matrix import Label, MatrixRange, cell, matrix

MAX_LABEL_LENGTH = 24
"""The most characters of a label; wide characters count twice."""
FAINTEST = 0.1
LEGEND = (
    Markup("A row is linked to a column; a stronger shade means a more certain link."),
    Markup(
        '<tspan class="entity">an entity and its type</tspan>; framed: where it was projected to; '
        '<tspan class="lost">an entity that was not projected</tspan>'
    ),
)


def alignment_map(source: Sentence, target: Sentence, alignment: Alignment) -> Markup:
    """Draw the source words as rows, the words of the projected target as columns, and their links as cells.

    The shade of a cell is the probability of the link. Entities of both sides are bands. A frame marks a source entity
    and the target entity that it was projected to. A source entity that was not projected is struck out.
    """
    projected = _projected(source, target, alignment)
    lost = [entity for entity in source.entities if entity not in projected]
    rows, columns = _labels(source, lost), _labels(target, ())
    cells = (
        cell(row, column, probability, max(FAINTEST, probability), (rows[row].text, columns[column].text), inset=2)
        for row, column, probability in alignment
    )
    frames = (MatrixRange("chosen", _span(entity), _span(other), inset=1) for entity, other in projected.items())
    title = f"Links: {printable(source.text)} → {printable(target.text)}"
    across = (MatrixRange("band", _span(entity), (0, len(target))) for entity in source.entities)
    down = (MatrixRange("band", (0, len(source)), _span(entity)) for entity in target.entities)
    return matrix(title, rows, columns, [*across, *down, *cells, *frames], LEGEND)


def draw_pair(path: Path, id: str, tasks: Iterable[Task | Reject], projection: Projection) -> None:
    """Draw one pair, projected from its first source.

    Args:
        id: The id of the target; if empty, the first pair with a source entity is drawn.

    Raises:
        DataError: If the alignment does not fit the pair.
        SettingsError: If there is no such pair.
    """
    pairs = ((task.target, task.translations[0]) for task in tasks if not isinstance(task, Reject))
    for target, translation in pairs:
        if not isinstance(translation, Reject) and (target.id == id if id else translation.source.entities):
            source, alignment = translation
            if issue := alignment_issue(alignment, len(source), len(target)):
                raise DataError(Issue(issue, sentence=target.id), fix="choose another pair with --picture-of")
            outcome = projection.project(source, target, alignment)
            shown = outcome.sentence if isinstance(outcome, Reject) else outcome
            write_output(path, str(alignment_map(source, shown or target, alignment)))
            return
    reason = "no pair has an entity to draw" if not id else f"--picture-of {id}: no pair has a target with that id"
    raise SettingsError(reason)


def _projected(source: Sentence, target: Sentence, alignment: Alignment) -> dict[Entity, Entity]:
    """The target entity of each source entity that was projected.

    Each target entity belongs to only one source entity. Pairs of the same type are matched first, because a type may
    have another name in the target; then the pairs with the most links.
    """
    hits = Counter(
        (entity, other)
        for entity in source.entities
        for link in alignment
        if link.source in entity.positions
        for other in target.entities
        if link.target in other.positions
    )
    projected: dict[Entity, Entity] = {}
    for entity, other in sorted(hits, key=lambda pair: (pair[0].type != pair[1].type, -hits[pair], *pair)):
        if entity not in projected and other not in projected.values():
            projected[entity] = other
    return {entity: projected[entity] for entity in source.entities if entity in projected}


def _labels(sentence: Sentence, lost: Sequence[Entity]) -> list[Label]:
    """The words; the first word of an entity is followed by its type."""
    labels = [Label(shortened(word, MAX_LABEL_LENGTH), "word", word) for word in map(printable, sentence.words)]
    for entity in sentence.entities:
        kind = "lost" if entity in lost else "entity"
        for position in entity.positions:
            shown = labels[position].shown + (f" {printable(entity.type)}" if position == entity.start else "")
            labels[position] = replace(labels[position], shown=shown, kind=kind)
    return labels


def _span(entity: Entity) -> tuple[int, int]:
    return entity.start, entity.end
