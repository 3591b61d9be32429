"""Checks of the data files of a recipe against each other: what makes a run impossible."""

from __future__ import annotations

from nersery.augment.base import made_from
from nersery.core.errors import Issue, SettingsError
from nersery.core.sentence import types_in
from nersery.core.text_forms import unspaced
from nersery.experiments.recipe import Recipe
from nersery.experiments.recipe_file.data_files import Parts, parts_of, sentences_of
from nersery.experiments.sampling import sample


def input_issues(recipe: Recipe, parts: Parts) -> list[Issue]:
    """All conflicts between files that are valid."""
    return [*_label_issues(parts), *_size_issues(recipe, parts), *_id_issues(recipe, parts)]


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
    texts = [unspaced(sentence.words) for sentence in sentences_of(parts, "train")]
    if folds > (count := len({*texts})):
        noun = "sentences" if count == len(texts) else "different sentences"
        issues.append(Issue(f"sample.folds is {folds}, but train has {count} {noun}; lower it"))
    for key, split, size in (("size", "train", recipe.sample.size), ("dev_size", "dev", recipe.sample.dev_size)):
        sizes = {file.label: len(part) for file, part in parts_of(parts, split)} or {split: 0}
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
    for file, part in parts_of(parts, "train"):
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
    train = {id for _, part in parts_of(parts, "train") for id in part.by_id}
    for file, part in parts_of(parts, "train", "raw"):
        for id in part.by_id:
            parent, method = made_from(id)
            if parent in train and method in methods:
                message = f"{id!r} was made by {method}, which would give a new sentence the same id"
                return [Issue(f"{message}; convert the file to .conll, which has no ids", file.name)]
        if file.split == "raw" and (shared := train & {*part.by_id}):
            message = f"{len(shared)} ids also occur in train, e.g. {min(shared)!r}"
            return [Issue(f"{message}; rename one of the files, or give its sentences other ids", file.name)]
    return []
