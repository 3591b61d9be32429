"""Writes docs/methods.md and docs/commands.md out of the code, so that they say what the code does.

Run ``make docs``. With ``--check`` nothing is written: the exit code is 1 when a page is out of step.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from nersery import places, registry, repairs, sampling
from nersery.cli import with_commands

FOLDER = Path(__file__).parent
NOTICE = "<!-- Written by docs/generate.py. Change the docstrings instead, then run: make docs -->"
app = with_commands()

KINDS: Mapping[str, tuple[str, str]] = {
    "augment": (
        "Augmentation",
        "Make new labelled sentences out of labelled ones. In a recipe: `[[augment]]` with `method = …`; alone: "
        "[`nersery augment`](commands.md#nersery-augment).",
    ),
    "annotate": (
        "Annotation",
        "Label raw text. In a recipe: `[[augment]]` with `method = …`, and the text as `raw` in `[data]`; alone: "
        "[`nersery annotate`](commands.md#nersery-annotate).",
    ),
    "align": (
        "Alignment",
        "Say which words of a sentence and of its translation belong together: "
        "[`nersery align`](commands.md#nersery-align), or the setting `aligner` of "
        "[projected_labels](#projected_labels).",
    ),
    "select": (
        "Selection",
        "Say how good generated sentences are; those below the threshold are rejected, with their score. In a "
        "recipe: `select = […]`; alone: [`nersery select`](commands.md#nersery-select).",
    ),
    "tagger": (
        "Taggers",
        "Learn from labelled sentences, then label others. In a recipe: `[tagger]`; alone: "
        "[`nersery train`](commands.md#nersery-train).",
    ),
}
PLAIN_TYPES: Mapping[Any, str] = {int: "whole number", float: "number", str: "text", bool: "true or false"}
VALUES: Mapping[str, str] = {"int": "N", "float": "X", "Path": "FILE", "str": "TEXT"}
SHARED: Mapping[str, tuple[str, str]] = {
    "Reading": (
        "Reading options",
        "How the inputs are understood, for all commands that read corpora. In a recipe the same names stand under "
        "`[data]`, with underscores and without `--` (`--scheme-in` is `scheme`).",
    ),
    "Many rows": (
        "Options for many rows",
        "How the work is cut into shards and shared out; see [how to](how-to.md#work-on-millions-of-sentences).",
    ),
}
"""The panels of options that several commands share: title and introduction."""

Row = Sequence[str]
Sections = dict[str, str]
"""The parts of a docstring by their titles; what stands before the first title is called by an empty one."""


# --- Markdown -------------------------------------------------------------------------------------------------------


def table(head: Row, rows: Iterable[Row]) -> str:
    """A Markdown table; a column that is empty in all rows is left out."""
    rows = list(rows)
    kept = [at for at in range(len(head)) if any(row[at] for row in rows)]
    lines = [[head[at] for at in kept], ["---"] * len(kept), *([_cell(row[at]) for at in kept] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def code(value: Any) -> str:
    """A value as in a recipe; None is not set."""
    return "not set" if value is None else f"`{json.dumps(value, ensure_ascii=False)}`"


def markdown(text: str) -> str:
    """Text of a docstring as Markdown: double backticks become single ones."""
    return re.sub(r"``(.+?)``", r"`\1`", text, flags=re.DOTALL)


def page(title: str, introduction: str, parts: Iterable[str]) -> str:
    """A whole page."""
    return "\n\n".join([f"# {title}", NOTICE, introduction, *parts]) + "\n"


# --- methods.md -----------------------------------------------------------------------------------------------------


def methods_page() -> str:
    """Every method of nersery's own, then the other names that a recipe or command takes."""
    introduction = (
        "Every method that comes with nersery, as its own documentation describes it. "
        "`nersery list METHOD` shows the same in the terminal, methods of other packages included."
    )
    parts = [_contents()]
    for kind, (title, text) in KINDS.items():
        parts += [f"## {title}", text, *(_method(kind, name) for name in _own_names(kind))]
    return page("Methods", introduction, [*parts, _presets(), _protocols(), _repairs()])


def _own_names(kind: str) -> list[str]:
    return [name for name in registry.names(kind) if registry.get(kind, name).__module__.startswith("nersery.")]


def _contents() -> str:
    lines = []
    for kind, (title, _) in KINDS.items():
        links = ", ".join(f"[{name}](#{name})" for name in _own_names(kind))
        lines.append(f"- [{title}](#{title.lower()}): {links}")
    others = ("Tagger presets", "Sampling protocols", "Repairs")
    return "\n".join([*lines, *(f"- [{title}](#{title.lower().replace(' ', '-')})" for title in others)])


def _method(kind: str, name: str) -> str:
    description = registry.describe(kind, name)
    parts = sections(description["documentation"])
    meanings = arguments(parts.pop("Args", ""))
    hints = get_type_hints(registry.get(kind, name))
    rows = [
        (f"`{setting}`", type_text(hints[setting]), code(facts["default"]), meanings.get(setting, ""))
        for setting, facts in description["settings"].items()
    ]
    settings = table(("setting", "type", "default", "what it does"), rows)
    return "\n\n".join([f"### {name}", parts.pop(""), settings, *_titled(parts)])


def _titled(parts: Sections) -> list[str]:
    return [f"**{title}**\n\n{text}" if "- " in text[:2] else f"**{title}:** {text}" for title, text in parts.items()]


def sections(documentation: str) -> Sections:
    """A docstring as Markdown, by its Google sections.

    >>> sections("Does it.\\n\\nReference:\\n    A paper.")
    {'': 'Does it.', 'Reference': 'A paper.'}
    """
    title = ""
    lines: dict[str, list[str]] = {"": []}
    for line in documentation.split("\n"):
        if re.fullmatch(r"[A-Z][a-z]+:", line):
            title = line[:-1]
            lines[title] = []
        else:
            lines[title].append(line)
    return {title: markdown(textwrap.dedent("\n".join(text)).strip()) for title, text in lines.items()}


def arguments(text: str) -> dict[str, str]:
    """What the section Args says of each setting, on one line.

    >>> arguments("rate: How often,\\n    in [0, 1].\\ntable: A file.")
    {'rate': 'How often, in [0, 1].', 'table': 'A file.'}
    """
    entries = re.split(r"^(\w+): ", text, flags=re.MULTILINE)[1:]
    return {name: " ".join(meaning.split()) for name, meaning in zip(entries[::2], entries[1::2], strict=True)}


def type_text(hint: Any) -> str:
    """A setting's type in words; what may be left out says so by its default.

    >>> type_text(int | None), type_text(Literal["a", "b"]), type_text(dict[str, str]), type_text(list[str] | None)
    ('whole number', '`"a"` or `"b"`', 'table of text', 'list of text')
    """
    if choices := _choices(hint):
        *others, last = map(code, choices)
        return f"{', '.join(others)} or {last}" if others else last
    if get_origin(hint) in (dict, list, tuple):
        kind = "table" if get_origin(hint) is dict else "list"
        content = next(iter(get_args(hint))) if get_origin(hint) is tuple else get_args(hint)[-1]
        return kind if content is Any else f"{kind} of {type_text(content)}"
    members = [member for member in get_args(hint) if member is not NoneType]
    return " or ".join(map(type_text, members)) if members else PLAIN_TYPES.get(hint, str(hint))


def _choices(hint: Any) -> list[Any]:
    """The values that a setting may have, where all are named; a group of them may stand among others."""
    if get_origin(hint) is Literal:
        return [*get_args(hint)]
    members = [member for member in get_args(hint) if member is not NoneType]
    if get_origin(hint) not in (Union, UnionType) or not all(map(_choices, members)):
        return []
    return [choice for member in members for choice in _choices(member)]


def _presets() -> str:
    rows = []
    for name, preset in sorted(places.presets().items()):
        settings = ", ".join(f"`{key} = {json.dumps(value)}`" for key, value in preset.items() if key != "description")
        rows.append((f"`{name}`", preset["description"], settings))
    introduction = (
        "The papers' settings of their taggers: `preset = …` under `[tagger]`, or "
        "`nersery train --preset`. Settings beside a preset win."
    )
    return f"## Tagger presets\n\n{introduction}\n\n{table(('preset', 'of', 'settings'), rows)}"


def _protocols() -> str:
    parts = ["## Sampling protocols", "How a small sample is drawn: `protocol = …` under `[sample]`, or `--protocol`."]
    for name, protocol in sorted(sampling.PROTOCOLS.items()):
        text = sections(inspect.getdoc(protocol) or "")
        parts += [f"### {name}", text.pop(""), *_titled({key: text[key] for key in text if key != "Raises"})]
    return "\n\n".join(parts)


def _repairs() -> str:
    introduction = (
        "What can be done about broken files, by name only and counted: `--repair NAME`, or `repair = […]` under "
        "`[data]`. They act in this order, whatever the order of the names."
    )
    rows = [(f"`{name}`", repair.summary) for name, repair in repairs.REPAIRS.items()]
    return f"## Repairs\n\n{introduction}\n\n{table(('repair', 'what it does'), rows)}"


# --- commands.md ----------------------------------------------------------------------------------------------------


def commands_page() -> str:
    """Every command with its arguments, options and examples, and once the options of reading."""
    group: Any = typer.main.get_command(app)
    commands: dict[str, Any] = dict(sorted(group.commands.items()))
    introduction = (
        "`nersery COMMAND --help` shows the same in the terminal. Results go to standard output, progress and notes "
        "to standard error; the [exit codes](how-to.md#use-nersery-in-scripts) are made for scripts."
    )
    contents = "\n".join(
        f"- [`nersery {name}`](#nersery-{name}): {_summary(command)}" for name, command in commands.items()
    )
    parts = (_command(name, command) for name, command in commands.items())
    return page("Commands", introduction, [contents, *parts, *(_shared(panel, commands) for panel in SHARED)])


def _summary(command: Any) -> str:
    """The first paragraph of its help."""
    return str(command.help).split("\n\n", 1)[0]


def _shared(panel: str, commands: Mapping[str, Any]) -> str:
    """The options of a panel that several commands have."""
    title, text = SHARED[panel]
    options = {parameter.name: parameter for command in commands.values() for parameter in _panel(command, panel)}
    return f"## {title}\n\n{text}\n\n{_options(options.values())}"


def _panel(command: Any, panel: str | None) -> list[Any]:
    found = (parameter for parameter in command.params if getattr(parameter, "rich_help_panel", None) == panel)
    return [parameter for parameter in found if not getattr(parameter, "hidden", False)]


def _command(name: str, command: Any) -> str:
    own = _panel(command, None)
    positional = [parameter for parameter in own if not parameter.opts[0].startswith("-")]
    options = [parameter for parameter in own if parameter not in positional]
    rows = [(f"`{_metavar(parameter)}`", parameter.help) for parameter in positional]
    usage = " ".join(_metavar(p) if p.required else f"[{_metavar(p)}]" for p in positional)
    parts = [f"## nersery {name}", command.help, f"```text\nnersery {name} {usage} [OPTIONS]\n```"]
    parts += [table(("argument", "what it is"), rows), _options(options)]
    taken = [SHARED[panel][0] for panel in SHARED if _panel(command, panel)]
    if taken:
        links = (f"[{title[0].lower()}{title[1:]}](#{title.lower().replace(' ', '-')})" for title in taken)
        parts.append(f"It also takes the {' and the '.join(links)}.")
    return "\n\n".join([*parts, "```sh\n" + "\n".join(examples(command.epilog)) + "\n```"])


def examples(epilog: str | None) -> Iterator[str]:
    """The worked examples of a command's help."""
    return (line.strip() for line in (epilog or "").split("\n") if line.strip().startswith("nersery "))


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _options(parameters: Iterable[Any]) -> str:
    rows = [(_option(parameter), _default(parameter), parameter.help) for parameter in parameters]
    return table(("option", "default", "what it does"), rows)


def _option(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in parameter.opts)
    return names if parameter.is_flag else f"`{parameter.opts[0]} {parameter.metavar or _value(parameter)}`"


def _value(parameter: Any) -> str:
    """What to put behind an option."""
    annotation = parameter.type_descriptor.annotation
    if get_origin(annotation) is Literal:
        return "|".join(get_args(annotation))
    element = next(iter(get_args(annotation)), annotation)  # of an option that may be repeated
    return VALUES.get(element.__name__, "VALUE")


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    return "" if parameter.is_flag or parameter.default in (None, "") else f"`{parameter.default}`"


# --- writing, checking ----------------------------------------------------------------------------------------------


def pages() -> dict[Path, str]:
    """The text of each generated page."""
    return {FOLDER / "methods.md": methods_page(), FOLDER / "commands.md": commands_page()}


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
        print(f"docs/{name} is out of step with the code. Run: make docs", file=sys.stderr)
    return int(bool(names))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
