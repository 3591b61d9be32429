"""Systems that an earlier recipe of a run had and has not finished: their files are removed."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from nersery.core.files import remove_folder
from nersery.experiments.run_state.teachers import TEACHER_FILE
from nersery.experiments.systems import MADE_FROM
from nersery.select.reviewed import CHECKED


def has_results(folder: Path, system: str) -> bool:
    """Whether a run, or one of a sweep, has results of a system, or what people have decided about its sentences."""
    paths = [f"seed-*/{glob.escape(system)}/{name}" for name in ("result.json", f"*{CHECKED}*")]
    return any(chain(*(folder.glob(path) for path in paths), *(folder.glob(f"*/{path}") for path in paths)))


def remove_abandoned(folder: Path, names: Sequence[str]) -> list[str]:
    """Remove the files of unfinished systems, so that no later system of that name takes them for its own.

    Other systems with the same method may share the generated sentences. The files move to the first such system.

    Returns:
        A note on each.
    """
    for leftover in folder.rglob("nersery-*.tmp"):  # a kill while `io.write` ran
        leftover.unlink()
    if not names:
        return []
    recipe = json.loads((folder / "run.json").read_text("utf-8"))["recipe"]
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
