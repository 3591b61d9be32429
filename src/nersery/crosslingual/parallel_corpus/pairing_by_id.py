"""Sentences and their translations paired by id: whether the files have the same ids, and which are left over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

from nersery.core.errors import SettingsError
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.crosslingual.parallel_corpus.sides import Lines
from nersery.io.base import Findings, Source
from nersery.io.input_files.folder import FolderSource
from nersery.io.temporary_tables.ids import SeenIds
from nersery.io.temporary_tables.sentence_table import SentenceTable

UNPAIRED = "the other side has no sentence of that id"


def have_equal_ids(sides: Sequence[Source]) -> bool:
    """Whether all files have ids of their own, and begin with the same one or contain the same ones.

    Raises:
        SettingsError: If only some ids are shared.
    """
    first = [_first_own_id(side) for side in sides]
    if not all(first):
        return False
    if len({*first}) == 1 or len({_digest(side) for side in sides}) == 1:
        return True
    if shared := _shared_id(sides):
        names = " and ".join(side.file.name for side in sides)
        raise SettingsError(
            f"{names} have some ids in common, e.g. {shared}, but not all, so pairs are ambiguous: choose "
            "--pair-by id or --pair-by order"
        )
    return False


def _first_own_id(source: Source) -> str:
    """The id of the first sentence, if the file has ids other than those that the reader would assign; else empty."""
    if isinstance(source, FolderSource):
        reading = Findings(source.file, source.options)
        head = next(source.sentences(reading), None)
        return "" if head is None or head.id.startswith(f"{reading.file.stem}:") else head.id
    first = ""
    for number, side in enumerate(() if isinstance(source, Lines) else source.in_order(), start=1):
        if isinstance(side, Sentence):
            first = first or side.id
            if side.id != f"{source.file.stem}:{number}":
                return first
    return ""


def _digest(source: Source) -> tuple[int, int]:
    """A digest of the ids of a side that is independent of their order. It needs constant memory."""
    count = total = 0
    for side in source.in_order():
        if isinstance(side, Sentence):
            count += 1
            total += int.from_bytes(blake2b(side.id.encode(), digest_size=16).digest(), "big")
    return count, total


def _shared_id(sides: Sequence[Source]) -> str:
    """An id that two files have in common; empty if there is none."""
    ids = SeenIds()
    for number, source in enumerate(sides):
        for side in source.in_order():
            if isinstance(side, Sentence) and ids.add(side.id, number) not in (None, (number, "")):
                return side.id
    return ""


class UnpairedSentences:
    """The sentences of a corpus by their ids, and which of them have not been taken."""

    def __init__(self, source: Source) -> None:
        self._rejects: list[Reject] = []
        self._table = SentenceTable(self._sentences(source))
        self._taken = bytearray(len(self._table))

    def _sentences(self, source: Source) -> Iterator[Sentence]:
        for side in source.in_order():
            if isinstance(side, Reject):
                self._rejects.append(side)
            else:
                yield side

    def take(self, id: str) -> Sentence | None:
        """Take the sentence with an id, if there is one."""
        if (number := self._table.number_of(id)) is None:
            return None
        self._taken[number] = True
        return self._table[number]

    def rest(self) -> Iterator[Reject]:
        """Everything that has not been taken. The rejects of the file come first."""
        yield from self._rejects
        for number, is_taken in enumerate(self._taken):
            if not is_taken:
                yield Reject(UNPAIRED, self._table[number])
