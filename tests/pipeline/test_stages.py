from __future__ import annotations

import errno
import json
import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence, io
from nersery.annotate.base import AnnotateStage
from nersery.augment.base import AugmentStage, augment
from nersery.core import registry
from nersery.core.alignments import Link
from nersery.core.outcome import Reject
from nersery.core.system.files import write_atomic
from nersery.core.training_context import Training
from nersery.core.warnings import NO_NOTES
from nersery.crosslingual.label_projection.project_stage import ProjectStage
from nersery.crosslingual.label_projection.projection import Projection, Task, Translation
from nersery.pipeline.engines.worker import BatchRunner, MessageHandler, WorkerTask
from nersery.pipeline.stage import Stage
from nersery.taggers.base import PredictStage, predict
from tests.killing import KilledError, stop_at
from tests.pipeline.engines.test_pool import run
from tests.standins import Memory, sentences, write_data


@pytest.fixture
def train(tmp_path: Path) -> io.Source:
    write_data(tmp_path)
    return io.open_corpus(tmp_path / "train.conll")


def lines(sentences: Any) -> bytes:
    return "".join(map(io.writer("jsonl").encode, sentences)).encode()


def test_augment_stage_makes_what_the_library_makes(train: io.Source) -> None:
    stage = AugmentStage("mention_replacement", {"rate": 0.8}, gold=train, training=Training(seed=3), copies=2)
    made = augment(list(train), registry.create("augment", "mention_replacement", {"rate": 0.8}), copies=2, seed=3)
    answer, _, _ = run(list(stage.items(train)), stage=stage)
    assert answer.output == lines(made.corpus)
    assert answer.rejects == "".join(map(io.reject_line, made.rejects)).encode()
    assert (answer.rows, answer.tally.read) == (48, 48)


def test_predict_stage_labels_like_the_tagger(memory: Any, tmp_path: Path) -> None:
    tagger = Memory()
    tagger.fit(sentences(24))
    tagger.save(tmp_path / "tagger")
    raw = [Sentence(s.words, id=f"r{n}") for n, s in enumerate(sentences(12, 200))]
    answer, _, _ = run(raw, stage=PredictStage(str(tmp_path / "tagger")))
    assert answer.output == lines(tagger.predict(raw))


def test_prediction_loses_little_work_in_a_kill(
    memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saves_each_batch: None
) -> None:
    """A slow tagger on a CPU labels about ten sentences per second."""
    tagger, raw = Memory(), Corpus(Sentence(("a",), id=f"r{n}") for n in range(600))
    tagger.fit(sentences(24))
    tagger.save(tmp_path / "tagger")
    monkeypatch.setattr(Memory, "predict", lambda self, batch: [*batch] if batch[0].id == "r0" else stop_at(1)())
    with pytest.raises(KilledError):
        predict(raw, tmp_path / "tagger", output=tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl.part" / "journal.json").read_text())["read"] == 256


def test_annotate_stage_labels_like_the_annotator(memory: Any, tmp_path: Path) -> None:
    tagger = Memory()
    tagger.fit(sentences(24))
    tagger.save(tmp_path / "tagger")
    raw = [Sentence(s.words, id=f"r{n}") for n, s in enumerate(sentences(12, 200))]
    answer, _, _ = run(raw, stage=AnnotateStage("tagger_labels", {"tagger": str(tmp_path / "tagger")}))
    (tmp_path / "labelled.jsonl").write_bytes(answer.output)
    assert [s.labels for s in io.read(tmp_path / "labelled.jsonl")] == [s.labels for s in tagger.predict(raw)]


def test_project_stage_labels_like_the_library() -> None:
    source, target = Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),), id="s"), Sentence(("schrieb", "Ada"), id="t")
    links = (Link(0, 1, 0.5), Link(1, 0, 0.9))
    task, lost = Task(target, [Translation(source, links)]), Task(target, [Translation(source, links[1:])])
    stage = ProjectStage(Projection(strip=("the",)), "majority")
    answer, _, _ = run([task, Reject("empty line"), lost], stage=stage)
    projected = Projection(strip=("the",)).project(source, target, links)
    assert answer.output == lines([projected])
    assert answer.tally.reasons == {"empty line": 1, "an entity without an aligned word": 1}
    assert stage.sentence_of(task) == target


def test_reject_of_a_failed_augmentation_shows_its_sentence(train: io.Source) -> None:
    stage = AugmentStage("mention_replacement", gold=train)
    nameless = Sentence(("no", "id"))
    answer, _, _ = run(list(stage.items([*train, nameless])), stage=stage)
    assert b'"reason": "failed: NerseryError: a sentence without an id cannot be a parent' in answer.rejects
    assert stage.sentence_of((nameless, 2)) == stage.sentence_of(nameless) == nameless


@pytest.mark.parametrize("name", [None, "-"])
def test_pickles_a_corpus_even_from_standard_input(
    name: str | None, train: io.Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name:
        with (tmp_path / "train.conll").open("rb") as stream:
            monkeypatch.setattr("sys.stdin", type("Input", (), {"buffer": stream}))
            train = io.open_corpus(name)
    there: io.Source = pickle.loads(pickle.dumps(train))
    assert list(there) == list(train)
    assert there.description == train.description


@pytest.mark.parametrize(("asked", "given"), [("", "1"), ("3", "3")])
def test_a_worker_has_one_thread_unless_set_otherwise(asked: str, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    if not asked:
        monkeypatch.delenv("OMP_NUM_THREADS")
    MessageHandler(pickle.dumps(WorkerTask(PredictStage("none"))))
    assert os.environ["OMP_NUM_THREADS"] == given


@dataclass(frozen=True)
class Learner(Stage[Sentence, Sentence]):
    """Trains if there is no training yet."""

    log: str

    def load(self) -> None:
        """There is nothing to load."""

    def fit(self, method: None, folder: Path | None, progress: Any) -> Any:
        assert folder is not None
        weights = folder / "weights"
        trained = weights.exists() and f"{weights.stat().st_nlink} names"
        folder.mkdir(exist_ok=True)
        write_atomic(weights, "learnt")
        assert not (folder / "lock").exists()
        with Path(self.log).open("a") as stream:
            stream.write(f"{folder.name} {trained} {NO_NOTES.get()}\n")
        return lambda batch: [Reject("none")] * len(batch)


@pytest.mark.parametrize("links", [True, False])
def test_one_worker_trains_and_the_others_start_from_a_copy(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:  # as from one disk to another

        def link(source: str, target: str) -> None:
            raise OSError(errno.EXDEV, "Invalid cross-device link")

        monkeypatch.setattr("os.link", link)
    log, folder = tmp_path / "log", tmp_path / "out.training"
    stage = Learner(str(log))
    for is_first in (True, False, False):
        BatchRunner(WorkerTask(stage, folder=folder, is_first=is_first))
        (folder / "lock").touch()  # a hard link to it would be the same lock under another name
    names = f"{1 + links} names"
    assert log.read_text().splitlines() == [
        "out.training False False", f"training {names} True", f"training {names} True",
    ]  # fmt: skip
    assert {path.name for path in tmp_path.iterdir()} == {"log", "out.training"}
    assert (folder / "weights").read_text() == "learnt"
