"""Ray without its node processes: on one machine, and on a cluster that loses nodes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.forks import ROOT
from tests.pipeline.fakes import expected, rows
from tests.standins import environment
from tests.torture.ray_job import ROWS, SHARD, SLOW

pytestmark = pytest.mark.torture
Record = Callable[..., None]
SECONDS = 30
"""The time in which the loss of a node must be noticed."""


@pytest.fixture(autouse=True)
def _ray_is_installed() -> None:
    pytest.importorskip("ray")


class Job:
    """A job in a process; its output shows its progress."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self._out = folder / "out"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.ray_job", str(folder)],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env={**environment(), "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", **variables},
        )  # fmt: skip

    def wait_for_shard(self, number: int) -> None:
        shard = self._out.with_name("out.part") / f"part-{number:05}.jsonl"
        until = time.monotonic() + 120
        while not shard.exists():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < until
            time.sleep(0.05)

    def end(self, seconds: float) -> tuple[int, str, str]:
        """Exit code, output and errors; a process that does not end is killed with all its children."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        return self.process.returncode, out, err

    def check(self) -> None:
        """Check that the output is what one process would have written."""
        parts = sorted(self._out.glob("part-*"))
        assert len(parts) == ROWS / SHARD
        assert b"".join(path.read_bytes() for path in parts) == expected(rows(ROWS, **SLOW))


def child(pid: int, name: str) -> int:
    """The number of a process's child of this name."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, _, rest = path.read_text().partition(" (")
        except OSError:
            continue  # it has ended
        command, _, status = rest.rpartition(") ")
        if command == name and int(status.split()[1]) == pid:
            return int(number)
    raise AssertionError(f"{pid} has no child {name}")


def test_resumes_after_the_node_process_is_killed(tmp_path: Path, record_property: Record) -> None:
    job = Job(tmp_path)
    job.wait_for_shard(1)
    os.kill(child(job.process.pid, "raylet"), signal.SIGKILL)
    start = time.monotonic()
    code, _, err = job.end(SECONDS)
    record_property("tried", f"noticed after {time.monotonic() - start:.0f} s")
    assert code == 1
    (message,) = (line for line in err.splitlines() if line.startswith("error: "))
    assert re.search(
        r"node of this process, [\d.]+ \(\w{8}\), is dead.*Shard \d{5} of .*the same command resumes", message
    )
    resumed = Job(tmp_path)
    assert resumed.end(240)[0] == 0
    resumed.check()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster whose first node, that of the driver, has no room for a worker."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'src'}")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield cluster
    cluster.shutdown()


def test_resumes_after_both_nodes_of_a_cluster_are_lost(cluster: Any, tmp_path: Path, record_property: Record) -> None:
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    job = Job(tmp_path, RAY_ADDRESS=cluster.address)
    job.wait_for_shard(1)
    cluster.remove_node(nodes[0], allow_graceful=False)
    job.wait_for_shard(12)
    cluster.remove_node(nodes[1], allow_graceful=False)
    start = time.monotonic()
    code, out, err = job.end(SECONDS)
    record_property("tried", f"2 nodes; the last one noticed after {time.monotonic() - start:.0f} s")
    assert code == 1
    assert re.search(r"error: the Ray node [\d.]+ \(\w{8}\) is dead, and no other node can run a worker.*resumes", err)
    died = re.findall(r"a worker died at 5 rows starting with s\d+: Ray reports \w+; they are retried", out)
    assert 1 <= len(died) <= 2, "a node costs the batch that its worker was processing"
    cluster.add_node(num_cpus=2)
    resumed = Job(tmp_path, RAY_ADDRESS=cluster.address)
    assert resumed.end(240)[0] == 0
    resumed.check()
