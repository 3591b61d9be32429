"""Generates src/nersery/__init__.pyi: each function of the library once per method, with the settings of the method.

This lets editors complete the settings. The stub is never executed. It also accepts other names and settings, because
methods of other packages may have them.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import nersery
from nersery.core import registry
from nersery.core.settings import descriptions, typed_settings
from nersery.pipeline.stage_options import JobOptions

HEADER = '''"""{summary}"""
# Written by docs/generate.py from the methods and their settings. Change these, then run: make docs
# ruff: noqa

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

from nersery.core.alignments import Alignment as Alignment
from nersery.core.outcome import Reject, Result, Tally
from nersery.core.sentence import Corpus as Corpus, Entity as Entity, Origin as Origin, Sentence as Sentence
from nersery.core.training_context import Training
from nersery.core.version import __version__ as __version__
from nersery.crosslingual.parallel_corpus.bitext import PairedBy
from nersery.evaluate.scores import evaluate as evaluate
from nersery.io.reading import Sentences
from nersery.taggers.base import Tagger
'''
FUNCTIONS: Mapping[str, tuple[str, str, str]] = {
    "augment": ("augment", "method", "augment.base"),
    "annotate": ("annotate", "method", "annotate.base"),
    "select": ("select", "method", "select.base"),
    "align": ("align", "method", "crosslingual.aligners.base"),
    "train": ("tagger", "method", "taggers.base"),
}
"""For each function that takes a method: the kind of the method, the parameter, and the module."""
ERRORS = "nersery.core.errors"
INTERNAL = ("training",)
"""Parameters that only nersery itself uses."""
OTHER, CLASS, OBJECT = "", "class", "*"
"""Used in place of a method's name: a method of another package, a class (if it is returned), and an object."""


def stub() -> str:
    """The text of the file."""
    parts = [HEADER.format(summary=(nersery.__doc__ or "").strip())]
    plain = {name: module for name, module in vars(nersery)["_FUNCTIONS"].items() if name not in FUNCTIONS}
    errors = [name for name, value in vars(nersery).items() if isinstance(value, type) and value.__module__ == ERRORS]
    imports = [f"from {ERRORS} import {name} as {name}" for name in errors]
    imports += [f"from {module} import {name} as {name}" for name, module in plain.items()]
    for name, (kind, parameter, module) in FUNCTIONS.items():
        base = registry.KINDS[kind]
        imports.append(f"from nersery.{module} import {base}")
        function = getattr(__import__(f"nersery.{module}", fromlist=[name]), name)
        own = [method for method in registry.names(kind) if _is_own(kind, method)]
        imports += [
            f"from {registry.package_of(kind)}.{method} import {registry.get(kind, method).__name__}" for method in own
        ]
        parts += _overloads(name, function, parameter, kind, own)
    parts[0] += "\n".join(sorted(set(imports) - {"from nersery.taggers.base import Tagger"})) + "\n"
    parts[0] += '\n_Tagger = TypeVar("_Tagger", bound=Tagger)\n'
    listed = ", ".join(f'"{name}"' for name in nersery.__all__)
    return "\n".join([*parts, f"__all__ = [{listed}]", ""])


def _is_own(kind: str, method: str) -> bool:
    return registry.get(kind, method).__module__.startswith("nersery.")


def _overloads(name: str, function: Callable[..., Any], parameter: str, kind: str, own: Sequence[str]) -> Iterator[str]:
    """An overload of the function for each method, then for methods of other packages and for objects."""
    parameters = inspect.signature(function).parameters.values()
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "output"]
    job = [] if kind == "tagger" else [*_job_options()]
    taken = {p.name for p in named} | {text.partition(":")[0] for text in job}
    base = registry.KINDS[kind]
    of_class = [CLASS] if kind == "tagger" else []
    for method in [*own, OTHER, *of_class, OBJECT]:
        made = chosen = "_Tagger" if of_class else base
        settings, others, summary = [*job], named, "..."
        if method in own:
            made = registry.get(kind, method).__name__
            chosen, settings = f'Literal["{method}"] | type[{made}]', [*_settings(kind, method, taken), *job]
            others = [p for p in named if p.name not in INTERNAL]
            summary = f'"""{descriptions.summary(kind, method)}"""'
        elif method == CLASS:
            chosen, settings = f"type[{made}]", ["**settings: Any"]
        elif method == OTHER:
            chosen, settings = "str" if of_class else f"str | type[{base}]", [*job, "**settings: Any"]
            made = base
        chosen += " = ..." if method == registry.DEFAULTS.get(kind) else ""
        for output, result in _results(name, made):
            first = [f"{p.name}: {chosen}" if p.name == parameter else _parameter(p) for p in positional]
            listed = ", ".join([*first, "*", output, *map(_parameter, others), *settings])
            yield f"@overload\ndef {name}({listed}) -> {result}: {summary}"


def _results(name: str, method: str) -> Sequence[tuple[str, str]]:
    """The forms of the parameter ``output``, each with the type of the result. A training returns the method."""
    if name == "train":
        return [("output: str | Path | None = None", method)]
    result = "list[Alignment | Reject]" if name == "align" else "Result"
    return [("output: None = None", result), ("output: str | Path", "Tally")]


def _parameter(parameter: inspect.Parameter) -> str:
    default = "" if parameter.default is parameter.empty else f" = {_literal(parameter.default)}"
    return f"{parameter.name}: {parameter.annotation}{default}"


def _job_options() -> Iterator[str]:
    """The options of jobs as parameters."""
    hints = get_type_hints(JobOptions, include_extras=True)
    for field in dataclasses.fields(JobOptions):
        yield f"{field.name}: {_type(hints[field.name])} = {_literal(field.default)}"


def _settings(kind: str, method: str, taken: Collection[str]) -> Iterator[str]:
    """The settings of a method as parameters."""
    cls = registry.get(kind, method)
    hints = get_type_hints(cls, include_extras=True)
    for setting in typed_settings.setting_fields(cls):
        if setting.name not in taken:
            type_ = _type(hints[setting.name])
            is_required = setting.default is setting.default_factory is dataclasses.MISSING
            type_ += " | Tagger" if setting.name == "tagger" and kind != "tagger" else ""
            yield f"{setting.name}: {type_}" + ("" if is_required else f" = {_literal(setting.default)}")


def _type(hint: Any) -> str:
    """A type as source code. Names of files and models may also be paths.

    >>> _type(int | None), _type(Literal["a"]), _type(dict[str, list[str]])
    ('int | None', 'Literal["a"]', 'Mapping[str, Sequence[str]]')
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return "str | Path" if hint in (typed_settings.FileName, typed_settings.ModelName) else _type(inner[0])
    if origin is Literal:
        return (
            "Literal[" + ", ".join(f'"{choice}"' if isinstance(choice, str) else str(choice) for choice in inner) + "]"
        )
    if origin in (Union, UnionType):
        return " | ".join(map(_type, inner))
    if hint is Any or hint is NoneType:
        return "Any" if hint is Any else "None"
    if isinstance(origin, type):
        if issubclass(origin, Mapping):
            return f"Mapping[{', '.join(map(_type, inner))}]"
        return f"Sequence[{_type(inner[0])}]"
    return str(hint.__name__)


def _literal(value: Any) -> str:
    return repr(value) if isinstance(value, str | int | float | NoneType) else "()" if value == () else "..."
