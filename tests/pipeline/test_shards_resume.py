"""An interrupted job over shards resumes and writes the same bytes."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from nersery import Sentence
from nersery.core.errors import JobFailedError, NerseryError, SettingsError
from nersery.pipeline.engines.base import Answer, EngineLostError
from nersery.pipeline.shards import MANIFEST
from tests.killing import KilledError
from tests.pipeline.fakes import answers
from tests.pipeline.shard_jobs import ROWS, files, job, start_and_kill


class TestResume:
    @pytest.mark.parametrize("after", [0, 1, 2, 3, 4, 9, 12])
    def test_resumes_with_the_same_bytes(
        self, after: int, tmp_path: Path, undisturbed_shards: dict[str, bytes]
    ) -> None:
        start_and_kill(tmp_path, after)
        assert not (tmp_path / "out").exists()
        tally = job(tmp_path).run(ROWS, answers)
        assert files(tmp_path / "out") == undisturbed_shards
        assert (tally.read, tally.rejected) == (50, 3)

    def test_finished_shards_are_not_done_again(self, tmp_path: Path) -> None:
        start_and_kill(tmp_path, 7)
        seen: list[Sentence] = []

        def watched(given: Iterable[Sequence[Any]]) -> Iterator[Answer]:
            return answers(seen.extend(batch) or batch for batch in given)  # type: ignore[func-returns-value]

        job(tmp_path).run(ROWS, watched)
        assert seen == ROWS[24:]

    def test_a_lost_engine_is_an_error_that_names_the_shard(
        self, tmp_path: Path, undisturbed_shards: dict[str, bytes]
    ) -> None:
        def lost(given: Iterable[Any]) -> Iterator[Answer]:
            yield from itertools.islice(answers(given), 5)
            raise EngineLostError("the node n1 is dead")

        with pytest.raises(JobFailedError, match=r"^the node n1 is dead\. Shard 00001 of .*: the same command resumes"):
            job(tmp_path).run(ROWS, lost, batch_size=4)
        job(tmp_path).run(ROWS, answers, batch_size=4)
        assert files(tmp_path / "out") == undisturbed_shards

    def test_ignores_files_that_the_manifest_does_not_name(
        self, tmp_path: Path, undisturbed_shards: dict[str, bytes]
    ) -> None:
        part = start_and_kill(tmp_path, 4)
        for name in ("part-00001.jsonl", "rejects-00001.jsonl", "part-00001.lines.tmp", "part-00009.parquet.tmp"):
            (part / name).write_text("half a line")
        with (part / MANIFEST).open("a") as stream:
            stream.write('{"rows": 12, "rea')
        job(tmp_path).run(ROWS, answers)
        assert files(tmp_path / "out") == undisturbed_shards

    @pytest.mark.parametrize("lost", ["part-00000.jsonl", "rejects-00000.jsonl", "part-00001.jsonl"])
    def test_repeats_a_shard_whose_files_have_changed(
        self, lost: str, tmp_path: Path, undisturbed_shards: dict[str, bytes]
    ) -> None:
        part = start_and_kill(tmp_path, 9)
        (part / lost).write_bytes(b"")
        job(tmp_path).run(ROWS, answers)
        assert files(tmp_path / "out") == undisturbed_shards

    def test_other_settings_are_refused_and_shown(self, tmp_path: Path) -> None:
        start_and_kill(tmp_path, 4)
        with pytest.raises(SettingsError, match="seed: was 0, now 1"):
            job(tmp_path, seed=1).run(ROWS, answers)
        with pytest.raises(SettingsError, match=r"shards\.rows: was 12, now 9"):
            job(tmp_path, size=9).run(ROWS, answers)

    def test_force_starts_over_with_other_settings(self, tmp_path: Path, undisturbed_shards: dict[str, bytes]) -> None:
        start_and_kill(tmp_path, 9, seed=1)
        start_and_kill(tmp_path, 0, overwrite=True)  # a kill directly afterwards does not mix the two
        job(tmp_path).run(ROWS, answers)
        assert files(tmp_path / "out") == undisturbed_shards

    def test_a_job_without_finished_work_blocks_no_other(self, tmp_path: Path) -> None:
        start_and_kill(tmp_path, 1, seed=1)
        assert job(tmp_path).run(ROWS, answers).read == 50

    @pytest.mark.parametrize("content", ["", "{", "[]\n", "null\n", '{"job": 1}\n{"rows": 1}\n'])
    def test_names_a_broken_manifest_and_force_discards_it(
        self, content: str, tmp_path: Path, undisturbed_shards: dict[str, bytes]
    ) -> None:
        part = start_and_kill(tmp_path, 4)
        (part / MANIFEST).write_text(content)
        with pytest.raises(NerseryError, match=r"manifest\.jsonl is broken.*or use force=True"):
            job(tmp_path).run(ROWS, answers)
        job(tmp_path).run(ROWS, answers, overwrite=True)
        assert files(tmp_path / "out") == undisturbed_shards

    @pytest.mark.parametrize("name", ["part-00001.jsonl", "rejects-00000.jsonl", MANIFEST, "out"])
    def test_resumes_after_a_kill_while_files_are_moved(
        self, name: str, tmp_path: Path, undisturbed_shards: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        original = os.replace

        def replace(source: Path, target: Path) -> None:
            if target.name == name:
                raise KilledError
            original(source, target)

        with monkeypatch.context() as patch:
            patch.setattr("os.replace", replace)
            with pytest.raises(KilledError):
                job(tmp_path).run(ROWS, answers)
        job(tmp_path).run(ROWS, answers)
        assert files(tmp_path / "out") == undisturbed_shards

    @pytest.mark.parametrize("moved", ["out", "out.part"])
    def test_resumes_after_a_kill_while_the_old_folder_is_replaced(
        self, moved: str, tmp_path: Path, undisturbed_shards: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        original = os.replace

        def replace(source: Path, target: Path) -> None:
            original(source, target)
            if source.name == moved:
                os.kill(os.getpid(), signal.SIGKILL)

        job(tmp_path, seed=1).run(ROWS, answers)
        if (child := os.fork()) == 0:
            monkeypatch.setattr("os.replace", replace)
            job(tmp_path).run(ROWS, answers, overwrite=True)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        assert (tmp_path / "out").exists() == (moved == "out.part")
        job(tmp_path).run(ROWS, answers, overwrite=moved == "out.part")
        assert files(tmp_path / "out") == undisturbed_shards
        assert sorted(os.listdir(tmp_path)) == ["out", "undisturbed"]

    def test_does_not_overwrite_a_target_that_appeared_since(
        self, tmp_path: Path, undisturbed_shards: dict[str, bytes]
    ) -> None:
        start_and_kill(tmp_path, 7)
        job(tmp_path / "other", seed=1).run(ROWS, answers)
        others = files(tmp_path / "other/out")

        def disturbed(given: Iterable[Any]) -> Iterator[Answer]:
            (tmp_path / "other/out").rename(tmp_path / "out")
            return answers(given)

        for to_answers in (disturbed, answers):  # during the job, and before it
            with pytest.raises(SettingsError, match="out exists already"):
                job(tmp_path).run(ROWS, to_answers)
            assert files(tmp_path / "out") == others
        job(tmp_path).run(ROWS, answers, overwrite=True)
        assert files(tmp_path / "out") == undisturbed_shards

    def test_resumes_after_a_full_disk(
        self, tmp_path: Path, undisturbed_shards: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        part = start_and_kill(tmp_path, 4)

        def opened(path: Path) -> IO[bytes]:
            return (Path("/dev/full") if path.name == "part-00002.lines.tmp" else path).open("wb")

        with monkeypatch.context() as patch:
            patch.setattr("nersery.pipeline.shards.open_new", opened)
            with pytest.raises(OSError, match="No space left") as caught:
                job(tmp_path).run(ROWS, answers)
        assert caught.value.filename == str(tmp_path / "out")
        assert len((part / MANIFEST).read_text().splitlines()) == 3, "two shards are kept"
        job(tmp_path).run(ROWS, answers)
        assert files(tmp_path / "out") == undisturbed_shards
