"""Workers as Ray actors, on this machine or on a cluster.

Ray is started here, unless the environment variable ``RAY_ADDRESS`` names a cluster. On a cluster, nersery must be
installed on every node, and the files that the stage reads must have the same paths on every node.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from nersery.core.errors import SettingsError
from nersery.core.extras import required
from nersery.core.progress import print_line
from nersery.pipeline.engines.base import EngineLostError, Message, WorkerDiedError
from nersery.pipeline.engines.worker import MessageHandler

LOCAL = "local"
LOGS = "/tmp/ray/session_latest/logs"
CHECK_SECONDS = 5.0
"""Interval of checking the nodes while no worker answers. Ray itself takes 15 s to notice that a node is dead."""
START_SECONDS = 60.0
"""Silence after which users get a note: Ray restarts processes that end at once, and reports this only in its log."""
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is sent anywhere
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # workers without their own GPUs share the GPU, like local workers
    "RAY_max_direct_call_object_size": "4000000",  # batches and answers travel with their calls, at a third of the cost
    "RAY_task_rpc_inlined_bytes_limit": "8000000",
}
"""Environment variables for a Ray that is started here, unless the user has set them."""


class RayEngine:
    """Starts actors. If Ray already runs in this process, it is used and left running.

    Args:
        workers: The number of workers at a time.
        gpus: GPUs of each worker; may be a fraction.
        quiet: Whether to drop the output of the workers.

    Raises:
        MissingResourceError: If Ray is not installed.
        SettingsError: If this machine has fewer GPUs than the workers need.
    """

    def __init__(self, workers: int, gpus: float = 0.0, *, quiet: bool = False) -> None:
        self._ray = required("ray", "ray")
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            _start(self._ray, workers, quiet=quiet)
        self._check_gpus(workers * gpus)
        self._wanted = {"CPU": 1.0, "GPU": gpus}
        self._is_noted = False
        # No restarts, because a restarted actor would have lost its method. The pool replaces dead workers itself.
        self._actor = self._ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=0)(MessageHandler)

    def _check_gpus(self, wanted: float) -> None:
        count = self._ray.cluster_resources().get("GPU", 0.0)
        if wanted > count and _address() == LOCAL:
            self.close()
            raise SettingsError(
                f"the workers need {wanted:g} GPUs in total, but Ray has {count:g}. Request fewer (--workers, --gpus)"
            )

    def start(self, task: bytes) -> RayWorker:
        """Start a new actor; see `nersery.pipeline.engines.base.Engine`."""
        return RayWorker(self._ray, self._actor.remote(task))

    def wait(self, workers: Sequence[RayWorker], seconds: float | None) -> list[RayWorker]:
        """See `nersery.pipeline.engines.base.Engine`."""
        by_reference = {worker.references[0]: worker for worker in workers}
        began = time.monotonic()
        until = math.inf if seconds is None else began + seconds
        while True:
            left = max(0.0, until - time.monotonic())
            ready, _ = self._ray.wait([*by_reference], num_returns=1, timeout=min(left, CHECK_SECONDS))
            if ready or left <= CHECK_SECONDS:
                return [by_reference[reference] for reference in ready]
            self._check_nodes()
            if time.monotonic() - began > START_SECONDS:
                self._mention_missing(workers)

    def _mention_missing(self, workers: Sequence[RayWorker]) -> None:
        """Print a note if no worker has started, once: all may be waiting for a node, or end at once."""
        if self._is_noted:
            return
        started, _ = self._ray.wait([worker.started for worker in workers], num_returns=1, timeout=0)
        if not started:
            print_line(
                f"note: Ray has not started a worker for {START_SECONDS:g} s. Either no node is free, or their "
                f"processes end at once: see raylet.out and the newest worker files in {LOGS}, on each node",
                end="\n",
            )
        self._is_noted = True

    def _check_nodes(self) -> None:
        """Raise `EngineLostError` if dead nodes leave no place for a worker: Ray itself would wait forever."""
        nodes = self._ray.nodes()
        dead = [node for node in nodes if not node["Alive"]]
        own_id = self._ray.get_runtime_context().get_node_id()
        if own_node := next((node for node in dead if node["NodeID"] == own_id), None):
            raise EngineLostError(f"the Ray node of this process, {_named(own_node)}, is dead: its raylet ended")
        alive = [node["Resources"] for node in nodes if node["Alive"]]
        wanted = self._wanted.items()
        if dead and not any(all(has.get(name, 0.0) >= amount for name, amount in wanted) for has in alive):
            raise EngineLostError(f"the Ray node {_named(dead[0])} is dead, and no other node can run a worker")

    def close(self) -> None:
        """Shut down Ray, or leave the cluster, unless Ray was running before."""
        if self._is_ours:
            self._ray.shutdown()


def _named(node: Mapping[str, Any]) -> str:
    """A node by its address and the beginning of its id, as Ray's own messages name it."""
    return f"{node['NodeManagerAddress']} ({node['NodeID'][:8]})"


def _address() -> str:
    return os.environ.get("RAY_ADDRESS") or LOCAL


def _start(ray: Any, workers: int, *, quiet: bool) -> None:
    """Join the cluster that the user names, or start one with room for all workers."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    room = {"num_cpus": max(workers, os.cpu_count() or 1)} if _address() == LOCAL else {}
    ray.init(address=_address(), include_dashboard=False, logging_level="error", log_to_driver=not quiet, **room)


class RayWorker:
    """An actor and its pending calls, the oldest first."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor
        self.started = actor.__ray_ready__.remote()
        self.references: deque[Any] = deque([actor.prepare.remote()])

    def send(self, rows: bytes) -> None:
        """Send a batch."""
        self.references.append(self._actor.answer.remote(rows))

    def receive(self) -> Message:
        """The next message. Raises `WorkerDiedError` with the type of error that Ray reports."""
        try:
            return self._ray.get(self.references.popleft())
        except self._ray.exceptions.RayError as error:
            # Ray places actors on a dead node until it notices. Then it ends them all, with an error that has its id.
            on_dead_node = any(node["NodeID"] in str(error) for node in self._ray.nodes() if not node["Alive"])
            # The reason has no names of actors and machines, so that equal reasons are counted together.
            raise WorkerDiedError(f"Ray reports {type(error).__name__}", with_its_node=on_dead_node) from None

    def stop(self) -> None:
        """Kill the actor."""
        self._ray.kill(self._actor)
