"""Checks of the files in a model folder."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError, safe_open

from nersery.core.errors import MissingResourceError, is_lack_of_memory
from nersery.core.system.files import DESCRIPTION

WEIGHTS = "model*.safetensors*"
"""Matches the files with the weights of a model."""


@contextlib.contextmanager
def refusing_damage(folder: str | Path, reason: str) -> Iterator[None]:
    """Raise `MissingResourceError` if the files of a tagger cannot be read; ``{}`` in ``reason`` is the error."""
    try:
        yield
    except (OSError, SafetensorError, RuntimeError, ValueError, LookupError, TypeError) as error:
        if is_lack_of_memory(error):
            raise
        refuse_damaged(Path(folder))
        raise MissingResourceError(f"{folder} is damaged: {reason.format(error)}") from error


def refuse_damaged(folder: Path) -> None:
    """Raise `MissingResourceError` if a JSON or safetensors file in the folder of a model or tagger is damaged."""
    paths = [path for kind in ("*.json", "*.safetensors") for path in sorted(folder.glob(kind))]
    for path in paths:
        if reason := _issue_of(path):
            fix = "train the tagger again, or copy its folder again"
            if not (folder / DESCRIPTION).exists():
                fix = "copy it again from where the model comes from"
            raise MissingResourceError(f"{path} is damaged: {reason}. Expected a complete file: {fix}")


def _issue_of(path: Path) -> str:
    if path.is_dir():
        return "it is a folder"
    if not path.stat().st_size:
        return "it is empty"
    try:
        if path.suffix == ".json":
            json.loads(path.read_bytes())
        else:
            with safe_open(path, "pt"):
                pass
    except (ValueError, RecursionError, SafetensorError) as error:
        kind = "JSON" if path.suffix == ".json" else "safetensors"
        return f"it is not {kind} ({str(error).removeprefix('Error while deserializing header: ')})"
    return ""


def refuse_without_weights(name: str, folder: Path) -> None:
    """Raise `MissingResourceError` if the folder of a model exists and has no safetensors."""
    if folder.is_dir() and not any(folder.glob(WEIGHTS)):
        raise MissingResourceError(
            f'the model folder "{name}" has no weights as safetensors. Expected model.safetensors, or its parts and '
            "model.safetensors.index.json. Pickled weights (pytorch_model.bin) are refused: convert them by "
            "model.save_pretrained(folder) where the model comes from"
        )


def refuse_without_config(name: str, folder: Path) -> None:
    """Raise `MissingResourceError` if a folder exists and has no configuration; say what it holds instead."""
    if not folder.is_dir() or (folder / "config.json").is_file():
        return
    if (folder / "adapter_config.json").is_file():
        raise MissingResourceError(
            f'the folder "{name}" holds an adapter of PEFT, not a whole model. Load it in Python, and write the whole '
            "model with its tokenizer into another folder: model.merge_and_unload().save_pretrained(folder)"
        )
    if (folder / DESCRIPTION).is_file() and not (folder / "tokenizer_config.json").is_file():
        raise MissingResourceError(f'"{name}" is a tagger of nersery, but not a Hugging Face model; expected one')
    inner = [path.parent.name for path in folder.glob("*/config.json") if any(path.parent.glob(WEIGHTS))]
    last = max(sorted(inner, reverse=True), key=len, default="")  # checkpoint-1000 is later than checkpoint-900
    advice = f". Its folder {last} holds one: name that" if last else ""
    raise MissingResourceError(
        f'the folder "{name}" holds no model, because it has no config.json; expected what `nersery train` or '
        f"transformers has written, complete{advice}"
    )


@contextlib.contextmanager
def reads_plain_text(name: str) -> Iterator[None]:
    """Raise `MissingResourceError` if a model cannot read its input within the context.

    Models of scanned pages need more than text: they raise a `ValueError` or, for a parameter, a `TypeError`.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        raise MissingResourceError(
            f'the model "{name}" cannot read plain text: {error}. Expected an encoder of text alone, e.g. '
            "bert-base-cased or xlm-roberta-base"
        ) from error
