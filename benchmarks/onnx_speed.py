"""Labels and speed of a saved tagger by ONNX Runtime: ``python benchmarks/onnx_speed.py TAGGER CORPUS [--quick]``.

Compares them with PyTorch's on 2,000 sentences, both in fp32 and in turns within one run. Needs the extra ``onnx``.
"""

from __future__ import annotations

from pathlib import Path

import measuring
from nersery import io
from nersery.taggers.base import load_tagger
from nersery.taggers.components.onnx_export import export_onnx
from nersery.taggers.components.onnx_network import ONNX_FILE


def main() -> None:
    parser = measuring.parser(__doc__)
    parser.add_argument("tagger")
    parser.add_argument("corpus")
    options = parser.parse_args()
    measuring.print_machine()
    sentences = list(io.read(options.corpus))[: 50 if options.quick else 2000]
    if not (Path(options.tagger) / ONNX_FILE).exists():
        print(f"export: {measuring.seconds(lambda: export_onnx(options.tagger)):.1f} s")
    torch_tagger, onnx_tagger = load_tagger(options.tagger, device="cpu"), load_tagger(options.tagger, backend="onnx")
    torch_tagger.precision = onnx_tagger.precision = "fp32"  # type: ignore[attr-defined]
    pairs = zip(torch_tagger.predict(sentences), onnx_tagger.predict(sentences), strict=True)
    same = sum(one.labels == other.labels for one, other in pairs)
    print(f"the same labels in {same:,} of {len(sentences):,} sentences")
    slow, fast = [], []
    for _ in range(1 if options.quick else 3):
        slow.append(measuring.seconds(lambda: torch_tagger.predict(sentences)))
        fast.append(measuring.seconds(lambda: onnx_tagger.predict(sentences)))
    speeds = [f"{len(sentences) / min(times):.0f}" for times in (slow, fast)]
    ratio = measuring.spread(measuring.ratios(slow, fast))
    print(f"ONNX is {ratio} times as fast: {speeds[1]} and {speeds[0]} sentences/s")


if __name__ == "__main__":
    main()
