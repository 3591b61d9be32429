"""CoNLL-U with the tags of entities in its last column, MISC, as Stanza and many treebanks write them: ``NER=B-PER``.

The key differs (``ner``, ``name``, ``NE``), so it is detected. Words without it are outside entities.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from nersery.core.sentence import UNKNOWN_COLUMN
from nersery.core.tags import OUTSIDE, looks_like_tag
from nersery.io.base import ReadOptions
from nersery.io.columns import CONLLU_WIDTH, SAMPLE_LINES
from nersery.io.conll import ConllSource
from nersery.io.formats import Beginning, Format
from nersery.io.text_file import TextFile

_PARTED = re.compile(r"[| ]")
"""What stands between the values of MISC; some treebanks have a space."""


def _values(line: str) -> list[str]:
    """The columns of a word; none for other lines."""
    values = line.rstrip("\r\n").split("\t")
    return values if len(values) == CONLLU_WIDTH and values[0][:1].isdecimal() else []


def _key_of_tags(file: TextFile) -> str:
    """The key in MISC whose values are tags, or nothing if there is none."""
    values: dict[str, Counter[str]] = {}
    for columns in filter(None, map(_values, islice(file.lines(), SAMPLE_LINES))):
        for key, is_given, value in (part.partition("=") for part in _PARTED.split(columns[-1])):
            if is_given:
                values.setdefault(key, Counter())[value] += 1
    tags = {key: found for key, found in values.items() if all(map(looks_like_tag, found))}
    return max(tags, key=lambda key: (len(tags[key]), tags[key].total()), default="")


class _WithTags(TextFile):
    """A file whose words get their tag as a further column, and lose it in MISC."""

    def __init__(self, file: TextFile, key: str) -> None:
        self.__dict__ |= file.__dict__  # standard input cannot be opened again
        self._key = f"{key}="

    def lines(self) -> Iterator[str]:
        """The lines, one for each of the file."""
        for line in super().lines():
            if values := _values(line):
                parts = _PARTED.split(values[-1])
                tag = next((part.removeprefix(self._key) for part in parts if part.startswith(self._key)), OUTSIDE)
                rest = [part for part in parts if not part.startswith(self._key)]
                line = "\t".join([*values[:-1], "|".join(rest) or UNKNOWN_COLUMN, tag]) + "\n"
            yield line


class ConlluSource(ConllSource):
    """Sentences of CoNLL-U, read as columns, of which the last one has the tags."""

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        self._key = _key_of_tags(file)
        super().__init__(_WithTags(file, self._key) if self._key else file, options)

    @property
    def description(self) -> str:
        """What was recognised."""
        return (
            f"conllu, {self.scheme}, tags from {self._key}= in column {CONLLU_WIDTH}"
            if self._key
            else super().description
        )


def _recognises(start: Beginning) -> bool:
    may_be = start.lines[:1] != [] and (start.lines[0].startswith("#") or _values(start.lines[0]) != [])
    return may_be and not start.names_columns and _key_of_tags(start.file) != ""


FORMATS = (
    Format(
        "conllu",
        "CoNLL-U with tags in MISC, as NER=B-PER",
        reader=ConlluSource,
        unwritable="CoNLL-U is only read. Choose conll, which keeps its columns",
        recognises=_recognises,
        rank=2,
    ),
)
