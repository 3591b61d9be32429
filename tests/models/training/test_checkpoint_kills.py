"""Real kills: a separate process forks one for each case, see `serve`."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from nersery.models.training import checkpoint
from tests.forks import Server
from tests.killing import save_each_step
from tests.models.trainings import STEPS, fit, outcome

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
    """Let this process be killed at the given call of a function; returns arguments of `fit`."""
    counts: dict[str, int] = {}

    def now(this: str) -> bool:
        counts[this] = counts.get(this, 0) + 1
        return this == kind and counts[this] == number

    def die(*paths: Path) -> None:
        for path in paths:  # half a file is written
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
    return {"step": lambda: now("loss") and die(), "score": lambda: (now("score") and die()) or float(torch.rand(()))}


def serve() -> None:
    """Kill a training in each of the cases and resume it; print the results as JSON."""
    torch.optim.AdamW([nn.Parameter(torch.zeros(1))])  # the first one costs a second
    results = {}
    for optimizer, name in [(optimizer, "") for optimizer in ("adamw", "adam", "sgd")] + CASES:
        case = Path(f"{optimizer} {name}")
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
    """Run work in a child process; returns its exit code, negative for the signal that killed it."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with pytest.MonkeyPatch.context() as patch:
        save_each_step(patch)
        patch.setattr(os, "fsync", lambda file: None)  # it guards against a loss of power, and takes half of the time
        try:
            work(patch)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    os._exit(0)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory, server: Server) -> dict[str, Any]:
    """The results of all cases."""
    code, out, err = server.run(cwd=tmp_path_factory.mktemp("killed"), function=f"{__name__}:serve")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


class TestKill:
    @pytest.mark.parametrize(("optimizer", "name"), CASES, ids=[" ".join(case) for case in CASES])
    def test_the_same_call_resumes_with_the_same_bits(self, killed: dict[str, Any], optimizer: str, name: str):
        whole, found = killed[f"{optimizer} "], killed[f"{optimizer} {name}"]
        assert found["code"] == -signal.SIGKILL
        assert found["weights"] == whole["weights"]
        assert found["history"] == whole["history"]
        kind, number = MOMENTS[name]
        expected = {"loss": STEPS + 1 - number, "replace": STEPS + 1 - number, "replaced": max(0, STEPS - number)}
        if kind in expected:
            assert found["taken"] == expected[kind]

    def test_a_training_without_a_folder_gives_the_same_result(self, killed: dict[str, Any]):
        for optimizer in ("adamw", "adam", "sgd"):
            plain = outcome(*fit(None, optimizer=optimizer))
            whole = killed[f"{optimizer} "]
            assert (plain["weights"], plain["history"]) == (whole["weights"], whole["history"])
            assert plain["history"]["best"]["step"] < STEPS  # so the best weights had to be restored
        assert len({whole["weights"] for whole in killed.values()}) == 3
