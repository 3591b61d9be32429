"""The data files of a recipe: read whole, and checked together before anything runs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from nersery import io
from nersery.augment.base import made_from
from nersery.core.errors import DataError, Issue, SettingsError, printable
from nersery.core.registry import BUNDLED
from nersery.core.sentence import Corpus, Sentence, types_in
from nersery.core.text_forms import composed
from nersery.experiments.folds import note_of_documents
from nersery.experiments.grow.text_profile import note_of_language
from nersery.experiments.recipe import Recipe, shipped_recipes
from nersery.experiments.recipe_file.data_files import SPLITS, DataFile
from nersery.experiments.sampling import sample
from nersery.experiments.systems import System
from nersery.io.shipped import EXAMPLE_PREFIX
from nersery.io.tokenization import attached_signs
from nersery.models.bundled_heads import TOKEN_CLASSIFICATION
from nersery.models.question_text import CORPORA, count_known
from nersery.taggers.components.description import read_description

Parts = Mapping[DataFile, Corpus]
"""The corpus of each file, by split and language."""

SEEN, CLEAR = 2000, 0.6
"""How many sentences are looked at for signs such as commas, and a clear difference of two shares of them."""
RENAME = "rename them: nersery dataset convert --type OLD=NEW"
OPTIONS_HINT = 'in a recipe, set these options in [data], e.g. instead of --repair NAME repair = ["NAME"]'


def _of(parts: Parts, *splits: str) -> Iterator[tuple[DataFile, Corpus]]:
    """The files of some splits."""
    return ((file, part) for file, part in parts.items() if file.split in splits)


def _types_of_train(parts: Parts) -> set[str]:
    return {type_ for _, part in _of(parts, "train") for type_ in part.types}


def read_inputs(recipe: Recipe, say: Callable[[str], None]) -> tuple[dict[str, Corpus], list[str]]:
    """The corpora of a recipe by split, and notes on suspicious data; a split without a file is empty.

    Args:
        say: Called with a line on how each file was read.

    Raises:
        DataError: With all problems of all files; if each file is valid, with all conflicts between them.
    """
    parts: dict[DataFile, Corpus] = {}
    notes: list[str] = []
    problems: list[Issue] = []
    fixes: list[str] = []
    for file in (file for split in SPLITS for file in recipe.data.files(split)):
        try:
            parts[file] = _read(recipe, file, say, notes)
        except DataError as error:
            problems += error.issues
            fixes += [error.fix, _fix_of_shipped(recipe, file)]
    if not problems:
        problems = [*_label_problems(parts), *_size_problems(recipe, parts), *_id_problems(recipe, parts)]
    if problems:
        if any("--" in fix for fix in fixes):
            fixes.append(OPTIONS_HINT)
        raise DataError(problems, fix="; ".join(dict.fromkeys(filter(None, fixes))))
    corpora = {split: Corpus(s for _, part in _of(parts, split) for s in part) for split in SPLITS}
    return corpora, [
        *notes,
        *_size_notes(recipe, parts),
        *filter(None, [note_of_documents(corpora["train"], recipe.sample.folds) if recipe.sample.folds else ""]),
        *_type_notes(parts),
        *_overlap_notes(parts),
        *filter(None, [note_of_language(file.label, part) for file, part in parts.items()]),
        *filter(None, [note_of_punctuation(corpora["train"], corpora["raw"])]),
        *_question_notes(recipe, parts),
    ]


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


def _read(recipe: Recipe, file: DataFile, say: Callable[[str], None], notes: list[str]) -> Corpus:
    path = recipe.path(file.name)
    if path.is_fifo():
        raise DataError(Issue("this is a pipe", file.name), fix="name a file: a resumed run reads it again")
    reading = recipe.data.reading
    opened = io.open_text if file.split == "raw" else io.open_corpus
    source = opened(path, replace(reading, language=file.language or reading.language))
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


def _label_problems(parts: Parts) -> list[Issue]:
    problems, train = [], _types_of_train(parts)
    for file, part in parts.items():
        if not part:
            problems.append(Issue(f"the {file.label} file has no sentence", file.name))
        elif file.split != "raw" and not part.types:
            problems.append(Issue(f"no sentence of the {file.label} file has an entity", file.name))
        elif file.split == "test" and train and not train & {*part.types}:
            listed = f"{file.label} has the types {', '.join(part.types)}, train has {', '.join(sorted(train))}"
            problems.append(Issue(f"{listed}: no common type", file.name))
    return problems


def _size_problems(recipe: Recipe, parts: Parts) -> list[Issue]:
    problems: list[Issue] = []
    folds = recipe.sample.folds or 0
    texts = [composed(sentence.text) for _, part in _of(parts, "train") for sentence in part]
    if folds > (count := len({*texts})):
        named = "sentences" if count == len(texts) else "different sentences"
        problems.append(Issue(f"sample.folds is {folds}, but train has {count} {named}; lower it"))
    for key, split, size in (("size", "train", recipe.sample.size), ("dev_size", "dev", recipe.sample.dev_size)):
        there = {file.label: len(part) for file, part in _of(parts, split)} or {split: 0}
        of_sweep = any(one.startswith("sweep.sizes=") for one in recipe.overrides)
        named, fix = (" by sweep.sizes", "lower it there") if of_sweep else ("", "lower it, or leave it out")
        problems += [
            Issue(f"sample.{key} is {size}{named}, but {label} has {count} sentences; {fix}")
            for label, count in there.items()
            if size is not None and size > count
        ]
    return problems or _protocol_problems(recipe, parts)


def _protocol_problems(recipe: Recipe, parts: Parts) -> list[Issue]:
    """Seeds for which no sample with every type is found; each seed draws in its own order."""
    size, protocol, problems = recipe.sample.size, recipe.sample.protocol, []
    for file, part in _of(parts, "train"):
        if protocol != "every_type" or size is None or size >= len(part):
            continue
        for seed in recipe.seeds:
            try:
                sample(part, size, protocol, seed)
            except SettingsError as error:
                problems.append(Issue(f"{file.label}, seed {seed}: {error}", file.name))
    return problems


def _id_problems(recipe: Recipe, parts: Parts) -> list[Issue]:
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


def _type_notes(parts: Parts) -> list[str]:
    known, labelled = _types_of_train(parts), _of(parts, "train", "dev", "test")
    return [note for file, part in labelled if (note := note_of_types(file.label, part, known))]


def note_of_types(label: str, part: Iterable[Sentence], known: Collection[str]) -> str:
    """A note on types that occur in labelled sentences but not in the training data; empty if there are none."""
    counts = Counter(entity.type for sentence in part for entity in sentence.entities if entity.type not in known)
    listed = ", ".join(f"{type_} ({count} mentions)" for type_, count in sorted(counts.items()))
    return (
        f"{label} has types that do not occur in train, so all their mentions count as missed: {listed}"
        if counts
        else ""
    )


def note_of_tag_sets(files: Mapping[str, Collection[Sentence]]) -> str:
    """A note if several files have types that no other has, as files with two sets of tags do; else empty."""
    types = {name: types_in(part) for name, part in files.items()}
    own = {name: found.difference(*(types[other] for other in types if other != name)) for name, found in types.items()}
    listed = [f"{', '.join(sorted(only))} only in {name}" for name, only in own.items() if only]
    return (
        f"the train files have different types ({'; '.join(listed)}): if they mean the same, {RENAME}"
        if len(listed) > 1
        else ""
    )


WHY_NOT = {
    "dev": "the best weights are chosen on them, so F1 on test will be too high",
    "raw": "a tagger trained on them gets too high an F1; the selector duplicates rejects them",
}
"""Why sentences of a split should not occur in test."""


def _overlap_notes(parts: Parts) -> list[str]:
    train, test = ([s for _, part in _of(parts, split) for s in part] for split in ("train", "test"))
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
    made_by = system.method
    if made_by and made_by.method == "qa_prompting" and made_by.settings.get("model") in BUNDLED:
        return True
    settings = [recipe.tagger_of(system).settings, made_by.settings if made_by else {}]
    others = [recipe.system(name) for name in (system.base, *system.merge) if name]
    return any(_names(settings, model) for model in TOKEN_CLASSIFICATION) or any(
        _uses_labelled_text(recipe, other) for other in others
    )


def _names(value: Any, name: str) -> bool:
    """Whether a setting has this value, at any depth."""
    if isinstance(value, Mapping):
        return any(_names(part, name) for part in value.values())
    return any(_names(part, name) for part in value) if isinstance(value, list) else bool(value == name)


def note_of_punctuation(labelled: Iterable[Sentence], raw: Iterable[Sentence]) -> str:
    """A note if signs such as commas are words in the one and parts of words in the other, else nothing."""
    both = ((sentence.words for sentence in islice(part, SEEN)) for part in (labelled, raw))
    (of_labelled, one), (of_raw, other) = map(attached_signs, both)
    if of_labelled is None or of_raw is None or abs(of_labelled - of_raw) < CLEAR:
        return ""
    if of_raw > of_labelled:
        return (
            f'punctuation is in the words of raw text, as in "{printable(other)}", and apart in the labelled '
            'sentences: split both alike by --split punctuation (in [data] of a recipe, split = "punctuation")'
        )
    word = printable(one)
    return f'punctuation is in the words of labelled sentences, as in "{word}", and apart in raw text: split both alike'


def note_of_learnt_words(tagger: str, sentences: Iterable[Sentence]) -> str:
    """As `note_of_punctuation`, for the words that a tagger in a folder learnt from, and sentences to be labelled."""
    learnt = read_description(tagger).get("history", {}).get("attached_signs")
    share, word = attached_signs(sentence.words for sentence in islice(sentences, SEEN))
    if learnt is None or share is None or abs(share - learnt) < CLEAR:
        return ""
    others = "in the sentences that the tagger learnt from: split it alike"
    if share > learnt:
        return f'punctuation is in the words, as in "{printable(word)}", and was apart {others}, by --split punctuation'
    return f"punctuation is apart, and was in the words {others}, by --split spaces"


def note_of_overlap(label: str, part: Collection[Sentence], other: str, sentences: Iterable[Sentence]) -> str:
    """A note on how many sentences also occur in another part, which has these; empty if none does."""
    known = {composed(sentence.text) for sentence in sentences}
    shared = sum(composed(sentence.text) in known for sentence in part)
    return f"{shared} of {len(part)} {label} sentences also occur in {other}, word for word" if shared else ""
