"""Writes docs/{methods,recipes,commands,papers}.md and the types of the library out of the code.

Run ``make docs``. With ``--check`` nothing is written: the exit code is 1 when a page is out of step.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from itertools import chain
from pathlib import Path
from typing import Any, get_type_hints

import command_options
import library_stub
from docstrings import Sections, arguments, choices_of, code, sections, table, type_text
from papers import INTRODUCTION, papers_parts

import nersery
from nersery.augment.masked_lm.shared_settings import AdaptationSettings, FineTuningSettings
from nersery.core import registry
from nersery.experiments import recipe, sampling, sweep, systems
from nersery.experiments.recipe_file import data_files, table_methods
from nersery.io import repairs
from nersery.models.llm.endpoint import Endpoint
from nersery.models.model_settings import ModelSettings
from nersery.taggers.base import Tagger
from nersery.taggers.components.training_settings import TrainingSettings
from nersery.taggers.transformer import TransformerTagger

FOLDER = Path(__file__).parent
NOTICE = "<!-- Generated from docstrings by make docs -->"

KINDS: Mapping[str, tuple[str, str]] = {
    "augment": (
        "Augmentation",
        "Make labelled sentences from labelled ones. In a recipe: `[[systems]]` with `method = …`; alone: "
        "[`nersery augment`](commands.md#nersery-augment).",
    ),
    "annotate": (
        "Annotation",
        "Label raw text. In a recipe: `[[systems]]` with `method = …`, and the text as `raw` in `[data]`; alone: "
        "[`nersery annotate`](commands.md#nersery-annotate).",
    ),
    "align": (
        "Alignment",
        "Link the words of a sentence with those of its translation: "
        "[`nersery crosslingual align`](commands.md#nersery-crosslingual-align), or the setting `aligner` of "
        "[projected_labels](#projected_labels).",
    ),
    "select": (
        "Selection",
        "Score sentences, and reject those below the threshold. In a "
        "recipe: `select = […]`; alone: [`nersery select`](commands.md#nersery-select).",
    ),
    "tagger": (
        "Taggers",
        "Learn from labelled sentences, then label others. In a recipe: `[tagger]`; alone: "
        "[`nersery train`](commands.md#nersery-train).",
    ),
}


# --- Markdown -------------------------------------------------------------------------------------------------------


def page(title: str, introduction: str, parts: Iterable[str]) -> str:
    """A whole page."""
    return "\n\n".join([f"# {title}", NOTICE, introduction, *parts]) + "\n"


# --- methods.md -----------------------------------------------------------------------------------------------------


def methods_page() -> str:
    """Every method of nersery's own, then the other names that a recipe or command takes."""
    introduction = (
        "`nersery list METHOD` shows the same. A setting without a default shows its type: `text`, "
        "`integer`. *Departures* say where a method differs from its paper."
    )
    parts = [_contents()]
    shared = _shared_settings()
    for kind, (title, text) in KINDS.items():
        parts += [f"## {title}", text, *(_method(kind, name, shared) for name in _own_names(kind))]
    return page("Methods", introduction, [*parts, _shared_page(shared), _presets(), _protocols(), _repairs()])


def _own_names(kind: str) -> list[str]:
    return [name for name in registry.names(kind) if registry.get(kind, name).__module__.startswith("nersery.")]


def _contents() -> str:
    lines = []
    for kind, (title, _) in KINDS.items():
        links = ", ".join(f"[{name}](#{name})" for name in _own_names(kind))
        lines.append(f"- [{title}](#{title.lower()}): {links}")
    others = ("Shared settings", "Tagger presets", "Sampling protocols", "Repairs")
    return "\n".join([*lines, *(f"- [{title}](#{title.lower().replace(' ', '-')})" for title in others)])


Setting = tuple[str, str, str]
SETTING_COLUMNS = ("setting", "default", "meaning")
"""A setting without a default shows its type."""
SHARED_BY = 2
"""A setting that this many methods have, with one meaning, is described once."""


SETTING_GROUPS: Mapping[str, type[Any]] = {
    "Model settings": ModelSettings,
    "Adaptation settings": AdaptationSettings,
    "Fine-tuning settings": FineTuningSettings,
    "Endpoint settings": Endpoint,
    "Training settings": TrainingSettings,
    "transformer": TransformerTagger,
}
"""Classes from which several methods inherit settings."""


def _settings(cls: type[Any]) -> list[Setting]:
    """The settings of a method as rows of a table."""
    meanings = arguments(sections(registry.documentation(cls)).get("Args", ""))
    hints = get_type_hints(cls)
    return [
        (f"`{field.name}`", _default_of(field, hints[field.name], meanings[field.name], ""), meanings[field.name])
        for field in registry.setting_fields(cls)
        if field.name in meanings
    ]


def _inherited(cls: type[Any]) -> dict[str, list[Setting]]:
    """The groups of settings that a method inherits, by their titles."""
    groups = {title: group for title, group in SETTING_GROUPS.items() if issubclass(cls, group) and cls is not group}
    return {title: _settings(group) for title, group in groups.items()}


def _default_or_type(hint: Any, default: Any, meaning: str) -> str:
    """A default, which shows its type too; without one the type, and the choices that the meaning does not name."""
    choices = [choice for choice in choices_of(hint) if choice]
    named = all(f"`{choice}`" in meaning for choice in choices)
    type_ = "text" if choices and named else type_text(hint)
    if default is None:
        return type_
    return code(default) if named else f"{code(default)}: {type_}"


def _shared_settings() -> list[Setting]:
    """Settings that several methods have; those whose default differs show all defaults."""
    classes = [registry.get(kind, name) for kind in KINDS for name in _own_names(kind)]
    rows = [row for cls in classes for row in _settings(cls) if row not in chain(*_inherited(cls).values())]
    counts = Counter(_without_default(row) for row in rows)
    defaults: dict[Setting, dict[str, None]] = {}
    for row in rows:
        defaults.setdefault(_without_default(row), {})[row[1]] = None
    shared = sorted(row for row, count in counts.items() if count >= SHARED_BY)
    return [(name, ", ".join(defaults[name, "", text]), text) for name, _, text in shared]


def _shared_page(shared: Sequence[Setting]) -> str:
    """The section on shared settings: those of no group, then each group."""
    groups = {title: _settings(group) for title, group in SETTING_GROUPS.items() if not issubclass(group, Tagger)}
    grouped = {_without_default(row) for rows in groups.values() for row in rows}
    rest = [row for row in shared if _without_default(row) not in grouped]
    parts = ["## Shared settings", table(SETTING_COLUMNS, rest)]
    return "\n\n".join([*parts, *(f"### {title}\n\n{table(SETTING_COLUMNS, rows)}" for title, rows in groups.items())])


def _without_default(row: Setting) -> Setting:
    return row[0], "", row[2]


def _method(kind: str, name: str, shared: Sequence[Setting]) -> str:
    cls = registry.get(kind, name)
    parts = sections(registry.documentation(cls))
    parts.pop("Args", "")
    defaults = {_without_default(row): row[1] for row in shared}
    groups = _inherited(cls)
    of_groups = [*chain(*groups.values())]
    defaults |= {_without_default(row): row[1] for row in of_groups}
    own = [row for row in _settings(cls) if _without_default(row) not in defaults]
    names = [
        row[0] if row[1] == defaults[_without_default(row)] else f"{row[0]} ({row[1]})"
        for row in _settings(cls)
        if row not in own and row not in of_groups
    ]
    links = [f"[{title.lower().removesuffix(' settings')}](#{title.lower().replace(' ', '-')})" for title in groups]
    others = [f"[Shared](#shared-settings): {', '.join([*names, *links])}."] if names or links else []
    tables = [table(SETTING_COLUMNS, own)] if own else []
    return "\n\n".join([f"### {name}", parts.pop(""), *tables, *others, *_titled(parts)])


def _titled(parts: Sections) -> list[str]:
    return [f"**{title}**\n\n{text}" if "- " in text[:2] else f"**{title}:** {text}" for title, text in parts.items()]


def _presets() -> str:
    rows = []
    for name, preset in sorted(table_methods.presets().items()):
        settings = ", ".join(f"`{key} = {json.dumps(value)}`" for key, value in preset.items() if key != "description")
        rows.append((f"`{name}`", preset["description"], settings))
    introduction = (
        "The papers' settings of their taggers: `preset = …` under `[tagger]`, or "
        "`nersery train --preset`. Settings beside a preset win, so remove the demo's `model` and `steps`. Most "
        "presets need a GPU."
    )
    return f"## Tagger presets\n\n{introduction}\n\n{table(('preset', 'of', 'settings'), rows)}"


def _protocols() -> str:
    parts = ["## Sampling protocols", "Ways to draw a small sample: `protocol = …` under `[sample]`, or `--protocol`."]
    for name, protocol in sorted(sampling.PROTOCOLS.items()):
        text = sections(inspect.getdoc(protocol) or "")
        parts += [f"### {name}", text.pop(""), *_titled({key: text[key] for key in text if key != "Raises"})]
    return "\n\n".join(parts)


def _repairs() -> str:
    introduction = (
        "Repairs of broken files, applied only if named (`--repair NAME`, or `repair = […]` under `[data]`) and "
        "counted. They act in this order."
    )
    rows = [(f"`{name}`", repair.summary) for name, repair in repairs.REPAIRS.items()]
    return f"## Repairs\n\n{introduction}\n\n{table(('repair', 'what it does'), rows)}"


# --- recipes.md -----------------------------------------------------------------------------------------------------

SECTIONS: Sequence[tuple[str, type[Any], Sequence[str], str]] = (
    ("At the top", recipe.Recipe, ("name", "description", "paper", "seeds", "keep_taggers"), ""),
    (
        "`[data]`",
        data_files.DataSettings,
        (),
        "Paths are relative to the recipe. `example:NAME` is a file that comes with nersery.",
    ),
    ("`[sample]`", recipe.SampleSettings, (), "Simulates a small data set."),
    ("`[evaluate]`", recipe.EvaluateSettings, (), ""),
    (
        "`[sweep]`",
        sweep.SweepSettings,
        ("sizes", "languages", "settings", "score"),
        "A table over [sizes, languages and settings](how-to.md#vary-sizes-languages-and-settings).",
    ),
    (
        "`[[systems]]`",
        systems.System,
        systems.OWN_KEYS,
        "One table per system. `method` is an [augmenter](methods.md#augmentation) or an "
        "[annotator](methods.md#annotation), `select` a list of [selectors](methods.md#selection), such as "
        '`"duplicates"` or `{ method = "agreement", threshold = 0.8 }`. At the top of the recipe, `select` applies to '
        "every system without its own. All other keys are settings of the method.",
    ),
)
"""Title, class, its keys that a recipe may say (all when empty), and an introduction."""
IN_A_RECIPE: Mapping[str, str] = {"method": "text", "select": "list of text or tables"}
"""Types of keys that become more than what the file says."""
UNSAID: Mapping[tuple[type[Any], str], str] = {(systems.System, "name"): "the method's"}
"""What a recipe need not say, though the class must be told."""


def recipes_page() -> str:
    """Every key of a recipe."""
    introduction = (
        "A recipe is a TOML file for [`nersery run`](commands.md#nersery-run), checked as a whole before anything "
        "runs. `nersery list recipes` shows those that you can copy."
    )
    tagger = (
        "`method` is a [tagger](methods.md#taggers), by default `transformer`. `preset` uses "
        "[a paper's settings](methods.md#tagger-presets) for keys that you leave out. Other keys are settings of "
        "the tagger. `[tagger.grid]` [tunes settings on dev](how-to.md#tune-settings-on-dev)."
    )
    parts = [f"## {title}\n\n{text}\n\n{_keys(cls, keys)}" for title, cls, keys, text in SECTIONS]
    return page("Recipes", introduction, [*parts, f"## `[tagger]`\n\n{tagger}"]).replace("\n\n\n", "\n")


def _keys(cls: type[Any], keys: Sequence[str]) -> str:
    known = {one.name: one for one in fields(cls)}
    meanings = arguments(sections(inspect.getdoc(cls) or "")["Args"])
    hints = get_type_hints(cls)
    rows = [
        (f"`{key}`", UNSAID.get((cls, key)) or _default_of(known[key], hints[key], meanings[key]), meanings[key])
        for key in keys or known
    ]
    return table(("key", "default", "meaning"), rows)


def _default_of(field: Field[Any], hint: Any, meaning: str, required: str = ", required") -> str:
    if required and field.name in IN_A_RECIPE:
        return IN_A_RECIPE[field.name]
    if field.default_factory is not MISSING:
        return code(field.default_factory())
    return (
        f"{type_text(hint)}, required" if field.default is MISSING else _default_or_type(hint, field.default, meaning)
    )


def pages() -> dict[Path, str]:
    """The text of each generated page."""
    return {
        FOLDER / "methods.md": methods_page(),
        FOLDER / "recipes.md": recipes_page(),
        FOLDER / "commands.md": page("Commands", command_options.INTRODUCTION, command_options.commands_parts()),
        Path(nersery.__file__).with_suffix(".pyi"): library_stub.stub(),
        FOLDER / "papers.md": page("The papers' tables and figures", INTRODUCTION, papers_parts()),
    }


def stale() -> list[str]:
    """The names of the pages that do not say what the code says."""
    return [path.name for path, text in pages().items() if not path.exists() or path.read_text("utf-8") != text]


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or check them; the exit code."""
    if arguments not in ([], ["--check"]):
        print("usage: python docs/generate.py [--check]", file=sys.stderr)
        return 2
    if not arguments:
        for path, text in pages().items():
            path.write_text(text, "utf-8")
        return 0
    names = stale()
    for name in names:
        print(
            f"{'src/nersery' if name.endswith('.pyi') else 'docs'}/{name} is out of step with the code. Run: make docs",
            file=sys.stderr,
        )
    return int(bool(names))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
