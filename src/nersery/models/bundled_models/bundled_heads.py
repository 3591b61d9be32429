"""What nersery's own training added to the bundled encoders: heads, and changes of the layers.

Each file in ``weights/`` was made by a script in the repository's folder ``models/``, next to its card. Weights have
the names that they have in the transformers model with the head. A weight is stored as

- itself, in fp16;
- ``NAME.up`` and ``NAME.down``: low-rank factors whose product is added to the encoder's matrix (LoRA);
- or ``NAME`` with ``NAME.rows``: numbers that are added to these rows.

Integers have a ``.scale``, a factor for each of their rows. With factors, ``NAME.rows`` are the rows of ``up``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from nersery.core.errors import MissingResourceError, is_lack_of_memory
from nersery.models.bundled_models import bundled

_WEIGHTS = Path(__file__).parents[1] / "weights"
MASKED_LM = {
    bundled.ENGLISH: _WEIGHTS / "masked_lm.safetensors",
    bundled.MULTILINGUAL: _WEIGHTS / "multilingual_masked_lm.safetensors",
}
"""The weights of the masked language models, by encoder."""
QUESTION_ANSWERING = {
    bundled.ENGLISH: _WEIGHTS / "qa_head.safetensors",
    bundled.MULTILINGUAL: _WEIGHTS / "multilingual_qa_head.safetensors",
}
"""The weights of the question-answering models, by encoder."""
TOKEN_CLASSIFICATION = {
    bundled.ENGLISH_NER: _WEIGHTS / "ner.safetensors",
    bundled.MULTILINGUAL_NER: _WEIGHTS / "multilingual_ner.safetensors",
}
"""The weights of the taggers, by name."""
TAGS = ("O", *(f"{prefix}-{type_}" for type_ in ("LOC", "MISC", "ORG", "PER") for prefix in "BI"))
"""The tags that the taggers predict."""
BASE = "bert."
LAYERS, EMBEDDINGS = f"{BASE}encoder.layer.", f"{BASE}embeddings.word_embeddings."
UP, DOWN, SCALE, ROWS = ".up", ".down", ".scale", ".rows"


def add_head(model: Any, path: Path, what: str) -> None:
    """Turn a bundled encoder with a new head into the trained model that a file stores.

    Args:
        what: The kind of model in the file, for messages.

    Raises:
        MissingResourceError: If the file is missing or damaged.
    """
    parameters = dict(model.named_parameters())
    base = f"{model.base_model_prefix}."
    _add(parameters, path, what, required={name for name in parameters if not name.startswith(base)})


def add_layers(model: Any, path: Path) -> None:
    """Give a bundled BERT encoder, with any head or none, the layers of the tagger that a file stores.

    Raises:
        MissingResourceError: If the file is missing or damaged.
    """
    parameters = {f"{BASE}{name}": weight for name, weight in getattr(model, "bert", model).named_parameters()}
    _add(parameters, path, "tagger", required=set())


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
        if is_lack_of_memory(error):
            raise
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
