"""The quality of `nersery grow`'s choice: the chosen system against the others that it tried, and against gold only.

    python benchmarks/grow_choice.py OUT [--data FOLDER] [--sets NAME...] [--seeds 2] [--minutes 8] [--quick]

For each pair of a data set and a seed, labelled sentences are drawn at random. `grow` gets them with raw text, but not
the test file. All systems are trained on the first fold, so their taggers of that fold can be compared on test: the
system that `grow` chose against the best one. Then its final tagger is compared with gold only: a tagger trained with
the defaults of `nersery train` on the same sentences. Goals: the choice is within 1 F1 of the best in 8 of 10 pairs,
and the final tagger is never more than 1 F1 below gold only.

OUT/results.jsonl gets a line for each pair. The same command resumes, even within a pair.
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import measuring
import nersery
from nersery import Corpus, io
from nersery.core.system.files import remove_folder
from nersery.experiments.data.sampling import sample
from nersery.experiments.grow.session import GrowJob
from nersery.taggers.base import Tagger, load_tagger, strict_f1

DATA = "../shared/data"
MAX_RAW_SENTENCES = 3000
"""The most labelled sentences to use without their labels, if a data set has no raw text."""
NEAR = 1.0
"""The F1 points that the choice may be below the best, and the final tagger below gold only."""


@dataclass(frozen=True)
class DataSet:
    """The files of a data set in ../shared/data.

    Args:
        size: The number of labelled sentences to draw.
        test: A file, or the number of labelled sentences at the end that are only for test.
        raw: A text file. Empty: the labelled sentences that were not drawn.
        repair: Repairs of broken tags.
        head_knows: Whether the bundled question head was trained on these sentences, so that questions score too high.
    """

    labelled: str
    size: int
    test: str | int
    raw: str = ""
    repair: tuple[str, ...] = ()
    head_knows: bool = False

    def read(self, folder: Path, seed: int) -> tuple[Corpus, Corpus, Corpus]:
        """The labelled sentences of a seed, the raw sentences, and the test sentences."""
        pool = nersery.read(folder / self.labelled, repair=self.repair)
        if isinstance(self.test, int):
            pool, test = Corpus(pool.sentences[: -self.test]), Corpus(pool.sentences[-self.test :])
        else:
            test = nersery.read(folder / self.test, repair=self.repair)
        gold = sample(pool, self.size, "random", seed)
        if self.raw:
            return gold, Corpus(io.open_text(str(folder / self.raw))), test
        left = Corpus(s.with_entities(()) for s in pool if s.id not in gold.by_id)
        return gold, sample(left, min(MAX_RAW_SENTENCES, len(left)), "random", seed), test


def multiconer(language: str) -> DataSet:
    """The data set MultiCoNER in a language."""
    folder = f"multiconer/{language}"
    return DataSet(f"{folder}/1000.conll", 100, f"{folder}/test.conll", f"{folder}/unlabelled.txt")


SETS = {
    "multiconer-en": multiconer("en"),
    "multiconer-de": multiconer("de"),
    "ncbi": DataSet("ncbi_disease/train.tsv", 200, "ncbi_disease/test.tsv"),
    "pud-en": DataSet("parallel_ner/pud.en.iob2", 150, 500),
    "il-ner-hi": DataSet(
        "il_ner_hi/train.txt", 150, "il_ner_hi/dev.txt", repair=("lost-prefix", "bare-dash", "drop-sentence")
    ),
    **{f"multiconer-{language}": multiconer(language) for language in ("hi", "bn", "ko", "zh", "es", "nl", "ru", "tr")},
    "europarl-en": DataSet("parallel_ner/europarl.en.conll", 150, 400),
    "europarl-es": DataSet("parallel_ner/europarl.es.conll", 150, 400),
    "wikigold": DataSet("ner_en/wikigold/wikigold.conll.txt", 150, 700, head_knows=True),
    "twitter": DataSet("ner_en/btc_twitter/a.conll", 150, 500, head_knows=True),
}
DEFAULT = [*SETS][:5]


def result_of(name: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run `grow` on a pair, and score all its taggers on test."""
    data = replace(SETS[name], size=12) if options.quick else SETS[name]
    gold, raw, test = data.read(options.data, seed)
    folder = options.out / f"{name}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    io.write(gold, folder / "train.jsonl")
    io.write(raw, folder / "raw.jsonl")
    files = ((str(folder / "train.jsonl"),), folder / "grow", str(folder / "raw.jsonl"))
    job = GrowJob(*files, minutes=options.minutes, keep_taggers=True)
    spent, began = _record(job.folder).get("spent", 0.0), time.monotonic()
    chosen = job.execute().best
    minutes = (spent + time.monotonic() - began) / 60

    def f1(tagger: Tagger) -> float:
        return 100 * strict_f1(test.sentences, tagger.predict(test.sentences))

    run = job.folder / "run"
    tried = {
        system: {
            "folds": [_f1_on_fold(run / f"seed-{fold}" / system) for fold in one["folds"]],
            "test": f1(load_tagger(run / "seed-0" / system / "tagger")),
        }
        for system, one in _record(job.folder)["tried"].items()
        if one["folds"]
    }
    final = f1(load_tagger(job.folder / "tagger"))
    model = tomllib.loads((job.folder / "search.toml").read_text("utf-8"))["tagger"]["model"]
    plain = f1(nersery.train(gold, model=model, steps=2 if options.quick else None, seed=seed, quiet=True))
    for tagger in run.glob("seed-*/*/tagger"):
        remove_folder(tagger)
    return {
        "data": name, "seed": seed, "test": len(test), "tried": tried, "chosen": chosen, "final": final,
        "gold only": plain, "minutes": minutes,
    }  # fmt: skip


def _record(folder: Path) -> dict[str, Any]:
    path = folder / "grow.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def _f1_on_fold(system: Path) -> float:
    return 100 * float(json.loads((system / "result.json").read_text("utf-8"))["scores"]["micro"]["f1"])


def table(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A table with a line for each pair, then how often the goals are met."""
    yield "| data, seed | tried | chosen | its F1 | best tried | its F1 | final tagger | gold only | minutes |"
    yield "| --- " * 9 + "|"
    for one in results:
        name = f"{one['data']}{' *' * SETS[one['data']].head_knows}, {one['seed']}"
        best = _best(one)
        f1 = [f"{value:.1f}" for value in (_chosen(one), _tested(one, best), one["final"], one["gold only"])]
        cells = [name, str(len(one["tried"])), one["chosen"], f1[0], best, *f1[1:], f"{one['minutes']:.1f}"]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield _goal(
        results, f"the choice is within {NEAR:g} F1 of the best", lambda one: _tested(one, _best(one)) - _chosen(one)
    )
    yield _goal(results, f"at most {NEAR:g} F1 below gold only", lambda one: one["gold only"] - one["final"])
    if any(SETS[one["data"]].head_knows for one in results):
        yield "* the question head was trained on this text"


def _tested(one: dict[str, Any], system: str) -> float:
    return float(one["tried"][system]["test"])


def _chosen(one: dict[str, Any]) -> float:
    return _tested(one, one["chosen"])


def _best(one: dict[str, Any]) -> str:
    tried: dict[str, Any] = one["tried"]
    return max(tried, key=lambda system: _tested(one, system))


def _goal(results: Sequence[dict[str, Any]], goal: str, loss: Callable[[dict[str, Any]], float]) -> str:
    losses = [loss(one) for one in results]
    return (
        f"{goal}: {sum(lost <= NEAR for lost in losses)} of {len(losses)} pairs; the largest loss is {max(losses):.1f}"
    )


def main() -> None:
    """Run `grow` on each pair, and print the table."""
    parser = measuring.parser(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, default=Path(DATA))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=DEFAULT, help="data sets")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=8)
    options = parser.parse_args()
    measuring.print_machine()
    pairs = [(name, seed) for seed in range(options.seeds) for name in options.sets]
    if options.quick:
        pairs, options.minutes = pairs[:1], 0.05
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "results.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    found = {(one["data"], one["seed"]): one for one in map(json.loads, lines)}
    for name, seed in pairs:
        if (name, seed) not in found:
            found[name, seed] = result_of(name, seed, options)
            with path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(found[name, seed]) + "\n")
    print("\n".join(table([found[pair] for pair in pairs])))


if __name__ == "__main__":
    main()
