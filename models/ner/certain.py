"""Select the sentences that a tagger labelled with certainty.

    python models/ner/certain.py LABELLED OUTPUT [TYPE...]

With types, each sentence has an entity of one of them; without, some sentences have none at all.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from nersery import io
from nersery.core.random import item_rng
from nersery.core.sentence import Sentence

LEAST_SCORE = 0.7
"""Of each entity."""
WITHOUT = 0.25
"""Share of the sentences without entities that are kept."""
MOST_CHARACTERS = 200
"""Longer sentences are left out: they cost more than they teach."""


def certain(sentences: Iterable[Sentence], types: Collection[str]) -> Iterator[Sentence]:
    """The sentences to keep."""
    for sentence in sentences:
        found = {entity.type for entity in sentence.entities}
        if sum(map(len, sentence.words)) > MOST_CHARACTERS or (types and not found.intersection(types)):
            continue
        is_certain = all((entity.score or 0.0) >= LEAST_SCORE for entity in sentence.entities)
        if is_certain and (found or item_rng(0, "without", sentence.id).random() < WITHOUT):
            yield sentence


def main() -> None:
    """Write them."""
    labelled, output, *types = sys.argv[1:]
    print(io.write(certain(io.read(labelled), types), Path(output)))


if __name__ == "__main__":
    main()
