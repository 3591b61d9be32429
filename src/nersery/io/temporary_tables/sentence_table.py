"""Sentences on disk, by number and by id, in memory that does not grow with them."""

from __future__ import annotations

import marshal
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import Any, overload
from unicodedata import normalize

from nersery.core.entity import SoftLabel
from nersery.core.sentence import Entity, Origin, Sentence
from nersery.core.text.spacing import lacks_spaces
from nersery.core.text.text_forms import folded, is_punctuation, unpointed
from nersery.io.temporary_tables.ids import naming_the_temporary_folder, repeated_id, temporary_table

_LEFT_OUT = re.compile("[\xad\u0300-\u036f\u0640\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe0e\ufe0f\ufeff]")
"""Accents, the sign that stretches Arabic words, and invisible characters."""
_parts_of = attrgetter(*(field.name for field in fields(Sentence)))


class SentenceTable(Sequence[Sentence]):
    """Sentences in a temporary file without a name, which the system removes. Threads may share it.

    Args:
        searchable: Whether `containing` will be called.

    Raises:
        DataError: If two sentences share an id.
        DiskError: If the temporary file cannot be written or read.

    >>> table = SentenceTable([Sentence(("Oslo",), id="a"), Sentence(("Bonn",), id="b")])
    >>> table.number_of("b"), table[1].words, len(table)
    (1, ('Bonn',), 2)
    """

    def __init__(self, sentences: Iterable[Sentence] = (), *, searchable: bool = False) -> None:
        self._lock, self._size, self._searchable = threading.Lock(), 0, searchable
        with naming_the_temporary_folder():
            self._table = temporary_table(
                "sentences (number integer primary key, id text unique, text text, typed text, types text, "
                "method text, sentence blob)"
            )
        for sentence in sentences:
            self.add(sentence)

    def add(self, sentence: Sentence, types: Iterable[str] | None = None) -> None:
        """Append a sentence.

        Args:
            types: The types by which it is found, instead of its own.
        """
        types = {entity.type for entity in sentence.entities} if types is None else types
        method = sentence.origin.method if sentence.origin else ""
        text = sentence.text
        searched = (folded(text), as_typed(text), _lines(types), method) if self._searchable else ("",) * 4
        row = self._size, sentence.id, *searched, _packed(sentence)
        with self._lock, naming_the_temporary_folder():
            if not self._table.execute("insert or ignore into sentences values (?, ?, ?, ?, ?, ?, ?)", row).rowcount:
                raise repeated_id(sentence.id)
        self._size += 1

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, number: int) -> Sentence: ...
    @overload
    def __getitem__(self, number: slice) -> list[Sentence]: ...
    def __getitem__(self, number: int | slice) -> Sentence | list[Sentence]:
        """The sentence with a number from 0, or the list of sentences in a slice."""
        if isinstance(number, slice):
            return [self[position] for position in range(self._size)[number]]
        with self._lock, naming_the_temporary_folder():
            row = self._table.execute("select sentence from sentences where number = ?", (number,)).fetchone()
        if row is None:
            raise IndexError(number)
        return _unpacked(row[0])

    def __iter__(self) -> Iterator[Sentence]:
        return map(self.__getitem__, range(self._size))

    def number_of(self, id: str) -> int | None:
        """The number of the sentence with this id; None if there is none."""
        with self._lock, naming_the_temporary_folder():
            row = self._table.execute("select number from sentences where id = ?", (id,)).fetchone()
        return None if row is None else int(row[0])

    def find(self, id: str) -> Sentence | None:
        """The sentence with this id, if there is one."""
        number = self.number_of(id)
        return None if number is None else self[number]

    def set_types(self, id: str, types: Iterable[str]) -> None:
        """Change the types by which `containing` finds a sentence."""
        with self._lock, naming_the_temporary_folder():
            self._table.execute("update sentences set types = ? where id = ?", (_lines(types), id))

    def containing(self, text: str, type: str = "", method: str = "") -> list[int]:
        """The numbers of the sentences with this text, also if typed differently (see `as_typed`).

        Args:
            type: The type of an entity that they must have.
            method: The method that they must be made by.

        >>> table = SentenceTable([Sentence(("in", "Oslo"), (Entity(1, 2, "LOC"),), id="a")], searchable=True)
        >>> table.containing("OSLO"), table.containing("oslo", "LOC"), table.containing("oslo", "L")
        ([0], [0], [])
        """
        typed = as_typed(text)
        column, wanted = ("typed", typed) if typed else ("text", folded(text))  # such as an invisible character
        query = f"select number from sentences where instr({column}, ?) and instr(types, ?) and ? in (method, '')"
        values = wanted, type and _lines([type]), method
        with self._lock, naming_the_temporary_folder():
            return [number for (number,) in self._table.execute(f"{query} order by number", values)]


def as_typed(text: str) -> str:
    """A text as people type it in a search: without accents, vowel points, invisible characters and full-width forms.

    Spaces beside punctuation and in scripts without spaces are left out, too, because words are split differently.

    >>> as_typed("Résumé"), as_typed("ＮＨＫ"), as_typed("نَصّ"), as_typed("in Oslo , 北 京")
    ('resume', 'nhk', 'نص', 'in oslo,北京')
    """
    words = unpointed(_LEFT_OUT.sub("", folded(normalize("NFKC", text)))).split()
    typed = words[:1]
    for before, word in pairwise(words):
        typed += [word] if _stands_alone(before[-1]) or _stands_alone(word[0]) else [" ", word]
    return "".join(typed)


@cache
def _stands_alone(character: str) -> bool:
    return is_punctuation(character) or lacks_spaces(character)


def _lines(types: Iterable[str]) -> str:
    """Types between line breaks, which no type has, so that each can be found whole."""
    return "".join(f"\n{type}\n" for type in types)


def _packed(sentence: Sentence) -> bytes:
    """A sentence as bytes, four times as fast as with pickle."""
    words, entities, id, language, origin, scores, *others, soft, document, offsets = _parts_of(sentence)
    plain_entities = [(entity.start, entity.end, entity.type, entity.score) for entity in entities]
    plain_origin = origin and (origin.method, origin.parents, origin.copy)
    plain_soft = [(label.word, label.type, label.begin, label.inside) for label in soft]
    plain: tuple[Any, ...] = (words, plain_entities, id, language, plain_origin, dict(scores), *others)
    return marshal.dumps((*plain, plain_soft, document, offsets))


def _unpacked(packed: bytes) -> Sentence:
    """The sentence from its bytes. It is not checked, because it was valid when it was packed."""
    words, entities, id, language, origin, *others = marshal.loads(packed)
    scores, columns, comments, soft, document, offsets = others
    return Sentence.unchecked(
        words,
        tuple([Entity(*values) for values in entities]),
        id,
        language=language,
        origin=origin and Origin(*origin),
        scores=scores,
        columns=columns,
        comments=comments,
        soft_labels=tuple([SoftLabel(*values) for values in soft]),
        document=document,
        offsets=offsets,
    )
