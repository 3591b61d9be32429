"""Sixteen sentences, and a tagger that learns them in seconds."""

from __future__ import annotations

from nersery.core.sentence import Entity, Sentence
from nersery.taggers.transformer import TransformerTagger

NAMES = ["Ada Lovelace", "Grace", "राम", "Halden"]


PLACES = ["London", "New York", "दिल्ली", "Oslo"]


def sentence(name: str, place: str, number: int = 0) -> Sentence:
    first, second = name.split(), place.split()
    words = (*first, "lives", "in", *second, ".")
    start = len(first) + 2
    entities = (Entity(0, len(first), "PER"), Entity(start, start + len(second), "LOC"))
    return Sentence(words, entities, id=f"{name}-{place}-{number}")


GOLD = [sentence(name, place) for name in NAMES for place in PLACES]


def small(model: str, **settings) -> TransformerTagger:
    return TransformerTagger(
        model=model, **{"steps": 40, "learning_rate": 5e-3, "head_learning_rate": 5e-3, "batch_size": 8, **settings}
    )
