"""The network of a saved tagger, run by ONNX Runtime in place of PyTorch."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.extras import required

ONNX_FILE = "model.onnx"


class OnnxNetwork:
    """Replaces the network of a tagger for prediction only.

    Args:
        folder: Folder of a tagger that was trained with ``--onnx``.

    Raises:
        MissingResourceError: If ONNX Runtime is not installed, or the folder has no export.
    """

    device = torch.device("cpu")

    def __init__(self, folder: Path) -> None:
        runtime = required("onnxruntime", "onnx")
        path = folder / ONNX_FILE
        if not path.is_file():
            raise MissingResourceError(f"{folder} has no {ONNX_FILE}. Write it with: nersery train … --onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        try:
            self._session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the exceptions of ONNX Runtime have no common base class
            raise MissingResourceError(f"{path} cannot be read: {error}") from error

    def __getattr__(self, name: str) -> Any:
        """Refuse any other attribute of a network, such as weights and dropout: an export does not have it."""
        if name.startswith("_") or name == "base_model":
            raise AttributeError(name)
        raise SettingsError('a tagger that runs on ONNX can only predict: load it with backend = "torch"')

    def eval(self) -> OnnxNetwork:
        """Do nothing: an export has no other mode."""
        return self

    def __call__(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        """Return the logits. Shape of the inputs: (rows, subwords); of the result: (rows, subwords, tags)."""
        inputs = {"input_ids": input_ids.numpy(), "attention_mask": attention_mask.long().numpy()}
        return SimpleNamespace(logits=torch.from_numpy(self._session.run(None, inputs)[0]))
