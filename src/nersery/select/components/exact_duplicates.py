"""Texts that are the same, also where they were split into other words."""

from __future__ import annotations

import hashlib
from array import array
from typing import TYPE_CHECKING

from nersery.io.ids import naming_the_temporary_folder, temporary_table
from nersery.select.components.near_duplicates import NOTHING, Found, Text

if TYPE_CHECKING:
    import sqlite3


class ExactDuplicates:
    """Remembers of each text where it came first, and of the text itself a hash alone, on disk."""

    def __init__(self) -> None:
        self._first_numbers = array("L")
        self._table: sqlite3.Connection | None = None

    def __len__(self) -> int:
        return len(self._first_numbers)

    def add(self, text: Text) -> None:
        """Take note of one more text."""
        # 16 bytes: among a billion texts, two share a hash with a chance below 1 in 10^20.
        hash = hashlib.blake2b("".join(text).encode(), digest_size=16).digest()
        with naming_the_temporary_folder():
            self._table = self._table or temporary_table("texts (hash blob primary key, number integer) without rowid")
            if self._table.execute("insert or ignore into texts values (?, ?)", (hash, len(self))).rowcount:
                self._first_numbers.append(len(self))
            else:
                self._first_numbers.extend(
                    self._table.execute("select number from texts where hash = ?", (hash,)).fetchone()
                )

    def nearest(self, number: int) -> Found:
        """The first of the texts before one that is equal."""
        first = self._first_numbers[number]
        return (1.0, first) if first < number else NOTHING
