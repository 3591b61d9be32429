"""The data files of a recipe: read whole, and checked together before anything runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from nersery import io
from nersery.core.errors import ChangedInputError, DataError, Issue
from nersery.core.files import content_hash
from nersery.core.sentence import Corpus, Sentence
from nersery.core.wording import either
from nersery.experiments.recipe import Recipe, shipped_recipes
from nersery.experiments.recipe_file.data_files import SPLITS, DataFile, sentences_of
from nersery.experiments.run_state.input_issues import input_issues
from nersery.experiments.run_state.input_notes import input_notes
from nersery.io.shipped import EXAMPLE_PREFIX


def read_inputs(recipe: Recipe, say: Callable[[str], None]) -> tuple[dict[str, Corpus], list[str]]:
    """The corpora of a recipe by split, and notes on suspicious data; a split without a file is empty.

    Args:
        say: Called with a line on how each file was read.

    Raises:
        DataError: With all issues of all files; if each file is valid, with all conflicts between them.
    """
    parts: dict[DataFile, Corpus] = {}
    notes: list[str] = []
    issues: list[Issue] = []
    fixes: list[str] = []
    files = [file for split in SPLITS for file in recipe.data.files(split)]
    for file in files:
        try:
            parts[file] = _read(recipe, file, say, notes)
        except DataError as error:
            issues += error.issues
            fixes += [error.fix, _fix_of_shipped(recipe, file)]
    if not issues:
        issues = input_issues(recipe, parts)
    if issues:
        if any("--" in fix for fix in fixes):
            these = either("these options in [data], e.g. instead of --repair NAME", "them in [data], e.g.")
            fixes.append(f'in a recipe, set {these} repair = ["NAME"]')
        raise DataError(issues, fix="; ".join(dict.fromkeys(filter(None, fixes))))
    return {split: Corpus(sentences_of(parts, split)) for split in SPLITS}, [*notes, *input_notes(recipe, parts)]


def refuse_changed(recipe: Recipe, inputs: Mapping[str, Any]) -> None:
    """Refuse files that have changed since a run began.

    Args:
        inputs: The hashes then, as in the fingerprint of the run, or of the sweep that it belongs to.

    Raises:
        ChangedInputError: Naming the first such file.
    """
    files = [file for split in inputs for file in recipe.data.files(split)]
    for file in files:
        recorded = inputs[file.split]
        if content_hash(recipe.path(file.name)) != (recorded if isinstance(recorded, str) else recorded[file.language]):
            raise ChangedInputError(
                Issue("this file has changed since the run began", file.name),
                fix="restore it and repeat the command, or choose another folder (--out) for the new content",
            )


def _read(recipe: Recipe, file: DataFile, say: Callable[[str], None], notes: list[str]) -> Corpus:
    path = recipe.path(file.name)
    if path.is_fifo():
        raise DataError(Issue("this is a pipe", file.name), fix="name a file: a resumed run reads it again")
    options = recipe.data.reading
    open_file = io.open_text if file.split == "raw" else io.open_corpus
    source = open_file(path, replace(options, language=file.language or options.language))
    corpus = Corpus(source)
    say(f"{file.label}: {file.name} ({source.description}), {len(corpus)} sentences")
    if source.repaired:
        counts = ", ".join(f"{repair} {count}" for repair, count in sorted(source.repaired.items()))
        notes.append(f"{file.label} was repaired as requested: {counts}")
    if source.rejects:
        notes.append(f"{file.label}: {len(source.rejects)} sentences were rejected by the repair drop-sentence")
    return _of_language(corpus, file) if file.language else corpus


def _of_language(corpus: Corpus, file: DataFile) -> Corpus:
    """The sentences of a language's file with its language, in their ids too, so that ids of languages differ.

    Raises:
        DataError: If a sentence is marked as another language.
    """
    others = [sentence for sentence in corpus if sentence.language not in ("", file.language)]
    if others:
        first = others[0]
        counted = f"{len(others)} of {len(corpus)} sentences are in another language than {file.language}"
        raise DataError(
            Issue(f"{counted}, this one in {first.language}", file.name, sentence=first.id),
            fix="give each language a file of its own; or name one file of all languages, without a table",
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
