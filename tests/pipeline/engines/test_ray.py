"""Workers that are Ray actors; starting Ray takes seconds, so one serves all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.outcome import Tally
from nersery.pipeline.engines.pool import Pool
from nersery.pipeline.engines.ray import RayEngine
from nersery.pipeline.engines.worker import WorkerTask
from nersery.pipeline.shards import ShardJob
from nersery.pipeline.stage import Stage
from tests.pipeline.fakes import Capitals, expected, rows
from tests.standins import environment


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingResourceError, match=r'pip install "ray>=2\.40'):
        RayEngine(1)


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """A Ray of this process, as a user's own program may have one."""
    ray = pytest.importorskip("ray")
    root = str(Path(__file__).parent.parent.parent)
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


def test_the_bytes_are_those_of_local_workers_whatever_becomes_of_them(ray: Any, tmp_path: Path) -> None:
    odd = {"at5": "kill-once", "at20": "fail", "at33": "kill", "at34": "reject"}
    tally = run(tmp_path, 2, **odd)
    assert (tally.read, tally.written) == (60, 57)
    assert tally.reasons["failed: a worker died of it: Ray reports ActorDiedError"] == 1
    assert b"".join(path.read_bytes() for path in sorted((tmp_path / "out").glob("part-*"))) == expected(
        rows(60, **odd)
    )
    assert ray.is_initialized(), "it was not ours to end"


def test_errors_of_a_worker_come_back(ray: Any, tmp_path: Path) -> None:
    with pytest.raises(MissingResourceError, match="there is no model"):
        run(tmp_path, 1, Capitals(missing="model"))


def test_gpus_that_are_not_there_are_refused(ray: Any) -> None:
    with pytest.raises(SettingsError, match="want 4 GPUs together, Ray sees 0 here"):
        RayEngine(2, gpus=2.0)
