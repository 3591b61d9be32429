"""Select training sentences and their labels from sentences that a base-size tagger has labelled with kinds.

    python models/ner/from_base.py LABELLED... FOLDER
    python models/ner/from_base.py --translated LABELLED FOLDER

``FOLDER/kinds/plain.jsonl`` gets the sentences with rare kinds and some of the others. ``FOLDER/names.jsonl`` gets the
sentences without doubtful labels, with the four types in place of kinds. With ``--translated``, all sentences are
prepared for projection into other languages. ``FOLDER/agreed.jsonl`` gets those with translations that train.py uses.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from certain import MAX_CHARACTERS, certain
from kinds import KINDS

from nersery import io
from nersery.core.random import item_rng
from nersery.core.sentence import Sentence

TYPE_OF = {kind: type for type, kinds in KINDS.items() for kind in (type, *kinds)}
THINGS = {"DEVICE", "DRUG", "FOOD", "ORGANISM"}
"""Kinds of things that usually have no name."""
COMMON = {"CITY", "COUNTRY", "LOC", "MISC", "NATIONALITY", "ORG", "PER"}
SHARES = (0.5, 0.15)
"""The shares that are kept: of the sentences with only common kinds, and of the sentences without entities."""
MIN_SCORE = 0.3
"""Minimum score of each entity, for kinds."""
MIN_SHARE_OF_KIND = 0.5
"""An entity with a lower score gets the type of its kind."""
MIN_SHARE_OF_NAME = 0.4
"""Minimum score of each entity, for names."""
WITHOUT_NAMES = 0.25
"""The share of the sentences without names that are kept."""


def distinct(paths: Iterable[str]) -> Iterator[Sentence]:
    """The sentences of several files, without repeated and long ones."""
    seen: set[tuple[str, ...]] = set()
    for path in paths:
        for sentence in io.read(path):
            if sentence.words not in seen and sum(map(len, sentence.words)) <= MAX_CHARACTERS:
                seen.add(sentence.words)
                yield replace(sentence, id=f"{Path(path).name}:{sentence.id}")


def least_score(sentence: Sentence) -> float:
    """The lowest score of a sentence's entities; 1.0 without entities."""
    return min((entity.score or 0.0 for entity in sentence.entities), default=1.0)


def with_kinds(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences to learn kinds from."""
    for sentence in sentences:
        entities = [
            e if (e.score or 0.0) >= MIN_SHARE_OF_KIND else replace(e, type=TYPE_OF[e.type]) for e in sentence.entities
        ]
        has_rare = not COMMON.issuperset(entity.type for entity in entities)
        is_drawn = item_rng(0, "without", sentence.id).random() < SHARES[not entities]
        if least_score(sentence) >= MIN_SCORE and (has_rare or is_drawn):
            yield sentence.with_entities(entities)


def with_names(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences to learn names from, with the four types."""
    for sentence in sentences:
        names = [entity for entity in sentence.entities if entity.type not in THINGS]
        is_drawn = names or item_rng(0, "names", sentence.id).random() < WITHOUT_NAMES
        if least_score(sentence) >= MIN_SHARE_OF_NAME and is_drawn:
            yield sentence.with_entities([replace(name, type=TYPE_OF[name.type]) for name in names])


def capitalized_names(sentence: Sentence) -> Sentence:
    """The sentence with the four types, and without entities in lower case, such as foods."""
    names = [e for e in sentence.entities if any(word[:1].isupper() for word in sentence.mention(e))]
    return sentence.with_entities([replace(name, type=TYPE_OF[name.type]) for name in names])


def prepare_translation(labelled: str, folder: str) -> None:
    """Write the sentences to project into other languages."""
    sentences = [*io.read(labelled)]
    io.write(sentences, Path(folder, "kinds", "translated", "eng.jsonl"))
    io.write(map(capitalized_names, sentences), Path(folder, "names", "translated", "eng.jsonl"))
    print(io.write(certain(sentences, []), Path(folder, "agreed.jsonl")))


def main() -> None:
    """Write the selected sentences."""
    *labelled, folder = sys.argv[1:]
    if labelled[0] == "--translated":
        prepare_translation(labelled[1], folder)
    else:
        sentences = [*distinct(labelled)]
        print(io.write(with_kinds(sentences), Path(folder, "kinds", "plain.jsonl")))
        print(io.write(with_names(sentences), Path(folder, "names.jsonl")))


if __name__ == "__main__":
    main()
