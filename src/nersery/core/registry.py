"""Finds methods by name: each file in the folder of a kind is a method, and so is each third-party entry point.

The file name is the method's name. Its settings are the fields of the public dataclass in the file that implements the
kind. Listing names imports nothing, so ``nersery --help`` stays fast.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

from nersery.core.errors import MissingResourceError, SettingsError, UnfittedError, did_you_mean, shown
from nersery.core.settings import typed_settings
from nersery.core.settings.ranges import range_issues

KINDS: Mapping[str, str] = {
    "augment": "Augmenter",
    "annotate": "Annotator",
    "align": "Aligner",
    "select": "Selector",
    "tagger": "Tagger",
}
"""For each kind of plug-in, the name of the base class in the ``base.py`` of its package."""
PACKAGES = {"align": "crosslingual.aligners", "tagger": "taggers"}
"""The packages of kinds that are not named like their package."""
BUNDLED = ("bundled", "bundled-ner", "bundled-multilingual", "bundled-multilingual-ner")
"""Names of the bundled models; a bundled name never refers to a folder."""
DEFAULTS = {"align": "statistical", "tagger": "transformer"}
"""The default method of a kind."""
NESTED_KINDS = {"aligner": "align", "tagger": "tagger", "teacher": "tagger"}
"""Settings that hold another method, as ``method`` and its settings, and the kind of that method."""
MEMBERS = "members"
"""The setting with a table of aligners, each like a setting in `NESTED_KINDS`. By default, its name is its method."""


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
"""All entry points of all groups, cached because finding them reads a file of each installed package."""


def entry_points(group: str) -> EntryPoints:
    """The entry points of a group."""
    return _installed().select(group=group)


@cache
def _entry_points(kind: str) -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=f"nersery.{kind}")}


def get(kind: str, name: str) -> type[Any]:
    """Return the class of a method, or raise `SettingsError` if there is none or it cannot be loaded."""
    if name in _module_names(kind):
        return _own_class(kind, name)
    if name in _entry_points(kind):
        return _loaded(kind, _entry_points(kind)[name], _base(kind))
    encoder = ". To name an encoder, use the setting model" if kind == "tagger" else ""
    raise SettingsError(f'no {kind} method is called "{name}"; {did_you_mean(name, names(kind))}{encoder}')


def _base(kind: str) -> type[Any]:
    return getattr(importlib.import_module(f"{package_of(kind)}.base"), KINDS[kind])


@cache
def _own_class(kind: str, name: str) -> type[Any]:
    """The class of one of nersery's own methods; cached because large recipes request it a thousand times."""
    module = importlib.import_module(f"{package_of(kind)}.{name}")
    return next(
        member
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, _base(kind)) and member.__module__ == module.__name__ and member.__name__[0] != "_"
    )


def _loaded(kind: str, point: EntryPoint, base: type[Any]) -> type[Any]:
    """The class of a method from another package."""
    description = f'the {kind} method "{point.name}" of another package, {point.value},'
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:
        reason = error if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
        message = f"{description} cannot be loaded: {reason}. Reinstall that package, or remove it"
        raise SettingsError(message) from error
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        raise SettingsError(f"{description} is {shown(loaded)}, expected a class derived from {base.__name__}")
    return loaded


def name_of(method: object) -> str:
    """The name of a method, given its class or an instance: that of its file or entry point, or else of the class."""
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
    """The error for a method that is used before the call that must come first."""
    return UnfittedError(f"{name_of(method)} is not fitted: call {first} before {use}")


def instance(kind: str, method: Any, settings: Mapping[str, Any]) -> Any:
    """Create a method from a name or class and its settings, or check and return a given object; see `create`."""
    if isinstance(method, str):
        return create(kind, method, settings)
    if not _is_method(kind, method):
        raise SettingsError(
            f"the {kind} method is {shown(method)}, expected the name, the class or an instance of one of "
            f"{', '.join(names(kind))}"
        )
    if isinstance(method, type):
        return create(kind, method, settings)
    if settings:
        raise SettingsError(f"settings ({', '.join(settings)}) require a method's name: a method object has its own")
    if type(method).__module__.startswith("nersery."):  # other packages may declare types that cannot be checked
        check_values(method, types=True)
    return method


def refuse_swapped(kind: str, corpus: object, method: object) -> None:
    """Raise `SettingsError` if a user of the library gives a method in place of the corpus."""
    if _is_method(kind, corpus) and not _is_method(kind, method):
        name = corpus if isinstance(corpus, str) else name_of(corpus)
        raise SettingsError(
            f"the first two arguments are swapped: {name} is a method, expected the sentences first, then the method"
        )


def _is_method(kind: str, value: object) -> bool:
    """Whether a value is a name, a class or an object of a method of a kind."""
    if isinstance(value, str):
        return value in names(kind)
    return issubclass(value if isinstance(value, type) else type(value), _base(kind))


def create(kind: str, method: str | type[Any], settings: Mapping[str, Any] | None = None) -> Any:
    """Create a method from its name or class, and check all its settings.

    Raises:
        SettingsError: With all unknown settings and wrong values.

    >>> create("augment", "mention_replacement", {"rate": 0.3}).rate
    0.3
    """
    cls, name = (get(kind, method), method) if isinstance(method, str) else (method, name_of(method))
    if not is_dataclass(cls):
        raise SettingsError(f"the {kind} method {name} is not a dataclass, expected @dataclass above its class")
    if lacking := sorted(getattr(cls, "__abstractmethods__", ())):
        raise SettingsError(
            f"the {kind} method {name} lacks {', '.join(lacking)}: write what {_base(kind).__name__} leaves open"
        )
    return typed_settings.build(cls, name, settings or {})


def create_nested(setting: str, table: Mapping[str, Any]) -> Any:
    """Create the method that a setting in `NESTED_KINDS` holds: ``method`` or the default, with its settings."""
    kind = NESTED_KINDS[setting]
    return create(kind, table.get("method", DEFAULTS[kind]), {k: v for k, v in table.items() if k != "method"})


def check(kind: str, name: str, settings: Mapping[str, Any]) -> list[str]:
    """All issues of a method's settings, one line each.

    Values out of range are reported only if all settings exist and have the right types.
    """
    try:
        return typed_settings.build_with_issues(get(kind, name), name, settings)[1]
    except (SettingsError, MissingResourceError) as error:
        return [str(error)]


def check_values(method: object, name: str | None = None, *, types: bool = False) -> None:
    """Raise `SettingsError` for values outside the choices or the range of their setting.

    A string is not accepted as a boolean, because "no" would be true.

    Args:
        name: Name of the method in messages; None uses `name_of`.
        types: Also refuse values of wrong types, except a path in place of a string. This check takes longer.
    """
    try:
        hints = typed_settings.hints_of(type(method))
    except NameError:  # a method of another package with types that are imported only for a type checker
        return
    settings = typed_settings.settings_of(method)
    keys = settings if types else typed_settings.enumerated_settings(type(method))
    chosen = {
        key: value
        for key, value in settings.items()
        if key in keys and not (is_dataclass(value) or isinstance(value, Path))
    }
    issues = typed_settings.validated_given(type(method), name_of(method) if name is None else name, chosen)[1]
    if issues := [*issues, *(issue for key in settings for issue in range_issues(key, hints[key], settings[key]))]:
        raise SettingsError("\n".join(issues))


def defaults(kind: str, name: str) -> dict[str, Any]:
    """The default settings of a method."""
    settings = typed_settings.setting_fields(get(kind, name))
    return {setting.name: typed_settings.default_of(setting) for setting in settings}


class Method:
    """Base class of augmenters, annotators, selectors, aligners and taggers, and of settings with their own checks."""

    def __post_init__(self) -> None:
        """Refuse invalid values of settings. A subclass with its own checks calls this method first."""
        check_values(self)

    def check(self) -> None:
        """Check that models, files and programs exist before other work starts.

        Raises:
            MissingResourceError: Names what is missing.
        """
