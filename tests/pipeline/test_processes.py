from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from nersery.core.errors import SettingsError
from nersery.core.outcome import Outcome
from tests.pipeline.jobs import files, job, step

ROOT = Path(__file__).parents[2]


def slow_step(batch: Sequence[int]) -> list[Outcome]:
    """A step that takes a while, so that a signal interrupts it."""
    time.sleep(0.01)
    return step(batch)


def start(folder: Path, *, limit: int | None = None) -> subprocess.Popen[str]:
    """Run the job in its own process, with files of at most ``limit`` bytes."""
    command = [sys.executable, "-m", "tests.pipeline.test_processes", str(folder), str(limit or 0)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def in_this_process(folder: Path, limit: int) -> None:
    """What `start` runs."""
    import nersery.pipeline.job

    nersery.pipeline.job.CHECKPOINT_SECONDS = 0.0
    if limit:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that the write fails, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    job(folder).run(range(2000), slow_step, batch_size=8)


def wait_for_journal(folder: Path, read: int) -> None:
    """Wait until a job has done so many items."""
    path = job(folder).unfinished_folder / "journal.json"
    for _ in range(2000):
        if path.exists() and json.loads(path.read_text())["read"] >= read:
            return
        time.sleep(0.005)
    raise AssertionError("the job did not start")


class TestProcesses:
    @pytest.fixture
    def expected(self, tmp_path: Path) -> dict[str, bytes]:
        folder = tmp_path / "expected"
        job(folder).run(range(2000), step)
        return files(folder)

    @pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
    def test_output_after_two_kills_is_the_same(self, sign: signal.Signals, tmp_path: Path, expected: dict[str, bytes]):
        folder = tmp_path / "killed"
        for read in (64, 160):
            process = start(folder)
            wait_for_journal(folder, read)
            process.send_signal(sign)
            process.communicate()
            assert process.returncode != 0
        tally = job(folder).run(range(2000), step)
        assert tally.read == 2000
        assert files(folder) == expected

    def test_refuses_two_jobs_at_once(self, tmp_path: Path, expected: dict[str, bytes]):
        folder = tmp_path / "both"
        process = start(folder)
        try:
            wait_for_journal(folder, 8)
            with pytest.raises(SettingsError, match="another process is writing"):
                job(folder).run(range(2000), step)
        finally:
            process.communicate(timeout=60)
        assert process.returncode == 0
        assert files(folder) == expected

    def test_resumes_after_a_full_disk(self, tmp_path: Path, expected: dict[str, bytes]):
        folder = tmp_path / "full"
        _, errors = start(folder, limit=4096).communicate(timeout=60)
        assert "OSError" in errors
        assert not job(folder).target.exists()
        assert json.loads((job(folder).unfinished_folder / "journal.json").read_text())["read"] > 0
        job(folder).run(range(2000), step)
        assert files(folder) == expected


if __name__ == "__main__":
    in_this_process(Path(sys.argv[1]), int(sys.argv[2]))
