"""The cost of 4-bit weights, measured on the bundled MiniLM, whose full weights are known.

    python benchmarks/four_bits.py OUT [--text FILE] [--model NAME] [--quick]

``bundled-multilingual`` has 4-bit weights, and its full weights are not in a package registry. This script rounds
MiniLM in the same way (blocks of 32 numbers with one fp16 scale each), writes it into the folder OUT, and prints the
similarity of sentence vectors before and after. For the cost in F1, train taggers on both:

    nersery run benchmarks/multiconer_en.toml --out runs/4-bit --set systems=[] --set tagger.model=OUT
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

import measuring
from nersery.models.embeddings.text_encoder import TextEncoder
from nersery.models.pretrained.loading import ModelSource

BLOCK = 32
LEVELS = 8
SENTENCES = 500

Array = NDArray[np.float32]


def rounded(weight: Array) -> Array:
    """A matrix rounded to 4-bit blocks and back. The number with the largest magnitude in a block becomes -8 steps."""
    blocks = weight.reshape(-1, BLOCK)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(1)[:, None], 1)
    scale = (largest / -LEVELS).astype(np.float16).astype(np.float32)
    steps = np.divide(blocks, scale, out=np.zeros_like(blocks), where=scale != 0)
    return (np.clip(np.rint(steps), -LEVELS, LEVELS - 1) * scale).reshape(weight.shape).astype(np.float32)


def write(model: Path, folder: Path) -> None:
    """Write an encoder with rounded matrices. As in the package, positions and token types stay exact."""
    shutil.copytree(model, folder, dirs_exist_ok=True)
    tensors = load_file(model / "model.safetensors")
    exact = ("position_embeddings", "token_type_embeddings")
    for name, tensor in tensors.items():
        if tensor.ndim == 2 and tensor.dtype == np.float32 and not any(part in name for part in exact):
            tensors[name] = rounded(tensor)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def cosines(folders: tuple[Path, Path], texts: list[tuple[str, ...]]) -> Array:
    """The cosine between each sentence's vectors from the exact and the rounded encoder."""
    vectors = [
        np.asarray(TextEncoder(ModelSource(name), device="cpu", precision="fp32").sentences(texts))
        for name in map(str, folders)
    ]
    product: Array = (vectors[0] * vectors[1]).sum(1)
    return product


def main() -> None:
    """Write the rounded encoder and print the cosines."""
    parser = measuring.parser(__doc__)
    parser.add_argument("out", type=Path, help="folder for the rounded encoder")
    parser.add_argument("--text", help="a corpus; the shipped example by default")
    parser.add_argument("--model", default="bundled")
    options = parser.parse_args()
    measuring.print_machine()
    model = Path(ModelSource(options.model).location)
    write(model, options.out)
    texts = [sentence.words for sentence in measuring.example(4 if options.quick else SENTENCES, options.text)]
    found = cosines((model, options.out), texts)
    print(f"{len(texts)} sentences: cosine {found.mean():.4f} on average, {found.min():.4f} at least")


if __name__ == "__main__":
    main()
