"""Label raw text by lists of names: F1 of taggers against gold only and self-training.

    python benchmarks/name_lists.py OUT [--data FOLDER] [--sets SET...] [--model MODEL] [--seeds 3] [--quick]

The lists have the mentions of the dev set, which is used for nothing else. Labelled, raw and test sentences are those
of `grow_choice.py`. OUT/SET-SEED/run has the report of each run. The same command resumes.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import mean

import measuring
import nersery
from grow_choice import DATA, SETS
from nersery import io
from nersery.report.model import Report

DEV = {"ncbi": "ncbi_disease/dev.tsv", "multiconer-en": "multiconer/en/dev.conll"}
TESTED = 1000
"""The number of test sentences to score, from the beginning."""
RECIPE = """
name = "name-lists"
seeds = [{seed}]
keep_taggers = false
[data]
train = "train.jsonl"
test = "test.jsonl"
raw = "raw.jsonl"
language = "en"
[tagger]
model = "{model}"
steps = {steps}
[[systems]]
name = "names"
method = "gazetteer_labels"
files = {{ {files} }}
[[systems]]
name = "names, then gold"
method = "gazetteer_labels"
files = {{ {files} }}
second_stage = {{ steps = {stage}, learning_rate = 5e-5, head_learning_rate = 1e-3 }}
[[systems]]
name = "names, relabelled, then gold"
base = "names, then gold"
method = "tagger_labels"
second_stage = {{ steps = {stage}, learning_rate = 5e-5, head_learning_rate = 1e-3 }}
[[systems]]
name = "self-training, then gold"
method = "tagger_labels"
second_stage = {{ steps = {stage}, learning_rate = 5e-5, head_learning_rate = 1e-3 }}
"""


def f1_of_systems(name: str, seed: int, options: argparse.Namespace) -> dict[str, float]:
    """Train the systems on one sample, and score them in percent."""
    data = replace(SETS[name], size=12) if options.quick else SETS[name]
    gold, raw, test = data.read(options.data, seed)
    folder = options.out / f"{name}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    for part, sentences in (("train", gold), ("raw", raw), ("test", test.sentences[:TESTED])):
        io.write(sentences, folder / f"{part}.jsonl")
    mentions: dict[str, set[str]] = {type_: set() for type_ in sorted(gold.types)}
    for sentence in nersery.read(options.data / DEV[name]):
        for entity in sentence.entities:
            mentions.get(entity.type, set()).add(" ".join(sentence.mention(entity)))
    for type_, names in mentions.items():
        (folder / f"{type_}.txt").write_text("\n".join(sorted(names)) + "\n", "utf-8")
    steps = {"steps": 2, "stage": 2} if options.quick else {"steps": 300, "stage": 100}
    files = ", ".join(f'{type_} = "{type_}.txt"' for type_, names in mentions.items() if names)
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE.format(seed=seed, model=options.model, files=files, **steps), "utf-8")
    report = nersery.run(recipe, output=folder / "run")
    assert isinstance(report, Report)
    return {system.name: 100 * (system.f1.mean or 0) for system in report.systems}


def main() -> None:
    """Run all, and print a table for each data set."""
    parser = measuring.parser(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, default=Path(DATA))
    parser.add_argument("--sets", nargs="+", choices=DEV, default=[*DEV])
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    measuring.print_machine()
    for name in options.sets[:1] if options.quick else options.sets:
        runs = [f1_of_systems(name, seed, options) for seed in range(1 if options.quick else options.seeds)]
        print(f"| {name} | F1 | by seed |\n| --- | --- | --- |")
        for system in runs[0]:
            f1 = [run[system] for run in runs]
            print(f"| {system} | {mean(f1):.1f} | {', '.join(f'{one:.1f}' for one in f1)} |")


if __name__ == "__main__":
    main()
