"""Many short texts in little memory: about 20 bytes for a text and its number; a dictionary takes 140."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1
"""The number of a text that is not there."""
_EMPTY = -1
_MIN_SLOTS = 1 << 10


class Texts:
    """Short texts, stored one after the other in a fraction of the memory of one object per text."""

    def __init__(self) -> None:
        self._bytes, self._ends = bytearray(), array("I", [0])

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> str:
        return self.packed(number).decode("utf-8", "surrogatepass")

    def packed(self, number: int) -> bytearray:
        """A text in UTF-8, by number."""
        return self._bytes[self._ends[number] : self._ends[number + 1]]

    def append(self, text: str) -> None:
        """Add a text."""
        self.append_packed(text.encode("utf-8", "surrogatepass"))

    def append_packed(self, text: bytes) -> None:
        """Add a text in UTF-8."""
        self._bytes += text
        self._ends.append(len(self._bytes))

    def lengths(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The lengths of some texts in bytes, by number. Shape: that of ``numbers``."""
        ends = np.frombuffer(self._ends, np.uint32)
        return ends[numbers + 1].astype(np.int64) - ends[numbers]


class SymbolTable:
    """Distinct texts, numbered from 0 in the order in which they were added.

    >>> symbols = SymbolTable(["a", "b", "a"])
    >>> symbols.find("b"), symbols.find("c"), symbols.add("c"), list(symbols)
    (1, -1, 2, ['a', 'b', 'c'])
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = Texts()
        self._slots = array("i", [_EMPTY]) * _MIN_SLOTS
        for text in texts:
            self.add(text)

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[str]:
        return map(self._texts.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> str:
        return self._texts[number]

    def find(self, text: str) -> int:
        """The number of a text; `UNKNOWN` if it is not there."""
        return self._slots[self._slot(text.encode("utf-8", "surrogatepass"))]

    def add(self, text: str) -> int:
        """The number of a text. A new text is added."""
        packed = text.encode("utf-8", "surrogatepass")
        slot = self._slot(packed)
        if self._slots[slot] == _EMPTY:
            self._slots[slot] = len(self._texts)
            self._texts.append_packed(packed)
            if 3 * len(self._texts) > 2 * len(self._slots):
                self._rehash()
            return len(self._texts) - 1
        return self._slots[slot]

    def _slot(self, packed: bytes | bytearray) -> int:
        """The slot of a text, or the empty slot for it.

        Unlike Python's own, the hash is the same in every process, so that this object can be sent to another process.
        """
        last = len(self._slots) - 1
        slot = crc32(packed) & last
        while (number := self._slots[slot]) != _EMPTY and self._texts.packed(number) != packed:
            slot = (slot + 1) & last
        return slot

    def _rehash(self) -> None:
        """Double the number of slots."""
        self._slots = array("i", [_EMPTY]) * (2 * len(self._slots))
        for number in range(len(self._texts)):
            self._slots[self._slot(self._texts.packed(number))] = number
