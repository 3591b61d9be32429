"""Draw English sentences to be labelled by taggers.

    python models/ner/plain_text.py DATA/text/en FOLDER

``plain.txt`` is drawn from all texts, ``more.txt`` from the text with the most names.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

DRAWN = {"wikitext2": 3500, "squad_sentences": 8000, "wikipedia_crowd": 10000, "textbooks": 2000}
"""The number of sentences to draw from each text."""
RICHEST, DRAWN_AGAIN, MORE = "wikipedia_crowd", 60000, 45000
"""The text for ``more.txt``, the number of sentences drawn, and the most of them kept that are not in ``plain.txt``."""
MIN_LENGTH, MAX_LENGTH = 5, 30
"""The length of a sentence in words."""
ODD = ("<unk>", "@", "=")
"""Characters that show that a text is probably not a sentence."""


def sentences(path: Path) -> Iterator[str]:
    """The usable sentences of a file. Each line is a sentence; in WikiText, a paragraph."""
    for line in path.read_text("utf-8").split("\n"):
        parts = re.split(r"(?<= [.!?]) (?=\S)", line.strip()) if path.stem == "wikitext2" else [line]
        for words in map(str.split, parts):
            text = " ".join(words)
            if MIN_LENGTH <= len(words) <= MAX_LENGTH and not any(sign in text for sign in ODD):
                yield text


def drawn(folder: Path, counts: Mapping[str, int], seed: int) -> list[str]:
    """Random sentences of several texts, in random order."""
    rng = random.Random(seed)
    texts = [text for name, count in counts.items() for text in rng.sample([*sentences(folder / f"{name}.txt")], count)]
    rng.shuffle(texts)
    return texts


def main() -> None:
    """Write the drawn sentences."""
    source, target = map(Path, sys.argv[1:])
    plain = drawn(source, DRAWN, seed=0)
    known = set(plain)
    more = [text for text in drawn(source, {RICHEST: DRAWN_AGAIN}, seed=1) if text not in known][:MORE]
    for name, texts in {"plain": plain, "more": more}.items():
        (target / f"{name}.txt").write_text("\n".join(texts) + "\n", "utf-8")


if __name__ == "__main__":
    main()
