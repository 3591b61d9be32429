"""Checks that ids are distinct, in memory that does not grow with the corpus."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from nersery.core.errors import DataError, DiskError, Issue
from nersery.core.sentence import Sentence

if TYPE_CHECKING:
    import sqlite3

IN_MEMORY = 20_000
"""The number of ids that are kept in memory before they go to a temporary file."""
FLAGS = 1 << 24
"""The number of hash values, with one byte for each. Because of these, few new ids are looked up in the file."""


class SeenIds:
    """The ids seen so far, each with its line and file.

    >>> ids = SeenIds()
    >>> ids.add("a", 1), ids.add("b", 2), ids.add("a", 3)
    (None, None, (1, ''))
    """

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._in_memory = in_memory
        self._lines: dict[str, tuple[int, str]] = {}
        self._table: sqlite3.Connection | None = None
        self._flags = bytearray()

    def add(self, id: str, line: int, file: str = "") -> tuple[int, str] | None:
        """Record an id. Return the line and the file in which it occurred before, or None if it is new."""
        if earlier := self.find(id):
            return earlier
        self._lines[id] = line, file
        if len(self._lines) > self._in_memory:
            self._store()
        return None

    def find(self, id: str) -> tuple[int, str] | None:
        """The line and the file of an id; None if it was not seen."""
        if self._table is None or id in self._lines or not self._flags[hash(id) % FLAGS]:
            return self._lines.get(id)
        with naming_the_temporary_folder():
            row = self._table.execute("select line, file from ids where id = ?", (_bytes(id),)).fetchone()
        return row and (row[0], row[1].decode("utf-8", "surrogatepass"))

    def _store(self) -> None:
        """Move the ids in memory to the file."""
        self._flags = self._flags or bytearray(FLAGS)
        for id in self._lines:
            self._flags[hash(id) % FLAGS] = True
        rows = sorted((_bytes(id), line, _bytes(file)) for id, (line, file) in self._lines.items())
        columns = "ids (id blob primary key, line integer, file blob) without rowid"
        with naming_the_temporary_folder():
            self._table = self._table or temporary_table(columns)
            self._table.executemany("insert into ids values (?, ?, ?)", rows)
        self._lines.clear()


def with_distinct_ids(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences, one by one. Raise `DataError` if two have the same id; the empty id may occur often."""
    ids = SeenIds()
    for number, sentence in enumerate(sentences, start=1):
        if sentence.id and ids.add(sentence.id, number) is not None:
            raise repeated_id(sentence.id)
        yield sentence


def repeated_id(id: str) -> DataError:
    """The error for a sentence with the id of another one."""
    return DataError(Issue("another sentence has the same id", sentence=id), fix="give every sentence an id of its own")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def temporary_table(columns: str) -> sqlite3.Connection:
    """A table in a file without a name, which the system removes when the connection closes."""
    import sqlite3

    class ClosedTable(sqlite3.Connection):
        def __del__(self) -> None:
            with contextlib.suppress(sqlite3.ProgrammingError):  # Ctrl-C came before it was open
                self.close()  # else Python 3.13 and later warn, which is an error in tests of users

    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False, factory=ClosedTable)
    connection.execute("pragma journal_mode = off")
    connection.execute("pragma synchronous = off")
    connection.execute(f"create table {columns}")
    connection.execute("begin")  # one transaction, never committed: nobody reads the file after a kill
    return connection


class naming_the_temporary_folder:  # noqa: N801 - a generator would take longer than the body
    """A context in which a `DiskError` names the folder of a `temporary_table` whose disk fails."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            return
        import sqlite3

        if not isinstance(error, sqlite3.OperationalError):
            return
        folders = (os.environ.get("SQLITE_TMPDIR"), os.environ.get("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp")
        folder = next((name for name in folders if name and os.access(name, os.W_OK | os.X_OK)), os.curdir)
        raise DiskError(
            f"a temporary file for data that does not fit into memory cannot be written in {folder}: {error}. Free "
            "some space there, or set the environment variable TMPDIR to another folder"
        ) from None
