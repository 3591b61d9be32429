"""The documentation of methods, and their settings with type and default."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
from importlib.util import find_spec
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from nersery.core.registry import get, package_of
from nersery.core.settings.typed_settings import default_of, setting_fields


def summary(kind: str, name: str) -> str:
    """The first line of a method's documentation.

    For nersery's own methods, it is parsed from their files, because importing them all takes seconds.
    """
    spec = find_spec(f"{package_of(kind)}.{name}")
    if spec is None or spec.origin is None:  # a method of another package
        return (inspect.getdoc(get(kind, name)) or "").split("\n", 1)[0]
    classes = (part for part in ast.parse(Path(spec.origin).read_bytes()).body if isinstance(part, ast.ClassDef))
    method = next(cls for cls in classes if cls.name[0] != "_")
    return (ast.get_docstring(method) or "").split("\n", 1)[0]


def documentation(cls: type[Any]) -> str:
    """The docstring of a method, with the settings that it inherits at the end of its ``Args:``."""
    start, heading, rest = (inspect.getdoc(cls) or "").partition("Args:\n")
    settings, gap, end = rest.partition("\n\n")
    for base in filter(dataclasses.is_dataclass, cls.__mro__[1:] if heading else ()):
        entries = (inspect.getdoc(base) or "").partition("Args:\n")[2].partition("\n\n")[0]
        for entry in re.split(r"\n(?=    \w+: )", entries):
            if entry and not re.search(rf"^{entry.partition(':')[0]}: ", settings, re.M):  # unless it has its own text
                settings += "\n" + entry
    return start + heading + settings + gap + end


def describe(kind: str, name: str) -> dict[str, Any]:
    """A method's documentation and its settings with type and default, as JSON values."""
    cls = get(kind, name)
    hints = get_type_hints(cls)
    settings = {
        setting.name: {"type": type_text(hints[setting.name]), "default": default_of(setting)}
        for setting in setting_fields(cls)
    }
    return {"kind": kind, "name": name, "documentation": documentation(cls), "settings": settings}


def type_text(hint: Any) -> str:
    """A type as written in Python, with literal choices spelled out.

    >>> type_text(Literal["linear", "crf"]), type_text(int | None), type_text(str)
    ('"linear" | "crf"', 'int | None', 'str')
    """
    if get_origin(hint) is Literal:
        return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return " | ".join(map(type_text, get_args(hint)))
    if hint is NoneType:
        return "None"
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)
