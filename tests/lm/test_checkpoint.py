"""The state of a training on disk. Kills are real: a process of its own forks one for each, see `serve`."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.standins import environment, files
from torch import Tensor, nn

from nersery.disk import locked
from nersery.errors import SettingsError
from nersery.lm import checkpoint
from nersery.lm.checkpoint import BrokenStateError, Checkpoint, OtherTrainingError, is_foreign
from nersery.lm.training import History, TrainingPlan, seeded, train
from nersery.progress import Progress
from nersery.rng import item_rng

STEPS = 12
PLAN: dict[str, Any] = {
    "steps": STEPS,
    "epochs": None,
    "evaluate_every": 3,
    "patience": None,
    "batch_size": 4,
    "learning_rate": 0.05,
    "head_learning_rate": 0.1,
    "warmup": 0.2,
    "weight_decay": 0.1,
    "clip": 1.0,
    "optimizer": "adamw",
    "schedule": "linear",
    "precision": "fp32",
}


class Tied(nn.Module):
    """A network with everything that a state has to hold: a weight with two names, chance, running means."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.second.weight = self.first.weight
        self.norm, self.dropout = nn.BatchNorm1d(4), nn.Dropout(0.4)

    def forward(self, rows: Tensor) -> Tensor:
        hidden = self.dropout(self.norm(self.first(rows)).relu())
        out: Tensor = self.third(self.second(hidden))
        return out


class Wider(Tied):
    def __init__(self) -> None:
        super().__init__()
        self.third = nn.Linear(4, 3)


def drawn(example: int, index: int, number: int) -> list[float]:
    rng = item_rng(example, index, number)
    return [rng.gauss(0, 1) for _ in range(4)]


def fit(
    folder: Path | None,
    *,
    step: Callable[[], object] = lambda: None,
    score: Callable[[], float] = lambda: float(torch.rand(())),
    seed: int = 5,
    examples: Sequence[int] = range(10),
    evaluates: bool = True,
    **changes: Any,
) -> tuple[nn.Module, History]:
    """A training of which every number depends on all that came before it.

    Args:
        step: Called before each step.
        score: The score of an evaluation; by default chance that goes on from dropout's.
    """
    plan = TrainingPlan(**{**PLAN, **{key: changes.pop(key) for key in set(changes) & set(PLAN)}})
    with seeded(seed):
        model = changes.pop("model", Tied)()

        def loss_of(rows: Sequence[list[float]]) -> Tensor:
            step()
            return nn.functional.cross_entropy(model(torch.tensor(rows)), torch.arange(len(rows)) % 2)

        settings: dict[str, Any] = {"seed": seed, "device": torch.device("cpu"), "draw": drawn, "folder": folder}
        if evaluates:
            settings["evaluate"] = score
        history = train(model, examples, loss_of, plan, is_new=lambda n: n.startswith("third"), **settings, **changes)
    return model, history


def outcome(model: nn.Module, history: History) -> dict[str, Any]:
    """All that came of a training, to the last bit."""
    weights = b"".join(tensor.numpy().tobytes() for tensor in model.state_dict().values())
    told: dict[str, Any] = json.loads(json.dumps(asdict(history)))
    return {"weights": sha256(weights).hexdigest(), "history": told}


class Stop(Exception):  # noqa: N818
    """Ends a training at a step, when no real kill is needed."""


def stop_at(step: int) -> Callable[[], None]:
    left = iter(range(step - 1))

    def call() -> None:
        if next(left, None) is None:
            raise Stop

    return call


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state is saved after each step."""
    save_always(monkeypatch)


def save_always(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(checkpoint, "CHECKPOINT_SECONDS", 0.0)
    patch.setattr(checkpoint, "LARGEST_SHARE", float("inf"))


@pytest.fixture
def stopped(tmp_path: Path, always: None) -> Path:
    """The folder of a training that ended before its eighth step."""
    with pytest.raises(Stop):
        fit(tmp_path / "state", step=stop_at(8))
    return tmp_path / "state"


# --- kills ----------------------------------------------------------------------------------------------------------

MOMENTS = {
    "first step": ("loss", 1),
    "second step": ("loss", 2),
    "after an evaluation": ("loss", 4),
    "after another one": ("loss", 10),
    "last step": ("loss", 12),
    "in an evaluation": ("score", 2),
    "in the last evaluation": ("score", 4),
    "amid the first part": ("part", 1),
    "amid a later part": ("part", 6),
    "amid the best weights": ("best", 1),
    "amid the final part": ("final", 1),
    "before the first move": ("replace", 1),
    "before a later move": ("replace", 7),
    "before the last move": ("replace", 13),
    "after the first move": ("replaced", 1),
    "after a later move": ("replaced", 7),
    "after the last move": ("replaced", 13),
    "amid the removal of old parts": ("unlink", 3),
}
CASES = [("adamw", name) for name in MOMENTS]
CASES += [(optimizer, name) for optimizer in ("adam", "sgd") for name in ("after another one", "amid a later part")]


def kill_at(kind: str, number: int, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Have this process killed at the so-manieth call of something; gives arguments of `fit`."""
    counts: dict[str, int] = {}

    def now(this: str) -> bool:
        counts[this] = counts.get(this, 0) + 1
        return this == kind and counts[this] == number

    def die(*paths: Path) -> None:
        for path in paths:  # half of it is written
            path.write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)

    def save_file(tensors: Any, path: Path) -> None:
        if now("part") or now(path.name.split("-")[0]):
            die(path, path.with_name(".tmpHalf"))
        original_save(tensors, path)

    def replace(source: Path, target: Path) -> None:
        if now("replace"):
            die(Path(source))
        original_replace(source, target)
        if now("replaced"):
            die()

    def unlink(path: Path, **options: Any) -> None:
        if now("unlink"):
            die()
        original_unlink(path, **options)

    original_save, original_replace, original_unlink = checkpoint.save_file, os.replace, Path.unlink
    patch.setattr(checkpoint, "save_file", save_file)
    patch.setattr(os, "replace", replace)
    patch.setattr(Path, "unlink", unlink)
    return {
        "step": lambda: now("loss") and die(),
        "score": lambda: (now("score") and die()) or float(torch.rand(())),
    }


def serve(folder: Path) -> None:
    """Kill a training in each of the cases and do it again; print what came of each as JSON."""
    torch.optim.AdamW([nn.Parameter(torch.zeros(1))])  # the first one costs a second
    results = {}
    for optimizer, name in [(optimizer, "") for optimizer in ("adamw", "adam", "sgd")] + CASES:
        case = folder / f"{optimizer} {name}"
        code = None
        if name:
            code = in_process(lambda patch: fit(case, **kill_at(*MOMENTS[name], patch), optimizer=optimizer))  # noqa: B023
        taken: list[int] = []

        def again(patch: pytest.MonkeyPatch) -> None:
            result = outcome(*fit(case, step=lambda: taken.append(1), optimizer=optimizer))  # noqa: B023
            Path(f"{case}.json").write_text(json.dumps({**result, "taken": len(taken)}))  # noqa: B023

        in_process(again)
        results[f"{optimizer} {name}"] = {"code": code, **json.loads(Path(f"{case}.json").read_text())}
    print(json.dumps(results))


def in_process(work: Callable[[pytest.MonkeyPatch], object]) -> int:
    """Work in a process of its own; its exit code, which is minus the signal that killed it."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with pytest.MonkeyPatch.context() as patch:
        save_always(patch)
        patch.setattr(os, "fsync", lambda file: None)  # it guards against a loss of power, and takes half of the time
        try:
            work(patch)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    os._exit(0)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of all cases."""
    command = [sys.executable, "-m", "tests.lm.test_checkpoint", str(tmp_path_factory.mktemp("killed"))]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(), cwd=Path(__file__).parents[2], check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class TestKill:
    @pytest.mark.parametrize(("optimizer", "name"), CASES, ids=[" ".join(case) for case in CASES])
    def test_the_same_call_goes_on_and_ends_with_the_same_bits(self, killed: dict[str, Any], optimizer: str, name: str):
        whole, found = killed[f"{optimizer} "], killed[f"{optimizer} {name}"]
        assert found["code"] == -signal.SIGKILL
        assert found["weights"] == whole["weights"]
        assert found["history"] == whole["history"]
        kind, number = MOMENTS[name]
        expected = {"loss": STEPS + 1 - number, "replace": STEPS + 1 - number, "replaced": max(0, STEPS - number)}
        if kind in expected:
            assert found["taken"] == expected[kind]

    def test_without_a_folder_it_is_the_same(self, killed: dict[str, Any]):
        for optimizer in ("adamw", "adam", "sgd"):
            plain = outcome(*fit(None, optimizer=optimizer))
            whole = killed[f"{optimizer} "]
            assert (plain["weights"], plain["history"]) == (whole["weights"], whole["history"])
            assert plain["history"]["best"]["step"] < STEPS  # so that the best weights had to be put back
        assert len({whole["weights"] for whole in killed.values()}) == 3


# --- without a kill -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("always")
class TestAgain:
    @pytest.mark.parametrize("evaluates", [True, False])
    def test_a_finished_one_takes_no_step(self, tmp_path: Path, evaluates: bool):
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
            with pytest.raises(Stop):
                fit(tmp_path / "state", evaluates=evaluates, step=stop_at(step), evaluate_every=5)
        whole = outcome(*fit(None, evaluates=evaluates, evaluate_every=5))
        assert outcome(*fit(tmp_path / "state", evaluates=evaluates, evaluate_every=5)) == whole

    def test_patience_goes_on_too(self, tmp_path: Path):
        settings: dict[str, Any] = {"patience": 1, "evaluate_every": 1, "seed": 3, "score": lambda: 1.0}
        whole = outcome(*fit(None, **settings))
        assert whole["history"]["steps"] == 2
        with pytest.raises(Stop):
            fit(tmp_path / "state", step=stop_at(2), **settings)
        assert outcome(*fit(tmp_path / "state", **settings)) == whole
        assert outcome(*fit(tmp_path / "state", step=stop_at(1), **settings)) == whole

    def test_progress_says_what_was_done(self, stopped: Path):
        progress = Progress("train", STEPS, quiet=True)
        fit(stopped, progress=progress)
        assert (progress.done, progress.resumed) == (STEPS, 7)

    def test_a_folder_in_which_nothing_was_saved_is_removed(self, tmp_path: Path):
        with pytest.raises(Stop):
            fit(tmp_path / "deep" / "state", step=stop_at(1))
        assert os.listdir(tmp_path / "deep") == []

    def test_views_and_parts_of_one_storage(self, tmp_path: Path):
        class Views(Tied):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("whole", torch.arange(6.0))
                self.register_buffer("part", self.whole[2:4])
                self.register_buffer("flipped", torch.arange(6.0).view(2, 3).T)
                self.register_buffer("square", self.whole.view(2, 3))
                self.register_buffer("nothing", torch.zeros(0))

        with pytest.raises(Stop):
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

    def test_two_at_once(self, stopped: Path):
        with locked(stopped), pytest.raises(SettingsError, match="another process is writing"):
            fit(stopped)


class TestWhen:
    def test_at_times_and_at_little_cost(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
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
            ({"learning_rate": 0.06}, "  plan.learning_rate: there 0.05, asked for 0.06"),
            ({"seed": 6}, "  seed: there 5, asked for 6"),
            ({"examples": range(11)}, "  examples: there 10, asked for 11"),
            ({"fingerprint": {"corpus": "a"}}, "  corpus: there nothing, asked for 'a'"),
            ({"model": Wider}, "  weights.third.weight: there [2, 4], asked for [3, 4]"),
        ],
    )
    def test_another_training(self, stopped: Path, changes: dict[str, Any], difference: str):
        before = files(stopped)
        with pytest.raises(OtherTrainingError, match="holds an unfinished training with other settings") as caught:
            fit(stopped, **changes)
        assert isinstance(caught.value, SettingsError)
        assert difference in str(caught.value).split("\n")
        assert f"delete the folder {stopped} to start anew" in str(caught.value)
        assert files(stopped) == before

    def test_many_differences_are_counted(self, stopped: Path):
        with pytest.raises(OtherTrainingError, match="… and 11 more differences"):
            fit(stopped, fingerprint={f"key {number}": number for number in range(21)})

    @pytest.mark.parametrize("name", ["state.json", "step-7.safetensors", "best-6.safetensors"])
    @pytest.mark.parametrize("damage", ["empty", "half", "zeros", "other", "missing"])
    def test_a_broken_state(self, stopped: Path, name: str, damage: str):
        path = stopped / name
        whole = path.read_bytes()
        contents = {"half": whole[: len(whole) // 2], "zeros": bytes(len(whole)), "other": b"[]"}
        if damage == "missing":
            path.write_bytes(b"{}") if name == "state.json" else path.unlink()
        else:
            path.write_bytes(contents.get(damage, b""))
        before = files(stopped)
        with pytest.raises(BrokenStateError, match=f"Delete the folder {stopped} to start the training anew"):
            fit(stopped)
        assert files(stopped) == before

    def test_a_state_of_other_tensors(self, stopped: Path):
        (stopped / "step-7.safetensors").write_bytes((stopped / "best-6.safetensors").read_bytes())
        with pytest.raises(BrokenStateError):
            fit(stopped)

    def test_a_full_disk(self, stopped: Path):
        whole = outcome(*fit(None))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                fit(stopped)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert outcome(*fit(stopped)) == whole

    def test_files_of_others_stay(self, stopped: Path):
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


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
