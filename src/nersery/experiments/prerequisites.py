"""Checks what a recipe needs beside its data (models, files, devices) and reports all problems before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial

from nersery.augment.base import Augmenter
from nersery.core import registry
from nersery.core.errors import MissingResourceError, NerseryError, SettingsError
from nersery.experiments.recipe import Recipe
from nersery.experiments.systems import MethodSettings
from nersery.select.base import Selector
from nersery.taggers.base import Tagger


def check_prerequisites(recipe: Recipe, types: Collection[str] = ()) -> None:
    """Check that everything that the tagger, methods and selectors of a recipe name exists and fits together.

    Args:
        types: Those of the labelled sentences; none checks no types.

    Raises:
        MissingResourceError: If something is missing.
        SettingsError: If nothing is missing, but settings do not fit together.
        NerseryError: If there are only other problems.
    """
    faults: list[tuple[str, NerseryError]] = []
    for system in recipe.systems:
        settings = recipe.tagger_of(system)
        tagger: Tagger = registry.create("tagger", settings.method, settings.settings)
        if system.is_baseline or system.tagger_settings:
            faults += _faults("tagger" if system.is_baseline else f'system "{system.name}", tagger', tagger.check)
        if system.method is not None:
            faults += _faults(f'system "{system.name}"', partial(_check, system.method, tagger, types))
        for selector in system.select:
            place = f'system "{system.name}", select "{selector.method}"'
            faults += _faults(place, partial(_check, selector, tagger, types))
    if not faults:
        return
    kinds = {type(fault) for _, fault in faults}
    kind = next((kind for kind in (MissingResourceError, SettingsError) if kind in kinds), None)
    if kind is None:
        raise faults[0][1]
    messages = [f"{place}: {fault}" for place, fault in faults]
    if len(faults) > 1:
        messages = [
            f"{len(faults)} things that the recipe needs are missing or do not fit together",
            *(f"  {number}. {message}" for number, message in enumerate(messages, start=1)),
        ]
    raise kind("\n".join(messages)) from faults[0][1]


def _check(settings: MethodSettings, tagger: Tagger, types: Collection[str]) -> None:
    method = registry.create(settings.kind, settings.method, settings.settings)
    method.check()
    if isinstance(method, Augmenter | Selector):
        method.check_tagger(tagger)
    elif types:
        method.check_types(types)


def _faults(place: str, check: Callable[[], None]) -> Iterator[tuple[str, NerseryError]]:
    try:
        check()
    except NerseryError as fault:
        yield place, fault
