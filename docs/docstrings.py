"""Converts docstrings, types and values to Markdown, for the generated pages."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

PLAIN_TYPES: Mapping[Any, str] = {
    int: "integer", float: "number", str: "text", bool: "boolean", Any: "table",
}  # fmt: skip
Row = Sequence[str]
Sections = dict[str, str]
"""The sections of a docstring by title. The text before the first title has an empty title."""


def table(head: Row, rows: Iterable[Row]) -> str:
    """A Markdown table. Columns that are empty in all rows are left out."""
    rows = list(rows)
    kept = [at for at in range(len(head)) if any(row[at] for row in rows)]
    lines = [[head[at] for at in kept], ["---"] * len(kept), *([_cell(row[at]) for at in kept] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def code(value: Any) -> str:
    """A value as code, written as in a recipe. None is a dash."""
    return "–" if value is None else f"`{json.dumps(value, ensure_ascii=False)}`"


def markdown(text: str) -> str:
    """The text of a docstring as Markdown: double backticks become single backticks."""
    return re.sub(r"``(.+?)``", r"`\1`", text, flags=re.DOTALL)


def sections(documentation: str) -> Sections:
    """The Google sections of a docstring as Markdown, by title.

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
    """The description of each setting in the section Args, on one line.

    >>> arguments("rate: How often,\\n    in [0, 1].\\ntable: A file.")
    {'rate': 'How often, in [0, 1].', 'table': 'A file.'}
    """
    entries = re.split(r"^(\w+): ", text, flags=re.MULTILINE)[1:]
    return {name: " ".join(meaning.split()) for name, meaning in zip(entries[::2], entries[1::2], strict=True)}


def type_text(hint: Any) -> str:
    """A setting's type in words. None is left out, because the default shows that a setting is optional.

    >>> type_text(int | None), type_text(Literal["a", "b"]), type_text(dict[str, str]), type_text(list[str] | None)
    ('integer', '`"a"` or `"b"`', 'table of text', 'list of text')
    """
    if choices := choices_of(hint):
        *others, last = map(code, choices)
        return f"{', '.join(others)} or {last}" if others else last
    if get_origin(hint) in (dict, list, tuple):
        kind = "table" if get_origin(hint) is dict else "list"
        content = next(iter(get_args(hint))) if get_origin(hint) is tuple else get_args(hint)[-1]
        number = "s" if content in (int, float) else ""
        return kind if content is Any else f"{kind} of {type_text(content)}{number}"
    members = [member for member in get_args(hint) if member is not NoneType]
    return " or ".join(map(type_text, members)) if members else PLAIN_TYPES.get(hint, str(hint))


def choices_of(hint: Any) -> list[Any]:
    """All values that a setting may have, if its type lists them, including literals within unions; else empty."""
    if get_origin(hint) is Literal:
        return [*get_args(hint)]
    members = [member for member in get_args(hint) if member is not NoneType]
    if get_origin(hint) not in (Union, UnionType) or not all(map(choices_of, members)):
        return []
    return [choice for member in members for choice in choices_of(member)]
