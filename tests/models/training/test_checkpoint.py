"""The state of a training on disk."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from nersery.core.errors import SettingsError
from nersery.core.progress import Progress
from nersery.core.system.locks import WAITING_LOCK, lock_when_free, locked
from nersery.models.training import checkpoint
from nersery.models.training.checkpoint import Checkpoint
from nersery.models.training.training_state import BrokenStateError, OtherTrainingError, is_foreign
from tests.killing import KilledError, stop_at
from tests.models.trainings import STEPS, Tied, Wider, fit, outcome
from tests.standins import files


@pytest.fixture
def stopped(tmp_path: Path, saves_each_step: None) -> Path:
    """The folder of a training that ended before its eighth step."""
    with pytest.raises(KilledError):
        fit(tmp_path / "state", step=stop_at(8))
    return tmp_path / "state"


@pytest.mark.usefixtures("saves_each_step")
class TestResume:
    @pytest.mark.parametrize("evaluates", [True, False])
    def test_a_finished_training_takes_no_step(self, tmp_path: Path, evaluates: bool):
        first = outcome(*fit(tmp_path / "state", evaluates=evaluates))
        assert {path.name for path in (tmp_path / "state").iterdir()} == {"state.json", f"final-{STEPS}.safetensors"}
        before = files(tmp_path)
        progress = Progress("train", quiet=True)
        model, history = fit(tmp_path / "state", evaluates=evaluates, step=stop_at(1), progress=progress)
        assert outcome(model, history) == first
        assert files(tmp_path) == before
        assert not model.training
        assert (progress.done, progress.resumed) == (STEPS, STEPS)

    @pytest.mark.parametrize("evaluates", [True, False])
    def test_losses_since_the_last_evaluation_are_kept(self, tmp_path: Path, evaluates: bool):
        for step in (3, 2, 4):
            with pytest.raises(KilledError):
                fit(tmp_path / "state", evaluates=evaluates, step=stop_at(step), evaluate_every=5)
        whole = outcome(*fit(None, evaluates=evaluates, evaluate_every=5))
        assert outcome(*fit(tmp_path / "state", evaluates=evaluates, evaluate_every=5)) == whole

    def test_patience_resumes(self, tmp_path: Path):
        settings: dict[str, Any] = {"patience": 1, "evaluate_every": 1, "seed": 3, "score": lambda: 1.0}
        whole = outcome(*fit(None, **settings))
        assert whole["history"]["steps"] == 2
        with pytest.raises(KilledError):
            fit(tmp_path / "state", step=stop_at(2), **settings)
        assert outcome(*fit(tmp_path / "state", **settings)) == whole
        assert outcome(*fit(tmp_path / "state", step=stop_at(1), **settings)) == whole

    def test_progress_includes_resumed_steps(self, stopped: Path):
        progress = Progress("train", STEPS, quiet=True)
        fit(stopped, progress=progress)
        assert (progress.done, progress.resumed) == (STEPS, 7)

    def test_a_caller_that_has_the_turn_keeps_it(self, tmp_path: Path):
        with lock_when_free(tmp_path / "state"):
            fit(tmp_path / "state")
            assert (tmp_path / "state" / WAITING_LOCK).exists()
        assert not (tmp_path / "state" / WAITING_LOCK).exists()
        with lock_when_free(tmp_path / "empty"):
            pass
        assert not (tmp_path / "empty").exists()

    def test_a_folder_in_which_nothing_was_saved_is_removed(self, tmp_path: Path):
        with pytest.raises(KilledError):
            fit(tmp_path / "deep" / "state", step=stop_at(1))
        assert os.listdir(tmp_path / "deep") == []

    def test_saves_views_and_parts_of_one_storage(self, tmp_path: Path):
        class Views(Tied):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("whole", torch.arange(6.0))
                self.register_buffer("part", self.whole[2:4])
                self.register_buffer("flipped", torch.arange(6.0).view(2, 3).T)
                self.register_buffer("square", self.whole.view(2, 3))
                self.register_buffer("nothing", torch.zeros(0))

        with pytest.raises(KilledError):
            fit(tmp_path / "state", step=stop_at(8), model=Views)
        model, history = fit(tmp_path / "state", model=Views)
        assert outcome(model, history) == outcome(*fit(None, model=Views))
        assert model.second.weight is model.first.weight
        assert model.flipped.tolist() == [[0, 3], [1, 4], [2, 5]]

    def test_a_weight_with_two_names_is_written_once(self, stopped: Path):
        for name, prefix in (("step-7", "weights."), ("best-6", "")):
            names = set(load_file(stopped / f"{name}.safetensors"))
            assert f"{prefix}first.weight" in names
            assert f"{prefix}second.weight" not in names

    def test_refuses_a_second_process_on_the_same_folder(self, stopped: Path):
        with locked(stopped), pytest.raises(SettingsError, match="another process is writing"):
            fit(stopped)


class TestSchedule:
    def test_saves_at_intervals_that_grow_with_the_cost(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        now, cost = [100.0], [1.0]

        def slow(tensors: Any, path: Path) -> None:
            now[0] += cost[0]
            path.write_bytes(b"")

        monkeypatch.setattr(checkpoint, "time", SimpleNamespace(monotonic=lambda: now[0]))
        monkeypatch.setattr(checkpoint, "save_file", slow)
        state = Checkpoint(tmp_path, {})
        for number, (cost[0], wait) in enumerate([(1.0, 60.0), (4.0, 80.0), (0.1, 60.0)]):
            state.save({}, {f"step-{number}": {}})
            now[0] += wait - 0.5
            assert not state.is_due
            now[0] += 0.5
            assert state.is_due

    def test_a_short_training_writes_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        written: list[str] = []
        original = checkpoint.save_file
        monkeypatch.setattr(checkpoint, "save_file", lambda t, path: (written.append(path.name), original(t, path)))
        fit(tmp_path / "state")
        assert written == [f"final-{STEPS}.safetensors"]


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "difference"),
        [
            ({"learning_rate": 0.06}, "  plan.learning_rate: was 0.05, now 0.06"),
            ({"seed": 6}, "  seed: was 5, now 6"),
            ({"examples": range(11)}, "  examples: was 10, now 11"),
            ({"fingerprint": {"corpus": "a"}}, "  corpus: was nothing, now 'a'"),
            ({"model": Wider}, "  weights.third.weight: was [2, 4], now [3, 4]"),
        ],
    )
    def test_refuses_another_training(self, stopped: Path, changes: dict[str, Any], difference: str):
        before = files(stopped)
        with pytest.raises(OtherTrainingError, match="holds an unfinished training with other settings") as caught:
            fit(stopped, **changes)
        assert isinstance(caught.value, SettingsError)
        assert difference in str(caught.value).split("\n")
        assert f"delete the folder {stopped} to start again" in str(caught.value)
        assert files(stopped) == before

    def test_many_differences_are_counted(self, stopped: Path):
        with pytest.raises(OtherTrainingError, match="… and 11 more differences"):
            fit(stopped, fingerprint={f"key {number}": number for number in range(21)})

    @pytest.mark.parametrize("name", ["state.json", "step-7.safetensors", "best-6.safetensors"])
    @pytest.mark.parametrize("damage", ["empty", "half", "zeros", "other", "missing"])
    def test_refuses_a_damaged_state(self, stopped: Path, name: str, damage: str):
        path = stopped / name
        whole = path.read_bytes()
        contents = {"half": whole[: len(whole) // 2], "zeros": bytes(len(whole)), "other": b"[]"}
        if damage == "missing":
            path.write_bytes(b"{}") if name == "state.json" else path.unlink()
        else:
            path.write_bytes(contents.get(damage, b""))
        before = files(stopped)
        with pytest.raises(BrokenStateError, match=f"Delete the folder {stopped} to start the training again"):
            fit(stopped)
        assert files(stopped) == before

    def test_refuses_a_state_of_other_tensors(self, stopped: Path):
        (stopped / "step-7.safetensors").write_bytes((stopped / "best-6.safetensors").read_bytes())
        with pytest.raises(BrokenStateError):
            fit(stopped)

    def test_resumes_after_a_full_disk(self, stopped: Path):
        whole = outcome(*fit(None))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                fit(stopped)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert outcome(*fit(stopped)) == whole

    def test_foreign_files_are_kept(self, stopped: Path):
        (stopped / "thesis.safetensors").write_text("precious")
        assert not is_foreign(stopped)
        fit(stopped)
        assert (stopped / "thesis.safetensors").read_text() == "precious"
        (stopped / "state.json").unlink()
        assert is_foreign(stopped)
        (stopped / "thesis.safetensors").unlink()
        (stopped / ".tmpAbc12").touch()
        (stopped / "state.json.tmp").touch()
        assert not is_foreign(stopped)
