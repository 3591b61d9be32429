"""Average the weights of taggers that train.py has written.

    python models/ner/average.py TAGGER... OUTPUT

The mean usually labels better than each of them. README.md in this folder has the figures.

Reference:
    Wortsman et al. 2022, Model soups: averaging weights of multiple fine-tuned models (uniform soup).

Departures:
    The products of the adapters are averaged, and truncated to the rank of the first tagger by singular values.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from nersery.models.bundled_models.bundled_heads import DOWN, SCALE, UP

sys.path.insert(0, str(Path(__file__).parents[1]))
from existing_path import existing
from low_rank import quantized


def added(weights: dict[str, Tensor], name: str) -> Tensor:
    """The matrix that an adapter adds to a frozen matrix."""
    up, down = (weights[name + part].float() * weights[name + part + SCALE].float() for part in (UP, DOWN))
    return up @ down


def mean(taggers: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of taggers with the same encoder, in the format in which they are stored."""
    result: dict[str, Tensor] = {}
    for name, first in taggers[0].items():
        if name.endswith(UP):
            matrix = name.removesuffix(UP)
            difference = torch.stack([added(weights, matrix) for weights in taggers]).mean(0)
            left, values, right = torch.linalg.svd(difference, full_matrices=False)
            rank = first.shape[1]
            roots = values[:rank].sqrt()
            result |= quantized(matrix + UP, left[:, :rank] * roots)
            result |= quantized(matrix + DOWN, roots.unsqueeze(1) * right[:rank])
        elif not name.endswith((DOWN, SCALE)):
            result[name] = torch.stack([weights[name].float() for weights in taggers]).mean(0).half()
    return {name: tensor.contiguous() for name, tensor in result.items()}


def main() -> None:
    """Write the mean."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("taggers", type=existing(), nargs="+", help="ner.safetensors of each")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    taggers = [load_file(path) for path in arguments.taggers]
    for path, weights in zip(arguments.taggers, taggers, strict=True):
        if {name: w.shape for name, w in weights.items()} != {name: w.shape for name, w in taggers[0].items()}:
            parser.error(f"{path} has other weights than {arguments.taggers[0]}, expected taggers on the same encoder")
    save_file(mean(taggers), arguments.output)


if __name__ == "__main__":
    main()
