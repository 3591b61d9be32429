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

from nersery.core.errors import MissingResourceError, SettingsError, UnfittedError, did_you_mean
from nersery.core.ranges import range_issues
from nersery.core.typed_settings import build, built, choosing, default_of, hints_of, setting_fields, settings_of, typed

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
    if name in _module_names(kind):
        return _own_class(kind, name)
    if name in _entry_points(kind):
        return _loaded(kind, _entry_points(kind)[name], _base(kind))
    raise SettingsError(f'no {kind} method is called "{name}"; {did_you_mean(name, names(kind))}')


def _base(kind: str) -> type[Any]:
    return getattr(importlib.import_module(f"{package_of(kind)}.base"), KINDS[kind])


@cache
def _own_class(kind: str, name: str) -> type[Any]:
    """The class of one of nersery's own methods; a recipe of many systems asks for it a thousand times."""
    module = importlib.import_module(f"{package_of(kind)}.{name}")
    return next(
        member
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, _base(kind)) and member.__module__ == module.__name__ and member.__name__[0] != "_"
    )


def _loaded(kind: str, point: EntryPoint, base: type[Any]) -> type[Any]:
    """The class of another package's method."""
    description = f'the {kind} method "{point.name}" of another package, {point.value},'
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:
        reason = error if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
        message = f"{description} cannot be loaded: {reason}. Reinstall that package, or remove it"
        raise SettingsError(message) from error
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        raise SettingsError(f"{description} is {loaded!r:.60}, expected a class derived from {base.__name__}")
    return loaded


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
    base = _base(kind)
    if not (issubclass(method, base) if isinstance(method, type) else isinstance(method, base)):
        raise SettingsError(
            f"the {kind} method is {method!r:.60}, expected the name, the class or an object of one of "
            f"{', '.join(names(kind))}"
        )
    if isinstance(method, type):
        return create(kind, method, settings)
    if settings:
        raise SettingsError(f"settings ({', '.join(settings)}) go with a method's name: a method object has its own")
    if type(method).__module__.startswith("nersery."):  # other packages may declare types that cannot be checked
        check_values(method, whole=True)
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


def create_within(setting: str, table: Mapping[str, Any]) -> Any:
    """Build the method that one of `KINDS_WITHIN` holds: its ``method``, or the default, and the settings of that."""
    kind = KINDS_WITHIN[setting]
    return create(kind, table.get("method", DEFAULTS[kind]), {k: v for k, v in table.items() if k != "method"})


def check(kind: str, name: str, settings: Mapping[str, Any]) -> list[str]:
    """All issues of a method's settings, one line each.

    Values out of range are reported only if all settings exist and have the right types.
    """
    try:
        return built(get(kind, name), name, settings)[1]
    except (SettingsError, MissingResourceError) as error:
        return [str(error)]


def check_values(method: object, name: str | None = None, *, whole: bool = False) -> None:
    """Raise `SettingsError` for values that are not among the choices, or not in the range, of their setting.

    A text is no truth value: "no" would be true.

    Args:
        name: As for `typed`; None takes that of the method.
        whole: Refuse values of other types, too, but no path instead of its text. Looking for them takes longer.
    """
    try:
        hints = hints_of(type(method))
    except NameError:  # of another package, whose types are only there for its type checker
        return
    settings = settings_of(method)
    keys = settings if whole else choosing(type(method))
    chosen = {
        key: value
        for key, value in settings.items()
        if key in keys and not (is_dataclass(value) or isinstance(value, Path))
    }
    issues = typed(type(method), name_of(method) if name is None else name, chosen)[1]
    if issues := [*issues, *(issue for key in settings for issue in range_issues(key, hints[key], settings[key]))]:
        raise SettingsError("\n".join(issues))


def defaults(kind: str, name: str) -> dict[str, Any]:
    """A method's settings where the user says nothing."""
    return {setting.name: default_of(setting) for setting in setting_fields(get(kind, name))}


class Method:
    """Base of augmenters, annotators, selectors, aligners and taggers, and of settings with checks of their own."""

    def __post_init__(self) -> None:
        """Refuse values that their settings cannot have; a subclass with checks of its own calls this one first."""
        check_values(self)

    def check(self) -> None:
        """Check that models, files and programs exist before other work starts.

        Raises:
            MissingResourceError: Naming what is missing.
        """
