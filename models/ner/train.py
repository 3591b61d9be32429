"""Train a tagger that comes with nersery. README.md in this folder has the results.

    python models/ner/train.py --texts DIR --work DIR [--encoder NAME] [--start FILE]

First, the layers learn to distinguish kinds of names, such as companies and bands. Then an output for four types is
learnt. The same command resumes. It writes ``curve.jsonl`` into the working folder, and ``ner.safetensors`` with the
weights learnt on top of the encoder, in the format that `nersery.models.bundled_models.bundled_heads` reads.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nersery import io
from nersery.core.progress import Progress
from nersery.core.random import item_rng
from nersery.core.sentence import Sentence
from nersery.core.training_context import Training
from nersery.models.bundled_models import bundled, bundled_heads
from nersery.taggers.output_layer.tag_set import TagSet
from nersery.taggers.transformer import TransformerTagger

sys.path.insert(0, str(Path(__file__).parents[1]))
from certain import MAX_CHARACTERS
from existing_path import existing
from low_rank import add_adapters, load_adapters, save_adapters

RANK = 32
HEAD = ("classifier.weight", "classifier.bias")
RATE = 1e-3
OUTPUT_STEPS = 600
"""Training steps of the output, on top of the trained layers."""
COPIES = 3
"""Copies of each sentence of Wikigold, which was labelled by people."""
MAX_PLAIN = {bundled.ENGLISH: 30_000, bundled.MULTILINGUAL: 6_000}
"""The most sentences of plain text, drawn at random."""
MIN_QUALITY = 0.3
"""Minimum quality of the alignment of the entities in a translation."""
LOWER_CASE = 0.4
"""The share of the sentences in lower case, so that the tagger does not rely on capitals."""
HELD_OUT = 120
"""The last sentences of Wikigold, which are used only for evaluation."""


@dataclass
class LowRankTagger(TransformerTagger):
    """A tagger in which only adapters, biases, norms and the head are trained.

    Attributes:
        start: A file of an earlier training to continue from.
    """

    start: Path | None = field(default=None, init=False, repr=False, compare=False)

    def _new_network(self, tags: TagSet) -> Any:
        network = super()._new_network(tags)
        add_adapters(network, layers_of(network), RANK)
        if self.start is not None:
            load_adapters(network, self.start, skipped=HEAD)
        learn(network, layers_of(network), *HEAD)
        return network


@dataclass
class OutputTagger(LowRankTagger):
    """A tagger with the layers of a trained network, in which only the head is trained."""

    trained: Any = field(default=None, init=False, repr=False, compare=False)
    """The trained network. None takes the layers of `start`."""

    def _new_network(self, tags: TagSet) -> Any:
        network = super()._new_network(tags)
        if self.trained is not None:
            layers = {name: weight for name, weight in self.trained.state_dict().items() if name not in HEAD}
            network.load_state_dict(layers, strict=False)
        learn(network, *HEAD)
        return network


def layers_of(network: Any) -> str:
    """The prefix of the names of the encoder's layers, which may be trained."""
    return f"{network.base_model_prefix}.encoder.layer."


def learn(network: Any, *beginnings: str) -> None:
    """Make only the weights trainable that have names with these beginnings."""
    for name, parameter in network.named_parameters():
        parameter.requires_grad_(name.startswith(beginnings))


def translated(folder: Path, languages: str) -> Iterator[Sentence]:
    """Sentences with labels that two taggers agree on, and their translations."""
    agreed = {sentence.id for sentence in io.read(folder.with_name("agreed.jsonl"))}
    for path in sorted(folder.glob(f"translated/{languages}.jsonl")):
        for sentence in io.read(path):
            of_agreed = agreed.intersection([sentence.id, *(sentence.origin.parents if sentence.origin else ())])
            if of_agreed and sentence.scores.get("entity_quality", 1.0) >= MIN_QUALITY:
                yield sentence


def chosen(sentences: Iterable[Sentence], label: str, copies: int, seed: int) -> Iterator[Sentence]:
    """Copies of sentences with distinct ids, some in lower case."""
    for sentence in sentences:
        for copy in range(copies):
            id = f"{label}:{sentence.id}:{copy}"
            is_lower = item_rng(seed, "case", id).random() < LOWER_CASE
            words = tuple(word.lower() or word for word in sentence.words) if is_lower else sentence.words
            yield Sentence(words, sentence.entities, id=id)


def texts(folder: Path, encoder: str, seed: int) -> tuple[list[Sentence], list[Sentence]]:
    """The training sentences and the held-out sentences of a folder with labelled texts."""
    by_hand, plain = ([*io.read(folder / f"{name}.jsonl")] for name in ("wikigold", "plain"))
    random.Random(seed).shuffle(plain)
    parts = {
        "wikigold": by_hand[:-HELD_OUT],
        "plain": plain[: MAX_PLAIN[encoder]],
        "translated": [*translated(folder, "eng" if bundled.is_lower_case(encoder) else "???")],
    }
    copies = {"wikigold": COPIES}
    learnt = [s for name, part in parts.items() for s in chosen(part, name, copies.get(name, 1), seed)]
    print(f"{folder}: {', '.join(f'{name} {len(part)}' for name, part in parts.items())}", flush=True)
    return [s for s in learnt if sum(map(len, s.words)) <= MAX_CHARACTERS], by_hand[-HELD_OUT:]


def fitted(tagger: LowRankTagger, folder: Path, work: Path, seed: int) -> list[dict[str, Any]]:
    """Train on a folder with labelled texts, and return the points of the learning curve."""
    learnt, held_out = texts(folder, tagger.model, seed)
    tagger.evaluate_every = max(1, (tagger.steps or 0) // 6)
    history = tagger.fit(learnt, Training(held_out, seed, Progress("train"), work / f"state-{folder.name}"))
    return [{"labels": folder.name, **point} for point in history["evaluations"]]


def main() -> None:
    """Train, and write the learnt weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=existing("agreed.jsonl", "names"), required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for the state and the results")
    parser.add_argument("--encoder", choices=(bundled.ENGLISH, bundled.MULTILINGUAL), default=bundled.ENGLISH)
    parser.add_argument("--steps", type=int, default=4000, help="of the layers' training; 0: train only the output")
    parser.add_argument("--rate", type=float, default=RATE, help="peak of the layers' learning rate")
    parser.add_argument("--start", type=existing(), help="continue from the layers of an earlier ner.safetensors")
    parser.add_argument("--join", action=argparse.BooleanOptionalAction, default=True, help="as the tagger's setting")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="only write the sentences with kinds, for `nersery train`")
    arguments = parser.parse_args()
    if arguments.write is not None:
        io.write(texts(arguments.texts / "kinds", arguments.encoder, arguments.seed)[0], arguments.write)
        return
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    common = {"model": arguments.encoder, "head": "linear", "join": arguments.join}
    tagger = OutputTagger(steps=OUTPUT_STEPS, **common)
    tagger.start, curve = arguments.start, []
    if arguments.steps:
        layers = LowRankTagger(learning_rate=arguments.rate, steps=arguments.steps, **common)
        layers.start = arguments.start
        curve = fitted(layers, arguments.texts / "kinds", work, arguments.seed)
        tagger.trained = layers._network
    curve += fitted(tagger, arguments.texts / "names", work, arguments.seed)
    (work / "curve.jsonl").write_text("\n".join(map(json.dumps, curve)) + "\n", "utf-8")
    assert tagger._tags.names == bundled_heads.TAGS
    learn(tagger._network, layers_of(tagger._network), *HEAD)
    target = work / "ner.safetensors"
    save_adapters(tagger._network, target)
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
