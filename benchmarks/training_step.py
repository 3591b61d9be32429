"""The time of a training step of the tagger: in a bare PyTorch loop, with padding, and without padding.

    python benchmarks/training_step.py [CORPUS] [--model MODEL] [--precision PRECISION]

CORPUS is the shipped example by default. The three take the same batches of 16 sentences in turn, in one process, so
that other work on the machine slows them equally. Times are processor time.
*Bare* is a loop that a user writes by hand: transformers' network with all its embeddings, its loss, clipping and
AdamW. *Padded* is nersery's step without `nersery.models.packed`, *packed* the complete step. *Products* are only the
encoder's matrix products, forward and backward, on the real subwords: no step can be faster.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

import measuring
from nersery.models.pretrained.loading import ModelSource, autocast, resolve_precision
from nersery.models.training import trainer
from nersery.models.training.trainer import TrainingPlan
from nersery.models.training.vocabulary_pruning import pruned_vocabulary
from nersery.taggers.output_layer.tag_set import TagSet
from nersery.taggers.output_layer.tagging_loss import LabelledWindow
from nersery.taggers.transformer import TransformerTagger

BATCHES, QUICK = 24, 5
WARM = 3
"""The number of batches at the beginning that are not counted."""
CPU = torch.device("cpu")


class Steps:
    """Training steps with one model and optimizer.

    Args:
        plan: Sets clipping, learning rates and precision.
    """

    def __init__(self, model: Any, loss: Callable[[Sequence[LabelledWindow]], Tensor], plan: TrainingPlan) -> None:
        self.model, self.loss, self.plan = model.train(), loss, plan
        self.optimizer = trainer._optimizer(model, plan, lambda name: False)

    def update(self) -> None:
        """Update the weights as `trainer.train` does."""
        trainer.take_clipped_step(self.optimizer, self.plan.clip)

    def take(self, batch: Sequence[LabelledWindow]) -> float:
        """Take one step, and return its processor time in seconds."""
        start = time.process_time()
        with autocast(CPU, self.plan.precision):
            loss = self.loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        self.update()
        return time.process_time() - start


class BareSteps(Steps):
    """Training steps as a user writes them by hand."""

    def update(self) -> None:
        """Clip the gradients, step, and clear the gradients."""
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.plan.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def bare(tagger: TransformerTagger, plan: TrainingPlan, labels: int, pad: int) -> BareSteps:
    network = ModelSource(tagger.model).model("AutoModelForTokenClassification", num_labels=labels)
    vars(network.base_model).pop("forward", None)

    def loss(batch: Sequence[LabelledWindow]) -> Tensor:
        length = max(len(window.subwords) for window, *_ in batch)
        ids, tags = torch.full((len(batch), length), pad), torch.full((len(batch), length), -100)
        mask = torch.zeros_like(ids)
        for row, (window, path, *_) in enumerate(batch):
            ids[row, : len(window.subwords)] = torch.tensor(window.subwords)
            mask[row, : len(window.subwords)] = 1
            tags[row, list(window.firsts)] = torch.tensor(path)
        found: Tensor = network(input_ids=ids, attention_mask=mask, labels=tags).loss
        return found

    return BareSteps(network, loss, plan)


def products(network: Any, subwords: int, precision: str) -> float:
    """The processor time of the matrix products of one step's linear layers, in seconds.

    Args:
        subwords: The number of rows of the inputs.
    """
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    layers = [layer for layer in network.base_model.encoder.modules() if isinstance(layer, torch.nn.Linear)]
    weights = [layer.weight.detach().to(kind) for layer in layers]
    ends = {side: torch.randn(subwords, side, dtype=kind) for weight in weights for side in weight.shape}
    start = time.process_time()
    for weight in weights:
        inputs, gradient = ends[weight.shape[1]], ends[weight.shape[0]]
        _ = inputs @ weight.T, gradient @ weight, gradient.T @ inputs
    return time.process_time() - start


def batches(examples: Sequence[LabelledWindow], size: int, most: int) -> Iterator[list[LabelledWindow]]:
    drawn = ([examples[index] for index in indices] for _, indices in trainer._batches(len(examples), size, 0))
    return itertools.islice((batch for batch in drawn if len(batch) == size), most)


def main() -> None:
    """Print the median times and ratios."""
    parser = measuring.parser(__doc__)
    parser.add_argument("corpus", nargs="?")
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16"), default="auto")
    options = parser.parse_args()
    measuring.print_machine()
    sentences = measuring.example(500, options.corpus)
    tagger = TransformerTagger(options.model, precision=options.precision, device="cpu")
    network = tagger._build(TagSet.of({e.type for s in sentences for e in s.entities}, tagger.scheme))
    examples = [example for sentence in sentences for example in tagger._examples(sentence)]
    plan, pad = tagger._plan(len(examples)), tagger.encoder.pad
    forward: dict[str, Any] = vars(network.base_model)
    packed = forward["forward"]
    meant = resolve_precision(plan.precision, CPU)
    times: dict[str, list[float]] = {"bare": [], "padded": [], "packed": []}
    floor: list[float] = []
    real = whole = 0
    with pruned_vocabulary(network, tagger._subwords(examples, ())):
        by_hand = bare(tagger, plan, len(tagger._tags.names), pad)
        own = Steps(tagger._trained_parts(), tagger._loss, plan)
        for number, batch in enumerate(batches(examples, plan.batch_size, QUICK if options.quick else BATCHES)):
            lengths = [len(window.subwords) for window, *_ in batch]
            real, whole = real + sum(lengths), whole + len(lengths) * max(lengths)
            for name in sorted(times, reverse=number % 2 == 0):
                forward["forward"] = packed.args[1] if name == "padded" else packed
                times[name].append((by_hand if name == "bare" else own).take(batch))
            floor.append(products(network, sum(lengths), meant))
    times["products"] = floor
    print(f"{options.model}, {meant}; real subwords: {real / whole:.2f} of the positions")
    for name, values in times.items():
        ratio = statistics.median(a / b for a, b in zip(values[WARM:], times["bare"][WARM:], strict=True))
        print(f"  {name:8} {1000 * statistics.median(values[WARM:]):5.0f} ms, {ratio:.2f} times the bare step")


if __name__ == "__main__":
    main()
