"""Workers that are processes; each takes half a second to start, so there are few tests."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import nersery
from nersery import Sentence
from nersery.core.errors import SettingsError
from nersery.core.outcome import Tally
from nersery.core.warnings import counted_warnings, forget_notes
from nersery.pipeline.engines.base import Ready, WorkerDiedError
from nersery.pipeline.engines.local import LocalEngine
from nersery.pipeline.engines.pool import Pool
from nersery.pipeline.engines.worker import WorkerTask
from nersery.pipeline.shards import MANIFEST, ShardJob
from tests.pipeline.fakes import Capitals, Noting, OddRows, expected, rows
from tests.standins import environment

ODD = rows(60, at5="kill-once", at20="fail", at33="kill", at34="reject")
SLOW = rows(150, **{f"at{number}": "company" if number == 30 else "sleep" for number in range(150)})


def run(folder: Path, sentences: list[Sentence], workers: int, batch_size: int = 5) -> Tally:
    """A job over shards of 25 rows."""
    (folder / "marks").mkdir(parents=True, exist_ok=True)
    task = WorkerTask(Capitals(str(folder / "marks")))
    with Pool(LocalEngine(), task, workers, print) as pool:
        return ShardJob(folder / "out", 25, {}).run(sentences, pool.answers, batch_size=batch_size)


def output(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((folder / "out").glob("part-*")))


def pids(folder: Path) -> list[int]:
    """The process ids of all workers that were ever ready."""
    return [int(path.name.split("-")[1]) for path in (folder / "marks").glob("start-*")]


def is_at_work(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def shards_of(folder: Path) -> int:
    """How many shards of an unfinished job are done."""
    path = folder / "out.part" / MANIFEST
    return path.read_text().count('"files"') if path.exists() else 0


def test_bytes_do_not_depend_on_the_number_of_workers_or_their_deaths(tmp_path: Path) -> None:
    manifests = set()
    for workers in (1, 3):
        folder = tmp_path / str(workers)
        tally = run(folder, ODD, workers, batch_size=1)
        assert (tally.read, tally.written) == (60, 57)
        assert tally.reasons["failed: a worker died of it: killed by signal 9 (SIGKILL, perhaps out of memory)"] == 1
        assert output(folder) == expected(ODD)
        assert not any(map(is_at_work, pids(folder)))
        manifests.add((folder / "out" / MANIFEST).read_bytes())
    assert len(manifests) == 1


def test_a_note_of_several_workers_is_printed_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    forget_notes()
    (tmp_path / "marks").mkdir()
    task = WorkerTask(Noting(str(tmp_path / "marks")), is_first=False)
    batches = [rows(1, at0="company") for _ in range(4)]
    with Pool(LocalEngine(), task, 2, print) as pool:
        assert len([*pool.answers(batches)]) == len(batches)
    assert len(pids(tmp_path)) == 2
    assert capfd.readouterr().err == "note: this model reads lower case only\n"


@pytest.mark.filterwarnings("always")
def test_warnings_of_python_in_workers_are_counted_together(capfd: pytest.CaptureFixture[str]) -> None:
    batches = [[row] for row in rows(6)]
    with counted_warnings(), Pool(LocalEngine(), WorkerTask(OddRows()), 2, print) as pool:
        assert sum(answer.tally.written for answer in pool.answers(batches)) == 6
    first, others = capfd.readouterr().err.splitlines()
    assert re.fullmatch(r"warning: .*fakes\.py:\d+: UserWarning: s\d is odd", first)
    assert re.fullmatch(r"warning: .*fakes\.py:\d+: 5 more, the first was UserWarning: s\d is odd", others)


def test_output_is_the_same_after_a_worker_is_killed(tmp_path: Path) -> None:
    process = start(tmp_path)
    wait_until(lambda: len(pids(tmp_path)) == 2 and shards_of(tmp_path) > 0)
    os.kill(pids(tmp_path)[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert len(pids(tmp_path)) in (2, 3)  # on a busy machine, the other one may end all work before one takes its place
    assert output(tmp_path) == expected(SLOW)


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_the_same_call_resumes_after_its_process_was_killed(sign: signal.Signals, tmp_path: Path) -> None:
    process = start(tmp_path)
    wait_until(lambda: shards_of(tmp_path) >= 2)
    if sign == signal.SIGINT:
        os.killpg(process.pid, sign)  # as Ctrl-C does, which the workers leave to the process that started them
    else:
        process.send_signal(sign)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert errors.count("Traceback") == (sign == signal.SIGINT), errors
    wait_until(lambda: not any(map(is_at_work, pids(tmp_path))))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out.part").glob("part-*.jsonl")}
    assert len(before) >= 2
    assert run(tmp_path, SLOW, workers=1).read == len(SLOW)
    assert output(tmp_path) == expected(SLOW)
    after = {tmp_path / "out.part" / path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("part-*")}
    assert before.items() <= after.items(), "finished shards are not written again"


def start(folder: Path) -> subprocess.Popen[str]:
    """The slow job with two workers, in its own process and process group, as in a terminal."""
    command = [sys.executable, "-m", __name__, str(folder)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True
    )


SCRIPT = """import nersery, os
nersery.augment("example:train.conll", "mention_replacement", output=f"{os.getpid()}", shards=10, quiet=True)
"""


@pytest.mark.parametrize("file", ["script.py", "-"])
def test_error_about_a_script_that_workers_cannot_import(file: str, tmp_path: Path) -> None:
    """Without a guard the import would start the job again; standard input cannot be read again."""
    (tmp_path / "script.py").write_text(SCRIPT)
    python = subprocess.run(
        [sys.executable, file],
        input=SCRIPT,
        cwd=tmp_path,
        env=environment(),
        text=True,
        capture_output=True,
        check=False,
    )
    assert python.returncode == 1
    last = python.stderr.strip().splitlines()[-1]
    assert "3 workers in a row died" in last
    assert 'it must be a file, and start workers under if __name__ == "__main__"' in last
    refused = "SettingsError: each worker imports this script, so it must not start workers on import."
    assert python.stderr.count(refused) == (3 if file == "script.py" else 0)
    assert len([*tmp_path.iterdir()]) == 2, "no worker has begun a job"


def test_refuses_workers_in_a_daemonic_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    with pytest.raises(
        SettingsError, match=r"not start others, because it is daemonic.* Use neither shards nor workers"
    ):
        nersery.augment("example:train.conll", "mention_replacement", output=tmp_path / "more", shards=10, workers=2)
    with pytest.raises(SettingsError, match=r"not start others, because it is daemonic.* Use jobs=1"):
        nersery.run("demo", output=tmp_path / "run", jobs=2)
    assert not [*tmp_path.iterdir()]


class TestWorker:
    def test_a_file_in_the_current_folder_replaces_no_module(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "socket.py").write_text("raise SystemExit")
        monkeypatch.chdir(tmp_path)
        worker = LocalEngine().start(pickle.dumps(WorkerTask(Capitals())))
        assert isinstance(worker.receive(), Ready)
        worker.stop()

    def test_error_says_how_the_worker_ended(self) -> None:
        engine = LocalEngine()
        worker = engine.start(pickle.dumps(WorkerTask(Capitals(missing="life"))))
        assert engine.wait([worker], None) == [worker]
        with pytest.raises(WorkerDiedError, match=r"killed by signal 9 \(SIGKILL, perhaps out of memory\)"):
            worker.receive()
        worker.send(b"nobody takes it")
        worker.stop()

    def test_a_kill_while_loading_leaves_no_copy_of_the_training(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        training, temporary = tmp_path / "training", tmp_path / "temporary"
        for folder in (training, temporary):
            folder.mkdir()
        (training / "model").write_text("large")
        monkeypatch.setenv("TMPDIR", str(temporary))
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        engine = LocalEngine()
        worker = engine.start(pickle.dumps(WorkerTask(Capitals(missing="life"), folder=training, is_first=False)))
        with pytest.raises(WorkerDiedError):
            worker.receive()
        assert [*temporary.rglob("model")]
        worker.stop()
        assert not [*temporary.glob("nersery-*")]


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), SLOW, workers=2).as_dict()))
