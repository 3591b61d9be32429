"""Checks what a recipe needs besides its data (models, files, devices) and reports all issues before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from nersery.annotate.base import Annotator
from nersery.augment.base import Augmenter
from nersery.core import registry
from nersery.core.counting import plural
from nersery.core.errors import MissingResourceError, NerseryError, SettingsError
from nersery.core.sentence import Sentence
from nersery.core.settings import file_settings
from nersery.core.settings.typed_settings import ModelName
from nersery.core.warnings import collected_notes
from nersery.experiments.recipe import Recipe
from nersery.experiments.recipe_file.model_sets import CHECKPOINTS, conversion, lacks_model
from nersery.experiments.systems import MethodSettings
from nersery.models.pretrained.loading import ModelSource
from nersery.select.base import Selector


def check_prerequisites(recipe: Recipe, types: Collection[str] = (), raw: Sequence[Sentence] = ()) -> list[str]:
    """Check that everything that the tagger, methods and selectors of a recipe name exists and fits together.

    Returns the notes of the methods on their settings, with the system.

    Args:
        types: The types of the labelled sentences; empty checks no types.
        raw: Sentences that annotators are going to label.

    Raises:
        MissingResourceError: If something is missing.
        SettingsError: If nothing is missing, but settings do not fit together.
        NerseryError: If there are only other errors.
    """
    if lacking := missing_checkpoints(recipe):
        raise MissingResourceError(_advice(recipe, lacking))
    errors: list[tuple[str, NerseryError]] = []
    notes: list[str] = []
    findings: dict[str, tuple[NerseryError | None, list[str]]] = {}
    for label, system, method in recipe.methods():
        tagger = recipe.tagger_of(system)
        if (key := repr((method, tagger))) not in findings:  # loading a large tokenizer takes seconds
            with collected_notes() as messages:
                findings[key] = _error(partial(_check, method, tagger, types, raw)), messages
        error, messages = findings[key]
        notes += [f"{label}: {message}" for message in messages]
        if error is not None:
            errors.append((label, error))
    if not errors:
        return notes
    kinds = {type(error) for _, error in errors}
    kind = next((kind for kind in (MissingResourceError, SettingsError) if kind in kinds), None)
    if kind is None:
        raise errors[0][1]
    messages = [f"{label}: {error}" for label, error in errors]
    if len(errors) > 1:
        messages = [
            f"{len(errors)} things that the recipe needs are missing or do not fit together",
            *(f"  {number}. {message}" for number, message in enumerate(messages, start=1)),
        ]
    raise kind("\n".join(messages)) from errors[0][1]


def missing_checkpoints(recipe: Recipe) -> dict[str, list[str]]:
    """The papers' models that the recipe names and that cannot be loaded, with the methods that use them."""
    users: dict[str, list[str]] = {}
    for _, _, method in recipe.methods():
        cls = registry.get(method.kind, method.method)
        for _, type_, name in file_settings.file_and_model_names(cls, method.settings):
            if type_ == ModelName and name in CHECKPOINTS and method.method not in users.get(name, ()):
                users.setdefault(name, []).append(method.method)
    return {name: methods for name, methods in users.items() if _error(ModelSource(name).config) is not None}


def _advice(recipe: Recipe, lacking: Mapping[str, Sequence[str]]) -> str:
    """Which models are missing, how large they are, how to get them, and what to do without them."""
    models = {name: CHECKPOINTS[name] for name in lacking}
    lines = [
        f"{plural(len(lacking), 'model')} of the recipe {'is' if len(lacking) == 1 else 'are'} not on this machine:"
    ]
    lines += [f"  {name} ({models[name].gigabytes:.1f} GB), for {', '.join(users)}" for name, users in lacking.items()]
    lines += [
        "To get them, run the command once with network access and without HF_HUB_OFFLINE=1; or copy their folders, "
        f"and name the copies. All need {sum(model.gigabytes for model in models.values()):.1f} GB of disk."
    ]
    for name, model in models.items():
        if model.pickled:
            folder = name.rpartition("/")[2]
            lines.append(
                f"{name} may only be on the hub as a pickle, which is refused. Convert it where you trust it, and "
                f'name the folder: python -c "{conversion(name, folder)}"'
            )
    for choice in ("bundled", "bundled-multilingual"):
        left_out = [f'"{s.name}"' for s in recipe.systems if s.method and lacks_model(choice, s.method.method)]
        lost = f", and leaves out {', '.join(left_out)}" if left_out else ""
        lines.append(f"--models {choice} runs it with the small models that come with nersery{lost}; scores are lower.")
    return "\n".join(lines)


def _check(settings: MethodSettings, tagger: MethodSettings, types: Collection[str], raw: Sequence[Sentence]) -> None:
    method = settings.create()
    method.check()
    if isinstance(method, Augmenter | Selector):
        method.check_tagger(tagger.create())
    elif isinstance(method, Annotator):
        if types:
            method.check_types(types)
        if raw:
            method.check_raw(raw)


def _error(check: Callable[[], object]) -> NerseryError | None:
    try:
        check()
    except NerseryError as error:
        return error
    return None
