"""A finished run as Markdown, as JSON and as one self-contained HTML page.

The renderers read nothing but the report (what ``report.json`` holds) and no clock: same report, same bytes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nersery.core.files import write_atomic
from nersery.evaluate.error_analysis import CORRECT, KINDS
from nersery.report.escaping import html_template, markdown_template
from nersery.report.number_format import plural
from nersery.report.verdict import (
    baseline,
    holm,
    label,
    verdict,
)

GOLDEN_ANGLE = 137.508
"""Degrees between the hues of neighbouring types; keeps neighbours apart, however many types there are."""

_REPORT: Mapping[str, Any] = {
    "name": "report", "description": "", "nersery": "", "versions": {}, "command": "", "recipe": {},
    "seeds": (), "notes": (), "data": {}, "sample": None, "systems": (),
}  # fmt: skip
_SYSTEM: Mapping[str, Any] = {
    "name": "", "method": None, "select": (), "settings": {}, "precision": None, "recall": None, "f1": None,
    "per_type": {}, "per_language": {}, "train_sentences": (), "new_entities": (), "diversity": {},
    "errors": {}, "grid": None, "training": (), "self_training": (), "generation": None, "selection": (),
    "against_gold": None, "examples": (), "reject_examples": (),
}  # fmt: skip
_STAGE: Mapping[str, Any] = {"method": "", "read": 0, "written": 0, "rejected": 0, "reasons": {}, "history": {}}
_MISTAKE: Mapping[str, Any] = {
    "kind": "", "id": "", "words": (), "language": "", "gold": (), "predicted": (), "gold_entity": None,
    "predicted_entity": None,
}  # fmt: skip
_SPLIT: Mapping[str, Any] = {
    "path": "", "sha256": "", "sentences": None, "words": None, "entities": None, "types": {}, "languages": {},
}  # fmt: skip


def render_html(report: Mapping[str, Any]) -> str:
    """The report as one page that needs no network and runs no script."""
    return html_template("report.html.j2").render(_context(report))


def render_markdown(report: Mapping[str, Any]) -> str:
    """The report as Markdown (CommonMark with tables)."""
    text = markdown_template("report.md.j2").render(_context(report))
    return re.sub(r"\n{3,}", "\n\n", text)


def write_report(report: Mapping[str, Any], folder: Path) -> None:
    """Write ``report.json``, ``report.md`` and ``report.html`` into a folder that exists.

    JSON knows no NaN and no infinity (a diverged loss): both become null.
    """
    data = json.dumps(_plain(report), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    # A file name may hold bytes that are no text; their escape is what JSON wants, too.
    write_atomic(folder / "report.json", data.encode("utf-8", "backslashreplace").decode())
    write_atomic(folder / "report.md", render_markdown(report))
    write_atomic(folder / "report.html", render_html(report))


def _context(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the templates see: the report with every missing part filled in, and what follows from it."""
    plain = _visible(_plain(report))
    full = {**_REPORT, **_present({**plain, "recipe": None}), "recipe": plain.get("recipe") or {}}
    full["data"] = {name: {**_SPLIT, **split} for name, split in full["data"].items()}
    systems = full["systems"] = [_completed(system) for system in full["systems"]]
    tested = [system["against_gold"] for system in systems if "p" in (system["against_gold"] or {})]
    for comparison, corrected in zip(tested, holm([one["p"] for one in tested]), strict=True):
        comparison["holm"] = corrected
    types = _types(full)
    splits = full["data"].values()
    return {
        "report": full,
        "systems": systems,
        "reference": baseline(systems),
        "mistaken": [system for system in systems if system["mistakes"]],
        "mistake_kinds": (CORRECT, *KINDS),
        "mistake_meanings": KINDS,
        "self_trained": [
            {**system, "training": system["self_training"]} for system in systems if system["self_training"]
        ],
        "tuned": [system for system in systems if system["grid"]],
        "diverse": [system for system in systems if any(system["diversity"].values())],
        "verdict": verdict(systems, len(full["seeds"])),
        "types": types,
        "scored_types": [name for name in types if any(name in system["per_type"] for system in systems)],
        "languages": sorted({name for system in systems for name in system["per_language"]}),
        "files": list(_files(full["data"])),
        "data_types": [name for name in types if any(name in split["types"] for split in splits)],
        "hues": {name: round(20 + number * GOLDEN_ANGLE) % 360 for number, name in enumerate(types)},
        "comparisons": len(tested),
        "test_name": next((one["test"] for one in tested if one.get("test")), ""),
        "test_samples": next((one["samples"] for one in tested if one.get("samples")), None),
        "setting_tables": setting_tables(full["recipe"]),
    }


def _files(data: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The files of the splits by what they are called, each language's for itself."""
    for name, split in data.items():
        if split["languages"]:
            for language, own in split["languages"].items():
                file = {**_SPLIT, **own}
                yield f"{name} ({language}, {plural(file['sentences'] or 0, 'sentence')})", file
        else:
            yield name, split


def _completed(system: Mapping[str, Any]) -> dict[str, Any]:
    full = {**_SYSTEM, **system}
    full["label"] = label(full)
    first = [{**_STAGE, "method": full["method"], **full["generation"]}] if full["generation"] else []
    full["stages"] = first + [{**_STAGE, **stage} for stage in full["selection"]]
    full["mistakes"] = {type_: _counted(row) for type_, row in full["errors"].get("per_type", {}).items()}
    full["mistake_examples"] = [{**_MISTAKE, **one} for one in full["errors"].get("examples", ())]
    return full


def _counted(row: Mapping[str, int]) -> dict[str, int]:
    return {kind: row.get(kind, 0) for kind in (CORRECT, *KINDS)}


def _types(report: Mapping[str, Any]) -> list[str]:
    """All entity types that the report speaks of, sorted."""
    found = {name for split in report["data"].values() for name in split["types"]}
    for system in report["systems"]:
        found.update(system["per_type"], system["mistakes"])
        for one in system["mistake_examples"]:
            found.update(entity["type"] for entity in (*one["gold"], *one["predicted"]))
        for example in (*system["examples"], *system["reject_examples"]):
            for sentence in (example.get("parent"), example.get("child")):
                found.update(entity["type"] for entity in (sentence or {}).get("entities") or ())
    return sorted(found)


def _plain(value: Any) -> Any:
    """The same as JSON values only."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {0x7F: 0x2421}


def _visible(value: Any) -> Any:
    """The same with control characters as pictures and lone surrogates escaped: what a page can hold."""
    if isinstance(value, dict):
        return {_visible(key): _visible(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_visible(part) for part in value]
    if isinstance(value, str):
        return value.translate(_PICTURES).encode("utf-8", "backslashreplace").decode()
    return value


def _present(value: Any) -> Any:
    """The same without keys whose value is null: they are treated as missing."""
    if isinstance(value, dict):
        return {key: _present(part) for key, part in value.items() if part is not None}
    return [_present(part) for part in value] if isinstance(value, list) else value


def setting_tables(recipe: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """A recipe as titled tables of settings and values: one for each section, one for each part of a list.

    >>> setting_tables({"seeds": [0, 1], "tagger": {"crf": True, "optimizer": {"lr": 0.1}}})
    [('general', [('seeds', '0, 1')]), ('tagger', [('crf', 'true'), ('optimizer.lr', '0.1')])]
    """
    general: list[tuple[str, str]] = []
    tables: list[tuple[str, list[tuple[str, str]]]] = []
    for key, value in recipe.items():
        if isinstance(value, Mapping):
            tables.append((key, list(_settings(value))))
        elif isinstance(value, list) and value and all(isinstance(part, Mapping) for part in value):
            tables += [(_part_title(key, number, part), list(_settings(part))) for number, part in enumerate(value, 1)]
        else:
            general += _settings({key: value})
    return ([("general", general)] if general else []) + tables


def _part_title(key: str, number: int, part: Mapping[str, Any]) -> str:
    name = part.get("name") or part.get("method")
    return f"{key} {number}" + (f": {name}" if name else "")


def _settings(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, part in value.items():
        name = f"{prefix}{key}"
        if isinstance(part, Mapping) and part:
            yield from _settings(part, f"{name}.")
        elif isinstance(part, list) and any(isinstance(one, Mapping | list) for one in part):
            yield from _settings({str(number): one for number, one in enumerate(part, 1)}, f"{name}.")
        else:
            yield name, _setting(part)


def _setting(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, list | Mapping):
        return ", ".join(map(_setting, value)) or "none"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
