"""What nersery's own training added to the bundled encoders: heads, and changes of the layers.

Each file in ``weights/`` was made by a script in the repository's folder ``models/``, which has a card. Names are those
of the transformers model with the head. A weight is stored as

- itself, in fp16;
- ``NAME.up`` and ``NAME.down``: low-rank factors whose product is added to the encoder's matrix (LoRA);
- or ``NAME`` with ``NAME.rows``: what is added to some rows.

Integers have ``.scale``, a factor for each of their rows. ``NAME.rows`` of factors says to which rows ``up`` belongs.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from nersery.core.errors import MissingResourceError
from nersery.models import bundled
from nersery.models.training.low_rank import LowRankEmbedding, adapters

_WEIGHTS = Path(__file__).with_name("weights")
MASKED_LM = {
    bundled.NAME: _WEIGHTS / "masked_lm.safetensors",
    bundled.MULTILINGUAL: _WEIGHTS / "multilingual_masked_lm.safetensors",
}
"""The masked language models."""
QUESTION_ANSWERING = {
    bundled.NAME: _WEIGHTS / "qa_head.safetensors",
    bundled.WITH_QUESTIONS: _WEIGHTS / "qa_head.safetensors",
    bundled.MULTILINGUAL: _WEIGHTS / "multilingual_qa_head.safetensors",
}
"""The question-answering models."""
BASE = "bert."
LAYERS, EMBEDDINGS = f"{BASE}encoder.layer.", f"{BASE}embeddings.word_embeddings."
STEPS_OF_DIFFERENCES = 31
"""As accurate as 127 (35.2 % of held-out subwords), and a quarter smaller in a compressed wheel."""
UP, DOWN, SCALE, ROWS = ".up", ".down", ".scale", ".rows"


def add_head(model: Any, path: Path, what: str) -> None:
    """Turn a model on a bundled encoder, with a new head, into the trained one of a file.

    Args:
        what: What the file holds, for messages.

    Raises:
        MissingResourceError: If the file is missing or damaged.
    """
    parameters = dict(model.named_parameters())
    base = f"{model.base_model_prefix}."
    _add(parameters, path, what, required={name for name in parameters if not name.startswith(base)})


def add_layers(model: Any, path: Path, what: str) -> None:
    """Give a BERT with any head, or none, on a bundled encoder the layers of the trained model of a file.

    Raises:
        MissingResourceError: If the file is missing or damaged.
    """
    parameters = {f"{BASE}{name}": weight for name, weight in getattr(model, "bert", model).named_parameters()}
    _add(parameters, path, what, required=set())


def _add(parameters: dict[str, Any], path: Path, what: str, required: set[str]) -> None:
    if not path.exists():
        raise MissingResourceError(
            f"the bundled {what} is not at {path}. Reinstall nersery, or name another {what}: any Hugging Face name or "
            "folder"
        )
    try:
        with safe_open(path, framework="pt") as file, torch.no_grad():
            stored = set(file.keys())
            names = {name.removesuffix(UP) for name in stored if not name.endswith((DOWN, SCALE, ROWS))}
            factors = {name.removesuffix(DOWN) + UP for name in stored if name.endswith(DOWN)}
            if lacking := (required - names) | (factors - stored) or (not names and {LAYERS}):
                raise KeyError(f"it has no {min(lacking)}")
            for name in names & parameters.keys():
                _add_one(parameters[name], file, name, stored)
    except (SafetensorError, KeyError, RuntimeError, IndexError) as error:
        raise MissingResourceError(f"{path} is damaged: {error.args[0]}. Reinstall nersery") from error


def _add_one(parameter: Tensor, file: Any, name: str, stored: set[str]) -> None:
    def read(part: str) -> Tensor:
        tensor: Tensor = file.get_tensor(part).float()
        return tensor * file.get_tensor(part + SCALE).float() if part + SCALE in stored else tensor

    if name in stored and name + ROWS not in stored:
        parameter.copy_(read(name))
        return
    change = read(name + UP) @ read(name + DOWN) if name + UP in stored else read(name)
    if name + ROWS in stored:
        parameter.index_add_(0, file.get_tensor(name + ROWS), change)
    else:
        parameter += change


def is_learnt(name: str) -> bool:
    """Whether a weight of ``bundled``'s masked language model differs from the installed encoder's."""
    return not name.startswith(BASE) or name.startswith((LAYERS, EMBEDDINGS))


def save_differences(model: Any, path: Path) -> None:
    """Write what a trained `BertForMaskedLM` has learnt on top of ``bundled``; unchanged rows are left out."""
    with safe_open(bundled.folder() / "model.safetensors", framework="pt") as file:
        installed = {BASE + name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    tensors: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        weight = parameter.detach().cpu().float()
        if name.startswith((LAYERS, EMBEDDINGS)) and weight.ndim == 2:
            difference = weight - installed[name]
            rows = difference.any(dim=1).nonzero()[:, 0]
            tensors |= _quantized(name, difference[rows], STEPS_OF_DIFFERENCES)
            tensors[name + ROWS] = rows.int()
        elif is_learnt(name):
            tensors[name] = weight.half()
    save_file(tensors, path)


def save_adapters(model: Any, path: Path, skipped: Iterable[str] = ()) -> None:
    """Write what the adapters of a model have learnt, and its other trainable weights.

    Args:
        skipped: Names of weights to leave out.
    """
    tensors: dict[str, Tensor] = {}
    adapted = dict(adapters(model))
    for name, module in adapted.items():
        tensors |= _quantized(name + UP, module.up) | _quantized(name + DOWN, module.down)
        if isinstance(module, LowRankEmbedding):
            tensors[name + ROWS] = module.rows.int()
    factors = {name.removesuffix("weight") + part for name in adapted for part in ("up", "down")}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and name not in {*factors, *skipped}:
            tensors[name] = parameter.detach().half()
    save_file({name: tensor.cpu().contiguous() for name, tensor in tensors.items()}, path)


def _quantized(name: str, weight: Tensor, steps: int = 127) -> dict[str, Tensor]:
    """A matrix as integers, up to ``steps`` for each row's largest value."""
    weight = weight.detach().cpu().float()
    scale = (weight.abs().amax(dim=1, keepdim=True) / steps).clamp(min=1e-7)
    return {name: (weight / scale).round().to(torch.int8), name + SCALE: scale.half()}
