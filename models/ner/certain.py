"""Select sentences with labels that a tagger was certain of.

    python models/ner/certain.py LABELLED OUTPUT [TYPE...]

With types, each selected sentence has an entity of one of them. Without types, some sentences have no entity.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from nersery import io
from nersery.core.random import item_rng
from nersery.core.sentence import Sentence

MIN_SCORE = 0.7
"""Minimum score of each entity."""
WITHOUT = 0.25
"""The share of the sentences without entities that are kept."""
MAX_CHARACTERS = 200
"""Longer sentences are left out, because they cost more than they teach."""


def certain(sentences: Iterable[Sentence], types: Collection[str]) -> Iterator[Sentence]:
    """Select the sentences to keep."""
    for sentence in sentences:
        found = {entity.type for entity in sentence.entities}
        if sum(map(len, sentence.words)) > MAX_CHARACTERS or (types and not found.intersection(types)):
            continue
        is_certain = all((entity.score or 0.0) >= MIN_SCORE for entity in sentence.entities)
        if is_certain and (found or item_rng(0, "without", sentence.id).random() < WITHOUT):
            yield sentence


def main() -> None:
    """Write the selected sentences."""
    labelled, output, *types = sys.argv[1:]
    print(io.write(certain(io.read(labelled), types), Path(output)))


if __name__ == "__main__":
    main()
