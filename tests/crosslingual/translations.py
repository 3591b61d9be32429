"""Short notations for sentences and links, and their projections."""

from __future__ import annotations

from typing import Any

from nersery import Entity, Sentence
from nersery.core.alignments import Alignment, Link
from nersery.core.outcome import Reject
from nersery.crosslingual.label_projection.projection import Projection


def alignment(text: str) -> Alignment:
    """Parse ``0-1 2-2:0.5`` as links."""
    fields = (field.partition(":") for field in text.split())
    places = ((*map(int, place.split("-")), float(chance or 1)) for place, _, chance in fields)
    return tuple(sorted(Link(*place) for place in places))


def labelled(text: str, *entities: tuple[int, int, str], id: str = "s") -> Sentence:
    return Sentence(tuple(text.split()), tuple(Entity(*entity) for entity in entities), id=id)


def plain(text: str, id: str = "t") -> Sentence:
    return labelled(text, id=id)


def projected(source: Sentence, target: str, aligned: str, **settings: Any) -> Sentence:
    outcome = Projection(**settings).project(source, plain(target), alignment(aligned))
    assert isinstance(outcome, Sentence)
    return outcome


def rejected(source: Sentence, target: str, aligned: str, **settings: Any) -> Reject:
    outcome = Projection(**settings).project(source, plain(target), alignment(aligned))
    assert isinstance(outcome, Reject)
    assert outcome.sentence is not None
    assert outcome.sentence.words == tuple(target.split())
    return outcome


ADA = labelled("Ada Lovelace met Bo", (0, 2, "PER"), (3, 4, "PER"))
