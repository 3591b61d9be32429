"""The job: the one place for batches, rejects, progress, the journal and resuming.

A function turns a batch of items into one outcome each, in order. Therefore ``read = written + rejected`` always holds.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from nersery import io
from nersery.core.batched import batched
from nersery.core.errors import NerseryError, SettingsError
from nersery.core.outcome import BatchFunction, Outcome, Reject, Tally
from nersery.core.progress import Progress
from nersery.core.sentence import Sentence
from nersery.core.system import files
from nersery.core.system.job_records import already_exists_error, differences, foreign_files_error, initial_files
from nersery.core.system.locks import locked
from nersery.io.input_files.text_file import as_beginning
from nersery.io.jsonl import rejects_of
from nersery.io.losses import Losses
from nersery.pipeline.error_policy import ErrorPolicy, sentence_in
from nersery.pipeline.job_record import JobRecord

Item = TypeVar("Item")

BATCH_SIZE = 1024
CHECKPOINT_SECONDS = 1.0
"""Interval between saves of the journal: after a kill, at most this much work and one batch are repeated."""

JOURNAL = "journal.json"
OUTPUT = "output"
REJECTS = "rejects"
PACKED = "packed"
"""The output after `FileJob.pack`."""
_LOCK, _UNWRITTEN = initial_files(JOURNAL)
PARTS = (OUTPUT, REJECTS, _UNWRITTEN, JOURNAL)
"""The files of a job in its folder besides the lock, in the order in which they are removed: as long as there is a
journal, the same call ends as it would have without a kill."""


def run(
    items: Iterable[Item | Reject],
    function: BatchFunction[Item],
    *,
    batch_size: int = BATCH_SIZE,
    progress: Progress | None = None,
    sentence_of: Callable[[Any], Sentence | None] = sentence_in,
) -> Iterator[Outcome]:
    """Apply a function to items batch by batch, and yield one outcome per item in order.

    Items that raise an exception are rejected, see `nersery.pipeline.error_policy`.

    Args:
        items: May include rejects from the reader, which pass through unchanged.
        batch_size: Items per call of the function; changes speed, never results.

    Raises:
        Exception: The first exception, if the function fails for every item.
    """
    policy = ErrorPolicy(function, sentence_of)
    yield from outcomes_of(items, policy, batch_size=batch_size, progress=progress)
    policy.check()


def outcomes_of(
    items: Iterable[Item | Reject],
    policy: ErrorPolicy[Item],
    *,
    batch_size: int = BATCH_SIZE,
    progress: Progress | None = None,
) -> Iterator[Outcome]:
    """Like `run`, for jobs that keep one policy over several calls or count their own failures."""
    if batch_size < 1:
        raise SettingsError(f"batch_size is {batch_size}, expected 1 or more")
    for batch in batched(items, batch_size):
        tasks = [item for item in batch if not isinstance(item, Reject)]
        outcomes = iter(policy(tasks) if tasks else ())
        for item in batch:
            yield item if isinstance(item, Reject) else next(outcomes)
        if progress is not None:
            progress.advance(len(batch))


@dataclass(frozen=True)
class FileJob:
    """A job that writes items into a file, and resumes even after ``kill -9``.

    The folder ``TARGET.part`` holds the output and the rejects so far, and a journal with the number of finished items
    and bytes. The same call resumes from it. At the end, the files move to ``TARGET`` and ``TARGET.rejects.jsonl`` (if
    there are rejects). After a power loss, the job refuses files that the system had not completely written.

    Args:
        target: The file to write.
        encode: Turns a sentence into text of the format, with line breaks.
        fingerprint: All values that the result depends on, as JSON values.
        blank: Text in place of a reject, if lines must match those of other files.
        pack: Converts the whole output into the target at the end; None if the output is the target.
        makes_folder: Whether the target is a folder. It never replaces an existing file or folder.
        sentence_of: Returns the sentence to show in the reject of a failed item.
        losses: Sees each sentence that is written, if given.
        writer: The writer that ``encode`` belongs to, if it must know how the output begins.
    """

    target: Path
    encode: Callable[[Sentence], str]
    fingerprint: Mapping[str, Any]
    blank: str = ""
    pack: Callable[[Path, Path], None] | None = None
    makes_folder: bool = False
    sentence_of: Callable[[Any], Sentence | None] = sentence_in
    losses: Losses | None = None
    writer: io.Writer | None = None

    @property
    def unfinished_folder(self) -> Path:
        """The folder of the unfinished job."""
        return files.unfinished_path(self.target)

    @property
    def rejects(self) -> Path:
        """The file of the rejects."""
        return rejects_of(self.target)

    def check_target(self, *, overwrite: bool = False) -> None:
        """Check that the target may be written, before any work.

        Raises:
            SettingsError: If the target is a folder, if it or its rejects exist and must not be overwritten, or if the
                folder of the unfinished job holds other files.
        """
        files.refuse_unwritable(self.target)
        if self.target.is_dir() and not self.makes_folder:
            raise SettingsError(f"{self.target} is a folder, expected the name of a file to write")
        begun = self.target.name != "" and (self.unfinished_folder / JOURNAL).exists()
        is_moved = begun and not any((self.unfinished_folder / name).exists() for name in (OUTPUT, PACKED))
        if self.makes_folder and os.path.lexists(self.target) and not is_moved:
            raise SettingsError(f"{self.target} exists already, expected the name of a new folder. Choose another name")
        is_leftover = not begun and self.unfinished_folder.is_dir()
        if is_leftover and not {path.name for path in self.unfinished_folder.iterdir()} <= {*initial_files(JOURNAL)}:
            raise foreign_files_error(self.unfinished_folder, "an unfinished job")
        try:
            self._check_existing(overwrite, moved=begun)
        except SettingsError:
            if is_leftover:  # a kill came after the files had moved
                with locked(self.unfinished_folder):
                    self._clear()
            raise

    def _check_existing(self, overwrite: bool, *, moved: bool) -> None:
        """Refuse files that may not be overwritten, except those that a killed call may have ``moved`` there."""
        for file, unfinished in (
            (self.target, self.unfinished_folder / OUTPUT),
            (self.rejects, self.unfinished_folder / REJECTS),
        ):
            if os.path.lexists(file) and not overwrite and not (moved and not unfinished.exists()):
                raise already_exists_error(file)

    def run(
        self,
        items: Iterable[Item | Reject],
        function: BatchFunction[Item],
        *,
        batch_size: int = BATCH_SIZE,
        progress: Progress | None = None,
        overwrite: bool = False,
    ) -> Tally:
        """Process all items, or those that an earlier call has not finished.

        Raises:
            SettingsError: If the target must not be overwritten, another job is unfinished there, or another process is
                working on it.
            NerseryError: If the journal is broken, or the files were removed or are shorter than it records.
        """
        self.check_target(overwrite=overwrite)
        journal = _Journal(self.unfinished_folder / JOURNAL, dict(self.fingerprint), writer=self.writer)
        with journal.taken_over(overwrite=overwrite):
            was_finished = journal.finished  # then a killed call may have moved the files
            self._check_existing(overwrite, moved=was_finished)
            journal.write()  # before the output is cut, so that a journal never describes another job's bytes
            if not was_finished:
                done, policy = journal.tally.read, ErrorPolicy(function, self.sentence_of)
                if progress is not None and done:
                    progress.advance(done, resumed=True)
                remaining = islice(items, done, None)  # rejects of the reader count as read, too
                outcomes = outcomes_of(remaining, policy, batch_size=batch_size, progress=progress)
                try:
                    self._fill(journal, outcomes, policy, batch_size)
                except Exception:
                    if not (journal.output_bytes or journal.reject_bytes):
                        self._clear()  # nothing to resume
                    raise
            self.check_target(overwrite=overwrite)  # somebody may have written there in the meantime
            self._refuse_loss(journal.tally, moved=was_finished)
            self._publish(journal.tally)
        return journal.tally

    def note_losses(self) -> None:
        """Print a note if the format has not kept everything of the sentences that this call wrote."""
        if self.losses is not None:
            self.losses.report()

    def _fill(self, journal: _Journal, outcomes: Iterable[Outcome], policy: ErrorPolicy[Any], batch_size: int) -> None:
        with (
            files.naming_the_file(self.target),
            # A kill may have left more bytes than the journal records: their items are processed again.
            _open_truncated(self.unfinished_folder / OUTPUT, journal.output_bytes) as output,
            _open_truncated(self.unfinished_folder / REJECTS, journal.reject_bytes) as rejects,
        ):
            saved, begins = time.monotonic(), not output.tell()
            for number, result in enumerate(outcomes, start=1):
                line, outcome = policy.encoded(result, self.encode, io.reject_line)
                journal.tally.add(outcome)
                if isinstance(outcome, Reject):
                    rejects.write(line.encode())
                    written = self.blank
                else:
                    written = as_beginning(line) if begins else line
                    if self.losses is not None:
                        self.losses.see(outcome)
                output.write(written.encode())
                begins = begins and not written
                # After a failed item, all others may fail, too. Unsaved, they are processed again by the next command.
                has_failed = isinstance(outcome, Reject) and outcome.error is not None
                if number % batch_size == 0 and not has_failed and time.monotonic() - saved >= CHECKPOINT_SECONDS:
                    journal.save(output, rejects)
                    saved = time.monotonic()
            if not journal.tally.written:
                policy.check()
            journal.finished = True
            journal.save(output, rejects)

    def _refuse_loss(self, tally: Tally, *, moved: bool) -> None:
        """If somebody has removed the finished work, clear the folder for another try, and raise `NerseryError`."""
        pairs = [(self.unfinished_folder / OUTPUT, self.target), (self.unfinished_folder / REJECTS, self.rejects)]
        for unfinished, target in pairs if tally.rejected else pairs[:1]:
            is_moved = moved and (os.path.lexists(target) or (self.unfinished_folder / PACKED).exists())
            if not unfinished.exists() and not is_moved:
                self._clear()
                raise NerseryError(f"{unfinished} was removed, so {target} cannot be written. Repeat the command")

    def _publish(self, tally: Tally) -> None:
        """Move the finished files. Files that a killed call has already moved are no longer there."""
        rejects, output, packed = (self.unfinished_folder / name for name in (REJECTS, OUTPUT, PACKED))
        if not tally.rejected:
            self.rejects.unlink(missing_ok=True)
        elif rejects.exists():
            os.replace(rejects, self.rejects)
        if self.pack is not None:
            if output.exists():  # else a killed call has packed it
                files.remove(packed)  # it may be half done
                self.pack(output, packed)
                output.unlink()
            output = packed
        if output.exists():  # it moves last: whoever finds the target finds its rejects, too
            os.replace(output, self.target)
        self._clear()

    def _clear(self) -> None:
        for name in PARTS:
            (self.unfinished_folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # nothing is lost if they stay, as somebody else's files in the folder do
            (self.unfinished_folder / _LOCK).unlink(missing_ok=True)
            self.unfinished_folder.rmdir()


@dataclass(slots=True)
class _Journal(JobRecord):
    """The number of finished items of an unfinished job, and the bytes that they take up."""

    tally: Tally = field(default_factory=Tally)
    output_bytes: int = 0
    reject_bytes: int = 0
    writer: io.Writer | None = None

    def load(self, text: str, fingerprint: Mapping[str, Any]) -> str:
        state = json.loads(text)
        recorded, tally = state["fingerprint"], Tally(state["read"], state["written"], Counter(state["reasons"]))
        (output_bytes, reject_bytes), finished = state["bytes"], state["finished"]
        if recorded != fingerprint:
            return differences(recorded, fingerprint) if finished or tally.read else ""
        self.tally, self.finished = tally, finished
        self.output_bytes, self.reject_bytes = output_bytes, reject_bytes
        if self.writer is not None:
            self.writer.columns = state.get("columns")
        return ""

    def save(self, output: BinaryIO, rejects: BinaryIO) -> None:
        """Write the state after all the data that it describes.

        There is no ``fsync``, which would take most of the time. A kill loses nothing that was flushed to the system,
        and after a loss of power `_open_truncated` finds that the files are too short.
        """
        output.flush()
        rejects.flush()
        self.output_bytes, self.reject_bytes = output.tell(), rejects.tell()
        self.write()

    def text(self) -> str:
        state = {"fingerprint": self.fingerprint, **self.tally.as_dict()}
        state |= {"bytes": [self.output_bytes, self.reject_bytes], "finished": self.finished}
        return json.dumps(state | {"columns": self.writer and self.writer.columns}, indent=1)


def _open_truncated(path: Path, size: int) -> BinaryIO:
    """Open a file for writing after its first ``size`` bytes. The rest is cut off: it belongs to unfinished items."""
    path.touch()
    if path.stat().st_size < size:
        raise NerseryError(
            f"finished work is missing from {path}. Delete the folder {path.parent} to start the job again"
        )
    stream = path.open("r+b")
    stream.truncate(size)
    stream.seek(size)
    return stream
