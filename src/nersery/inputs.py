"""The data files of a recipe: read whole, and checked together before anything runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from nersery import io
from nersery.augment.base import made_from
from nersery.data import Corpus
from nersery.errors import DataError, Problem
from nersery.overrides import SPLITS
from nersery.recipe import Recipe

Corpora = Mapping[str, Corpus]
"""The corpora by split; one that the recipe does not name is empty."""

OPTIONS_HINT = 'in a recipe these options stand in [data], e.g. --repair NAME as repair = ["NAME"]'


def read_inputs(recipe: Recipe, say: Callable[[str], None]) -> tuple[dict[str, Corpus], list[str]]:
    """All corpora of a recipe, and notes on what is odd about them.

    Args:
        say: Is told how each file was understood.

    Raises:
        DataError: With every problem of every file, or else with everything that does not fit together.
    """
    corpora: dict[str, Corpus] = {}
    notes: list[str] = []
    problems: list[Problem] = []
    fixes: list[str] = []
    for split in SPLITS:
        name = getattr(recipe.data, split)
        try:
            corpora[split] = _read(recipe, split, say, notes) if name else Corpus()
        except DataError as error:
            problems += error.problems
            fixes.append(error.fix)
    if not problems:
        problems = [*_label_problems(recipe, corpora), *_size_problems(recipe, corpora), *_id_problems(recipe, corpora)]
    if problems:
        if any("--" in fix for fix in fixes):
            fixes.append(OPTIONS_HINT)
        raise DataError(problems, fix="; ".join(dict.fromkeys(filter(None, fixes))))
    return corpora, [*notes, *_type_notes(corpora), *_overlap_notes(corpora)]


def _read(recipe: Recipe, split: str, say: Callable[[str], None], notes: list[str]) -> Corpus:
    name = getattr(recipe.data, split)
    path = recipe.path(name)
    if path.is_fifo():
        raise DataError(Problem("this is a pipe", name), fix="name a file: a run that goes on reads it again")
    source = io.open_corpus(path, recipe.data.reading)
    corpus = Corpus(source)
    say(f"{split}: {name} ({source.description}), {len(corpus)} sentences")
    if source.repaired:
        counts = ", ".join(f"{repair} {count}" for repair, count in sorted(source.repaired.items()))
        notes.append(f"{split} was repaired as asked: {counts}")
    if source.rejects:
        notes.append(f"{split}: {len(source.rejects)} sentences were rejected by the repair drop-sentence")
    return corpus


def _label_problems(recipe: Recipe, corpora: Corpora) -> list[Problem]:
    problems = []
    for split in SPLITS:
        name = getattr(recipe.data, split)
        if name and not corpora[split]:
            problems.append(Problem(f"the {split} file has no sentence", name))
        elif split != "dev" and not corpora[split].types:
            problems.append(Problem(f"no sentence of the {split} file has an entity", name))
    train, test = corpora["train"].types, corpora["test"].types
    if train and test and not {*train} & {*test}:
        message = f"test has the types {', '.join(test)}, train has {', '.join(train)}: none of them"
        problems.append(Problem(message, recipe.data.test))
    return problems


def _size_problems(recipe: Recipe, corpora: Corpora) -> list[Problem]:
    sizes = {("sample.size", "train"): recipe.sample.size, ("sample.dev_size", "dev"): recipe.sample.dev_size}
    return [
        Problem(f"{key} is {size}, but {split} has {len(corpora[split])} sentences")
        for (key, split), size in sizes.items()
        if size is not None and size > len(corpora[split])
    ]


def _id_problems(recipe: Recipe, corpora: Corpora) -> list[Problem]:
    """What a method makes gets an id from its parent's, which then must be free."""
    methods = {arm.augment.method for arm in recipe.arms if arm.augment is not None}
    ids = corpora["train"].by_id
    for id in ids:
        parent, method = made_from(id)
        if parent in ids and method in methods:
            message = f"{id!r} was made by {method} already, which would give the same id again"
            return [Problem(f"{message}; convert the file to .conll, which keeps no ids", recipe.data.train)]
    return []


def _type_notes(corpora: Corpora) -> list[str]:
    known = {*corpora["train"].types}
    notes = []
    for split in ("dev", "test"):
        counts = Counter(e.type for s in corpora[split] for e in s.entities if e.type not in known)
        if counts:
            listed = ", ".join(f"{type_} ({count} mentions)" for type_, count in sorted(counts.items()))
            notes.append(f"{split} has types that train lacks, so they count as missed: {listed}")
    return notes


def _overlap_notes(corpora: Corpora) -> list[str]:
    train = {sentence.words for sentence in corpora["train"]}
    notes = []
    for split in ("dev", "test"):
        shared = sum(sentence.words in train for sentence in corpora[split])
        if shared:
            notes.append(f"{shared} of {len(corpora[split])} {split} sentences also stand in train, word for word")
    return notes
