"""Export a saved transformer tagger to ONNX, so that `nersery.taggers.base.load_tagger` can run it without PyTorch."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nersery.core.errors import SettingsError
from nersery.core.extras import required
from nersery.core.system.files import written_atomically
from nersery.taggers.base import load_tagger
from nersery.taggers.tagger_folder.onnx_network import ONNX_FILE
from nersery.taggers.transformer import TransformerTagger

PACKAGES = ("onnx", "onnxscript", "onnxruntime")
MAX_ROWS = 512
"""The most rows that the exported network takes."""


def check_onnx() -> None:
    """Raise `MissingResourceError` if a package that an export needs is not installed."""
    for name in PACKAGES:
        required(name, "onnx")


def export_onnx(folder: str | Path) -> Path:
    """Write the network of a saved tagger beside its weights, in fp32; the CRF stays in its own file.

    Returns:
        The path of the file. Inputs: ``input_ids`` and ``attention_mask``, shape (rows, subwords). Output: ``logits``,
        shape (rows, subwords, tags).

    Raises:
        MissingResourceError: If the extra is not installed.
        SettingsError: If the folder holds no transformer tagger, or one that PyTorch cannot export.
    """
    check_onnx()
    tagger = load_tagger(folder, device="cpu")
    if not isinstance(tagger, TransformerTagger):
        raise SettingsError(
            f"{folder} holds a {type(tagger).__name__}: only transformer taggers can be exported as ONNX"
        )
    network, encoder = tagger.network, tagger.encoder
    path = Path(folder) / ONNX_FILE
    ids = torch.full((2, 8), encoder.pad)
    sizes = {
        0: torch.export.Dim("rows", max=MAX_ROWS),
        1: torch.export.Dim("subwords", min=2, max=encoder.max_subwords),
    }
    try:
        with _only_errors(), warnings.catch_warnings(), written_atomically(path) as unfinished:
            warnings.simplefilter("ignore")
            torch.onnx.export(
                _Logits(network.float().cpu()),
                (ids, torch.ones_like(ids)),
                unfinished,
                input_names=["input_ids", "attention_mask"],
                output_names=["logits"],
                dynamic_shapes={"input_ids": sizes, "attention_mask": sizes},
                dynamo=True,
                external_data=False,
                verbose=False,
            )
    except torch.onnx.OnnxExporterError as error:
        raise SettingsError(
            f"PyTorch cannot export a {type(network).__name__} as ONNX. The tagger in {folder} works without it; to "
            "export one, train on another model"
        ) from error
    return path


@contextlib.contextmanager
def _only_errors() -> Iterator[None]:
    """Let PyTorch's exporter report only errors within this context."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


class _Logits(nn.Module):
    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the logits. Shape of the inputs: (rows, subwords); of the result: (rows, subwords, tags)."""
        return self.network(input_ids=input_ids, attention_mask=attention_mask).logits
