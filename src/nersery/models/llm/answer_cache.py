"""Answers on disk, so that each request is paid for once, even if a job is killed or repeated.

Planning looks up answers without sending a request, and a resumed job without a key. An HTTP cache cannot do this.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nersery.core.batched import batched
from nersery.core.errors import DiskError
from nersery.models.llm.prompt import Completion

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, text TEXT, finish TEXT, sent INTEGER, received INTEGER);
CREATE TABLE IF NOT EXISTS servers (key TEXT PRIMARY KEY, variant INTEGER);
"""
AT_ONCE = 500
"""Keys in one query. SQLite allows several thousand."""


class AnswerCache:
    """A SQLite file that several threads and processes may use at once.

    Args:
        folder: Created if missing. Only its owner can read it, because answers repeat parts of the text.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "answers.sqlite"
        self._lock = threading.Lock()
        with self._errors():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._database = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")  # survives a killed process without a sync per answer
            self._database.executescript(_TABLES)

    def find(self, keys: Iterable[str]) -> dict[str, Completion]:
        """The cached answers, by key."""
        answers: dict[str, Completion] = {}
        for part in batched(dict.fromkeys(keys), AT_ONCE):
            query = f"SELECT key, text, finish, sent, received FROM answers WHERE key IN ({','.join('?' * len(part))})"
            with self._errors():
                answers |= {key: Completion(*values) for key, *values in self._database.execute(query, part)}
        return answers

    def add(self, key: str, answer: Completion) -> None:
        """Store an answer. It is on disk when this returns."""
        row = (key, answer.text, answer.finish, answer.sent, answer.received)
        with self._errors():
            self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", row)

    def variant(self, server: str) -> int | None:
        """The number of the request variant that a server accepts; None if unknown."""
        with self._errors():
            row = self._database.execute("SELECT variant FROM servers WHERE key = ?", (server,)).fetchone()
        return None if row is None else int(row[0])

    def set_variant(self, server: str, variant: int) -> None:
        """Remember which request variant a server accepts."""
        with self._errors():
            self._database.execute("INSERT OR REPLACE INTO servers VALUES (?, ?)", (server, variant))

    def forget_variant(self, server: str) -> None:
        """Let the next job find out again which request variant a server accepts."""
        with self._errors():
            self._database.execute("DELETE FROM servers WHERE key = ?", (server,))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Let one thread at a time use the database. Errors name its file."""
        with self._lock:
            try:
                yield
            except (sqlite3.OperationalError, OSError) as error:  # the file is good, and its answers were paid for
                cause = error.strerror if isinstance(error, OSError) else error
                raise self._unusable(f"{cause}. Its answers are kept: allow access to it, free some space") from None
            except sqlite3.Error as error:
                raise self._unusable(f"{error}. Delete the file") from None

    def _unusable(self, cause_and_advice: str) -> DiskError:
        return DiskError(
            f"the cache of answers, {self.path}, cannot be used: {cause_and_advice}, or name another folder by the "
            "setting cache"
        )
