"""CoNLL-U with the tags of entities in its last column, MISC, as Stanza and many treebanks write them: ``NER=B-PER``.

The key varies (``ner``, ``name``, ``NE``), so it is detected. Words without it are outside entities.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from nersery.core.sentence import UNKNOWN_COLUMN
from nersery.core.tags import OUTSIDE, looks_like_tag
from nersery.io.base import ReadOptions
from nersery.io.columns_and_rows.columns import CONLLU_WIDTH, SAMPLE_LINES
from nersery.io.columns_and_rows.word_column import NUMBER
from nersery.io.conll import ConllSource
from nersery.io.formats import FileHead, Format
from nersery.io.input_files.text_file import TextFile, with_changed_words

_PARTED = re.compile(r"[| ]")
"""The separator of values in MISC; some treebanks use a space."""
_FIRST_INNER_LAST = {"B": "BII", "E": "IIE", "L": "IIL", "S": "BIE", "U": "BIL", "W": "BME"}
"""The letters of the words that share a tag, by the letter of the tag. Other letters stay as they are."""


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
    tags = {key: counts for key, counts in values.items() if all(map(looks_like_tag, counts))}
    return max(tags, key=lambda key: (len(tags[key]), tags[key].total()), default="")


def _is_word(line: str) -> bool:
    return _values(line) != []


def _with_tags(key: str, lines: Sequence[str]) -> Iterator[str]:
    """The words of a sentence, with their tags moved from MISC to a further column.

    The words of a range such as ``3-4`` share its tag if they have none, as in Stanza's output.
    """
    rows = [*map(_values, lines)]
    tag_parts = [[part for part in _PARTED.split(row[-1]) if part.startswith(key)] for row in rows]
    tags = [parts[0].removeprefix(key) if parts else "" for parts in tag_parts]
    for at, (row, tag) in enumerate(zip(rows, tags, strict=True)):
        number = NUMBER.fullmatch(row[0])
        if tag and number and "-" in row[0]:
            end = at + 2 + int(number[2]) - int(number[1])
            if not any(tags[at + 1 : end]) and number[1] in [word[0] for word in rows[at + 1 : at + 2]]:
                tags[at:end] = _shared(tag, len(tags[at + 1 : end]))
    for row, tag in zip(rows, tags, strict=True):
        rest = [part for part in _PARTED.split(row[-1]) if not part.startswith(key)]
        yield "\t".join([*row[:-1], "|".join(rest) or UNKNOWN_COLUMN, tag or OUTSIDE]) + "\n"


def _shared(tag: str, count: int) -> list[str]:
    """The tags of words that share one: first a tag for their range that fits in front of them, then one for each.

    >>> _shared("S-LOC", 2), _shared("E-LOC", 2)
    (['O', 'B-LOC', 'E-LOC'], ['I-LOC', 'I-LOC', 'E-LOC'])
    """
    first, inner, last = list(_FIRST_INNER_LAST.get(tag[0], tag[0] * 3))
    words = [f"{letter}{tag[1:]}" for letter in [first, *inner * (count - 2), last][:count]]
    return [words[0] if first == inner else OUTSIDE, *words]


class ConlluSource(ConllSource):
    """Sentences of CoNLL-U, read as columns. The tags are in the last one, unless the user names another."""

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        self._key = "" if options.word_column or options.tag_column else _key_of_tags(file)
        if self._key:
            file.mapped = partial(with_changed_words, _is_word, partial(_with_tags, f"{self._key}="))
        super().__init__(file, options)

    @property
    def description(self) -> str:
        if not self._key:
            return super().description
        return f"conllu, {self.scheme}, tags from {self._key}= in column {CONLLU_WIDTH}"


def _recognises(head: FileHead) -> bool:
    may_be = head.first_line.startswith("#") or _values(head.first_line) != []
    return may_be and not head.names_columns and _key_of_tags(head.file) != ""


FORMATS = (
    Format(
        "conllu",
        "CoNLL-U with tags in MISC, as NER=B-PER",
        (".conllu",),
        reader=ConlluSource,
        unwritable="CoNLL-U is only read. Choose conll, which keeps its columns",
        recognises=_recognises,
        rank=2,
    ),
)
