"""Finds methods by name: each file in the folder of a kind is a method, and so is each third-party entry point.

The file name is the method's name. Its settings are the fields of the public dataclass in the file that implements the
kind. Listing names imports nothing, so ``nersery --help`` stays fast.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import math
import pkgutil
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from nersery.core.errors import MissingResourceError, SettingsError, UnfittedError, did_you_mean
from nersery.core.ranges import range_issues

_EXPECTED = {
    "dict_type": 'expected a table, e.g. {{ name = "text" }}',
    "list_type": 'expected a list, e.g. ["text"]',
    "tuple_type": 'expected a list, e.g. ["text"]',
    "bool_type": "expected true or false",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "string_type": "expected a string",
    "literal_error": "expected {expected}",
    "greater_than_equal": "expected {ge} or more",
    "less_than_equal": "expected at most {le}",
    "less_than": "expected less than {lt}",
    "value_error": "{error}",
    "missing": "{place} is missing",
    "unexpected_keyword_argument": "there is no setting {place}",
}
"""By the type of a pydantic error, what says more to a user of TOML than its own message."""
KINDS: Mapping[str, str] = {
    "augment": "Augmenter",
    "annotate": "Annotator",
    "align": "Aligner",
    "select": "Selector",
    "tagger": "Tagger",
}
"""Each kind of plug-in, and the base class in the ``base.py`` of its package."""
PACKAGES = {"align": "crosslingual.aligners", "tagger": "taggers"}
"""The package of a kind, where it is not called like the kind."""

FileName = Annotated[str, "file"]
"""The type of a setting that names a file: in a recipe a relative name starts from the recipe's folder."""
ModelName = Annotated[str, "model"]
"""The type of a setting that names a model: a folder, in a recipe one that is there from its folder on, or a name."""
Precision = Literal["auto", "bf16", "fp32"]
"""The type of a setting that says in what numbers a model computes; ``auto`` is bf16 if the processor supports it."""
BUNDLED = ("bundled", "bundled-ner", "bundled-multilingual", "bundled-multilingual-ner")
"""Names of the bundled models; they never mean a folder."""

DEFAULTS = {"align": "statistical", "tagger": "transformer"}
"""The method of a kind where none is named."""
KINDS_WITHIN = {"aligner": "align", "tagger": "tagger", "teacher": "tagger"}
"""Settings that are the ``method`` of another kind and its settings."""
MEMBERS = "members"
"""The setting with a table of aligners, each like one of `KINDS_WITHIN`; its name is the method unless one is given."""


def names(kind: str) -> tuple[str, ...]:
    """The names of all methods of a kind, sorted.

    >>> "mention_replacement" in names("augment")
    True
    """
    return tuple(sorted({*_module_names(kind), *_entry_points(kind)}))


@cache
def _module_names(kind: str) -> tuple[str, ...]:
    package = importlib.import_module(package_of(kind))
    modules = pkgutil.iter_modules(package.__path__)
    return tuple(module.name for module in modules if not module.ispkg and module.name != "base")


def package_of(kind: str) -> str:
    """The package whose modules are the methods of a kind."""
    return f"nersery.{PACKAGES.get(kind, kind)}"


_installed = cache(metadata.entry_points)
"""All entry points, of every group: finding them reads a file of each installed package."""


def entry_points(group: str) -> EntryPoints:
    """The entry points of a group."""
    return _installed().select(group=group)


@cache
def _entry_points(kind: str) -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=f"nersery.{kind}")}


def get(kind: str, name: str) -> type[Any]:
    """The class of a method; a `SettingsError` if there is none, or it cannot be loaded."""
    base = getattr(importlib.import_module(f"{package_of(kind)}.base"), KINDS[kind])
    if name in _module_names(kind):
        module = importlib.import_module(f"{package_of(kind)}.{name}")
        return next(
            member
            for _, member in inspect.getmembers(module, inspect.isclass)
            if issubclass(member, base) and member.__module__ == module.__name__ and not member.__name__.startswith("_")
        )
    if name in _entry_points(kind):
        return _loaded(kind, _entry_points(kind)[name], base)
    raise SettingsError(f'no {kind} method is called "{name}"; {did_you_mean(name, names(kind))}')


def _loaded(kind: str, point: EntryPoint, base: type[Any]) -> type[Any]:
    """The class of another package's method."""
    place = f'the {kind} method "{point.name}" of another package, {point.value},'
    try:
        loaded = point.load()
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"{place} cannot be loaded: {error}. Reinstall that package, or remove it") from error
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        raise SettingsError(f"{place} is {loaded!r:.60}, expected a class derived from {base.__name__}")
    return loaded


def summary(kind: str, name: str) -> str:
    """The first line of a method's documentation."""
    return (inspect.getdoc(get(kind, name)) or "").split("\n", 1)[0]


def name_of(method: object) -> str:
    """The name of a method's class or instance: its file's, or its entry point's, or else the name of the class."""
    cls = method if isinstance(method, type) else type(method)
    package, _, name = cls.__module__.rpartition(".")
    if package.startswith("nersery."):
        return name
    for kind in KINDS:
        for point in _entry_points(kind).values():
            if getattr(sys.modules.get(point.module), point.attr, None) is cls:
                return point.name
    return cls.__name__


def unfitted(method: object, use: str, first: str = "fit") -> UnfittedError:
    """The error of a method that is used before what must be called first."""
    return UnfittedError(f"{name_of(method)} is not fitted: call {first} before {use}")


def instance(kind: str, method: Any, settings: Mapping[str, Any]) -> Any:
    """A method by name or class and settings, or the given object itself; see `create`."""
    if isinstance(method, str):
        return create(kind, method, settings)
    base = getattr(importlib.import_module(f"{package_of(kind)}.base"), KINDS[kind])
    if not (issubclass(method, base) if isinstance(method, type) else isinstance(method, base)):
        raise SettingsError(
            f"the {kind} method is {method!r:.60}, expected the name, the class or an object of one of "
            f"{', '.join(names(kind))}"
        )
    if isinstance(method, type):
        return create(kind, method, settings)
    if settings:
        raise SettingsError(f"settings ({', '.join(settings)}) go with a method's name: a method object has its own")
    return method


def create(kind: str, method: str | type[Any], settings: Mapping[str, Any] | None = None) -> Any:
    """Build a method by name or class, and check all its settings.

    Raises:
        SettingsError: With all unknown settings and wrong values.

    >>> create("augment", "mention_replacement", {"rate": 0.3}).rate
    0.3
    """
    cls, name = (get(kind, method), method) if isinstance(method, str) else (method, name_of(method))
    return build(cls, name, settings or {})


def build(cls: type[Any], name: str, settings: Mapping[str, Any]) -> Any:
    """Build a dataclass; a `SettingsError` with all unknown settings and wrong values, under its name."""
    made, issues = _built(cls, name, settings)
    if issues:
        raise SettingsError("\n".join(issues))
    return made


def create_within(setting: str, table: Mapping[str, Any]) -> Any:
    """Build the method that one of `KINDS_WITHIN` holds: its ``method``, or the default, and the settings of that."""
    kind = KINDS_WITHIN[setting]
    return create(kind, table.get("method", DEFAULTS[kind]), {k: v for k, v in table.items() if k != "method"})


def check(kind: str, name: str, settings: Mapping[str, Any]) -> list[str]:
    """All problems of a method's settings, one line each.

    Values out of range are reported only if all settings exist and have the right types.
    """
    try:
        return _built(get(kind, name), name, settings)[1]
    except (SettingsError, MissingResourceError) as error:
        return [str(error)]


def _built(cls: type[Any], name: str, settings: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """A method, or None with what is wrong with its settings."""
    values, issues = validated(cls, name, settings)
    unknown = settings.keys() - {field.name for field in dataclasses.fields(cls) if field.init}
    if len(issues) > len(unknown):  # without a setting that was refused, the method could complain of its absence
        return None, issues
    try:
        return cls(**values), issues
    except SettingsError as error:
        return None, [*issues, str(error)]


def validated(cls: type[Any], name: str, settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The settings of a dataclass, converted to the types of its fields, and their problems.

    Args:
        name: Name of the dataclass in messages.
    """
    values, issues = typed(cls, name, settings)
    missing = [field.name for field in dataclasses.fields(cls) if _is_required(field) and field.name not in settings]
    return values, [*issues, *(f'{name} needs the setting "{key}"' for key in missing)]


def typed(cls: type[Any], name: str, settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """As `validated`, without reporting missing settings.

    Args:
        name: If empty, messages name the settings alone.
    """
    from pydantic import ValidationError

    known = [field.name for field in dataclasses.fields(cls) if field.init]
    prefix = f"{name}." if name else ""
    values: dict[str, Any] = {}
    issues = []
    for key, value in settings.items():
        if key not in known:
            issues.append(f'{name} has no setting "{key}"; {did_you_mean(key, known)}')
            continue
        try:
            strict = True if isinstance(value, bool | str) else None  # lax otherwise, but true and "0.5" are no numbers
            values[key] = _validator(cls, key).validate_python(value, strict=strict)
        except ValidationError as error:
            messages = dict.fromkeys(map(_message, error.errors()))
            issues.append(f"{prefix}{key} is {value!r:.200}: {'; or '.join(messages)}")
            continue
        if not _is_finite(values[key]):
            issues.append(f"{prefix}{key} is {value!r}: expected finite numbers")
            del values[key]
    return values, issues


# mypy takes classes for unhashable, because it finds the `__hash__` of their instances.
hints_of: Callable[[type[Any]], Mapping[str, Any]] = cache(partial(get_type_hints, include_extras=True))  # type: ignore[assignment]
"""The types of a dataclass's fields, by name; finding them takes longer than checking all values."""


def _new_validator(cls: type[Any], key: str) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(hints_of(cls)[key])


_validator: Callable[[type[Any], str], Any] = cache(_new_validator)  # type: ignore[assignment]


def check_values(method: object, name: str | None = None) -> None:
    """Raise `SettingsError` for values that are not among the choices, or not in the range, of their setting.

    Args:
        name: As for `typed`; None takes that of the method.
    """
    try:
        hints = hints_of(type(method))
    except NameError:  # of another package, whose types are only there for its type checker
        return
    settings = settings_of(method)
    chosen = {key: value for key, value in settings.items() if _has_choices(hints[key])}
    issues = typed(type(method), name_of(method) if name is None else name, chosen)[1]
    if issues := [*issues, *(issue for key in settings for issue in range_issues(key, hints[key], settings[key]))]:
        raise SettingsError("\n".join(issues))


def _has_choices(hint: Any) -> bool:
    return get_origin(hint) is Literal or any(map(_has_choices, get_args(hint)))


def _is_finite(value: Any) -> bool:
    """Whether a value, or all that is in a table or list, is no NaN and no infinity."""
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _message(detail: Mapping[str, Any]) -> str:
    """What one of pydantic's errors says to a user."""
    place = ".".join(str(key) for key in detail["loc"])
    if detail["type"] not in _EXPECTED:
        return str(detail["msg"])
    return _EXPECTED[detail["type"]].format(place=place, **detail.get("ctx", {}))


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.init and field.default is field.default_factory is dataclasses.MISSING


def defaults(kind: str, name: str) -> dict[str, Any]:
    """A method's settings where the user says nothing."""
    return {setting.name: _default(setting) for setting in setting_fields(get(kind, name))}


def setting_fields(cls: type[Any]) -> list[dataclasses.Field[Any]]:
    """The fields that are settings, in the constructor's order: a method's own first, shared keyword-only ones last."""
    return sorted((field for field in dataclasses.fields(cls) if field.init), key=lambda field: field.kw_only is True)


def settings_of(method: object) -> dict[str, Any]:
    """The settings of a method by name."""
    return {field.name: getattr(method, field.name) for field in setting_fields(type(method))}


def documentation(cls: type[Any]) -> str:
    """The docstring of a method, with the settings that it inherits at the end of its ``Args:``."""
    start, heading, rest = (inspect.getdoc(cls) or "").partition("Args:\n")
    own, gap, end = rest.partition("\n\n")
    for base in filter(dataclasses.is_dataclass, cls.__mro__[1:] if heading else ()):
        entries = (inspect.getdoc(base) or "").partition("Args:\n")[2].partition("\n\n")[0]
        for entry in re.split(r"\n(?=    \w+: )", entries):
            if entry and not re.search(rf"^{entry.partition(':')[0]}: ", own, re.M):  # it may describe a setting itself
                own += "\n" + entry
    return start + heading + own + gap + end


def describe(kind: str, name: str) -> dict[str, Any]:
    """A method's documentation and its settings with type and default, as JSON values."""
    cls = get(kind, name)
    hints = get_type_hints(cls)
    settings = {
        setting.name: {"type": type_text(hints[setting.name]), "default": _default(setting)}
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


def _default(setting: dataclasses.Field[Any]) -> Any:
    if setting.default_factory is not dataclasses.MISSING:
        return setting.default_factory()
    return None if setting.default is dataclasses.MISSING else setting.default
