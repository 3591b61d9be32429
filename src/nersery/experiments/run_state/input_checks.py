"""Checks of the data files of a recipe against each other: what makes a run impossible, and what is suspicious."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from nersery.augment.base import made_from
from nersery.core.errors import Issue, SettingsError
from nersery.core.registry import BUNDLED
from nersery.core.sentence import Corpus, Sentence, types_in
from nersery.core.text_forms import composed
from nersery.experiments.corpus_notes import note_of_length, note_of_overlap, note_of_punctuation, note_of_types
from nersery.experiments.folds import note_of_documents
from nersery.experiments.recipe import Recipe
from nersery.experiments.recipe_file.data_files import DataFile
from nersery.experiments.sampling import sample
from nersery.experiments.systems import System
from nersery.experiments.text_profile import note_of_language
from nersery.models.bundled_heads import TOKEN_CLASSIFICATION
from nersery.models.question_text import CORPORA, count_known

Parts = Mapping[DataFile, Corpus]
"""The corpus of each file, by split and language."""


def input_issues(recipe: Recipe, parts: Parts) -> list[Issue]:
    """All conflicts between files that are valid."""
    return [*_label_issues(parts), *_size_issues(recipe, parts), *_id_issues(recipe, parts)]


def input_notes(recipe: Recipe, parts: Parts) -> list[str]:
    """Notes on suspicious data."""
    return [
        *_size_notes(recipe, parts),
        *_fold_notes(recipe, parts),
        *_type_notes(parts),
        *_overlap_notes(parts),
        *filter(None, [note_of_language(file.label, part) for file, part in parts.items()]),
        *filter(
            None,
            [note_of_length(file.label, sum(map(len, part)), len(part)) for file, part in _of(parts, "train", "raw")],
        ),
        *_punctuation_notes(parts),
        *_question_notes(recipe, parts),
    ]


def sentences_of(parts: Parts, split: str) -> Iterator[Sentence]:
    """The sentences of all files of a split."""
    return (sentence for _, part in _of(parts, split) for sentence in part)


def _punctuation_notes(parts: Parts) -> Iterator[str]:
    """Where words are split otherwise in raw text than in the labelled sentences of its language."""
    for file, raw in _of(parts, "raw"):
        train = [
            part for other, part in _of(parts, "train") if not file.language or other.language in ("", file.language)
        ]
        if text := note_of_punctuation(chain.from_iterable(train), raw):
            yield f"{file.label}: {text}" if file.language else text


def _of(parts: Parts, *splits: str) -> Iterator[tuple[DataFile, Corpus]]:
    return ((file, part) for file, part in parts.items() if file.split in splits)


def _label_issues(parts: Parts) -> list[Issue]:
    issues, train = [], types_in(sentences_of(parts, "train"))
    for file, part in parts.items():
        if not part:
            issues.append(Issue(f"the {file.label} file has no sentence", file.name))
        elif file.split != "raw" and not part.types:
            issues.append(Issue(f"no sentence of the {file.label} file has an entity", file.name))
        elif file.split == "test" and train and not train & {*part.types}:
            listed = f"{file.label} has the types {', '.join(part.types)}, train has {', '.join(sorted(train))}"
            issues.append(Issue(f"{listed}: no common type", file.name))
    return issues


def _size_issues(recipe: Recipe, parts: Parts) -> list[Issue]:
    issues: list[Issue] = []
    folds = recipe.sample.folds or 0
    texts = [composed(sentence.text) for sentence in sentences_of(parts, "train")]
    if folds > (count := len({*texts})):
        noun = "sentences" if count == len(texts) else "different sentences"
        issues.append(Issue(f"sample.folds is {folds}, but train has {count} {noun}; lower it"))
    for key, split, size in (("size", "train", recipe.sample.size), ("dev_size", "dev", recipe.sample.dev_size)):
        sizes = {file.label: len(part) for file, part in _of(parts, split)} or {split: 0}
        of_sweep = any(override.startswith("sweep.sizes=") for override in recipe.overrides)
        origin, fix = (" by sweep.sizes", "lower it there") if of_sweep else ("", "lower it, or leave it out")
        issues += [
            Issue(f"sample.{key} is {size}{origin}, but {label} has {count} sentences; {fix}")
            for label, count in sizes.items()
            if size is not None and size > count
        ]
    return issues or _protocol_issues(recipe, parts)


def _protocol_issues(recipe: Recipe, parts: Parts) -> list[Issue]:
    """Seeds for which no sample with every type is found; each seed draws in its own order."""
    size, protocol, issues = recipe.sample.size, recipe.sample.protocol, []
    for file, part in _of(parts, "train"):
        if protocol != "every_type" or size is None or size >= len(part):
            continue
        for seed in recipe.seeds:
            try:
                sample(part, size, protocol, seed)
            except SettingsError as error:
                issues.append(Issue(f"{file.label}, seed {seed}: {error}", file.name))
    return issues


def _id_issues(recipe: Recipe, parts: Parts) -> list[Issue]:
    """Ids that generated sentences would share with sentences in the files."""
    methods = {system.method.method for system in recipe.systems if system.method is not None}
    train = {id for _, part in _of(parts, "train") for id in part.by_id}
    for file, part in _of(parts, "train", "raw"):
        for id in part.by_id:
            parent, method = made_from(id)
            if parent in train and method in methods:
                message = f"{id!r} was made by {method}, which would give a new sentence the same id"
                return [Issue(f"{message}; convert the file to .conll, which has no ids", file.name)]
        if file.split == "raw" and (shared := train & {*part.by_id}):
            message = f"{len(shared)} ids also occur in train, e.g. {min(shared)!r}"
            return [Issue(f"{message}; rename one of the files, or give its sentences other ids", file.name)]
    return []


def _size_notes(recipe: Recipe, parts: Parts) -> list[str]:
    """A small sample with a large dev, which a low-resource setting would not have."""
    size = recipe.sample.size
    if size is None or recipe.sample.dev_size is not None:
        return []
    return [
        f"{file.label} keeps all its {len(part)} sentences, but train is a sample of {size}; "
        f"the papers draw as many from dev (sample.dev_size = {size})"
        for file, part in _of(parts, "dev")
        if len(part) > 2 * size
    ]


def _fold_notes(recipe: Recipe, parts: Parts) -> list[str]:
    folds = recipe.sample.folds
    return [*filter(None, [note_of_documents(Corpus(sentences_of(parts, "train")), folds)])] if folds else []


def _type_notes(parts: Parts) -> list[str]:
    known, labelled = types_in(sentences_of(parts, "train")), _of(parts, "train", "dev", "test")
    return [note for file, part in labelled if (note := note_of_types(file.label, part, known))]


WHY_NOT = {
    "dev": "the best weights are chosen on them, so F1 on test will be too high",
    "raw": "a tagger trained on them gets too high an F1; the selector duplicates rejects them",
}
"""Why sentences of a split should not occur in test."""


def _overlap_notes(parts: Parts) -> list[str]:
    train, test = ([*sentences_of(parts, split)] for split in ("train", "test"))
    notes = [note_of_overlap(file.label, part, "train", train) for file, part in _of(parts, "dev", "test", "raw")]
    for file, part in _of(parts, *WHY_NOT):
        if note := note_of_overlap(file.label, part, "test", test):
            notes.append(f"{note}: {WHY_NOT[file.split]}")
    return [*filter(None, notes)]


def _question_notes(recipe: Recipe, parts: Parts) -> list[str]:
    """How many sentences bundled models were trained on, if a system uses one of them."""
    users = [system.name for system in recipe.systems if _uses_labelled_text(recipe, system)]
    if not users:
        return []
    counted = ((file, part, count_known(sentence.words for sentence in part)) for file, part in parts.items())
    return [
        f"{count} of {len(part)} {file.label} sentences are from {CORPORA}, on which bundled models were trained: "
        f"the scores of {', '.join(users)} may be too high"
        for file, part, count in counted
        if count
    ]


def _uses_labelled_text(recipe: Recipe, system: System) -> bool:
    """Whether the system, or one that its sentences come from, uses a bundled model trained on labelled text."""
    method = system.method
    if method and method.method == "qa_prompting" and method.settings.get("model") in BUNDLED:
        return True
    settings = [recipe.tagger_of(system).settings, method.settings if method else {}]
    others = [recipe.system(name) for name in (system.base, *system.merge) if name]
    return any(_names(settings, model) for model in TOKEN_CLASSIFICATION) or any(
        _uses_labelled_text(recipe, other) for other in others
    )


def _names(value: Any, name: str) -> bool:
    """Whether a setting has this value, at any depth."""
    if isinstance(value, Mapping):
        return any(_names(part, name) for part in value.values())
    return any(_names(part, name) for part in value) if isinstance(value, list) else bool(value == name)
