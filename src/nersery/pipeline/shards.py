"""A job that writes rows into a folder of shards. The same call resumes after the last completely written shard."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any, TypeVar

from nersery.core.errors import JobFailedError, NerseryError, SettingsError
from nersery.core.outcome import Reject, Tally
from nersery.core.progress import Progress
from nersery.core.system import files, folders
from nersery.core.system.files import open_new
from nersery.core.system.job_records import already_exists_error, differences, foreign_files_error, initial_files
from nersery.core.system.locks import LOCK
from nersery.io.input_files.folder import MANIFEST, TOTAL
from nersery.io.parquet import load_pyarrow, write_lines
from nersery.pipeline.engines.base import Answer, EngineLostError
from nersery.pipeline.error_policy import FAILED
from nersery.pipeline.job import BATCH_SIZE
from nersery.pipeline.job_record import JobRecord

Row = TypeVar("Row")
Answers = Callable[[Iterable[Sequence[Row | Reject]]], Iterator[Answer]]
"""A function that yields the answers to batches in order, such as `nersery.pipeline.engines.pool.Pool.answers`."""

MAX_SHARDS = 100_000
"""With more shards, their names would no longer sort in order."""
_OWN = re.compile(r"(part|rejects)-\d{5}\.\w+(\.tmp)?")


@dataclass(frozen=True)
class ShardJob:
    """A job that writes rows into a folder of shards, and resumes even after ``kill -9``.

    While it runs, the folder ``TARGET.part`` holds::

        manifest.jsonl          the fingerprint, then a line for each finished shard, with its tally
        part-00000.jsonl        the output of the first rows; part-00001.jsonl the output of the next rows, and so on
        rejects-00000.jsonl     the rejects among them, if any

    Shards are written under temporary names, renamed, and then listed in the manifest. Files that it does not list are
    ignored. At the end, the folder moves to ``TARGET``. The last line of the manifest is the total tally.

    Args:
        target: The folder to write.
        rows: Items per shard; the last shard may have fewer.
        fingerprint: All values that the result depends on, as JSON values.
        format: Extension of the shards; ``parquet`` converts JSONL. Rejects are always JSONL.
    """

    target: Path
    rows: int
    fingerprint: Mapping[str, Any]
    format: str = "jsonl"

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise SettingsError(f"a shard has {self.rows} rows, expected 1 or more")

    @property
    def unfinished_folder(self) -> Path:
        """The folder of the unfinished job."""
        return files.unfinished_path(folders.real_folder(self.target))

    def check_target(self, *, overwrite: bool = False) -> None:
        """Check that the target may be written, before any work.

        Raises:
            SettingsError: If the target is a file or must not be overwritten, or if the target or the folder of the
                unfinished job holds other files.
            MissingResourceError: If the writer of the format is not installed.
        """
        files.refuse_unwritable(self.target)
        if self.format == "parquet":
            load_pyarrow()
        if self.target.exists() and not self.target.is_dir():
            raise SettingsError(f"{self.target} is a file, expected the name of a folder for the shards")
        for folder in (self.target, self.unfinished_folder):
            if strange := _foreign(folder):
                raise foreign_files_error(folder, f"a sharded job, e.g. {strange}")
        if not overwrite and self.target.exists() and any(self.target.iterdir()):
            raise already_exists_error(self.target)

    def run(
        self,
        rows: Iterable[Row | Reject],
        answers: Answers[Row],
        *,
        batch_size: int = BATCH_SIZE,
        progress: Progress | None = None,
        overwrite: bool = False,
    ) -> Tally:
        """Process all rows, or the rows of those shards that an earlier call has not finished.

        Args:
            answers: Receives batches; no batch spans two shards.

        Raises:
            SettingsError: If the target must not be overwritten, another job is unfinished there, or another process is
                working on it.
            NerseryError: If the manifest is broken, or there are too many shards.
        """
        self.check_target(overwrite=overwrite)
        shards = {"rows": self.rows, "format": self.format}
        manifest = _Manifest(self.unfinished_folder / MANIFEST, {**self.fingerprint, "shards": shards})
        with manifest.taken_over(overwrite=overwrite):
            manifest.write()  # before any file is touched, so that a manifest never describes another job's files
            manifest.remove_others()
            if not manifest.finished:
                rows_done = len(manifest.shards) * self.rows
                if progress is not None and rows_done:
                    progress.advance(rows_done, resumed=True)
                remaining = batches(islice(rows, rows_done, None), self.rows, batch_size)
                self._fill(manifest, answers(remaining), progress)
            self.check_target(overwrite=overwrite)  # somebody may have written there in the meantime
            (self.unfinished_folder / LOCK).unlink(missing_ok=True)
            folders.replace_folder(self.unfinished_folder, self.target)
        return manifest.tally

    def _fill(self, manifest: _Manifest, answers: Iterator[Answer], progress: Progress | None) -> None:
        try:
            for answer in answers:
                manifest.append(self._write_shard(len(manifest.shards), chain([answer], answers), progress))
        except EngineLostError as error:
            raise JobFailedError(
                f"{error}. Shard {len(manifest.shards):05} of {self.target} was not finished; earlier ones are kept: "
                "the same command resumes (restart the cluster first if it is your own)"
            ) from None
        except JobFailedError:
            manifest.drop_failed()
            raise
        if not manifest.shards:  # readers of the folder expect at least one file
            manifest.append(self._write_shard(0, iter(()), progress))
        tally = manifest.tally
        if _all_failed(tally.written, tally.reasons):
            manifest.drop_failed()  # the corrected command starts from the first row
            first = next(iter(tally.reasons))
            raise JobFailedError(f"all {tally.read:,} rows failed, the first for this reason: {first}")
        manifest.finish()

    def _write_shard(self, number: int, answers: Iterator[Answer], progress: Progress | None) -> dict[str, Any]:
        """Write the next shard, and return its entry for the manifest."""
        if number >= MAX_SHARDS:
            raise NerseryError(f"there are more than {MAX_SHARDS:,} shards. Start over with larger ones (--shards)")
        output, rejects = (self.unfinished_folder / f"{kind}-{number:05}.lines.tmp" for kind in ("part", "rejects"))
        rows, tally = 0, Tally()
        with files.naming_the_file(self.target), open_new(output) as lines, open_new(rejects) as refused:
            for answer in answers:
                lines.write(answer.output)
                refused.write(answer.rejects)
                tally.include(answer.tally)
                rows += answer.rows
                if progress is not None:
                    progress.advance(answer.rows)
                if rows == self.rows:
                    break
        others = [self._commit(rejects, "jsonl")] if tally.rejected else []
        rejects.unlink(missing_ok=True)
        return {"rows": rows, **tally.as_dict(), "files": [self._commit(output, self.format), *others]}

    def _commit(self, written: Path, format: str) -> dict[str, Any]:
        """Move a completely written file to its final name, and return its entry for the manifest."""
        path = written.with_suffix("").with_suffix(f".{format}")
        if format == "parquet":
            columns = path.with_name(f"{path.name}.tmp")
            write_lines(written, columns)
            written.unlink()
            written = columns
        file = {"name": path.name, "bytes": written.stat().st_size, "sha256": files.content_hash(written)}
        os.replace(written, path)
        return file


@dataclass(slots=True)
class _Manifest(JobRecord):
    """One line for the unfinished job, then one for each finished shard in order, appended when it is finished."""

    shards: list[dict[str, Any]] = field(default_factory=list)

    @property
    def tally(self) -> Tally:
        """The outcomes of the items of all finished shards."""
        tally = Tally()
        for shard in self.shards:
            tally.include(Tally(shard["read"], shard["written"], Counter(shard["reasons"])))
        return tally

    def load(self, text: str, fingerprint: Mapping[str, Any]) -> str:
        """See `JobRecord.load`. The first shard with a missing or resized file and all later shards are redone."""
        *lines, _ = text.split("\n")  # the last one is empty, or was cut off by a kill
        header, *entries = map(json.loads, lines)
        if header["job"] != fingerprint:
            return differences(header["job"], fingerprint) if entries else ""
        shards = [entry for entry in entries if TOTAL not in entry]
        self.shards = list(takewhile(self._is_whole, shards))  # rows are in order, so shards after a gap do not count
        self.finished = len(self.shards) == len(shards) < len(entries)
        return ""

    def _is_whole(self, shard: Mapping[str, Any]) -> bool:
        sizes = {self.path.with_name(file["name"]): file["bytes"] for file in shard["files"]}
        return all(path.exists() and path.stat().st_size == size for path, size in sizes.items())

    def text(self) -> str:
        total = [{TOTAL: self.tally.as_dict()}] if self.finished else []
        return "".join(map(_line, [{"job": self.fingerprint}, *self.shards, *total]))

    def append(self, shard: dict[str, Any]) -> None:
        """List a shard after its files are written."""
        self._add(shard)
        self.shards.append(shard)

    def finish(self) -> None:
        """Record that there are no more shards, and the total tally."""
        self._add({TOTAL: self.tally.as_dict()})
        self.finished = True

    def drop_failed(self) -> None:
        """Drop the last shards if all their rows failed, so that a corrected command processes them again."""
        while self.shards and _all_failed(self.shards[-1]["written"], self.shards[-1]["reasons"]):
            self.shards.pop()
        self.write()

    def _add(self, entry: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(_line(entry))

    def remove_others(self) -> None:
        """Remove the files of shards that the manifest does not list."""
        listed = {file["name"] for shard in self.shards for file in shard["files"]}
        for path in self.path.parent.iterdir():
            if _OWN.fullmatch(path.name) and path.name not in listed:
                path.unlink()


def _all_failed(written: int, reasons: Collection[str]) -> bool:
    return not written and bool(reasons) and all(reason.startswith(FAILED) for reason in reasons)


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry) + "\n"


def _foreign(folder: Path) -> str:
    """The first file in a folder that was not written by such a job; empty if there is none."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    strange = names - {MANIFEST, *initial_files(MANIFEST)}
    if MANIFEST in names:
        strange = {name for name in strange if not _OWN.fullmatch(name)}
    return min(strange, default="")


def batches(rows: Iterable[Row], shard: int, batch_size: int) -> Iterator[list[Row]]:
    """The rows in batches. No batch extends beyond the end of a shard.

    >>> list(batches("abcdefgh", 5, 3))
    [['a', 'b', 'c'], ['d', 'e'], ['f', 'g', 'h']]
    """
    iterator, left = iter(rows), shard
    while batch := list(islice(iterator, min(batch_size, left, sys.maxsize))):
        yield batch
        left = left - len(batch) or shard
