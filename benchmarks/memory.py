"""Peak memory and time of each command on two inputs, one of them ten times as large as the other.

    python benchmarks/memory.py [NAME …] [--quick]

NAME is a row of the table, e.g. ``label review``. By default, all rows are measured, which takes half an hour. Each
command runs in a separate process. The peak is that of its largest process (``ru_maxrss``). Times are processor
seconds of all its processes, so other work on the machine matters little. The aim: the peak grows by a factor of at
most 1.5, or by 20 bytes per sentence. Commands that run a transformer get fewer sentences.

The sentences have 20 words with frequencies as in a language. New words and names keep appearing, as in real text.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import measuring
from nersery import Entity, Sentence, io
from nersery.core.entity import Origin

SIZES, QUICK = (10_000, 100_000), (100, 1_000)
GOLD = 30
"""The number of labelled sentences that models learn from."""
WORDS = 20
FORMS = 200_000
FACTOR, BYTES = 1.5, 20
TYPES = ("PER", "LOC", "ORG")


@dataclass(frozen=True)
class Case:
    """A row of the table.

    Args:
        arguments: The arguments of `nersery`, with the names of files of a given size in braces.
        share: The fraction of the usual number of sentences.
    """

    arguments: str
    share: float = 1.0


CASES: Mapping[str, Case] = {
    "dataset convert": Case("dataset convert {corpus} {out}.conll"),
    "augment mention_replacement": Case("augment {corpus} {out}.jsonl --method mention_replacement --gold {gold}"),
    "the same, shards, 2 workers": Case(
        "augment {corpus} {out} --method mention_replacement --gold {gold} --shards 5000 --workers 2"
    ),
    "select duplicates": Case("select {made} {out}.jsonl --method duplicates --gold {gold}"),
    "select duplicates, near": Case(
        "select {made} {out}.jsonl --method duplicates --gold {gold} --set similarity=0.8", 0.2
    ),
    "inspect quality": Case("inspect quality {made} --gold {corpus} --no-perplexity --json"),
    "inspect stats": Case("inspect stats {corpus} --json"),
    "label review": Case("label review {made} {out}.jsonl --beside {corpus} --no-page"),
    "dataset publish": Case("dataset publish {corpus} {out}"),
    "dataset publish, with copies": Case("dataset publish {corpus} {made} {out}", 0.5),
    "crosslingual align": Case("crosslingual align {source} {target} {out}.align", 1.0),
    "crosslingual project": Case("crosslingual project {corpus} {corpus} {out}.jsonl --alignments {links}"),
    "evaluate": Case("evaluate {corpus} {corpus} --json"),
    "evaluate, another order": Case("evaluate {corpus} {turned} --json"),
    "evaluate, CoNLL without ids": Case("evaluate {plain} {predicted} --json"),
    "predict, bilstm_crf": Case("predict {bilstm} {corpus} {out}.jsonl", 0.2),
    "predict, transformer": Case("predict {transformer} {corpus} {out}.jsonl", 0.02),
    "annotate tagger_labels": Case(
        "annotate {text} {out}.jsonl --method tagger_labels --set tagger={bilstm} --format text", 0.2
    ),
    "select agreement": Case("select {corpus} {out}.jsonl --method agreement --set tagger={transformer}", 0.02),
    "augment melm": Case("augment {corpus} {out}.jsonl --method melm --gold {gold} --set epochs=1", 0.02),
}


def sentences(count: int) -> Iterator[Sentence]:
    """Sentences with two entities each. Words follow Zipf's law, and half of the names occur once."""
    rng = random.Random(0)
    zipf = list(accumulate(1 / rank for rank in range(1, FORMS + 1)))
    for number in range(count):
        words = [f"w{rank:x}" for rank in rng.choices(range(FORMS), cum_weights=zipf, k=WORDS)]
        entities = []
        for start in (2, 11):
            end = start + rng.randint(1, 3)
            words[start:end] = [f"Name{rng.randrange(2 * count):x}" for _ in range(start, end)]
            entities.append(Entity(start, end, rng.choice(TYPES)))
        yield Sentence(tuple(words), tuple(entities), id=f"s{number}", language="en")


def made(count: int) -> Iterator[Sentence]:
    """A generated sentence for each sentence, with some other words."""
    rng = random.Random(1)
    for sentence in sentences(count):
        place = rng.randrange(14, WORDS)
        new = replace(sentence.replace_span(place, place + 1, [f"new{rng.randrange(count):x}"]), id=f"{sentence.id}~1")
        yield replace(new, origin=Origin("mention_replacement", (sentence.id,), 1), scores={"agreement": rng.random()})


def write_files(folder: Path, count: int) -> dict[str, str]:
    """Write the files of one size, and return them by the names that `CASES` uses."""
    files = {name: str(folder / f"{count}.{name}") for name in ("text", "source", "target", "links")}
    for name in ("corpus", "made", "turned"):
        files[name] = str(folder / f"{count}.{name}.jsonl")
    for name in ("plain", "predicted"):
        files[name] = str(folder / f"{count}.{name}.conll")
        io.write((replace(sentence, id="") for sentence in sentences(count)), files[name])
    io.write(sentences(count), files["corpus"])
    io.write(made(count), files["made"])
    pairs = zip(*[sentences(count)] * 2, strict=True)
    io.write((sentence for first, second in pairs for sentence in (second, first)), files["turned"])
    for name, step in {"text": 1, "source": 1, "target": -1}.items():  # a translation spells words backwards
        with open(files[name], "w", encoding="utf-8") as stream:
            lines = (" ".join(word[::step] for word in sentence.words) + "\n" for sentence in sentences(count))
            stream.writelines(lines)
    with open(files["links"], "w", encoding="utf-8") as stream:
        stream.writelines(" ".join(f"{place}-{place}" for place in range(WORDS)) + "\n" for _ in range(count))
    return files


def trained(folder: Path, cases: Sequence[Case]) -> dict[str, str]:
    """Write gold, train the taggers that the cases use on it, and return all paths by name."""
    files = {name: str(folder / name) for name in ("bilstm", "transformer")} | {"gold": str(folder / "gold.jsonl")}
    io.write(sentences(GOLD), files["gold"])
    for name, tagger in (("bilstm", "bilstm_crf"), ("transformer", "transformer")):
        if any(f"{{{name}}}" in case.arguments for case in cases):
            train = ["train", files["gold"], files[name], "--method", tagger, "--set", "steps=2", "--quiet"]
            measuring.in_own_process("-m", "nersery", *train)
    return files


def main() -> None:
    parser = measuring.parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}")
    options = parser.parse_args()
    unknown = {*options.names} - {*CASES}
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}")
    measuring.print_machine()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fixed = trained(folder, [CASES[title] for title in options.names or CASES])
        print(f"{'peak MiB (seconds)':32} {'sentences':>18} {'small':>16} {'large':>16} {'factor':>7} {'bytes':>6}")
        for title in options.names or CASES:
            case, peaks, shown = CASES[title], [], []
            counts = [
                max(least, round(size * case.share))
                for least, size in zip((20, 60), QUICK if options.quick else SIZES, strict=True)
            ]
            for count in counts:
                files = fixed | write_files(folder, count) | {"out": str(folder / f"out-{len(list(folder.iterdir()))}")}
                arguments = [part.format(**files) for part in case.arguments.split()]
                quiet = [] if "--json" in arguments else ["--quiet"]
                done = measuring.in_own_process("-m", "nersery", *arguments, *quiet)
                peaks.append(done.peak)
                shown.append(f"{done.peak:,.0f} ({done.seconds:.1f})")
            growth = 1024**2 * (peaks[1] - peaks[0]) / (counts[1] - counts[0])
            print(
                f"{title:32} {counts[0]:>8,} {counts[1]:>9,} {shown[0]:>16} {shown[1]:>16} {peaks[1] / peaks[0]:7.2f} "
                f"{growth:6,.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
