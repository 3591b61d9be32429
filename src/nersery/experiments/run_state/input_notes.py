"""Notes on data files of a recipe that are suspicious, on their own or compared with the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from nersery.core.registry import BUNDLED
from nersery.core.sentence import Corpus, types_in
from nersery.experiments.data.corpus_notes import (
    note_of_labellings,
    note_of_length,
    note_of_overlap,
    note_of_splitting,
    note_of_types,
)
from nersery.experiments.data.folds import note_of_documents
from nersery.experiments.data.text_profile import note_of_encoder, note_of_language, profile
from nersery.experiments.recipe import Recipe
from nersery.experiments.recipe_file.data_files import CorpusByFile, parts_of, sentences_of, train_of
from nersery.experiments.systems import System
from nersery.models.bundled_models.bundled_heads import TOKEN_CLASSIFICATION
from nersery.models.bundled_models.question_text import CORPORA, count_known


def input_notes(recipe: Recipe, parts: CorpusByFile) -> list[str]:
    """Notes on suspicious data."""
    train, folds = [*sentences_of(parts, "train")], recipe.sample.folds
    known = types_in(train)
    notes = [
        *_size_notes(recipe, parts),
        note_of_documents(Corpus(train), folds) if folds else "",
        *(note_of_types(file.label, part, known) for file, part in parts_of(parts, "train", "dev", "test")),
        *(note_of_labellings(file.label, part) for file, part in parts_of(parts, "train")),
        *_overlap_notes(parts),
        *(note_of_language(file.label, part) for file, part in parts.items()),
        *(note_of_length(file.label, sum(map(len, part)), len(part)) for file, part in parts_of(parts, "train", "raw")),
        *_splitting_notes(parts),
        *_encoder_notes(recipe, parts),
        *_known_text_notes(recipe, parts),
    ]
    return [note for note in notes if note]


def _size_notes(recipe: Recipe, parts: CorpusByFile) -> list[str]:
    """Notes on large dev files next to a small sample, which a low-resource setting would not have."""
    size = recipe.sample.size
    if size is None or recipe.sample.dev_size is not None:
        return []
    return [
        f"{file.label} keeps all its {len(part)} sentences, but train is a sample of {size}; "
        f"the papers draw the same number from dev (sample.dev_size = {size})"
        for file, part in parts_of(parts, "dev")
        if len(part) > 2 * size
    ]


WHY_NOT = {
    "dev": "the best weights are chosen on them, so F1 on test will be too high",
    "raw": "a tagger trained on them gets too high an F1; the selector duplicates rejects them",
}
"""Why sentences of a split should not occur in test."""


def _overlap_notes(parts: CorpusByFile) -> list[str]:
    train, test = ([*sentences_of(parts, split)] for split in ("train", "test"))
    notes = [note_of_overlap(file.label, part, "train", train) for file, part in parts_of(parts, "dev", "test", "raw")]
    for file, part in parts_of(parts, *WHY_NOT):
        if note := note_of_overlap(file.label, part, "test", test):
            notes.append(f"{note}: {WHY_NOT[file.split]}")
    return notes


def _splitting_notes(parts: CorpusByFile) -> Iterator[str]:
    """Notes on raw text whose words are split differently than in the labelled sentences of its language."""
    for file, raw in parts_of(parts, "raw"):
        if text := note_of_splitting(chain.from_iterable(train_of(parts, file.language)), raw):
            yield f"{file.label}: {text}" if file.language else text


def _encoder_notes(recipe: Recipe, parts: CorpusByFile) -> Iterator[str]:
    """Notes on encoders of taggers that know no word in the script of labelled sentences."""
    taggers = (recipe.tagger_of(system).create() for system in recipe.systems)
    models = dict.fromkeys(getattr(tagger, "model", "") for tagger in taggers)
    for file, part in parts_of(parts, "train"):
        text = profile(part, file.language)
        for model in models:
            if note := note_of_encoder(model, text, "name a model of its language in the tagger's setting model"):
                yield f"{file.label}: {note}"


def _known_text_notes(recipe: Recipe, parts: CorpusByFile) -> list[str]:
    """Notes on sentences that bundled models were trained on, if a system uses one of these models."""
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
    if method and system.asks_questions and method.settings.get("model") in BUNDLED:
        return True
    settings = [recipe.tagger_of(system).settings, method.settings if method else {}]
    others = map(recipe.system, system.references)
    return any(_names(settings, model) for model in TOKEN_CLASSIFICATION) or any(
        _uses_labelled_text(recipe, other) for other in others
    )


def _names(value: Any, name: str) -> bool:
    """Whether a setting has this value, at any depth."""
    if isinstance(value, Mapping):
        return any(_names(part, name) for part in value.values())
    return any(_names(part, name) for part in value) if isinstance(value, list) else bool(value == name)
