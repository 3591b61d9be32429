"""Draw English sentences for a tagger to label: ``python models/ner/plain_text.py DATA/text/en plain.txt``."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

DRAWN = {"wikitext2": 3500, "squad_sentences": 3500, "wikipedia_crowd": 3000, "textbooks": 3000}
"""Sentences of each file."""
SHORTEST, LONGEST = 5, 30
"""Words."""
ODD = ("<unk>", "@", "=")
"""In what is hardly a sentence."""


def sentences(path: Path) -> Iterator[str]:
    """The usable ones of a file with a sentence, or in WikiText a paragraph, a line."""
    for line in path.read_text("utf-8").split("\n"):
        parts = re.split(r"(?<= [.!?]) (?=\S)", line.strip()) if path.stem == "wikitext2" else [line]
        for words in map(str.split, parts):
            text = " ".join(words)
            if SHORTEST <= len(words) <= LONGEST and not any(sign in text for sign in ODD):
                yield text


def main() -> None:
    """Write them in random order."""
    folder, target = map(Path, sys.argv[1:])
    rng = random.Random(0)
    drawn = [text for name, count in DRAWN.items() for text in rng.sample([*sentences(folder / f"{name}.txt")], count)]
    rng.shuffle(drawn)
    target.write_text("\n".join(drawn) + "\n", "utf-8")


if __name__ == "__main__":
    main()
