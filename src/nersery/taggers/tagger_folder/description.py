"""The file in a tagger's folder with its method, settings and training history."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nersery.core.errors import MissingResourceError, SettingsError, did_you_mean
from nersery.core.registry import BUNDLED, name_of
from nersery.core.sentence import Sentence
from nersery.core.settings.typed_settings import setting_fields
from nersery.core.system.files import DESCRIPTION as DESCRIPTION
from nersery.core.system.files import unexpanded_home
from nersery.io.word_splitting.tokenization import attached_share


def write_description(folder: Path, tagger: Any, settings: Mapping[str, Any]) -> None:
    """Write the description file of a tagger. Weights get its mode, because safetensors writes them with 0600."""
    content = {"tagger": name_of(tagger), "settings": settings, "history": tagger.history}
    path = folder / DESCRIPTION
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", "utf-8")
    for weights in folder.glob("*.safetensors"):
        weights.chmod(path.stat().st_mode & 0o777)


def read_description(folder: str | Path) -> dict[str, Any]:
    """Read the description file; return {} if there is none, and raise `MissingResourceError` if it is damaged."""
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


def attached_share_learnt(tagger: object) -> float | None:
    """The `attached_share` of the training data of a tagger, in a folder or in memory; None if unknown."""
    return _history_of(tagger).get("attached_signs")


def characters_learnt(tagger: object) -> bool | None:
    """Whether the training data of a tagger are `split_in_characters`; None if unknown."""
    return _history_of(tagger).get("in_characters")


def _history_of(tagger: object) -> Mapping[str, Any]:
    if isinstance(tagger, str | Path):
        return read_description(tagger).get("history", {})
    return getattr(tagger, "history", {})


def attached_share_for(labelled: Iterable[Sentence], tagger: object) -> float | None:
    """The `attached_share` of labelled sentences, or else of the training data of a tagger, if there is one."""
    share = attached_share(labelled)
    return attached_share_learnt(tagger) if share is None else share


def missing_folder(name: str) -> str:
    """The beginning of an error message if a tagger's name is probably that of a missing folder; otherwise empty.

    Raises:
        MissingResourceError: If the name cannot be that of a Hugging Face model and is not a folder.
    """
    path = Path(name)
    if name in BUNDLED or path.is_dir():
        return ""
    expected = unexpanded_home(path) or "expected a folder that `nersery train` wrote"
    if path.exists():
        raise MissingResourceError(f"{name} is not a tagger: {expected}")
    close = [str(path.with_name(other)) for other in difflib.get_close_matches(path.name, _folders_in(path.parent))]
    message = f"there is no folder {name}" + (f" (did you mean {' or '.join(close)}?)" if close else "")
    if name.startswith((".", "/", "~")) or name.count("/") > 1:  # names on the hub are user/model or model
        raise MissingResourceError(message if close else f"{message}: {expected}")
    return message if close or ("/" in name and path.parent.is_dir()) else ""


def _folders_in(folder: Path) -> list[str]:
    with suppress(OSError):
        return [path.name for path in folder.iterdir() if path.is_dir()]
    return []


def from_settings(cls: type[Any], settings: Mapping[str, Any], device: str, place: object) -> Any:
    """Build a tagger with saved settings on a device, or raise `MissingResourceError` if another version saved them."""
    known = [setting.name for setting in setting_fields(cls)]
    if unknown := [key for key in settings if key not in known]:
        raise MissingResourceError(
            f'{place} has "{unknown[0]}", which is not a setting of {name_of(cls)}; {did_you_mean(unknown[0], known)}. '
            "Another version of nersery has probably written it: use that version, or train the tagger again"
        )
    try:
        return cls(**{**settings, "device": device})
    except (TypeError, SettingsError) as error:
        raise MissingResourceError(f"{place} holds settings of another version: {error}") from error
