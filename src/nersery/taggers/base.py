"""The interface of taggers."""

from __future__ import annotations

import hashlib
import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args, overload

from nersery.core.errors import DataError, Issue, MissingResourceError, SettingsError, require_choice, shown
from nersery.core.outcome import BatchFunction, Result, Tally
from nersery.core.progress import Progress
from nersery.core.registry import Method, get, instance, name_of, names, refuse_swapped
from nersery.core.sentence import Sentence, types_in
from nersery.core.settings.file_settings import content_hashes
from nersery.core.settings.typed_settings import settings_of
from nersery.core.system.files import as_path, content_hash
from nersery.core.system.folders import check_replaceable, replaced_folder
from nersery.core.training_context import NO_TRAINING, Training, refuse_unsaved
from nersery.io.input_files.same_file import refuse_overwriting
from nersery.io.reading import Sentences, opened, opened_if_given
from nersery.models.pretrained.torch_state import torch_defaults
from nersery.pipeline.stage import Stage
from nersery.pipeline.stage_job import check_training, resume_training, run_stage
from nersery.pipeline.stage_options import JobOptions, options_without_settings, text_paths
from nersery.taggers.tagger_folder.description import (
    DESCRIPTION,
    attached_share_learnt,
    missing_folder,
    read_description,
)

FILES = (
    *("*.json", "*.safetensors", "*.model", "*.jinja", "vocab.txt", "merges.txt", "bpe.codes"),
    *("crf_pipeline.py", "model.onnx", "model.onnx.tmp"),
)
"""Patterns of all files that taggers and their tokenizers write, and of what a killed export leaves."""


class Tagger(Method, ABC):
    """Finds entities in sentences after training on labelled ones.

    A subclass is a dataclass with its settings as fields. It is the only public class in a file of its name.
    """

    MIN_STEPS: ClassVar[int] = 300
    MIN_EPOCHS: ClassVar[int] = 3
    """The minimum steps and epochs of a training if the settings ``steps`` and ``epochs`` are not given."""
    history: dict[str, Any]
    """The training history as JSON values; empty before training."""

    @abstractmethod
    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING, *, warm: bool = False) -> dict[str, Any]:
        """Train, keep the best weights on dev, and return the history as JSON values.

        Args:
            training: If no entity of dev has a type of gold, the last weights are kept. The caller removes the folder
                once the tagger is saved. See `nersery.models.training.trainer.train`.
            warm: Start from the weights of an earlier training, if there was one and it has all types of gold.

        Raises:
            DataError: If there is nothing to learn from.
            SettingsError: If the folder belongs to another training.
        """

    @property
    @abstractmethod
    def types(self) -> tuple[str, ...]:
        """The types that the tagger can predict, sorted; empty before training."""

    @abstractmethod
    def predict(self, sentences: Sequence[Sentence], progress: Progress | None = None) -> list[Sentence]:
        """The sentences, in order, with predicted entities and their scores in [0, 1].

        Raises:
            SettingsError: If the network computes NaN.
        """

    def predict_soft(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The predicted sentences with soft labels, which are the marginal probabilities of uncertain labels.

        A tagger that is trained on these sentences learns the probabilities in place of the labels.

        Raises:
            SettingsError: If the tagger has no marginal probabilities.
        """
        raise SettingsError(f'the tagger {name_of(self)} has no soft labels: choose labels = "hard"')

    def certainty(self, sentences: Sequence[Sentence], *, passes: int = 10, seed: int = 0) -> list[tuple[float, ...]]:
        """The certainty of the labels of sentences, by Monte Carlo dropout.

        The certainty of a sentence does not depend on the order of the sentences or on the other sentences.

        Args:
            passes: Forward passes over each sentence, 1 or more.
            seed: Random seed of the dropout masks.

        Returns:
            For each word of each sentence, the share in [0, 1] of passes that predict the label of the word: its type
            and whether it begins an entity.

        Raises:
            SettingsError: If the tagger has no dropout.
        """
        raise SettingsError(f"the tagger {name_of(self)} has no certainty estimates: choose another tagger")

    def check_certainty(self) -> None:
        """Raise `SettingsError` if the settings show, before training, that `certainty` will not work."""
        if type(self).certainty is Tagger.certainty:
            self.certainty(())  # the default, which raises

    @abstractmethod
    def save(self, folder: str | Path) -> None:
        """Write the tagger, as safetensors and JSON only."""

    @classmethod
    @abstractmethod
    def load(cls, folder: str | Path, *, trust_remote_code: bool = False, device: str = "auto") -> Self:
        """Read a tagger that `save` wrote."""

    def use_onnx(self, folder: Path) -> None:
        """Predict by ONNX Runtime from now on.

        Args:
            folder: The folder in which the tagger and its export were saved.

        Raises:
            MissingResourceError: If ONNX Runtime or the export is missing.
            SettingsError: If the tagger cannot be exported.
        """
        raise SettingsError(f"{folder} holds a {name_of(self)}: only transformer taggers run on ONNX")


LOADING = ("trust_remote_code", "device")
"""Settings that are not read from a saved tagger; the caller of `load` chooses them."""


Backend = Literal["torch", "onnx"]


@torch_defaults()
def load_tagger(
    folder: str | Path, *, trust_remote_code: bool = False, device: str = "auto", backend: Backend = "torch"
) -> Tagger:
    """Load a saved tagger, or a Hugging Face token-classification model by folder or name.

    Args:
        trust_remote_code: Run code from the model's repository.
        device: Device for prediction; the device of the training may not exist on this machine.
        backend: The library that runs the network. ``onnx`` is ONNX Runtime on the CPU, in fp32; it runs the export
            that ``nersery train --onnx`` wrote.

    Raises:
        MissingResourceError: If there is no such tagger, or something that the backend needs is missing.
    """
    as_path(folder, "the tagger")
    require_choice(backend, "backend", get_args(Backend))
    name = read_description(folder).get("tagger", "transformer")
    missing = missing_folder(str(folder))
    try:
        tagger: Tagger = get("tagger", name).load(folder, trust_remote_code=trust_remote_code, device=device)
    except MissingResourceError as error:
        if not missing:
            raise
        raise MissingResourceError(f"{missing}. Nor is it a Hugging Face model: {error}") from error
    if backend == "onnx":
        tagger.use_onnx(Path(folder))
    return tagger


def training_record(method: Any, gold: Sequence[Sentence], dev: Sequence[Sentence]) -> dict[str, Any]:
    """Everything that a training depends on, except its seed, as JSON values; sentences are hashed."""
    settings = settings_of(method)
    files = content_hashes(type(method), settings)
    return {"settings": settings, "files": files, "gold": labels_hash(gold), "dev": labels_hash(dev)}


def labels_hash(sentences: Iterable[Sentence]) -> str:
    """A hash of the words and labels of sentences in their order."""
    digest = hashlib.sha256()
    for sentence in sentences:
        soft = [[asdict(label) for label in sentence.soft_labels]] if sentence.soft_labels else []
        digest.update(json.dumps([sentence.words, sentence.labels, *soft]).encode())
    return digest.hexdigest()


def require_labels(gold: Sequence[Sentence], file: str | None = None) -> None:
    """Check that there is something to train on.

    Args:
        file: The file of the sentences, for the message.

    Raises:
        DataError: If there is no sentence or no entity.
    """
    if not gold:
        raise DataError(Issue("there is no training sentence", file), fix="give labelled sentences")
    if not any(sentence.entities for sentence in gold):
        raise DataError(
            Issue(f"no training sentence of {len(gold)} has an entity", file),
            fix="give labelled sentences; if these are labelled, name the column of their tags (--tag-column)",
        )


NOTHING_TO_COMPARE = "dev has no entity of a type that the tagger learns, so its F1 is always 0"


def can_compare(dev: Iterable[Sentence], types: Collection[str]) -> bool:
    """Whether F1 on dev can compare taggers that predict these types."""
    return not types_in(dev).isdisjoint(types)


def strict_f1(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> float:
    """Micro F1 over whole entities of sentences in the same order, for choosing the best weights."""
    correct = sum(len({*g.labels} & {*p.labels}) for g, p in zip(gold, predicted, strict=True))
    total = sum(len(s.entities) for s in gold) + sum(len(s.entities) for s in predicted)
    return 2 * correct / total if total else 0.0


@dataclass(frozen=True)
class PredictStage(Stage[Sentence, Sentence]):
    """A stage that labels sentences with a tagger.

    Args:
        tagger: The folder of a trained tagger, a Hugging Face token-classification model, or a tagger in memory.
        backend: Backend of a tagger that is loaded; see `load_tagger`.
    """

    batch_size: ClassVar[int] = 256
    """As fast as 1,024, which takes half a minute on a CPU: a kill would lose that, and progress would stand still."""
    tagger: str | Tagger
    backend: Backend = "torch"

    def load(self) -> str | Tagger:
        """Return the tagger without loading it: loading takes seconds, so `fit` does it. See `Stage`."""
        return self.tagger

    def uses_model(self, method: str | Tagger) -> bool:
        """Always true, because taggers are neural networks; see `Stage`."""
        return True

    def fit(self, method: str | Tagger, folder: Path | None, progress: Progress | None) -> BatchFunction[Sentence]:
        """Load the tagger if it is not in memory; there is nothing to learn. See `Stage`."""
        return (method if isinstance(method, Tagger) else load_tagger(method, backend=self.backend)).predict

    def files(self) -> dict[str, str]:
        return {"tagger": content_hash(str(self.tagger))} if Path(str(self.tagger)).is_dir() else {}


@overload
def predict(corpus: Sentences, tagger: str | Path | Tagger, *, output: None = None, **options: Any) -> Result: ...


@overload
def predict(corpus: Sentences, tagger: str | Path | Tagger, *, output: str | Path, **options: Any) -> Tally: ...


def predict(
    corpus: Sentences,
    tagger: str | Path | Tagger,
    *,
    output: str | Path | None = None,
    backend: Backend = "torch",
    **options: Any,
) -> Result | Tally:
    """Label sentences with a trained tagger.

    Args:
        corpus: Sentences, or a file of them.
        tagger: A trained folder, a Hugging Face token-classification model, or what `nersery.train` returned.
        output: A file to write, or with ``shards`` a folder; the same call resumes after a kill. None returns the
            result in memory.
        backend: ``onnx`` runs a saved transformer tagger on ONNX Runtime; see `load_tagger`.
        options: Fields of `nersery.pipeline.stage_options.JobOptions`.

    Returns:
        The corpus, the rejects and their counts; with ``output`` the counts alone.

    Raises:
        SettingsError: For an output or a backend with a tagger that is in memory alone.
    """
    if isinstance(tagger, Tagger):
        refuse_unsaved(output)
        if backend != "torch":
            raise SettingsError("a tagger in memory runs on PyTorch: name its folder, or leave out backend")
    else:
        if not isinstance(tagger, str | Path):
            raise SettingsError(
                f"the tagger is {shown(tagger)}, expected a folder, the name of a model or a trained tagger; "
                "nersery.predict takes the sentences first, then the tagger"
            )
        as_path(tagger, "tagger")
        tagger = str(tagger)
        if isinstance(corpus, str | Path) and Path(tagger).is_file() and not Path(corpus).is_file():
            raise SettingsError(
                f"the tagger {tagger} is a file. If {corpus} is the tagger, the first two arguments are swapped: "
                "nersery.predict takes the sentences first, then the tagger"
            )
    refuse_overwriting(output, corpus)
    rows = opened(corpus, raw=True, attached_share=attached_share_learnt(tagger))
    return run_stage(PredictStage(tagger, backend), rows, output, options_without_settings(options))


@torch_defaults()
def train(
    gold: Sentences,
    method: str | type[Tagger] | Tagger = "transformer",
    *,
    output: str | Path | None = None,
    dev: Sentences | None = (),
    seed: int = 0,
    force: bool = False,
    quiet: bool = False,
    **settings: Any,
) -> Tagger:
    """Train a tagger.

    Args:
        gold: Labelled sentences, or a file of them.
        method: A name from `nersery list tagger`, a tagger class, or an untrained tagger.
        output: The folder to write; the same call resumes after a kill. None keeps the tagger in memory.
        dev: Labelled sentences for choosing the best weights.
        force: Overwrite the folder.
        quiet: Show no progress.
        settings: Settings of the tagger, unless ``method`` is an untrained tagger.
    """
    training = Training(seed=seed)  # refuses an invalid seed before anything is read
    JobOptions(force=force, quiet=quiet)  # refuses values that are not booleans
    folder = None if output is None else as_path(output, "output")
    refuse_swapped("tagger", gold, method)
    _refuse_sentences(method)
    tagger: Tagger = instance("tagger", method, text_paths(settings))
    tagger.check()
    if folder is not None:
        check_tagger_folder(folder, force=force)
    sentences = list(opened(gold, "gold"))
    training = replace(training, dev=list(opened_if_given(dev, "dev")))
    if folder is not None:
        train_into(folder, tagger, sentences, training, force=force, quiet=quiet)
    else:
        with Progress("train", quiet=quiet) as progress:
            tagger.fit(sentences, replace(training, progress=progress))
    return tagger


def _refuse_sentences(method: object) -> None:
    """Raise `SettingsError` if sentences, probably of dev, are given in place of the method."""
    is_file = isinstance(method, str | Path) and method not in names("tagger") and Path(method).is_file()
    if is_file or (hasattr(method, "__iter__") and not isinstance(method, str | Path)):
        raise SettingsError(
            f"the method is {shown(method)}, expected {' or '.join(names('tagger'))}. Give the sentences that choose "
            "the best weights as dev=…, and join those to train on: train + more"
        )


def training_folder(folder: Path) -> Path:
    """The folder in which the training of a tagger keeps its state until the tagger is saved."""
    return folder.with_name(folder.name + ".training")


def check_tagger_folder(folder: Path, *, force: bool) -> None:
    """Raise `SettingsError` if a folder holds anything but a tagger, or holds a tagger and ``force`` is not set."""
    check_replaceable(folder, DESCRIPTION, "tagger", FILES, force=force)
    check_training(training_folder(folder))


def train_into(
    folder: Path, tagger: Tagger, gold: Sequence[Sentence], training: Training, *, force: bool, quiet: bool
) -> dict[str, Any]:
    """Train a tagger, or resume its training, save it, and return the history."""
    state = training_folder(folder)
    with replaced_folder(folder) as unfinished:
        with Progress("train", quiet=quiet) as progress:
            fit = partial(tagger.fit, gold, replace(training, progress=progress, folder=state))
            history = resume_training(fit, state, force=force)
        tagger.save(unfinished)
        check_tagger_folder(folder, force=force)  # the folder may have been created in the meantime
    shutil.rmtree(state, ignore_errors=True)
    return history
