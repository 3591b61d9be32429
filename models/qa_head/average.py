"""Average two question-answering heads, the second of which was trained from the first.

    python models/qa_head/average.py FIRST SECOND OUTPUT [--encoder NAME]

On most text that neither was trained on, the mean is better than both. README.md in this folder has the figures.

Reference:
    Wortsman et al. 2022, Robust fine-tuning of zero-shot models (WiSE-FT), with the usual factor of one half.

Departures:
    The factors of the low-rank adapters are averaged, not their products.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from train import build, existing, save_adapters

from nersery.models.bundled_models import bundled


def main() -> None:
    """Write the mean of two heads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=existing())
    parser.add_argument("second", type=existing(), help="the head that train.py --start FIRST has written")
    parser.add_argument("output", type=Path)
    parser.add_argument("--encoder", default=bundled.ENGLISH, help="a bundled encoder, or a folder")
    arguments = parser.parse_args()
    model = build(arguments.encoder, arguments.first)
    others = dict(build(arguments.encoder, arguments.second).named_parameters())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.lerp_(others[name], 0.5)
    save_adapters(model, arguments.output)


if __name__ == "__main__":
    main()
