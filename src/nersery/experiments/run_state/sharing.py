"""Reuse of generated sentences that another seed or system has already made."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from nersery.annotate.base import Annotator
from nersery.core.system.files import copy_atomic, unfinished_path, write_atomic
from nersery.core.system.job_records import read_job_record
from nersery.experiments.recipe import Recipe
from nersery.experiments.run_state.fingerprint import split_hashes
from nersery.experiments.run_state.run_folder import RunFolder
from nersery.experiments.systems import System
from nersery.io.jsonl import rejects_of


def are_labels_shared(system: System) -> bool:
    """Whether a system labels raw text, and its labels do not depend on the seed."""
    if system.method is None or not system.labels_raw_text:
        return False
    method = system.method.create()
    return isinstance(method, Annotator) and not method.learns


def take_over_labels(run: RunFolder, seed: int, system: System) -> bool:
    """Copy the labels of raw text of another seed or size, if they depend on neither. Returns whether there are any."""
    if not are_labels_shared(system):
        return False
    others = (part.generated(other, system) for part in _with_equal_raw_text(run) for other in part.recipe.seeds)
    return _copy_first(others, run.generated(seed, system), rejects_of)


def _copy_first(others: Iterable[Path], path: Path, *companions: Callable[[Path], Path]) -> bool:
    """Copy the first of the files that exists, and its companions. Returns whether there was one."""
    source = next((other for other in others if other.exists()), None)
    if source is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        for companion in companions:
            copy_atomic(companion(source), companion(path))
        shutil.rmtree(unfinished_path(path), ignore_errors=True)  # left by a job that stopped before the other ended
        copy_atomic(source, path)  # last, because it marks the stage as finished
    return source is not None


def _with_equal_raw_text(run: RunFolder) -> Iterator[RunFolder]:
    """The run, and those of its sweep that read the same raw text."""
    yield run
    if not run.is_part:
        return
    raw = split_hashes(run.recipe, "raw")
    for record in sorted(run.folder.parent.glob("*/run.json")):
        if read_job_record(record, "inputs")["inputs"].get("raw") == raw:
            yield replace(run, folder=record.parent)


def take_over_selection(run: RunFolder, seed: int, system: System, number: int) -> bool:
    """Copy what a selector kept in another system with the same first selectors. Returns whether there was one.

    Args:
        number: Number of the selector, from 1.
    """
    name = selected_name(system, number)
    same = [other for other in run.recipe.systems if other.selects_the_same_as(system, number)]
    others = (run.path(seed, other, name) for other in same)
    return _copy_first(others, run.path(seed, system, name), history_of, rejects_of)


def selected_name(system: System, number: int) -> str:
    """The name of the file with what a system's selector kept."""
    return f"{number}-{system.select[number - 1].method}.jsonl"


def history_of(selected: Path) -> Path:
    """The path of a selector's history, next to the file with what it kept."""
    return selected.with_suffix(".history.json")


def with_more_copies(recipe: Recipe, system: System) -> System | None:
    """The system with the most copies of the same sentences; None if no system has more than the given one."""
    same = [other for other in recipe.systems if other.makes_more_copies_than(system)]
    return max(same, key=lambda other: other.copies, default=None)


def take_first_copies(made: Path, path: Path, method: str, copies: int) -> bool:
    """Take the first copies of each sentence from a file with more. Returns whether each line names its copy.

    An item's randomness depends on its copy alone, so a job with fewer copies would write the same lines.

    Args:
        method: In the ids of the new sentences, see `nersery.augment.base.child_id`.
    """
    copy_of = re.compile(rf"~{re.escape(method)}-(\d+)$")  # a parent may itself be a copy, of another method
    kept_lines: dict[Path, list[str]] = {}
    for source, target in ((rejects_of(made), rejects_of(path)), (made, path)):
        pairs = [(line, copy_of.search(str(json.loads(line).get("id", "")))) for line in _lines(source)]
        if not all(number for _, number in pairs):
            return False
        kept_lines[target] = [line for line, number in pairs if number and int(number[1]) <= copies]
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(unfinished_path(path), ignore_errors=True)
    for target, lines in kept_lines.items():  # the sentences last, because they mark the stage as finished
        write_atomic(target, "".join(lines))
    return True


def _lines(path: Path) -> list[str]:
    """The lines of a JSONL file, if it exists. Only line feeds end them: words may contain U+2028 and the like."""
    return re.findall(".*\n", path.read_bytes().decode() if path.exists() else "")
