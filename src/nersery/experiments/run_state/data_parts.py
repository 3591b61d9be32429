"""The corpora of a recipe, one for each of its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nersery.core.sentence import Corpus, Sentence
from nersery.experiments.recipe_file.data_files import DataFile

Parts = Mapping[DataFile, Corpus]
"""The corpus of each file, by split and language."""


def parts_of(parts: Parts, *splits: str) -> Iterator[tuple[DataFile, Corpus]]:
    """The files of some splits, with their corpora."""
    return ((file, part) for file, part in parts.items() if file.split in splits)


def sentences_of(parts: Parts, split: str) -> Iterator[Sentence]:
    """The sentences of all files of a split."""
    return (sentence for _, part in parts_of(parts, split) for sentence in part)
