"""Check the settings of a method, or of any dataclass, against the types of its fields, and report all issues."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from nersery.core.errors import SettingsError, did_you_mean, shown

_EXPECTED = {
    "dict_type": 'expected a table, e.g. {{ name = "text" }}',
    "list_type": 'expected a list, e.g. ["a", "b"]',
    "tuple_type": 'expected a list, e.g. ["a", "b"]',
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_parsing_size": "expected a smaller whole number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "mapping_type": 'expected a table, e.g. {{ name = "text" }}',
    "string_type": "expected a string",
    "string_unicode": "expected a string without lone surrogates",
    "literal_error": "expected {expected}",
    "greater_than_equal": "expected {ge} or more",
    "less_than_equal": "expected at most {le}",
    "less_than": "expected less than {lt}",
    "value_error": "{error}",
    "missing": "{place} is missing",
    "unexpected_keyword_argument": "there is no setting {place}",
}
"""Messages by the type of a pydantic error. They are clearer to a user of TOML than those of pydantic."""
Function = TypeVar("Function", bound=Callable[..., Any])
FileName = Annotated[str, "file"]
"""The type of a setting that names a file. In a recipe, a relative name is relative to the recipe's folder."""
ModelName = Annotated[str, "model"]
"""The type of a setting that names a model, by name or as a folder, which may be relative to a recipe's folder."""
Precision = Literal["auto", "bf16", "fp32"]
"""The type of a setting for a model's numeric precision; ``auto`` is bf16 if the processor supports it."""
hidden = partial(dataclasses.field, init=False, repr=False, compare=False)
"""Declares a field of a method that is not a setting, such as what the method has learnt."""


def build(cls: type[Any], name: str, settings: Mapping[str, Any]) -> Any:
    """Build a dataclass, or raise `SettingsError` with all unknown settings and wrong values under ``name``."""
    built_object, issues = build_with_issues(cls, name, settings)
    if issues:
        raise SettingsError("\n".join(issues))
    return built_object


def build_with_issues(cls: type[Any], name: str, settings: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """The built dataclass or None, and the issues of its settings."""
    values, issues = validated(cls, name, settings)
    unknown = settings.keys() - {field.name for field in dataclasses.fields(cls) if field.init}
    if len(issues) > len(unknown):  # without a refused setting, the method could report that it is missing
        return None, issues
    try:
        return cls(**values), issues
    except SettingsError as error:
        return None, [*issues, str(error)]


def validated(cls: type[Any], name: str, settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The settings of a dataclass, converted to the types of its fields, and their issues.

    Args:
        name: Name of the dataclass in messages.
    """
    values, issues = validated_given(cls, name, settings)
    missing = [field.name for field in dataclasses.fields(cls) if _is_required(field) and field.name not in settings]
    return values, [*issues, *(f'{name} needs the setting "{key}"' for key in missing)]


def validated_given(cls: type[Any], name: str, settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Like `validated`, but do not report missing settings. A field that is a dataclass is a section of its own.

    Args:
        name: Name of the dataclass in messages; if empty, messages name only the settings.
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
        if section := _sections(cls)[key]:
            if not isinstance(value, Mapping):
                issues.append(f"{prefix}{key} is not a section [{prefix}{key}]")
                continue
            section_values, section_issues = validated(section, f"{prefix}{key}", value)
            issues += section_issues
            values |= {} if section_issues else {key: section(**section_values)}
            continue
        try:
            strict = True if isinstance(value, bool | str) else None  # lax otherwise, but true and "0.5" are no numbers
            values[key] = _validator(cls, key).validate_python(value, strict=strict)
        except ValidationError as error:
            messages = "; or ".join(dict.fromkeys(map(_message, error.errors())))
            plural = f"; for several, set {prefix}{key}s" if isinstance(value, list) and f"{key}s" in known else ""
            issues.append(f"{prefix}{key} is {shown(value, 200)}: {messages}{plural}")
            continue
        if not _is_finite(values[key]):
            issues.append(f"{prefix}{key} is {value!r}: expected finite numbers")
            del values[key]
    return values, issues


def _by_class(function: Function) -> Function:
    """`functools.cache` for classes. Mypy considers them unhashable, because it finds the `__hash__` of instances."""
    return cache(function)  # type: ignore[return-value]


@_by_class
def hints_of(cls: type[Any]) -> Mapping[str, Any]:
    """The types of a dataclass's fields by name, cached because finding them takes longer than checking all values."""
    return get_type_hints(cls, include_extras=True)


@_by_class
def _validator(cls: type[Any], key: str) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(hints_of(cls)[key])


def _section(hint: Any) -> type[Any] | None:
    """The dataclass of a setting that is a table of settings, or None for other settings."""
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return next((kind for kind in kinds if isinstance(kind, type) and dataclasses.is_dataclass(kind)), None)


@_by_class
def _sections(cls: type[Any]) -> Mapping[str, type[Any] | None]:
    return {key: _section(hint) for key, hint in hints_of(cls).items()}


def _has_choices(hint: Any) -> bool:
    """Whether a type, or a part of it, lists its values."""
    return get_origin(hint) is Literal or any(map(_has_choices, get_args(hint)))


@_by_class
def enumerated_settings(cls: type[Any]) -> frozenset[str]:
    """The settings of a dataclass that are booleans or have a fixed list of values."""
    return frozenset(key for key, hint in hints_of(cls).items() if hint is bool or _has_choices(hint))


def _is_finite(value: Any) -> bool:
    """Whether a value, including everything in a table or list, has no NaN and no infinity."""
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _message(detail: Mapping[str, Any]) -> str:
    """The message of a pydantic error for users."""
    setting = ".".join(str(key) for key in detail["loc"])
    if detail["type"] not in _EXPECTED:
        return str(detail["msg"])
    return _EXPECTED[detail["type"]].format(place=setting, **detail.get("ctx", {}))


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.init and field.default is field.default_factory is dataclasses.MISSING


def setting_fields(cls: type[Any]) -> list[dataclasses.Field[Any]]:
    """The fields that are settings, in the constructor's order: a method's own first, shared keyword-only ones last."""
    return sorted((field for field in dataclasses.fields(cls) if field.init), key=lambda field: field.kw_only is True)


def settings_of(method: object) -> dict[str, Any]:
    """The values of a method's settings by name."""
    return {field.name: getattr(method, field.name) for field in setting_fields(type(method))}


def default_of(setting: dataclasses.Field[Any]) -> Any:
    """The default value of a setting; None if the setting is required."""
    if setting.default_factory is not dataclasses.MISSING:
        return setting.default_factory()
    return None if setting.default is dataclasses.MISSING else setting.default
