"""Run one part of `benchmarks/gpu.sh`: methods and large models on a GPU, with speed, utilisation and memory.

    python benchmarks/gpu.py PART [--quick]

Models have random weights, so only time, memory and the absence of errors are meaningful. Each row is written to
$OUT/gpu-PART.md (runs/gpu by default) at once, so a part that is stopped keeps its rows. After eight minutes, no
further measurement starts.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

import gpu_models
import measuring
from nersery.annotate.base import batch_annotation
from nersery.augment.base import batch_augmentation, tasks
from nersery.core import registry
from nersery.core.outcome import Result, collect
from nersery.core.sentence import Corpus, Sentence
from nersery.core.training_context import Training
from nersery.crosslingual.aligners.base import Pair
from nersery.models.masked.adaptation import adapt
from nersery.models.masked.masked_lm import MaskedLM
from nersery.models.pretrained.loading import ModelSource, pick_device
from nersery.pipeline.job import run
from nersery.select.base import batch_selection
from nersery.taggers.base import load_tagger
from nersery.taggers.transformer import TransformerTagger

LIMIT = int(os.environ.get("LIMIT", "480"))
"""Seconds after which no measurement starts."""
HEAD = ("what", "precision", "seconds to fit", "sentences/s", "GPU busy", "peak GiB", "outcome")


class Usage:
    """Measures utilisation and peak memory of the GPU while something runs; "-" without a GPU."""

    def __enter__(self) -> Usage:
        self._done, self._busy = threading.Event(), list[int]()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
            self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            try:
                self._busy.append(torch.cuda.utilization())
            except (ImportError, RuntimeError):  # no nvidia-ml-py
                return

    def __exit__(self, *error: object) -> None:
        self._done.set()

    @property
    def figures(self) -> tuple[str, str]:
        """The percentage of the time in which a kernel ran, and the peak memory in GiB."""
        busy = f"{sum(self._busy) / len(self._busy):.0f} %" if self._busy else "-"
        return busy, f"{torch.cuda.max_memory_allocated() / 2**30:.2f}" if torch.cuda.is_available() else "-"


@dataclass
class Part:
    """A part of the benchmark, with its output folder, its sentences and the sizes of its models."""

    name: str
    quick: bool
    folder: Path
    failures: int = 0
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.device = pick_device("auto")
        self.gold = [replace(s, language=("en", "de")[n % 2]) for n, s in enumerate(self.sentences(200))]
        self.words = {word for sentence in self.gold for word in sentence.words}
        self.small, self.large = ("tiny", "tiny") if self.quick else ("small", "large")
        out = Path(os.environ.get("OUT", "runs/gpu"))
        out.mkdir(parents=True, exist_ok=True)
        self.table = out / f"gpu-{self.name}.md"
        lines = [*measuring.machine(), "", "", f"| {' | '.join(HEAD)} |", f"|{' --- |' * len(HEAD)}"]
        self.table.write_text("\n".join(lines) + "\n", "utf-8")
        print("\n".join(lines), flush=True)

    def sentences(self, count: int) -> list[Sentence]:
        """The given number of sentences of the example; six with ``quick``."""
        return measuring.example(6 if self.quick else count)

    def model(self, head: str, size: str) -> str:
        """The folder of a model with a given head and size, which is made if it is missing."""
        folder = self.folder / f"{head}-{size}"
        make = {"mbart": gpu_models.mbart, "causal": gpu_models.causal}.get(head, partial(gpu_models.encoder, head))
        return str(folder) if folder.exists() else make(self.words, folder, size, self.device)

    def row(self, what: str, fit: Callable[[], Callable[[], tuple[int, str]]], precision: str = "auto") -> None:
        """Measure the work that ``fit`` prepares, and write a row. An error fails the row, not the part.

        Args:
            fit: Returns the work: a function that returns the number of sentences and its outcome as text.
        """
        cells = ["-"] * 4
        if time.monotonic() - self.started > LIMIT:
            self.failures += 1
            outcome = "left out: no time"
        else:
            try:
                with Usage() as usage:
                    start = time.perf_counter()
                    work = fit()
                    measuring.synchronize()
                    fitted = time.perf_counter()
                    count, outcome = work()
                    measuring.synchronize()
                    taken = time.perf_counter() - fitted
                cells = [f"{fitted - start:.1f}", f"{count / taken:,.1f}", *usage.figures]
            except Exception as error:
                self.failures += 1
                outcome = f"FAILED: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
        line = f"| {' | '.join((what, precision, *cells, outcome))} |"
        with self.table.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
        print(line, flush=True)


def told(result: Result) -> tuple[int, str]:
    return result.tally.read, str(result.tally)


def trained(part: Part, **settings: Any) -> TransformerTagger:
    """Train a tagger on gold, at the small size unless a model is named."""
    model = settings.pop("model", None) or part.model("XLMRobertaModel", part.small)
    tagger = TransformerTagger(model, **{"steps": 2 if part.quick else 50, **settings})
    tagger.fit(part.gold)
    return tagger


# --- parts ----------------------------------------------------------------------------------------------------------


def augmenters(part: Part) -> None:
    """Measure every augmenter with a model."""
    masked, tagger = part.model("XLMRobertaForMaskedLM", part.small), part.folder / "tagger"
    trained(part).save(tagger)
    learns = {"model": masked, "epochs": 1}
    cases: dict[str, tuple[str, dict[str, Any]]] = {
        "bda": ("bda", {"model": masked}),
        "cbt": ("cbt", learns),
        "code_mixing": ("code_mixing", {"model": masked}),
        "label_conditioned": ("label_conditioned", learns),
        "masked_entity": ("masked_entity", {"model": masked}),
        "melm": ("melm", learns),
        "daga": ("daga", {"epochs": 1}),
        "aclm, masked": ("aclm", {**learns, "tagger": str(tagger), "mixner": True, "sentence_encoder": masked}),
        "mulda": ("mulda", {**learns, "model": part.model("mbart", part.small)}),
        "aclm, mBART": (
            "aclm",
            {**learns, "model": part.model("mbart", part.small), "tagger": str(tagger), "language": "en"},
        ),
        "flipda": ("flipda", {**learns, "tagger": str(tagger)}),  # the slowest, with many candidates
    }
    for what, (name, settings) in cases.items():
        part.row(what, partial(augmented, part, name, settings))


def augmented(part: Part, name: str, settings: dict[str, Any], copies: int = 2) -> Callable[[], tuple[int, str]]:
    """Fit an augmenter. The work is to run it."""
    method = registry.create("augment", name, settings)
    method.check()
    method.fit(part.gold)
    return lambda: told(collect(run(tasks(part.gold, copies), batch_augmentation(method, 0))))


def others(part: Part) -> None:
    """Measure annotators, selectors, taggers, aligners, and the adaptation to raw text."""
    gold = Corpus(replace(sentence, id=f"new-{sentence.id}") for sentence in part.gold)
    tagger = part.folder / "tagger"
    trained(part).save(tagger)
    masked = part.model("XLMRobertaForMaskedLM", part.small)
    for head in ("linear", "crf"):
        part.row(f"transformer, {head}", partial(tagged, part, "transformer", {"model": masked, "head": head}))
    part.row("bilstm_crf", partial(tagged, part, "bilstm_crf", {}))
    settings: dict[str, Any]
    asked: dict[str, Any] = {"model": part.model("XLMRobertaForQuestionAnswering", part.small), "types": ["PER", "LOC"]}
    for name, settings in (("qa_prompting", asked), ("tagger_labels", {"tagger": str(tagger)})):

        def annotator(name: str = name, settings: dict[str, Any] = settings) -> Callable[[], tuple[int, str]]:
            method = registry.create("annotate", name, settings)
            method.fit(part.gold)
            return lambda: told(collect(run(gold, batch_annotation(method))))

        part.row(name, annotator)
    new = partial(TransformerTagger, masked, steps=2 if part.quick else 50)
    for name, settings in (
        ("agreement", {"tagger": str(tagger)}),
        ("certainty", {"tagger": str(tagger)}),
        ("perplexity", {"model": masked}),
        ("perplexity", {"model": part.model("causal", part.small)}),
        ("self_training", {"per_step": 2, "steps": 1}),
    ):

        def selector(name: str = name, settings: dict[str, Any] = settings) -> Callable[[], tuple[int, str]]:
            method = registry.create("select", name, settings)
            method.fit(part.gold, Training(tagger=partial(load_tagger, str(tagger)), new_tagger=new))
            method.fit_candidates(gold)
            return lambda: told(collect(run(gold, batch_selection(method))))

        part.row(f"{name} {Path(str(settings.get('model', ''))).name}".strip(), selector)
    pairs = [Pair(s.words, s.words[::-1], s.id) for s in part.gold]
    for settings in ({}, {"extraction": "itermax"}, {"fine_tune": {"epochs": 1}}):

        def aligner(settings: dict[str, Any] = settings) -> Callable[[], tuple[int, str]]:
            method = registry.create("align", "embeddings", {"model": masked, **settings})
            method.fit(pairs)
            return lambda: (len(method.align(pairs)), "aligned")

        part.row(f"embeddings {settings or ''}".strip(), aligner)
    part.row("adapt", partial(adapted, part, masked))


def tagged(part: Part, name: str, settings: dict[str, Any]) -> Callable[[], tuple[int, str]]:
    """Train a tagger. The work is to predict."""
    method = registry.create("tagger", name, {"steps": 2 if part.quick else 50, **settings})
    method.fit(part.gold)
    many = part.sentences(2000)
    return lambda: (len(method.predict(many)), f"trained for {method.history['steps']} steps, then predicted")


def adapted(part: Part, model: str) -> Callable[[], tuple[int, str]]:
    text = part.folder / "raw.txt"
    text.write_text("".join(f"{sentence.text}\n" for sentence in part.gold), "utf-8")
    opened = MaskedLM(ModelSource(model))

    def work() -> tuple[int, str]:
        adapt(opened, str(text), epochs=1)
        return len(part.gold), "one epoch"

    return work


def large_tagger(part: Part) -> None:
    """Measure training and prediction at XLM-R large's size."""
    model = part.model("XLMRobertaForMaskedLM", part.large)
    for precision in ("fp32", "bf16"):
        settings = {"model": model, "precision": precision, "head": "crf", "batch_size": 16}
        part.row(
            "XLM-R large's size: training, then prediction", partial(tagged, part, "transformer", settings), precision
        )
        steps = 2 if part.quick else 100
        part.row(
            f"the same: {steps} steps of 16 sentences", partial(training, part, {**settings, "steps": steps}), precision
        )


def training(part: Part, settings: dict[str, Any]) -> Callable[[], tuple[int, str]]:
    def work() -> tuple[int, str]:
        trained(part, **settings)
        return settings["steps"] * settings["batch_size"], "trained, loading included"

    return work


def large_masked(part: Part) -> None:
    """Measure MELM and adaptation at XLM-R large's size."""
    model = part.model("XLMRobertaForMaskedLM", part.large)
    for precision in ("fp32", "bf16"):
        settings = {"model": model, "precision": precision, "epochs": 1}
        part.row("MELM at XLM-R large's size", partial(augmented, part, "melm", settings, 10), precision)
    part.row("adapt at XLM-R large's size", partial(adapted, part, model))


def large_seq2seq(part: Part) -> None:
    """Measure ACLM and MulDA at mBART-50-large's size."""
    model, tagger = part.model("mbart", part.large), part.folder / "tagger"
    trained(part).save(tagger)
    for precision in ("fp32", "bf16"):
        settings = {"model": model, "precision": precision, "epochs": 1}
        own = {"aclm": {"tagger": str(tagger)}, "mulda": {}}
        for name, more in own.items():
            part.row(f"{name} at mBART-50's size", partial(augmented, part, name, {**settings, **more}, 3), precision)


def checks(part: Part) -> None:
    """Check that equal seeds give equal bytes with any batch size, and that GPU and CPU agree."""
    masked = part.model("XLMRobertaForMaskedLM", part.small)
    linear, fp32 = {"model": masked, "head": "linear"}, {"model": masked, "precision": "fp32"}
    large = {"model": part.model("XLMRobertaModel", part.large)}
    for what, settings in (
        ("CRF", {"model": masked}),
        ("linear", linear),
        ("fp32", fp32),
        ("XLM-R large's size", large),
    ):
        part.row(f"training twice: {what}", partial(trained_twice, part, settings))
    part.row("tagger on GPU and CPU", partial(on_both, part))
    asked = {"model": part.model("XLMRobertaForQuestionAnswering", part.small), "types": ["PER", "LOC"]}
    learns = {"model": masked, "epochs": 1}
    cases: dict[str, tuple[str, dict[str, Any]]] = {
        "daga": ("augment", {"epochs": 1}),
        "label_conditioned": ("augment", learns),
        "melm": ("augment", learns),
        "mulda": ("augment", {"model": part.model("mbart", part.small), "epochs": 1}),
        "qa_prompting": ("annotate", asked),
    }
    for name, (stage, settings) in cases.items():
        part.row(f"fitted twice, batches of 1, 7, 64: {name}", partial(in_batches, part, stage, name, settings))


def trained_twice(part: Part, settings: dict[str, Any]) -> Callable[[], tuple[int, str]]:
    """Train twice with the same seed. The weights must be equal."""

    def weights() -> dict[str, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            trained(part, **settings).save(folder)
            return {path.name: path.read_bytes() for path in Path(folder).rglob("*.safetensors")}

    first = weights()

    def work() -> tuple[int, str]:
        if weights() != first:
            raise AssertionError("the weights differ")
        return len(part.gold), "equal weights"

    return work


def on_both(part: Part) -> Callable[[], tuple[int, str]]:
    """Train a tagger, and label sentences on the GPU and on the CPU. The work is the labelling on the CPU."""
    folder = part.folder / "on-both"
    trained(part, precision="fp32").save(folder)
    here = load_tagger(folder).predict_soft(part.gold)

    def work() -> tuple[int, str]:
        there = load_tagger(folder, device="cpu").predict_soft(part.gold)
        equal = sum(one.entities == other.entities for one, other in zip(here, there, strict=True))
        return len(there), f"{equal} of {len(there)} sentences with equal entities"

    return work


def in_batches(part: Part, stage: str, name: str, settings: dict[str, Any]) -> Callable[[], tuple[int, str]]:
    """Fit a method twice, and run it in batches of several sizes. All results must be equal."""

    few = part.gold[: 2 if part.quick else 40]

    def made(size: int) -> str:
        method = registry.create(stage, name, settings)
        method.fit(part.gold)
        if stage == "augment":
            found = collect(run(tasks(few, 2), batch_augmentation(method, 0), batch_size=size))
        else:
            found = collect(run(few, batch_annotation(method), batch_size=size))
        return repr((found.corpus.sentences, found.rejects))

    first = made(64)

    def work() -> tuple[int, str]:
        unequal = [size for size in (1, 7) if made(size) != first]
        if unequal:
            raise AssertionError(f"other sentences in batches of {unequal}")
        return len(few), "equal"

    return work


PARTS = {"1": augmenters, "2": others, "3": large_tagger, "4": large_masked, "5": large_seq2seq, "6": checks}


def listed() -> Iterator[str]:
    yield from (f"  {number}  {' '.join((measure.__doc__ or '').split())}" for number, measure in PARTS.items())


def main() -> None:
    parser = measuring.parser(f"{__doc__}\nParts:\n\n" + "\n".join(listed()))
    parser.add_argument("part", nargs="?", choices=tuple(PARTS), help="without one, they are listed")
    options = parser.parse_args()
    if options.part is None:
        print("\n".join(listed()))
        return
    with tempfile.TemporaryDirectory() as folder:
        part = Part(options.part, options.quick, Path(folder))
        PARTS[options.part](part)
    if part.failures:
        sys.exit(f"{part.failures} rows failed or were left out; see {part.table}")


if __name__ == "__main__":
    main()
