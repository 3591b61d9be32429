"""Small stand-ins for the files of a user: three data files, a recipe, and a tagger that trains instantly."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from nersery import Entity, Sentence, io
from nersery.core import registry
from nersery.core.training_context import NO_TRAINING, Training
from nersery.taggers.base import Tagger, require_labels
from nersery.taggers.tagger_folder.description import DESCRIPTION, write_description

PEOPLE = [
    "Ada Lovelace",
    "Grace Hopper",
    "Linus",
    "Radia Perlman",
    "Barbara Liskov",
    "Alan",
    "Lima",
    "Edsger",
    "London",
]
PLACES = ["Oslo", "New York", "London", "Lima", "Addis Ababa", "Alan", "Quito", "Ulan Bator", "Pune", "Bonn", "Linus"]
"""Some are names of both, so that a tagger makes errors."""
PATTERNS = [
    ("PERSON", "lives in", "PLACE", "."),
    ("PLACE", "is far from", "PLACE", "today ."),
    ("we saw", "PERSON", "there"),
    ("nobody came to the party",),
]
TRAINED: list[tuple[int, int]] = []
"""Seed and number of training sentences of every training of `Memory` in this process."""


def sentences(count: int, start: int = 0) -> list[Sentence]:
    """Labelled sentences; a different start gives different sentences."""
    made = []
    for number in range(start, start + count):
        words: list[str] = []
        entities = []
        for place, part in enumerate(PATTERNS[number % len(PATTERNS)]):
            names = {"PERSON": PEOPLE, "PLACE": PLACES}.get(part)
            new = (names[(number * 7 + place * 3) % len(names)] if names else part).split()
            if names:
                entities.append(Entity(len(words), len(words) + len(new), "PER" if part == "PERSON" else "LOC"))
            words += new
        made.append(Sentence((*words, str(number)), tuple(entities)))
    return made


def write_data(folder: Path) -> None:
    """Train, dev and test files."""
    for name, count, start in (("train", 24, 0), ("dev", 6, 100), ("test", 12, 200)):
        io.write(sentences(count, start), folder / f"{name}.conll")


RECIPE = """
name = "small"
seeds = [0]
[data]
train = "train.conll"
dev = "dev.conll"
test = "test.conll"
[sample]
size = 16
[evaluate]
bootstrap_samples = 100
[tagger]
{tagger}
[[systems]]
name = "both"
method = "mention_replacement"
copies = 2
select = ["duplicates", "agreement"]
[[systems]]
name = "one"
method = "mention_replacement"
copies = 2
select = ["duplicates"]
"""


def write_recipe(folder: Path, tagger: str = 'method = "memory"', name: str = "recipe.toml") -> Path:
    """Data files, and a recipe that uses them in two systems with the same generation."""
    write_data(folder)
    path = folder / name
    path.write_text(RECIPE.format(tagger=tagger), "utf-8")
    return path


def without_last_system(recipe: Path) -> None:
    """Remove the last system of a recipe."""
    text = recipe.read_text("utf-8")
    recipe.write_text(text[: text.rindex("[[systems]]")], "utf-8")


def tiny(model: str, steps: int = 4) -> str:
    """Settings of a tagger with a tiny model, which still learns a little."""
    return f"model = {json.dumps(model)}\nsteps = {steps}\nhead_learning_rate = 0.05\nlearning_rate = 0.005"


WITH_TIMES = ("run_time.json", "run-time.csv", "report.html", "report.md")
"""Files of a run that contain run times; all else in `report.json` is compared."""


def files(folder: Path) -> dict[str, bytes]:
    """All files in a folder by their paths, without run times, and the empty folders."""
    return {
        str(path.relative_to(folder)): b"" if path.is_dir() else _without_times(path)
        for path in sorted(folder.rglob("*"))
        if (path.is_file() and path.name not in WITH_TIMES) or (path.is_dir() and not any(path.iterdir()))
    }


def _without_times(path: Path) -> bytes:
    content = path.read_bytes()
    if path.name != "report.json":
        return content
    report = json.loads(content)
    report.pop("run_time", None)
    return json.dumps(report).encode()


@dataclass
class Memory(Tagger):
    """Finds the mentions that it was trained on, and no others.

    Args:
        longest: Words of the longest mention that it keeps.
        steps: Is recorded, but has no effect.
    """

    longest: int = 9
    steps: int = 1
    history: dict[str, Any] = field(default_factory=dict, init=False)
    mentions: dict[tuple[str, ...], str] = field(default_factory=dict, init=False)

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING, *, warm: bool = False) -> dict[str, Any]:
        require_labels(gold)
        seed = training.seed
        TRAINED.append((seed, len(gold)))
        for sentence in gold:
            for entity in sentence.entities:
                self.mentions.setdefault(sentence.mention(entity), entity.type)
        self.history = {"seed": seed, "sentences": len(gold), "steps": self.steps, "best_step": 1, "evaluations": []}
        return self.history

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(sorted({*self.mentions.values()}))

    def predict(self, sentences: Sequence[Sentence], progress: Any = None) -> list[Sentence]:
        return [sentence.with_entities(self._found(sentence.words)) for sentence in sentences]

    def certainty(self, sentences: Sequence[Sentence], *, passes: int, seed: int = 0) -> list[tuple[float, ...]]:
        predicted = self.predict(sentences)
        return [(float(own.labels == s.labels),) * len(s) for own, s in zip(predicted, sentences, strict=True)]

    def _found(self, words: tuple[str, ...]) -> Iterator[Entity]:
        start = 0
        while start < len(words):
            ends = range(min(len(words), start + self.longest), start, -1)
            end = next((end for end in ends if words[start:end] in self.mentions), start)
            if end > start:
                yield Entity(start, end, self.mentions[words[start:end]], 1.0)
            start = max(end, start + 1)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        mentions = [[list(words), type_] for words, type_ in self.mentions.items()]
        (folder / "mentions.json").write_text(json.dumps(mentions), "utf-8")
        settings = {"longest": asdict(self)["longest"]}
        write_description(folder, self, settings)

    @classmethod
    def load(cls, folder: str | Path, *, trust_remote_code: bool = False, device: str = "auto") -> Memory:
        saved = json.loads((Path(folder) / DESCRIPTION).read_text("utf-8"))
        tagger = cls(**saved["settings"])
        tagger.history = saved["history"]
        mentions = json.loads((Path(folder) / "mentions.json").read_text("utf-8"))
        tagger.mentions = {tuple(words): type_ for words, type_ in mentions}
        return tagger


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Register the tagger ``memory``; gives the list of its trainings."""
    register(monkeypatch)
    TRAINED.clear()
    return TRAINED


def register(patch: pytest.MonkeyPatch, kind: str = "tagger", name: str = "memory", where: str = "") -> None:
    """Register a method, as a package with it would; by default the tagger."""
    points = registry._entry_points
    added = {name: EntryPoint(name, where or f"{__name__}:Memory", f"nersery.{kind}")}
    patch.setattr(registry, "_entry_points", lambda of: {**points(of), **(added if of == kind else {})})


def environment() -> dict[str, str]:
    """The environment of other processes."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200", "TERM": "dumb"}
