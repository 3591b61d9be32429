"""The data files of a recipe: read completely, and checked together before anything runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from nersery import io
from nersery.augment.base import made_from
from nersery.core.counting import plural
from nersery.core.errors import ChangedInputError, DataError, Issue, SettingsError
from nersery.core.sentence import Corpus, Sentence, types_in
from nersery.core.system.files import content_hash
from nersery.core.text.languages import primary
from nersery.core.text.text_forms import unspaced
from nersery.core.wording import either
from nersery.experiments.data.corpus_notes import notes_of_reading
from nersery.experiments.data.sampling import sample
from nersery.experiments.recipe import Recipe, shipped_recipes
from nersery.experiments.recipe_file.data_files import SPLITS, CorpusByFile, DataFile, parts_of, sentences_of, train_of
from nersery.experiments.run_state.input_notes import input_notes
from nersery.io.input_files.shipped import EXAMPLE_PREFIX
from nersery.io.word_splitting.tokenization import attached_share


def read_inputs(recipe: Recipe, say: Callable[[str], None]) -> tuple[dict[str, Corpus], list[str]]:
    """Read the corpora of a recipe by split, with notes on suspicious data. A split without a file is empty.

    Args:
        say: Called with a line on how each file was read.

    Raises:
        DataError: Lists all issues of all files; if each file is valid, all conflicts between them.
    """
    parts: dict[DataFile, Corpus] = {}
    notes: list[str] = []
    issues: list[Issue] = []
    fixes: list[str] = []
    files = [file for split in SPLITS for file in recipe.data.files(split)]
    for file in files:
        try:
            parts[file] = _read(recipe, file, parts, say, notes)
        except DataError as error:
            issues += error.issues
            fixes += [error.fix, _fix_of_shipped(recipe, file)]
    if not issues:
        issues = input_issues(recipe, parts)
    if issues:
        if any("--" in fix for fix in fixes):
            these = either("these options in [data], e.g. for --repair NAME:", "them in [data], e.g.")
            fixes.append(f'in a recipe, set {these} repair = ["NAME"]')
        raise DataError(issues, fix="; ".join(dict.fromkeys(filter(None, fixes))))
    return {split: Corpus(sentences_of(parts, split)) for split in SPLITS}, [*notes, *input_notes(recipe, parts)]


def refuse_changed(recipe: Recipe, inputs: Mapping[str, Any]) -> None:
    """Refuse files that have changed since a run began.

    Args:
        inputs: The hashes at that time, as in the fingerprint of the run, or of the sweep that it belongs to.

    Raises:
        ChangedInputError: If there are such files; names the first one.
    """
    files = [file for split in inputs for file in recipe.data.files(split)]
    for file in files:
        recorded = inputs[file.split]
        if content_hash(recipe.path(file.name)) != (recorded if isinstance(recorded, str) else recorded[file.language]):
            raise ChangedInputError(
                Issue("this file has changed since the run began", file.name),
                fix="restore it and repeat the command, or choose another folder (--out) for the new content",
            )


def _read(recipe: Recipe, file: DataFile, parts: CorpusByFile, say: Callable[[str], None], notes: list[str]) -> Corpus:
    path = recipe.path(file.name)
    if path.is_fifo():
        raise DataError(Issue("this is a pipe", file.name), fix="name a file: a resumed run reads it again")
    options = recipe.data.reading
    options = replace(options, language=file.language or options.language)
    if file.split == "raw":
        attached = attached_share(chain.from_iterable(train_of(parts, file.language)))
        source = io.open_text(path, options, attached)
    else:
        source = io.open_corpus(path, options)
    corpus = Corpus(source)
    say(f"{file.label}: {file.name} ({source.description}), {plural(len(corpus), 'sentence')}")
    notes += notes_of_reading(file.label, source)
    return _of_language(corpus, file) if file.language else corpus


def _of_language(corpus: Corpus, file: DataFile) -> Corpus:
    """The sentences of a language's file, marked with the language. Their ids contain it, too, so that they differ.

    Raises:
        DataError: If a sentence is marked as another language.
    """
    others = [sentence for sentence in corpus if primary(sentence.language) not in ("", primary(file.language))]
    if others:
        first = others[0]
        counted = f"{len(others)} of {len(corpus)} sentences are in a language other than {file.language}"
        raise DataError(
            Issue(f"{counted}, this one in {first.language}", file.name, sentence=first.id),
            fix="give each language its own file; or name one file with all languages, without a table",
        )
    return Corpus(_placed(sentence, file.language) for sentence in corpus)


def _placed(sentence: Sentence, language: str) -> Sentence:
    """The sentence with its language, also as the prefix of its id and its parents' ids."""
    origin = sentence.origin
    if origin is not None:
        origin = replace(origin, parents=tuple(f"{language}/{parent}" for parent in origin.parents))
    return replace(sentence, id=f"{language}/{sentence.id}", language=language, origin=origin)


def _fix_of_shipped(recipe: Recipe, file: DataFile) -> str:
    """The fix if a shipped recipe needs the user's own file."""
    if recipe.source not in shipped_recipes() or file.name.startswith(EXAMPLE_PREFIX) or os.path.isabs(file.name):
        return ""
    return f"nersery copy {recipe.source} my-recipe.toml, then put your own files into its [data]"


def input_issues(recipe: Recipe, parts: CorpusByFile) -> list[Issue]:
    """All conflicts between files that are valid."""
    return [*_label_issues(parts), *_size_issues(recipe, parts), *_id_issues(recipe, parts)]


def _label_issues(parts: CorpusByFile) -> list[Issue]:
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


def _size_issues(recipe: Recipe, parts: CorpusByFile) -> list[Issue]:
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


def _protocol_issues(recipe: Recipe, parts: CorpusByFile) -> list[Issue]:
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


def _id_issues(recipe: Recipe, parts: CorpusByFile) -> list[Issue]:
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
