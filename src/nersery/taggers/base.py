"""What a tagger is."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from nersery.core.errors import DataError, MissingResourceError, SettingsError
from nersery.core.progress import Progress
from nersery.core.registry import check_choices, files_in, get, name_of, settings_of
from nersery.core.sentence import Sentence

DESCRIPTION = "nersery.json"
"""The file in a tagger's folder that says which tagger it is, with its settings and the course of its training."""

FILES = ("*.json", "*.safetensors", "*.model", "*.jinja", "vocab.txt", "merges.txt", "bpe.codes")
"""Patterns for all that taggers, and the tokenizers among them, write into a folder."""


class Tagger(ABC):
    """Finds entities in sentences, after it was trained on labelled ones.

    A subclass is a dataclass whose fields are its settings, alone in a file that bears its name.
    """

    history: dict[str, Any]
    """The course of the training, as JSON values; empty before it."""

    def __post_init__(self) -> None:
        """Refuse values that are no choice of their setting's; a subclass that has its own calls this one first."""
        check_choices(self)

    @abstractmethod
    def fit(
        self,
        gold: Sequence[Sentence],
        dev: Sequence[Sentence] = (),
        *,
        seed: int = 0,
        progress: Progress | None = None,
        folder: Path | None = None,
        warm: bool = False,
    ) -> dict[str, Any]:
        """Train, keep the weights that are best on dev, and tell the course of it as JSON values.

        Args:
            dev: Sentences to choose the best weights by; empty keeps the last ones.
            folder: Where a training that takes long keeps its state, as `nersery.models.training.trainer.train` does:
                after a kill the same call goes on. It is this training's alone; the caller removes it once the
                tagger is saved.
            warm: Go on from the weights of an earlier training where there was one, and it knows all types of gold.

        Raises:
            DataError: When there is nothing to learn from.
            SettingsError: When the folder holds the state of another training.
        """

    @property
    @abstractmethod
    def types(self) -> tuple[str, ...]:
        """The types that it can predict, sorted; none before it is trained."""

    @abstractmethod
    def predict(self, sentences: Sequence[Sentence], progress: Progress | None = None) -> list[Sentence]:
        """The same sentences, in order, under predicted entities with scores in [0, 1]."""

    def certainty(self, sentences: Sequence[Sentence], *, passes: int = 10, seed: int = 0) -> list[tuple[float, ...]]:
        """How sure the tagger is of the labels that sentences bear, by forward passes with dropout left on.

        It depends neither on the order of the sentences nor on what stands beside them.

        Args:
            passes: Over each sentence, 1 or more.
            seed: Of what the passes drop.

        Returns:
            For each sentence, and each of its words, the share in [0, 1] of the passes that predict its label: its
            type and whether it begins an entity.

        Raises:
            SettingsError: When the tagger has no dropout.
        """
        raise SettingsError(f"the tagger {name_of(self)} cannot say how certain it is: take another tagger")

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the tagger, safetensors and JSON only."""

    @classmethod
    @abstractmethod
    def load(cls, folder: str | Path, *, trust_remote_code: bool = False, device: str = "auto") -> Self:
        """Read a tagger that `save` wrote."""

    def check(self) -> None:  # noqa: B027 - only taggers on pretrained models need it
        """Refuse what is not there (a model, a file) before any other work is done.

        Raises:
            MissingResourceError: Naming it.
        """


LOADING = ("trust_remote_code", "device")
"""Settings that a saved tagger does not bring along: they are for whoever loads it to say."""


def load_tagger(folder: str | Path, *, trust_remote_code: bool = False, device: str = "auto") -> Tagger:
    """Open any saved tagger, or any Hugging Face token-classification model by folder or name.

    Args:
        trust_remote_code: Run code that comes with the model.
        device: Where it is to predict; the one that it was trained on may not be here.

    Raises:
        MissingResourceError: When there is no such thing.
    """
    described = read_description(folder)
    if not Path(folder).is_dir() and (Path(folder).exists() or str(folder).startswith((".", "/", "~"))):
        raise MissingResourceError(f"{folder} is no tagger: expected a folder that `nersery train` wrote")
    name = described.get("tagger", "transformer")
    tagger: Tagger = get("tagger", name).load(folder, trust_remote_code=trust_remote_code, device=device)
    return tagger


def describe(tagger: Tagger, settings: dict[str, Any], history: dict[str, Any]) -> str:
    """The content of the description file."""
    content = {"tagger": name_of(tagger), "settings": settings, "history": history}
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def read_description(folder: str | Path) -> dict[str, Any]:
    """What the folder of a tagger says of it, as `describe` wrote it; empty where there is no such file.

    Raises:
        MissingResourceError: When it is damaged.
    """
    path = Path(folder) / DESCRIPTION
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text("utf-8"))
        sound = [type(content[key]) for key in ("tagger", "settings", "history")] == [str, dict, dict]
    except (ValueError, LookupError, TypeError, RecursionError):
        sound = False
    if not sound:
        raise MissingResourceError(f"{path} is damaged: expected what `nersery train` wrote")
    described: dict[str, Any] = content
    return described


def training_record(method: Any, gold: Sequence[Sentence], dev: Sequence[Sentence]) -> dict[str, Any]:
    """What the training of a method depends on beside its seed, as JSON values; a hash stands for the sentences."""
    settings = settings_of(method)
    files = files_in(type(method), settings)
    return {"settings": settings, "files": files, "gold": labels_hash(gold), "dev": labels_hash(dev)}


def labels_hash(sentences: Iterable[Sentence]) -> str:
    """A hash of the words and labels of sentences in their order."""
    digest = hashlib.sha256()
    for sentence in sentences:
        digest.update(json.dumps([sentence.words, sentence.labels]).encode())
    return digest.hexdigest()


def require_labels(gold: Sequence[Sentence]) -> None:
    """Refuse to train on nothing.

    Raises:
        DataError: When there is no sentence or no entity.
    """
    if not gold:
        raise DataError("there is no training sentence", fix="give labelled sentences (in a command often --gold FILE)")
    if not any(sentence.entities for sentence in gold):
        raise DataError(
            f"none of the {len(gold)} training sentences has an entity",
            fix="give labelled sentences; if these are, say in which column their tags stand (--tag-column)",
        )


def strict_f1(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> float:
    """Micro F1 over whole entities, of sentences in the same order; to choose the best weights by."""
    correct = sum(len({*g.labels} & {*p.labels}) for g, p in zip(gold, predicted, strict=True))
    total = sum(len(s.entities) for s in gold) + sum(len(s.entities) for s in predicted)
    return 2 * correct / total if total else 0.0
