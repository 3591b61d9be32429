"""The cost of a sweep, divided by the sum of its distinct stages. The aim is at most 1.1.

    python benchmarks/sweep_cost.py [--model bundled] [--steps 20] [--quick]

A stage counts once for each distinct input: reading a set of files, drawing a sample, making and selecting sentences,
training, saving and loading the tagger, predicting, scoring, the report of a run and the report of the sweep. The sweep
adds repeated stages, and all work outside of stages. The models are small and the trainings short, so these additions
training_sentences more than in a real sweep. Times are processor seconds, so other work on the machine does not matter.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import measuring
from nersery import io
from nersery.experiments import system_run
from nersery.experiments.recipe import load
from nersery.experiments.run_state.run_folder import RunFolder
from nersery.experiments.sweep import sweep_runner
from nersery.experiments.sweep.sweep_runner import Sweep
from nersery.experiments.system_run import SystemRun
from nersery.models.pretrained.loading import import_libraries
from nersery.pipeline.stage_job import StageJob

RECIPE = """
name = "sweep-cost"
data = {{ train = "example:train.conll", dev = "example:dev.conll", test = "example:test.conll" }}
sample = {{ size = 40, dev_size = 20 }}
tagger = {{ model = {model}, steps = {steps}, batch_size = 8 }}
evaluate = {{ bootstrap_samples = {samples} }}
[[systems]]
name = "names"
method = "mention_replacement"
copies = 3
select = ["duplicates", {{ method = "agreement", threshold = 0.0 }}]
[sweep]
sizes = {sizes}
settings = [{{ system = "names", copies = [1, 2, 3] }}, {{ system = "names", upsampling = [0.0, 0.5] }}]
"""
SETTINGS: dict[str, Any] = {"samples": 10_000, "sizes": [40, 80]}
QUICK: dict[str, Any] = {"samples": 100, "sizes": [12]}


@dataclass
class Ledger:
    """Processor seconds of each kind of stage: for the first time with an input, and for repetitions."""

    first: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    again: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    _seen: set[tuple[str, Hashable]] = field(default_factory=set)
    _inner: list[float] = field(default_factory=lambda: [0.0])

    def watch(self, owner: Any, name: str, kind: str, key: Callable[..., Hashable]) -> Any:
        """Record the time of each call of a function, without the stages inside it.

        Args:
            key: Returns what the stage works on, given the arguments of the function.
        """
        original = getattr(owner, name)

        def noted(*arguments: Any, **options: Any) -> Any:
            what = kind, key(*arguments)
            table = self.again if what in self._seen else self.first
            self._seen.add(what)
            self._inner.append(0.0)
            began = time.process_time()
            try:
                return original(*arguments, **options)
            finally:
                spent = time.process_time() - began
                table[kind] += spent - self._inner.pop()
                self._inner[-1] += spent

        return mock.patch.object(owner, name, noted)


def training_of(cell: SystemRun, train: Any, own: Any, *_: Any) -> Hashable:
    """The values that a training depends on."""
    settings = [cell.run.recipe.tagger_of(cell.system), own, cell.system.second_stage]
    return str(settings), cell.seed, io.digest_of(train), io.digest_of(cell.dev)


def stage_of(job: StageJob) -> Hashable:
    """The values that a stage depends on. Its rows also identify the data that it learns from."""
    stage: Any = job.stage
    return stage.method, str(stage.settings), getattr(stage, "copies", 1), io.digest_of(job.rows.outcomes())


def cell_of(cell: SystemRun, *_: Any) -> Hashable:
    """A system with a seed."""
    return cell.run.folder, cell.system.name, cell.seed


def measured(sweep: Sweep, ledger: Ledger) -> float:
    """Run a sweep with all stages watched, and return its processor seconds."""
    watched: list[tuple[Any, str, str, Callable[..., Hashable]]] = [
        (RunFolder, "read_corpora", "read", lambda run: str(run.recipe.data)),
        (RunFolder, "sampled", "sample", lambda run, seed: (run.folder, seed)),
        (StageJob, "run", "make and select", stage_of),
        (SystemRun, "_fit_tagger", "train", training_of),
        (system_run, "trained_once", "save and load", lambda folder, *_: folder),
        (SystemRun, "_predict", "predict", cell_of),
        (system_run, "all_scores", "score", lambda gold, _: len(gold)),
        (sweep_runner, "build_report", "report of a run", lambda run, _: run.folder),
        (sweep_runner, "write_report", "report of a run", lambda _, folder: (folder, "written")),
        (sweep_runner, "write_sweep", "report of the sweep", lambda *_: None),
    ]
    patches = [ledger.watch(*one) for one in watched]
    for patch in patches:
        patch.start()
    try:
        began = time.process_time()
        failures = sweep.execute().failures
        spent = time.process_time() - began
    finally:
        for patch in patches:
            patch.stop()
    if failures:
        raise SystemExit(str(failures))
    return spent


def main() -> None:
    parser = measuring.parser(__doc__)
    parser.add_argument("--model", default="bundled", help="encoder of the tagger")
    parser.add_argument("--steps", type=int, default=20, help="of each training")
    arguments = parser.parse_args()
    measuring.print_machine()
    import_libraries()
    settings = {**(QUICK if arguments.quick else SETTINGS), "model": json.dumps(arguments.model)}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "recipe.toml"
        path.write_text(RECIPE.format(steps=2 if arguments.quick else arguments.steps, **settings), "utf-8")
        ledger = Ledger()
        total = measured(Sweep(load(str(path)), Path(name) / "sweep", quiet=True), ledger)
    distinct, again = sum(ledger.first.values()), sum(ledger.again.values())
    print(f"{total / distinct:.2f} times the {distinct:.1f} s of its distinct stages")
    for kind in ledger.first:
        print(f"  {kind:20} {ledger.first[kind]:6.2f} s, again {ledger.again[kind]:5.2f} s")
    print(f"  {'all else':20} {total - distinct - again:6.2f} s")


if __name__ == "__main__":
    main()
