"""New entities in known contexts against known entities in new contexts (MELM, Figure 1).

    python benchmarks/entities_or_contexts.py OUT [--data FOLDER] [--size 100] [--seeds 3] [--quick]

There are two samples without common sentences: A is gold, B is hidden. "entities" adds the sentences of A with mentions
of B, "contexts" adds the sentences of B with mentions of A, and "both" adds B itself. Each mention is replaced by
another one of its type. OUT keeps the result of each training, so the same command resumes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from statistics import mean, stdev

import measuring
import nersery
from active_learning import measure, parser_of, pool
from nersery import Sentence
from nersery.core.system.files import write_json

GOLD = "gold only"


def added(gold: Sequence[Sentence], hidden: Sequence[Sentence], seed: int) -> dict[str, Sequence[Sentence]]:
    """The sentences that each system adds to gold."""

    def replaced(sentences: Sequence[Sentence], mentions: Sequence[Sentence]) -> Sequence[Sentence]:
        made = nersery.augment(
            sentences, "mention_replacement", gold=mentions, rate=1.0, copies=1, seed=seed, quiet=True
        )
        return made.corpus.sentences

    return {GOLD: [], "entities": replaced(gold, hidden), "contexts": replaced(hidden, gold), "both": hidden}


def table(f1: dict[str, list[float]]) -> Iterator[str]:
    """A table of F1 of each system, and its difference from gold only."""
    yield "| added | F1 | against gold only |"
    yield "| --- " * 3 + "|"
    for name, values in f1.items():
        gaps = [ours - theirs for ours, theirs in zip(values, f1[GOLD], strict=True)]
        spread = f" ± {stdev(values):.1f}" if len(values) > 1 else ""
        each = ", ".join(f"{gap:+.1f}" for gap in gaps)
        yield f"| {name} | {mean(values):.1f}{spread} | {f'{mean(gaps):+.1f} ({each})' if name != GOLD else ''} |"


def main() -> None:
    """Train each system, and print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--size", type=int, default=100)
    options = parser.parse_args()
    measuring.print_machine()
    sentences, test = [*pool(options.data).values()], nersery.read(options.data / "test.conll").sentences
    size, seeds, steps = (4, 1, 2) if options.quick else (options.size, options.seeds, 300)
    f1: dict[str, list[float]] = {}
    for seed in range(seeds):
        drawn = random.Random(seed).sample(sentences, 2 * size)
        gold, hidden = drawn[:size], drawn[size:]
        folder = options.out / f"seed-{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        for name, more in added(gold, hidden, seed).items():
            file = folder / f"{name.replace(' ', '-')}.json"
            if not file.exists():
                settings = {"model": options.model, "steps": steps}
                write_json(file, measure([*gold, *more], test, folder / "tagger", seed, **settings))
            f1.setdefault(name, []).append(100 * json.loads(file.read_text("utf-8"))["f1"])
            print(f"seed {seed}, {name}: {len(more)} sentences more, F1 {f1[name][-1]:.1f}", flush=True)
    print("\n".join(table(f1)))


if __name__ == "__main__":
    main()
