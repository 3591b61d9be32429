"""A corpus with joiners, flags and text from right to left, for tests of what other tools read."""

from __future__ import annotations

from nersery import Corpus, Entity, Sentence

FAMILY, FLAG = "👩\u200d👩\u200d👧", "🇮🇳"
TEXT = f"Ada  Lovelace {FAMILY}-based.\nשלום {FLAG}!"
CORPUS = Corpus(
    [
        Sentence(
            ("Ada", "Lovelace", FAMILY, "-", "based", "."), (Entity(0, 2, "PER"), Entity(2, 3, "EMO")), "a:1",
            document="a", offsets=((0, 3), (5, 13), (14, 19), (19, 20), (20, 25), (25, 26)),
        ),
        Sentence(
            ("שלום", FLAG, "!"), (Entity(0, 1, "PER"),), "a:2", document="a", offsets=((27, 31), (32, 34), (34, 35)),
        ),
        Sentence(("राम", "ने", "क्\u200dष"), (Entity(0, 1, "PER"),), "b"),
    ]
)  # fmt: skip


def covered(corpus: Corpus) -> list[list[tuple[tuple[str, ...], str]]]:
    return [[(sentence.mention(entity), entity.type) for entity in sentence.entities] for sentence in corpus]
