"""A picture of the links of a pair of sentences and of what they project: an SVG for light and dark pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from markupsafe import Markup

from nersery.core.alignments import Alignment
from nersery.core.errors import DataError, Issue, SettingsError, printable
from nersery.core.files import write_atomic
from nersery.core.outcome import Reject
from nersery.core.sentence import Entity, Sentence
from nersery.crosslingual.projection import Projection, Task, alignment_issue
from nersery.report.charts import shortened, width_of

CELL = 20
"""Width and height of a word's column and row, in pixels."""
CHARACTER = 8.5
"""Width of a character of a bold label, in pixels, as fonts have it at most on average."""
LONGEST = 24
"""Characters of a label; wide ones count twice."""
GAP = 8
FOOT = 70
NARROWEST = 560
STYLE = """
text { font: 12px system-ui, sans-serif; }
.entity { font-weight: 700; } .lost { font-weight: 700; text-decoration: line-through; }
.frame, .projected { fill: none; } .projected { stroke-width: 2; }
.page { fill: #fff; } .frame { stroke: #d0d7de; } .link { fill: #0550ae; } .projected { stroke: #1a7f37; }
.word { fill: #57606a; } .entity { fill: #953800; } .lost { fill: #cf222e; } .band { fill: #953800; fill-opacity: .1; }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117; } .frame { stroke: #30363d; } .link { fill: #79c0ff; } .projected { stroke: #7ee787; }
  .word { fill: #9198a1; } .entity { fill: #ffa657; } .lost { fill: #ff7b72; } .band { fill: #ffa657; }
}
"""
"""Without variables, which not every program that shows SVG knows."""

Head = tuple[str, str]
"""What a row or column says, and of which kind it is."""


def alignment_map(source: Sentence, target: Sentence, alignment: Alignment) -> Markup:
    """The words of the source as rows, those of the target as columns, and their links as cells.

    The shade of a cell is the probability of the link. Entities of both sides are bands; a frame stands where one was
    projected to the other, and a source entity without one is struck out.

    Args:
        source: With its entities.
        target: As projected, with the entities that went over.
        links: Between their words.
    """
    projected = _projected(source, target, alignment)
    lost = [entity for entity in source.entities if entity not in projected]
    rows, columns = _heads(source, lost), _heads(target, ())
    left, top = (GAP + CHARACTER * max(width_of(text) for text, _ in heads) for heads in (rows, columns))
    width, height = CELL * len(columns), CELL * len(rows)
    page = max(NARROWEST, round(left + width + GAP)), round(top + height + FOOT)
    text = Markup('<text class="{}" text-anchor="end" x="{:.1f}" y="{:.1f}">{}</text>')
    turned = Markup('<text class="{}" transform="translate({:.1f} {:.1f}) rotate(-90)">{}</text>')
    parts = [
        Markup('<rect class="page" width="{}" height="{}"/>').format(*page),
        *(text.format(kind, left - GAP / 2, top + CELL * (at + 0.7), head) for at, (head, kind) in enumerate(rows)),
        *(
            turned.format(kind, left + CELL * (at + 0.7), top - GAP / 2, head)
            for at, (head, kind) in enumerate(columns)
        ),
        Markup('<g transform="translate({:.1f} {:.1f})">').format(left, top),
        *_bands(source.entities, target.entities, width, height),
        *(_cell(link, source, target) for link in alignment),
        *(_frame(*pair) for pair in projected.items()),
        Markup('<rect class="frame" width="{}" height="{}"/></g>').format(width, height),
        _legend(round(top + height)),
    ]
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img"'
        ' aria-labelledby="title"><title id="title">Links: {2} → {3}</title><style>{4}</style>{5}</svg>\n'
    ).format(*page, printable(source.text), printable(target.text), Markup(STYLE), Markup("").join(parts))


def draw_pair(path: Path, id: str, tasks: Iterable[Task | Reject], projection: Projection) -> None:
    """Draw one pair, projected from its first source.

    Args:
        id: Of the target; empty takes the first pair with an entity.

    Raises:
        SettingsError: When there is no such pair.
    """
    whole = ((task.target, task.translations[0]) for task in tasks if not isinstance(task, Reject))
    for target, translation in whole:
        if not isinstance(translation, Reject) and (target.id == id if id else translation.source.entities):
            source, alignment = translation
            if fault := alignment_issue(alignment, len(source), len(target)):
                raise DataError(Issue(fault, sentence=target.id), fix="choose another pair by --picture-of")
            outcome = projection.project(source, target, alignment)
            shown = outcome.sentence if isinstance(outcome, Reject) else outcome
            write_atomic(path, str(alignment_map(source, shown or target, alignment)))
            return
    reason = "no pair has an entity to draw" if not id else f"--picture-of {id}: no pair has a target of that id"
    raise SettingsError(reason)


def _projected(source: Sentence, target: Sentence, alignment: Alignment) -> dict[Entity, Entity]:
    """The target entity of each source entity that went over.

    Each is of one alone: those of one type find each other first, for a type may be called otherwise in the target,
    and then those with the most links.
    """
    hits = Counter(
        (entity, other)
        for entity in source.entities
        for link in alignment
        if entity.start <= link.source < entity.end
        for other in target.entities
        if other.start <= link.target < other.end
    )
    found: dict[Entity, Entity] = {}
    for entity, other in sorted(hits, key=lambda pair: (pair[0].type != pair[1].type, -hits[pair], *pair)):
        if entity not in found and other not in found.values():
            found[entity] = other
    return {entity: found[entity] for entity in source.entities if entity in found}


def _heads(sentence: Sentence, lost: Sequence[Entity]) -> list[Head]:
    """The words with the types of the entities that begin with them."""
    heads = [(shortened(printable(word), LONGEST), "word") for word in sentence.words]
    for entity in sentence.entities:
        kind = "lost" if entity in lost else "entity"
        for place in range(entity.start, entity.end):
            text = heads[place][0]
            heads[place] = (f"{text} {printable(entity.type)}" if place == entity.start else text, kind)
    return heads


def _bands(rows: Sequence[Entity], columns: Sequence[Entity], width: int, height: int) -> list[Markup]:
    band = Markup('<rect class="band" x="{}" y="{}" width="{}" height="{}"/>')
    across = [band.format(0, CELL * entity.start, width, CELL * (entity.end - entity.start)) for entity in rows]
    down = [band.format(CELL * entity.start, 0, CELL * (entity.end - entity.start), height) for entity in columns]
    return across + down


def _cell(link: tuple[int, int, float], source: Sentence, target: Sentence) -> Markup:
    row, column, probability = link
    title = printable(source.words[row]), printable(target.words[column]), probability
    return Markup(
        '<rect class="link" x="{0}" y="{1}" width="{2}" height="{2}" fill-opacity="{3:.2f}">'
        "<title>{4} → {5}: {6:.3f}</title></rect>"
    ).format(column * CELL + 2, row * CELL + 2, CELL - 4, max(0.1, probability), *title)


def _frame(source: Entity, target: Entity) -> Markup:
    place = target.start * CELL + 1, source.start * CELL + 1
    size = (target.end - target.start) * CELL - 2, (source.end - source.start) * CELL - 2
    frame = Markup('<rect class="projected" x="{}" y="{}" width="{}" height="{}"/>')
    return frame.format(*place, *size)


def _legend(top: int) -> Markup:
    return Markup(
        '<text class="word" x="{0}" y="{1}">A row is linked to a column, the surer the stronger the shade.</text>'
        '<text class="word" x="{0}" y="{2}"><tspan class="entity">an entity and its type</tspan>; framed: where it was '
        'projected to; <tspan class="lost">an entity that was not projected</tspan></text>'
    ).format(GAP, top + 28, top + 50)
