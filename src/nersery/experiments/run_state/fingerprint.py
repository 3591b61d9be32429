"""The fingerprint of a run: what its results depend on, and whether a folder belongs to it."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from nersery.core import registry
from nersery.core.errors import SettingsError
from nersery.core.settings import file_settings
from nersery.core.system.files import content_hash, refuse_unwritable, remove_folder
from nersery.core.system.job_records import (
    differences,
    has_record,
    other_settings_message,
    read_job_record,
    refuse_occupied,
    unreadable_record_error,
)
from nersery.core.version import __version__
from nersery.experiments.recipe import Recipe
from nersery.experiments.recipe_file.data_files import SPLITS
from nersery.experiments.run_state.trained_taggers import TEACHER_FILE
from nersery.experiments.systems import MADE_FROM
from nersery.select.reviewed import CHECKED


def run_fingerprint(recipe: Recipe) -> dict[str, Any]:
    """Everything that the results of a recipe depend on."""
    paths = {
        path
        for _, _, method in recipe.methods()
        for path in file_settings.paths_in(registry.get(method.kind, method.method), method.settings).values()
    }
    return {
        "nersery": __version__,
        "recipe": recipe.as_dict(),
        "inputs": {split: split_hashes(recipe, split) for split in SPLITS if recipe.data.files(split)},
        "files": {path: content_hash(path) for path in sorted(paths)},
    }


def check_folder(folder: Path, fingerprint: dict[str, Any]) -> list[str]:
    """Refuse a folder that does not belong to this run; seeds and systems may be added.

    Returns:
        Unfinished systems of an earlier recipe that this recipe no longer has.

    Raises:
        SettingsError: If the folder belongs to something else; names its content and the differences.
    """
    refuse_unwritable(folder)
    path = folder / "run.json"
    if not has_record(path):
        refuse_occupied(folder, "run", path.name)
        return []
    recorded = read_job_record(path, *fingerprint)
    try:
        old = comparable({key: recorded[key] for key in fingerprint})
    except (LookupError, TypeError):
        raise unreadable_record_error(path) from None
    new = comparable(json.loads(json.dumps(fingerprint)))  # as if read: tuples become lists
    systems = old["recipe"]["systems"]
    removed = [name for name in systems if name not in new["recipe"]["systems"]]
    abandoned = [name for name in removed if not has_results(folder, name)]
    for name in abandoned:
        del systems[name]
    if difference := differences(old, without_additions(new, old)):
        fix = "Choose another folder (--out), or restore settings and files to resume this one"
        raise SettingsError(other_settings_message(folder, "a run", difference, fix))
    return abandoned


def split_hashes(recipe: Recipe, split: str) -> str | dict[str, str]:
    """The hash of a split's file, or of the file of each language."""
    hashes = {file.language: content_hash(recipe.path(file.name)) for file in recipe.data.files(split)}
    return hashes if recipe.data.has_languages(split) else hashes[""]


def comparable(fingerprint: dict[str, Any]) -> dict[str, Any]:
    """The fingerprint with its systems by name, so that a difference names the system.

    Files in settings are replaced by their hashes, because their location does not matter.
    """
    recipe, files = fingerprint["recipe"], fingerprint["files"]
    systems = {
        system["name"]: {
            **system,
            "method": system["method"] and _by_content(system["method"], files),
            "select": [_by_content(selector, files) for selector in system["select"]],
            "tagger_settings": _by_content({**recipe["tagger"], "settings": system["tagger_settings"]}, files)[
                "settings"
            ],
        }
        for system in recipe["systems"]
    }
    plain_recipe = {**recipe, "tagger": _by_content(recipe["tagger"], files), "systems": systems}
    return {key: value for key, value in fingerprint.items() if key != "files"} | {"recipe": plain_recipe}


def _by_content(method: dict[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """A method with hashes of files in place of their paths."""
    kind, name, settings = method["kind"], method["method"], method["settings"]
    if name not in registry.names(kind):  # from another package, which is no longer installed
        return method
    names = file_settings.file_and_model_names(registry.get(kind, name), settings)
    contents = {keys: f"a file with the SHA-256 {files[path]}" for keys, _, path in names if path in files}
    return {**method, "settings": file_settings.replaced(settings, contents)}


def without_additions(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """A comparable fingerprint without additions to an older one: seeds, systems, raw text, description."""
    old_recipe, recipe = old["recipe"], dict(new["recipe"])
    if set(old_recipe["seeds"]) <= set(recipe["seeds"]):
        recipe["seeds"] = old_recipe["seeds"]
    recipe["systems"] = {name: system for name, system in recipe["systems"].items() if name in old_recipe["systems"]}
    for key in ("description", "keep_taggers", "evaluate"):
        recipe[key] = old_recipe[key]
    for split in SPLITS:  # the hashes in inputs identify the files
        recipe["data"] = {**recipe["data"], split: old_recipe["data"][split]}
    inputs = {split: content for split, content in new["inputs"].items() if split != "raw" or split in old["inputs"]}
    return {**new, "recipe": recipe, "inputs": inputs}


def has_results(folder: Path, system: str) -> bool:
    """Whether a run, or one of a sweep, has results of a system, or people's decisions about its sentences."""
    paths = [f"seed-*/{glob.escape(system)}/{name}" for name in ("result.json", f"*{CHECKED}*")]
    return any(chain(*(folder.glob(path) for path in paths), *(folder.glob(f"*/{path}") for path in paths)))


def remove_abandoned(folder: Path, names: Sequence[str]) -> list[str]:
    """Remove the files of unfinished systems, so that no later system of that name takes them for its own.

    Other systems with the same method may share the generated sentences. The files move to the first such system.

    Returns:
        A note on each system.
    """
    for leftover in folder.rglob("nersery-*.tmp"):  # left by a kill while `io.write` ran
        leftover.unlink()
    if not names:
        return []
    recipe = read_job_record(folder / "run.json", "recipe")["recipe"]
    systems = {system["name"]: system for system in recipe["systems"]}
    for name in names:
        keys = (*MADE_FROM, "copies")
        same = [other for other in systems if all(systems[other][key] == systems[name][key] for key in keys)]
        for old_folder in sorted(folder.glob(f"seed-*/{glob.escape(name)}")):
            for heir in (old_folder.with_name(other) for other in same if old_folder.with_name(other).is_dir()):
                for file in (*old_folder.glob("generated.jsonl*"), old_folder / TEACHER_FILE):
                    if heir != old_folder and file.is_file() and not (heir / file.name).exists():
                        os.replace(file, heir / file.name)
            remove_folder(old_folder)
        (folder / "grid" / f"{name}.json").unlink(missing_ok=True)
    return [
        f'the system "{name}" had not finished and is no longer in the recipe: its files were removed' for name in names
    ]
