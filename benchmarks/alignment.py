"""The quality of labels that an aligner projects to a translation, and the speed and memory of the statistical aligner.

    python benchmarks/alignment.py quality [DATA] [--aligner NAME] [--set KEY=VALUE …] [--no-more] [--quick] [--reverse]
        [--no-capitals]
    python benchmarks/alignment.py error_rate [DATA] [--aligner NAME] [--set KEY=VALUE …] [--no-more] [--quick]
    python benchmarks/alignment.py speed [--pairs N …] [--quick]

``quality`` needs sentences with labels on both sides and more bitext, in the folders ``parallel_ner`` and ``bitext`` of
DATA (../shared/data). It learns from all of them (``--no-more``: not from the bitext), projects the labels of the
sources, and scores them strictly against the labels of the targets over all sentences: each lost entity is a miss.
``--reverse`` projects into English, and ``--no-capitals`` turns `Projection.take_capitals` off. It also prints the
precision of the best 40 % of the sentences with labels. The goal is an F1 of 0.90 on Europarl en-es and of 0.72 on PUD
en-de, and a precision of 0.95 on the best sentences of Europarl.

``error_rate`` learns from NTREX (``--no-more``: from its first 450 lines), and compares the links of 57 lines in
Chinese, French and Polish with the links in ``ntrex_alignments.txt``. ``--quick`` takes only French. Chinese is split
into characters. It prints the alignment error rate, precision and recall, and the calibration of the probabilities:
the share of correct links by probability, and the mean difference between the two (calibration error).

``speed`` invents pairs of sentences with known word translations, many of them in another position. It learns from
them and aligns them, for each number of pairs in a separate process, and also prints the F1 of the links.
The goal is 5 s for 3,000 pairs, and 1,000 pairs per second and step.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import measuring
import tiny
from nersery import io
from nersery.core import registry
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.crosslingual.aligners.base import Aligner, Alignment, Pair
from nersery.crosslingual.aligners.statistical import Statistical
from nersery.crosslingual.label_projection.projection import Projection
from nersery.evaluate.alignment_error_rate import AlignmentScores, count_alignment
from nersery.evaluate.scores import score
from nersery.experiments.recipe_file.overrides import settings_from
from nersery.io.word_splitting.tokenization import splitter
from nersery.select.alignment_quality import AlignmentQuality

LABELLED = {
    "Europarl en-es": ("europarl.en.conll", "europarl.es.conll", "eng", "spa"),
    "PUD en-de": ("pud.en.iob2", "pud.de.iob2", "eng", "deu"),
}
ALIGNED_BY_HAND = Path(__file__).with_name("ntrex_alignments.txt")
LINES = 450
SEED = 0

Place = tuple[int, int]


def bitext(folder: Path, source: str, target: str) -> list[Pair]:
    """The lines of NTREX, split into words."""
    sides = []
    for name in (source, target):
        cut = splitter("characters" if name in ("zho", "jpn") else "punctuation")
        sides.append([tuple(cut(line)) for line in (folder / f"ntrex.{name}.txt").read_text("utf-8").splitlines()])
    return [Pair(left, right) for left, right in zip(*sides, strict=True)]


def quality(
    data: Path, name: str, settings: Sequence[str], projection: Projection, *, more: bool, reverse: bool
) -> None:
    for title, files in LABELLED.items():
        left, right, *languages = files if not reverse else (*files[1::-1], *files[:1:-1])
        source, target = (io.read(data / "parallel_ner" / file) for file in (left, right))
        pairs = [Pair(one.words, other.words) for one, other in zip(source, target, strict=True)]
        aligner: Aligner = registry.create("align", name, settings_from(settings))
        start = time.process_time()
        aligner.fit([*pairs, *(bitext(data / "bitext", *languages) if more else ())])
        alignments = aligner.align(pairs)
        seconds = time.process_time() - start
        report(title, list(source), list(target), alignments, projection)
        print(f"  {seconds:.1f} s of processor time for all of it")


def report(
    title: str,
    source: list[Sentence],
    target: list[Sentence],
    alignments: Sequence[Alignment | Reject],
    projection: Projection,
) -> None:
    projected = []
    for one, other, alignment in zip(source, target, alignments, strict=True):
        outcome = Reject("not aligned") if isinstance(alignment, Reject) else projection.project(one, other, alignment)
        projected.append(other.with_entities(()) if isinstance(outcome, Reject) else outcome)
    figures = score(target, projected).micro
    print(f"{title}: F1 {figures.f1:.3f}, precision {figures.precision:.3f}, recall {figures.recall:.3f}")
    scored = [sentence for sentence in projected if sentence.scores]
    for measure in ("words", "entities", "both"):
        selector = AlignmentQuality(measure=measure, empty_rate=0)
        selector.fit(target)
        selector.fit_candidates(scored)
        chosen = [s for s, value in zip(scored, selector.score(scored), strict=True) if selector.accepts(s, value)]
        best = score([sentence for sentence in target if sentence.id in {s.id for s in chosen}], chosen).micro
        print(f"  best {len(chosen)} by the quality of {measure}: precision {best.precision:.3f}, F1 {best.f1:.3f}")


def aligned_by_hand(language: str, pairs: Sequence[Pair]) -> dict[int, tuple[set[Place], set[Place]]]:
    """Sure and possible links by line number. The words of the text may be parts of the words that were aligned."""
    found = {}
    for line in ALIGNED_BY_HAND.read_text("utf-8").splitlines():
        name, number, *words = line.split()
        if name != language:
            continue
        target = pairs[int(number)].target
        owners = [place for place, word in enumerate(target) for _ in word]  # of each character
        sure: set[Place] = set()
        possible: set[Place] = set()
        start = 0
        for place, word in enumerate(words):
            size, colon, origins = word.rpartition(":")
            places = {*owners[start : start + int(size)]} if colon else {place}
            start += int(size or 0)
            for origin in origins.split(",") if origins != "-" else ():
                (possible if origin.endswith("?") else sure).update((int(origin.rstrip("?")), own) for own in places)
        found[int(number)] = sure, possible | sure
    return found


def error_rate(data: Path, name: str, settings: Sequence[str], languages: Sequence[str], *, more: bool) -> None:
    links: list[tuple[float, bool]] = []
    for language in languages:
        pairs = bitext(data / "bitext", "eng", language)[: None if more else LINES]
        aligner: Aligner = registry.create("align", name, settings_from(settings))
        aligner.fit(pairs)
        gold = aligned_by_hand(language, pairs)
        scores = AlignmentScores()
        found = aligner.align([pairs[number] for number in gold])
        for alignment, (sure, possible) in zip(found, gold.values(), strict=True):
            own = () if isinstance(alignment, Reject) else alignment
            scores += count_alignment(own, sure, possible)
            links += [(link.probability, link[:2] in possible) for link in own]
        print(f"{language}: AER {scores.error_rate:.3f}, ", end="")
        print(f"precision {scores.precision:.3f}, recall {scores.recall:.3f}", flush=True)
    calibration(links)


def calibration(links: Sequence[tuple[float, bool]], bins: int = 5) -> None:
    """Print the share of correct links among links of similar probability, and the calibration error."""
    error = 0.0
    for number in range(bins):
        part = [link for link in links if min(int(link[0] * bins), bins - 1) == number]
        if part:
            mean, right = (sum(column) / len(part) for column in zip(*part, strict=True))
            error += abs(mean - right) * len(part) / len(links)
            print(f"  {len(part)} links of probability {mean:.2f}: {right:.2f} are right")
    print(f"  calibration error {error:.3f}")


def invented(pairs: int) -> tuple[list[Pair], list[set[tuple[int, int]]]]:
    """Pairs of about 20 words from a vocabulary of 20,000 with frequencies as in a language, and their true links.

    A tenth of the words has no translation, and a third of the others is moved by up to three words.
    """
    rng = random.Random(SEED)
    words = range(1, 20_001)
    weights = [1 / rank for rank in words]
    found, truth = [], []
    for _ in range(pairs):
        source = rng.choices(words, weights, k=rng.randint(10, 30))
        places = [place for place in range(len(source)) if rng.random() < 0.9] or [0]
        shifts = {place: place + rng.uniform(-3, 3) * (rng.random() < 1 / 3) for place in places}
        places.sort(key=lambda place: (shifts[place], place))
        found.append(
            Pair(
                tuple(f"{n:05}".translate(_LEFT) for n in source),
                tuple(f"{source[p]:05}".translate(_RIGHT) for p in places),
            )
        )
        truth.append({(source, target) for target, source in enumerate(places)})
    return found, truth


_LEFT, _RIGHT = str.maketrans("0123456789", "abcdefghij"), str.maketrans("0123456789", "αβγδεζηθικ")


def measure(pairs: int) -> None:
    corpus, truth = invented(pairs)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    aligner = Statistical(prefix=0)
    start = time.process_time()
    aligner.fit(corpus)
    fitted = time.process_time()
    found = [
        {link[:2] for link in alignment} for alignment in aligner.align(corpus) if not isinstance(alignment, Reject)
    ]
    end = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    right = sum(len(one & other) for one, other in zip(found, truth, strict=True))
    f1 = 2 * right / (sum(map(len, found)) + sum(map(len, truth)))
    steps = aligner.ibm1_steps + aligner.hmm_steps
    speed = pairs * steps / (fitted - start)
    words = sum(len(pair.source) + len(pair.target) for pair in corpus) / pairs
    print(f"{speed * words / measuring.python_speed():.3f} of plain Python at {pairs} pairs: learnt in ", end="")
    print(f"{fitted - start:.1f} s, {speed:.0f} pairs a second and step; aligned in {end - fitted:.1f} s, ", end="")
    print(f"F1 of links {f1:.3f}; {peak / 1024:.0f} MiB, before {before / 1024:.0f}")


def main() -> None:
    parser = measuring.parser(__doc__)
    parser.add_argument("command", choices=("quality", "error_rate", "speed"))
    parser.add_argument("data", nargs="?", type=Path, default=Path("../shared/data"))
    parser.add_argument("--aligner", default="statistical")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--more", action=argparse.BooleanOptionalAction, default=True, help="learn from more bitext")
    parser.add_argument("--reverse", action="store_true", help="project into English")
    parser.add_argument("--capitals", action=argparse.BooleanOptionalAction, default=True, help="see take_capitals")
    parser.add_argument("--pairs", nargs="+", type=int, default=[3000, 30_000])
    parser.add_argument("--in-this-process", action="store_true", help="measure the first number of pairs only")
    options = parser.parse_args()
    if options.in_this_process:
        measure(options.pairs[0])
        return
    measuring.print_machine()
    if options.command == "quality":
        projection = Projection(keep_incomplete=True, take_capitals=options.capitals)
        with tempfile.TemporaryDirectory() as folder:
            if options.quick:
                tiny.write_data(Path(folder))
            data = Path(folder) if options.quick else options.data
            quality(data, options.aligner, options.settings, projection, more=options.more, reverse=options.reverse)
    elif options.command == "error_rate":
        languages = ("fra",) if options.quick else ("zho", "fra", "pol")
        error_rate(options.data, options.aligner, options.settings, languages, more=options.more)
    else:
        for pairs in [50, 100] if options.quick else options.pairs:
            done = measuring.in_own_process(__file__, "speed", "--in-this-process", "--pairs", str(pairs))
            print(done.output, end="", flush=True)


if __name__ == "__main__":
    main()
