"""Workers that are Ray actors; starting Ray takes seconds, so one serves all tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.outcome import Tally
from nersery.pipeline.engines.base import EngineLostError, WorkerDiedError
from nersery.pipeline.engines.pool import Pool
from nersery.pipeline.engines.ray import CHECK_SECONDS, RayEngine
from nersery.pipeline.engines.worker import WorkerTask
from nersery.pipeline.shards import ShardJob
from nersery.pipeline.stage import Stage
from tests.pipeline.fakes import Capitals, expected, rows
from tests.standins import environment


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingResourceError, match=r'ray is not installed.*"nersery\[ray\]"'):
        RayEngine(1)


class RayError(Exception):
    """The error by which Ray reports the end of an actor."""


class SilentRay:
    """A Ray whose workers never answer.

    Args:
        alive: For each node, whether it is alive; the first node is that of this process.
        cpus: Of each node.
    """

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, *alive: bool, cpus: float = 4.0) -> None:
        self._nodes = [
            {
                "NodeID": f"{number}" * 20,
                "NodeManagerAddress": f"10.0.0.{number}",
                "Alive": one,
                "Resources": {"CPU": cpus},
            }
            for number, one in enumerate(alive)
        ]
        self.waited, self.has_started = 0, False

    def wait(self, references: list[Any], num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
        if not timeout and self.waited:  # who has started?
            return (references if self.has_started else []), []
        self.waited += 1
        assert timeout <= CHECK_SECONDS, "it would never look at the nodes"
        return (references[:1] if self.waited == 20 else []), references

    def get(self, reference: Exception) -> Any:
        raise reference

    def is_initialized(self) -> bool:
        return True

    def nodes(self) -> list[dict[str, Any]]:
        return self._nodes

    def cluster_resources(self) -> dict[str, float]:
        return {}

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(get_node_id=lambda: self._nodes[0]["NodeID"])

    def remote(self, **options: Any) -> Any:
        call = SimpleNamespace(remote=lambda *args: object())
        actor = SimpleNamespace(prepare=call, answer=call, __ray_ready__=call)
        return lambda _: SimpleNamespace(remote=lambda task: actor)


class TestDeadNodes:
    def waited(self, monkeypatch: pytest.MonkeyPatch, ray: SilentRay) -> int:
        """The number of waits until a worker answered."""
        monkeypatch.setitem(sys.modules, "ray", ray)
        engine = RayEngine(1)
        assert engine.wait([engine.start(b"")], None)
        return ray.waited

    @pytest.mark.parametrize("alive", [(True, True), (True, False)])
    def test_waits_for_a_worker_that_another_node_can_replace(
        self, alive: tuple[bool, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert self.waited(monkeypatch, SilentRay(*alive)) == 20

    def test_error_names_a_dead_node_of_this_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(EngineLostError, match=r"this process, 10\.0\.0\.0 \(00000000\), is dead"):
            self.waited(monkeypatch, SilentRay(False, True))

    @pytest.mark.parametrize("has_started", [True, False])
    def test_notes_once_that_no_worker_has_started(
        self, has_started: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("nersery.pipeline.engines.ray.START_SECONDS", 0)
        ray = SilentRay(True)
        ray.has_started = has_started
        self.waited(monkeypatch, ray)
        assert capfd.readouterr().err.count("Ray has not started a worker") == (not has_started)

    def test_error_names_the_dead_node_if_no_other_has_room(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(EngineLostError, match=r"10\.0\.0\.1 \(11111111\) is dead, and no other"):
            self.waited(monkeypatch, SilentRay(True, False, cpus=0.5))

    @pytest.mark.parametrize(("node", "is_dead"), [("0" * 20, False), ("1" * 20, True), ("worker", False)])
    def test_error_says_whether_a_worker_died_with_its_node(
        self, node: str, is_dead: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "ray", SilentRay(True, False))
        worker = RayEngine(1).start(b"")
        worker.references[0] = RayError(f"The actor died because its node has died. Node Id: {node}")
        with pytest.raises(WorkerDiedError, match="Ray reports RayError") as caught:
            worker.receive()
        assert caught.value.with_its_node is is_dead

    def test_a_poll_does_not_wait(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "ray", SilentRay(False))
        engine = RayEngine(1)
        assert engine.wait([engine.start(b"")], 0) == []


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """A Ray instance of this process, as in a user's own program."""
    ray = pytest.importorskip("ray")
    root = str(Path(__file__).parents[3])
    ray.init(
        address="local", num_cpus=3, include_dashboard=False, logging_level="error", log_to_driver=False,
        runtime_env={"env_vars": {**environment(), "PYTHONPATH": root}},
    )  # fmt: skip
    yield ray
    ray.shutdown()


def run(folder: Path, workers: int, stage: Stage[Any, Any] | None = None, **odd: str) -> Tally:
    task = WorkerTask(stage or Capitals(str(folder)))
    with Pool(RayEngine(workers, quiet=True), task, workers, print) as pool:
        return ShardJob(folder / "out", 25, {}).run(rows(60, **odd), pool.answers, batch_size=2)


def test_bytes_equal_those_of_local_workers_despite_deaths(ray: Any, tmp_path: Path) -> None:
    odd = {"at5": "kill-once", "at20": "fail", "at33": "kill", "at34": "reject"}
    tally = run(tmp_path, 2, **odd)
    assert (tally.read, tally.written) == (60, 57)
    assert tally.reasons["failed: a worker died of it: Ray reports ActorDiedError"] == 1
    assert b"".join(path.read_bytes() for path in sorted((tmp_path / "out").glob("part-*"))) == expected(
        rows(60, **odd)
    )
    assert ray.is_initialized(), "it was not ours to end"


def test_passes_on_errors_of_a_worker(ray: Any, tmp_path: Path) -> None:
    with pytest.raises(MissingResourceError, match="there is no model"):
        run(tmp_path, 1, Capitals(missing="model"))


def test_refuses_more_gpus_than_there_are(ray: Any) -> None:
    with pytest.raises(SettingsError, match="need 4 GPUs in total, but Ray has 0"):
        RayEngine(2, gpus=2.0)
