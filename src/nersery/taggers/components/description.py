"""The file in a tagger's folder with its method, settings and training history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.files import DESCRIPTION as DESCRIPTION
from nersery.core.registry import name_of


def write_description(folder: Path, tagger: Any, settings: Mapping[str, Any]) -> None:
    """Describe a tagger in its folder. Weights there get the file's mode, because safetensors writes them with 0600."""
    content = {"tagger": name_of(tagger), "settings": settings, "history": tagger.history}
    path = folder / DESCRIPTION
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", "utf-8")
    for weights in folder.glob("*.safetensors"):
        weights.chmod(path.stat().st_mode & 0o777)


def read_description(folder: str | Path) -> dict[str, Any]:
    """The content of the description file, empty where there is none; a `MissingResourceError` if it is damaged."""
    path = Path(folder) / DESCRIPTION
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text("utf-8"))
        is_valid = [type(content[key]) for key in ("tagger", "settings", "history")] == [str, dict, dict]
    except (ValueError, LookupError, TypeError, RecursionError):
        is_valid = False
    if not is_valid:
        raise MissingResourceError(f"{path} is damaged: expected what `nersery train` wrote")
    return content


def attached_signs_of(tagger: str | Path) -> float | None:
    """`attached_signs` of the sentences that the tagger of a folder learnt from; None where they are not known."""
    return read_description(tagger).get("history", {}).get("attached_signs")


def from_settings(cls: type[Any], settings: Mapping[str, Any], device: str, place: object) -> Any:
    """A tagger with saved settings, on another device; a `MissingResourceError` if another version saved them."""
    try:
        return cls(**{**settings, "device": device})
    except (TypeError, SettingsError) as error:
        raise MissingResourceError(f"{place} holds settings of another version: {error}") from error
