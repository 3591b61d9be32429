"""Labels and speed of a saved tagger on ONNX Runtime: ``python benchmarks/onnx_speed.py TAGGER CORPUS [--quick]``.

Compares them with PyTorch on 2,000 sentences, in fp32 and in the precision of this processor, and with the bare
encoder: transformers' network in fp32 on prepared subwords, sorted by length, in batches of 32. All are timed in turn
within one run, in processor time. Requires the extra ``onnx``.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

import measuring
from nersery import io
from nersery.core.sentence import Sentence
from nersery.models.subwords.collation import collate
from nersery.taggers.base import load_tagger
from nersery.taggers.tagger_folder.onnx_export import export_onnx
from nersery.taggers.tagger_folder.onnx_network import ONNX_FILE

ROWS = 32


@torch.no_grad()
def bare(tagger: Any, sentences: Sequence[Sentence]) -> None:
    """Run the network alone."""
    network, encoder = tagger.network, tagger.encoder
    windows = [window for sentence in sentences for window in encoder.windows(sentence.words)]
    windows.sort(key=lambda window: -len(window.subwords))
    for start in range(0, len(windows), ROWS):
        batch = collate(windows[start : start + ROWS], encoder.pad)
        network(input_ids=batch.input_ids, attention_mask=batch.attention_mask)


def main() -> None:
    """Print the share of equal labels, the speeds, and their ratios to PyTorch in fp32."""
    parser = measuring.parser(__doc__)
    parser.add_argument("tagger")
    parser.add_argument("corpus")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    measuring.print_machine()
    sentences = list(io.read(options.corpus))[: 50 if options.quick else 2000]
    if not (Path(options.tagger) / ONNX_FILE).exists():
        print(f"export: {measuring.seconds(lambda: export_onnx(options.tagger)):.1f} s")
    by_torch, usual = (load_tagger(options.tagger, device="cpu") for _ in range(2))
    by_onnx = load_tagger(options.tagger, backend="onnx")
    by_torch.precision = by_onnx.precision = "fp32"  # type: ignore[attr-defined]
    found: dict[str, list[Sentence]] = {}

    def predict(name: str, tagger: Any) -> None:
        found[name] = tagger.predict(sentences)

    works = {
        "PyTorch, fp32": partial(predict, "PyTorch, fp32", by_torch),
        "ONNX": partial(predict, "ONNX", by_onnx),
        "PyTorch": partial(predict, "PyTorch", usual),
        "bare encoder, fp32": partial(bare, by_torch, sentences),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(1 if options.quick else options.rounds):
        for name, work in works.items():
            times[name].append(measuring.seconds(work, time.process_time))
    reference = found.pop("PyTorch, fp32")
    for name, labelled in found.items():
        same = sum(one.labels == other.labels for one, other in zip(reference, labelled, strict=True))
        print(f"{name}: the labels of PyTorch in fp32 in {same:,} of {len(sentences):,} sentences")
    for name, values in times.items():
        ratio = measuring.spread(measuring.ratios(times["PyTorch, fp32"], values))
        speed = len(sentences) / statistics.median(values)
        print(f"  {name:20} {speed:5.0f} sentences a second of processor time, {ratio} times PyTorch in fp32")


if __name__ == "__main__":
    main()
