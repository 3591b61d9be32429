"""Helpers that execute a recipe and inspect its results."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nersery import Entity, Sentence, io
from nersery.experiments.recipe import load
from nersery.experiments.runner import Run
from tests.killing import KilledError
from tests.standins import sentences

Trainings = list[tuple[int, int]]
PRODUCTS = [Sentence(("Rex", "is", "a", "phone", str(n)), (Entity(0, 1, "PROD"),)) for n in range(3)]


def execute(*overrides: str, out: str = "run") -> dict[str, Any]:
    return Run(load("recipe.toml", overrides), Path(out), quiet=True).execute().as_dict()


def system(report: dict[str, Any], name: str) -> dict[str, Any]:
    return next(system for system in report["systems"] if system["name"] == name)


def lines(path: str | Path) -> int:
    return Path(path).read_text("utf-8").count("\n") if Path(path).exists() else 0


def ids(source: str | Iterable[Sentence]) -> list[str]:
    """Ids of sentences, or of those in a file."""
    return [sentence.id for sentence in (io.read(source) if isinstance(source, str) else source)]


def trained_on(report: dict[str, Any]) -> list[int]:
    """How many sentences each system was trained on, with the first seed."""
    return [described["train_sentences"][0] for described in report["systems"]]


def append_system(text: str) -> None:
    with Path("recipe.toml").open("a", encoding="utf-8") as stream:
        stream.write(f"[[systems]]\n{text}\n")


NAMES = {"PER": ["राम", "लता मंगेशकर", "किशोर कुमार"], "LOC": ["दिल्ली", "मुंबई", "नई दिल्ली"]}
TRAIN_BY_LANGUAGE = 'train = { hi = "hi/train.conll", en = "en/train.conll" }'


def hindi(count: int, start: int = 0) -> list[Sentence]:
    """Sentences with other mentions, of the same types."""

    def words(sentence: Sentence, entity: Entity) -> list[str]:
        names = NAMES[entity.type]
        return names[(len(sentence.words[-1]) + sum(map(ord, sentence.text)) + entity.start) % len(names)].split()

    return [
        sentence.replace_spans([(e.start, e.end, words(sentence, e)) for e in sentence.entities])
        for sentence in sentences(count, start)
    ]


def of_language(path: str, language: str) -> list[Sentence]:
    return [sentence for sentence in io.read(path) if sentence.language == language]


each_or_some = pytest.mark.parametrize("each", [pytest.param(1, marks=pytest.mark.torture), 3], ids=["all", "some"])
"""Kill at each moment, or, for speed, at every third."""


@contextlib.contextmanager
def killing(at: int) -> Iterator[Callable[[], int]]:
    """Kill before the given move of a file, or during the removal of a folder; counts both."""
    count = 0

    def watched(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *rest: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count != at:
                return original(path, *rest, **options)
            if original is shutil.rmtree:
                next((file for file in Path(path).rglob("*") if file.is_file()), Path("none")).unlink(missing_ok=True)
            raise KilledError

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", watched(os.replace))
        patch.setattr(shutil, "rmtree", watched(shutil.rmtree))
        yield lambda: count
