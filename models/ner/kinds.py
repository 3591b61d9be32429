"""Refine types of names to kinds by questions, for example an organization to a company.

    python models/ner/kinds.py LABELLED OUTPUT [--models MODEL...]

The answers of each model are kept beside the output. The same command resumes.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import nersery
from nersery import io
from nersery.annotate.base import best_non_overlapping
from nersery.core.sentence import Entity, Sentence

sys.path.insert(0, str(Path(__file__).parents[1]))
from existing_path import existing

KINDS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("kinds.toml").read_text("utf-8"))
"""The kinds of each type, with their definitions."""
OF_THINGS = "MISC"
"""The type with kinds of things without names, such as foods. Only answers mark these."""
MIN_OVERLAP = 0.5
"""Minimum overlap of a name and an answer: common words divided by words of either."""
MIN_SCORE = 0.6
"""Minimum score of an answer that marks words without a label."""


def answers(labelled: Path, output: Path, model: str) -> dict[str, tuple[Entity, ...]]:
    """All mentions of kinds that a question-answering model finds in each sentence."""
    definitions = {kind: text for kinds in KINDS.values() for kind, text in kinds.items()}
    asked = {"model": model, "types": [*definitions], "definitions": definitions, "threshold": 0.3}
    if not output.exists():
        nersery.annotate(io.read(labelled), "qa_prompting", output=output, **asked)
    return {sentence.id: sentence.entities for sentence in io.read(output)}


def overlap(first: Entity, second: Entity) -> float:
    """The words that two entities share, divided by the words of either. Not positive if they share none."""
    common = min(first.end, second.end) - max(first.start, second.start)
    return common / (max(first.end, second.end) - min(first.start, second.start))


def kind(name: Entity, found: Iterable[Entity]) -> str:
    """The kind of a name by the best answer; its type if no answer fits."""
    fits = [
        (overlap(name, answer), answer.score or 0.0, answer.type)
        for answer in found
        if answer.type in KINDS[name.type] and overlap(name, answer) >= MIN_OVERLAP
    ]
    return max(fits)[-1] if fits else name.type


def refined(sentence: Sentence, found: Sequence[Entity]) -> Sentence:
    """The sentence with kinds in place of types, and with the things that certain answers mark."""
    names = [replace(name, type=kind(name, found)) for name in sentence.entities]
    things = best_non_overlapping(
        answer
        for answer in found
        if answer.type in KINDS[OF_THINGS]
        and (answer.score or 0.0) >= MIN_SCORE
        and not any(map(answer.overlaps, names))
    )
    return sentence.with_entities(sorted([*names, *things], key=lambda entity: entity.start))


def main() -> None:
    """Ask, refine, and print how many entities of each kind there are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labelled", type=existing())
    parser.add_argument("output", type=Path)
    parser.add_argument(
        "--models", nargs="+", default=["bundled"], help="names or folders of question-answering models"
    )
    arguments = parser.parse_args()
    output: Path = arguments.output
    found = [
        answers(arguments.labelled, output.with_suffix(f".{Path(model).name}.jsonl"), model)
        for model in arguments.models
    ]
    rows = [
        refined(sentence, [answer for of_model in found for answer in of_model[sentence.id]])
        for sentence in io.read(arguments.labelled)
    ]
    io.write(rows, output)
    print(Counter(entity.type for sentence in rows for entity in sentence.entities).most_common())


if __name__ == "__main__":
    main()
