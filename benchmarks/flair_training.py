"""Compare the training of a tagger with Flair: the same encoder, a CRF, batches of 16, and the same number of steps.

    python benchmarks/flair_training.py PYTHON [--train CORPUS] [--test CORPUS] [--model MODEL] [--precision PRECISION]
        [--steps N] [--rounds N] [--quick]

PYTHON is the interpreter of an environment with Flair (``pip install torch==2.13.0``, then ``pip install flair==0.15.1
'transformers<5'``). Each training is a whole process, from its start to the saved model. They run in turn. Times are
wall-clock seconds. Flair trains with nersery's learning rate for the encoder, and with its own.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import measuring
import nersery
from nersery import Entity, Sentence, io
from nersery.io.input_files.shipped import shipped
from nersery.models.pretrained.loading import ModelSource

BATCH = 16
RATES = ("1e-4", "5e-5")
"""Learning rates of the encoder: nersery's for up to six layers, and Flair's own."""
EXAMPLE = shipped("recipes/example")
FLAIR = str(Path(__file__).with_name("flair_tagger.py"))


def write_encoder(model: str, folder: Path) -> None:
    source = ModelSource(model)
    source.model("AutoModel").save_pretrained(folder)
    source.tokenizer().save_pretrained(folder)


def clocked(command: Sequence[str]) -> float:
    """Run a process, and return the seconds that it takes.

    Raises:
        SystemExit: With the messages of the process, if it fails.
    """
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{done.stderr}\nthis command failed: {' '.join(command)}")
    return time.perf_counter() - begun


@dataclass(frozen=True)
class Trainings:
    """Trainings on the same sentences.

    Args:
        folder: The folder of the sentences, ``train.conll`` and ``test.conll``, and of the encoder, ``encoder``.
        python: The interpreter of the environment with Flair.
        precision: The precision of nersery. Flair computes in fp32.
    """

    folder: Path
    test: Sequence[Sentence]
    python: str
    precision: str
    steps: int
    epochs: int

    def nersery(self, seed: int) -> tuple[float, float]:
        """The seconds and F1 of a training with nersery."""
        sizes = {"steps": self.steps, "batch_size": BATCH}
        settings = {"model": self.folder / "encoder", "precision": self.precision, **sizes}
        given = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
        files = [str(self.folder / "train.conll"), str(self.folder / "tagger")]
        seconds = clocked([sys.executable, "-m", "nersery", "train", *files, *given, f"--seed={seed}", "--force"])
        return seconds, self._f1(list(nersery.predict(self.test, self.folder / "tagger")))

    def flair(self, seed: int, rate: str) -> tuple[float, float]:
        """The seconds and F1 of a training with Flair."""
        settings = [str(self.epochs), str(BATCH), rate, str(seed)]
        encoder, folder = str(self.folder / "encoder"), str(self.folder)
        seconds = clocked([self.python, FLAIR, "train", encoder, folder, *settings])
        clocked([self.python, FLAIR, "predict", folder])
        found = json.loads((self.folder / "found.json").read_text("utf-8"))
        both = zip(self.test, found, strict=True)
        return seconds, self._f1([Sentence(one.words, tuple(Entity(*e) for e in spans)) for one, spans in both])

    def _f1(self, labelled: Sequence[Sentence]) -> float:
        return 100 * nersery.evaluate(self.test, labelled).micro.f1


def main() -> None:
    """Print the seconds and F1 of each training, and their means."""
    parser = measuring.parser(__doc__)
    parser.add_argument("python")
    parser.add_argument("--train", default=str(EXAMPLE / "train.conll"))
    parser.add_argument("--test", default=str(EXAMPLE / "test.conll"))
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16"), default="auto", help="nersery's")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    measuring.print_machine()
    train, test = list(io.read(options.train)), list(io.read(options.test))
    a_pass = math.ceil(len(train) / BATCH)
    epochs = 1 if options.quick else math.ceil(options.steps / a_pass)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_encoder(options.model, folder / "encoder")
        nersery.write(train, folder / "train.conll")
        nersery.write(test, folder / "test.conll")
        trainings = Trainings(folder, test, options.python, options.precision, epochs * a_pass, epochs)
        kinds: dict[str, Callable[[int], tuple[float, float]]] = {"nersery": trainings.nersery}
        kinds |= {f"Flair, rate {rate}": partial(trainings.flair, rate=rate) for rate in RATES}
        results: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
        for seed in range(1 if options.quick else options.rounds):
            for kind, run in kinds.items():
                results[kind].append(run(seed))
                print(f"{kind}: {results[kind][-1][0]:.1f} s, F1 {results[kind][-1][1]:.1f}", flush=True)
    ours = [seconds for seconds, _ in results["nersery"]]
    for kind, values in results.items():
        times, scores = zip(*values, strict=True)
        ratio = statistics.median(measuring.ratios(times, ours))
        print(f"{kind}: {ratio:.2f} times nersery's time, F1 {measuring.spread(scores)}, {epochs * a_pass} steps")


if __name__ == "__main__":
    main()
