"""A saved transformer tagger as ONNX: the export, and prediction by ONNX Runtime in place of PyTorch."""

from __future__ import annotations

import logging
import os
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.files import unfinished_path
from nersery.taggers.base import load_tagger
from nersery.taggers.transformer import TransformerTagger

ONNX_FILE = "model.onnx"
PACKAGES = ("onnx", "onnxscript", "onnxruntime")
MOST = 512
"""Rows and subwords that the exported network takes at most."""


def check_onnx() -> None:
    """Check that what an export needs is installed.

    Raises:
        MissingResourceError: If it is not.
    """
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise MissingResourceError(
            f"ONNX needs {', '.join(missing)}. Install what is missing with: pip install 'nersery[onnx]'"
        )


def export_onnx(folder: str | Path) -> Path:
    """Write the network of a saved tagger beside its weights, in fp32; the CRF stays in its own file.

    Returns:
        The file. Inputs: ``input_ids`` and ``attention_mask``, shape (rows, subwords). Output: ``logits``, shape (rows,
        subwords, tags).

    Raises:
        MissingResourceError: If the extra is not installed.
        SettingsError: If it is no transformer tagger.
    """
    check_onnx()
    network, encoder = _loaded(folder).parts
    path = Path(folder) / ONNX_FILE
    ids = torch.full((2, 8), encoder.pad)
    sizes = {0: torch.export.Dim("rows", max=MOST), 1: torch.export.Dim("subwords", min=2, max=encoder.max_subwords)}
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Logits(network.float().cpu()),
            (ids, torch.ones_like(ids)),
            unfinished_path(path),
            input_names=["input_ids", "attention_mask"],
            output_names=["logits"],
            dynamic_shapes={"input_ids": sizes, "attention_mask": sizes},
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    os.replace(unfinished_path(path), path)
    return path


def load_onnx(folder: str | Path) -> TransformerTagger:
    """A saved tagger that predicts with ONNX Runtime; it cannot be trained.

    Raises:
        MissingResourceError: If the extra is not installed, or the folder has no export.
    """
    check_onnx()
    path = Path(folder) / ONNX_FILE
    if not path.is_file():
        raise MissingResourceError(f"{folder} has no {ONNX_FILE}. Write it with: nersery train … --onnx")
    tagger = _loaded(folder)
    tagger.run_network(OnnxNetwork(path))
    return tagger


def _loaded(folder: str | Path) -> TransformerTagger:
    tagger = load_tagger(str(folder), device="cpu")
    if not isinstance(tagger, TransformerTagger):
        raise SettingsError(f"{folder} holds a {type(tagger).__name__}: only transformer taggers can be ONNX")
    return tagger


class _Logits(nn.Module):
    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Shape: (rows, subwords), and of the result (rows, subwords, tags)."""
        logits: Tensor = self.network(input_ids=input_ids, attention_mask=attention_mask).logits
        return logits


class OnnxNetwork:
    """Stands in for the network of a tagger."""

    device = torch.device("cpu")

    def __init__(self, path: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def eval(self) -> OnnxNetwork:
        """There is no other mode."""
        return self

    def __call__(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        """The logits. Shape: (rows, subwords), and of the result (rows, subwords, tags)."""
        inputs = {"input_ids": input_ids.numpy(), "attention_mask": attention_mask.long().numpy()}
        return SimpleNamespace(logits=torch.from_numpy(self._session.run(None, inputs)[0]))
