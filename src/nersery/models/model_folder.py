"""Checks of the files in a model folder."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open

from nersery.core.errors import MissingResourceError
from nersery.core.files import DESCRIPTION


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
    if folder.is_dir() and not any(folder.glob("model*.safetensors*")):
        raise MissingResourceError(
            f'the model folder "{name}" has no weights as safetensors. Expected model.safetensors, or its parts and '
            "model.safetensors.index.json. Pickled weights (pytorch_model.bin) are refused: convert them by "
            "model.save_pretrained(folder) where the model comes from"
        )
