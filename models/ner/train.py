"""Train a tagger that comes with nersery; README.md beside this file tells what came out.

    python models/ner/train.py --data DIR --texts DIR --work DIR [--encoder NAME] [--steps N]

The same command again resumes. It writes ``curve.jsonl`` into the working folder, and ``ner.safetensors``: what was
learnt on top of the encoder, as `nersery.models.bundled_heads` reads it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nersery import io
from nersery.core.progress import Progress
from nersery.core.random import item_rng
from nersery.core.sentence import Sentence
from nersery.core.training_context import Training
from nersery.models import bundled, bundled_heads
from nersery.taggers.components.tag_set import TagSet
from nersery.taggers.transformer import TransformerTagger

sys.path.insert(0, str(Path(__file__).parents[1]))
from existing_path import existing
from low_rank import add_adapters, save_adapters

RANK = 32
RATE = 1e-3
COPIES = 3
"""Of each sentence of Wikigold, which people labelled."""
LEAST_SCORE = 0.7
"""Of each entity in plain text, by the tagger that labelled it."""
WITHOUT = 0.25
"""Sentences of plain text without entities that are kept."""
MOST_PLAIN = {bundled.ENGLISH: 10_000, bundled.MULTILINGUAL: 3_000}
LEAST_QUALITY = 0.3
"""Of the alignment of the entities in a translation."""
MOST_CHARACTERS = 200
"""Longer sentences are left out: they cost more than they teach."""
LOWER_CASE = 0.4
"""Share of the sentences in lower case, so that the tagger does not rely on capitals."""
HELD_OUT = 120
"""Sentences of Wikigold, its last, which are only measured on."""


class LowRankTagger(TransformerTagger):
    """A tagger of which only adapters, biases, norms and the head learn."""

    def _new_network(self, tags: TagSet) -> Any:
        network = super()._new_network(tags)
        layers = f"{network.base_model_prefix}.encoder.layer."
        for name, parameter in network.named_parameters():
            parameter.requires_grad_(name.startswith((layers, "classifier.")))
        add_adapters(network, layers, RANK)
        return network


def wikigold(data: Path) -> list[Sentence]:
    """All its sentences."""
    return [*io.read(data / "ner_en/wikigold/wikigold.conll.txt", repair="lost-prefix")]


def translated(texts: Path, languages: str) -> Iterator[Sentence]:
    """The translations of sentences on whose labels two taggers agree, and these themselves."""
    agreed = {sentence.id for sentence in io.read(texts / "agreed.jsonl")}
    for path in sorted(texts.glob(f"translated/{languages}.jsonl")):
        for sentence in io.read(path):
            of_agreed = agreed.intersection([sentence.id, *(sentence.origin.parents if sentence.origin else ())])
            if of_agreed and sentence.scores.get("entity_quality", 1.0) >= LEAST_QUALITY:
                yield sentence


def plain(texts: Path, most: int, seed: int) -> list[Sentence]:
    """Sentences that a tagger labelled with certainty."""
    certain = [
        sentence
        for sentence in io.read(texts / "plain.jsonl")
        if all((entity.score or 0.0) >= LEAST_SCORE for entity in sentence.entities)
        and (sentence.entities or item_rng(seed, "without", sentence.id).random() < WITHOUT)
    ]
    return certain[:most]


def chosen(sentences: Sequence[Sentence], label: str, copies: int, seed: int) -> Iterator[Sentence]:
    """Copies with ids of their own, some in lower case."""
    for sentence in sentences:
        if sum(map(len, sentence.words)) > MOST_CHARACTERS:
            continue
        for copy in range(copies):
            id = f"{label}:{sentence.id}:{copy}"
            is_lower = item_rng(seed, "case", id).random() < LOWER_CASE
            words = tuple(word.lower() or word for word in sentence.words) if is_lower else sentence.words
            yield Sentence(words, sentence.entities, id=id)


def main() -> None:
    """Train, and write what was learnt."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=existing("ner_en"), required=True, help="folder with ner_en")
    parser.add_argument("--texts", type=existing("agreed.jsonl", "plain.jsonl", "translated"), required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for the state and the results")
    parser.add_argument("--encoder", choices=(bundled.ENGLISH, bundled.MULTILINGUAL), default=bundled.ENGLISH)
    parser.add_argument("--steps", type=int, default=3600, help="length of the training")
    parser.add_argument("--join", action=argparse.BooleanOptionalAction, default=True, help="as the tagger's setting")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    encoder, seed, steps = arguments.encoder, arguments.seed, arguments.steps
    arguments.work.mkdir(parents=True, exist_ok=True)
    by_hand = wikigold(arguments.data)
    parts = {
        "wikigold": by_hand[:-HELD_OUT],
        "plain": plain(arguments.texts, MOST_PLAIN[encoder], seed),
        "translated": [*translated(arguments.texts, "eng" if bundled.is_lower_case(encoder) else "???")],
    }
    copies = {"wikigold": COPIES}
    learnt = [s for name, part in parts.items() for s in chosen(part, name, copies.get(name, 1), seed)]
    print(f"{', '.join(f'{name} {len(part)}' for name, part in parts.items())}: {len(learnt)} sentences", flush=True)
    tagger = LowRankTagger(
        encoder, head="linear", learning_rate=RATE, steps=steps, evaluate_every=max(1, steps // 6), join=arguments.join
    )
    training = Training(by_hand[-HELD_OUT:], seed, Progress("train"), arguments.work / "state")
    history = tagger.fit(learnt, training)
    curve = [json.dumps(point) for point in history["evaluations"]]
    (arguments.work / "curve.jsonl").write_text("\n".join(curve) + "\n", "utf-8")
    assert tagger._tags.names == bundled_heads.TAGS
    target = arguments.work / "ner.safetensors"
    save_adapters(tagger._network, target)
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
