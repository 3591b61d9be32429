"""Converts sentences from and to objects of other libraries: Hugging Face datasets, lists of tags or texts.

Rows with tags are read like lines of JSONL, with the same checks, repairs and errors. No library is needed to read.
The functions for pandas are in `nersery.io.data_frames`, and those for spaCy in
`nersery.io.annotation_tools.spacy_documents`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from nersery.core import tags as tag_schemes
from nersery.core.errors import DataError, Issue, SettingsError, did_you_mean, shown
from nersery.core.extras import required
from nersery.core.sentence import Sentence, types_in
from nersery.io.base import read_options
from nersery.io.columns_and_rows.column_names import TAGS, WORDS
from nersery.io.columns_and_rows.objects import WRONG_OBJECT, BrokenError, JsonObject, json_value
from nersery.io.columns_and_rows.rows import without_nulls
from nersery.io.input_files.text_file import TextFile
from nersery.io.jsonl import JsonlSource
from nersery.io.parquet import with_names
from nersery.io.text import TextSource, is_blank

_ROLES = {"words": "hold the words", "tags": "hold the tags", "sentence": "say which sentence a word belongs to"}
"""What a column does, by the argument that names it."""
IGNORED = -100
"""The tag of items that PyTorch ignores in a loss."""
_READ_BY_NAME = frozenset({"tokens", "words", "entities", "tags", "ner_tags"})
"""Columns that the JSONL reader takes for words or labels, whichever columns the user names."""


class RowsSource(JsonlSource):
    """Rows in memory, read and checked like lines of JSONL.

    Args:
        columns: The user's names of the columns ``tokens`` and ``ner_tags``, for messages.
    """

    def __init__(
        self,
        name: str,
        rows: Callable[[], Iterable[JsonObject]],
        options: Mapping[str, Any],
        columns: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._rows, self._columns, file = rows, columns, TextFile(name)
        file.in_memory = True
        super().__init__(file, read_options(options, ("language", "scheme", "repair")))

    def values(self) -> Iterator[tuple[int, JsonObject]]:
        return enumerate(self._rows(), start=1)

    def load(self, given: Any, line: int) -> JsonObject:
        """The row, checked like a line of JSONL. Missing values and tags that are still numbers are separate issues."""
        for key, column in self._columns.items():
            value = given.get(key, given.get("words") if key == "tokens" else "")  # raw text has no key for tags
            if value is None or value != value:  # NaN, which data frames have for missing values
                raise BrokenError(Issue(f'"{column}" is missing, expected a list', line=line, kind=WRONG_OBJECT))
        for key in given.keys() & {"tags", "ner_tags"}:
            tags = given[key] if isinstance(given[key], list) else []
            if numbers := [tag for tag in tags if isinstance(tag, int | float)]:
                number = IGNORED if IGNORED in numbers else numbers[0]
                raise BrokenError(_unnamed(self._columns.get(key, key), number, line))
        return super().load(given, line)


def _unnamed(key: str, number: float, line: int) -> Issue:
    message = f'"{key}" has the number {number} without a name, expected strings such as B-PER'
    fix = 'name the numbers: give names=["O", "B-PER", ...] to from_dataset or from_pandas'
    if number == IGNORED:
        message += f"; {IGNORED} marks parts of words that a model's loss ignores"
        fix = "give the words and tags from before a model's tokenizer split the words"
    else:
        message += "; numbers must be turned into tags first"
    return Issue(message, line=line, kind=WRONG_OBJECT, fixes=(fix,))


def dataset_sentences(
    dataset: Any, words: str | None, tags: str | None, names: Any, options: Mapping[str, Any]
) -> Iterator[Sentence]:
    """See `nersery.Corpus.from_dataset`."""
    if hasattr(dataset, "keys"):
        raise _no_rows(dataset, {words, tags, *WORDS, *TAGS})
    if isinstance(dataset, str) or not hasattr(dataset, "__iter__"):
        expected = "expected a split of a dataset, or rows with words and tags"
        raise SettingsError(f"the dataset is {shown(dataset)}, {expected}")
    rows = dataset if hasattr(dataset, "features") else list(dataset)  # an iterator can be read only once
    columns = getattr(rows, "column_names", None) or _keys(rows)
    word_column = column_named(columns, words, "words", WORDS[:2])
    tag_column = column_named(columns, tags, "tags", (*TAGS[:2], "entities"))
    labelled = "entities" if tag_column == "entities" else "ner_tags"
    renamed: dict[Any, str] = {word_column: "tokens", tag_column: labelled}
    named = {new: str(old) for old, new in renamed.items()}
    unread = _READ_BY_NAME.intersection(columns) - renamed.keys()
    numbers = numbered(names)
    labels = {"ner_tags": numbers} if numbers else {}
    features = getattr(rows, "features", None)
    for column, feature in features.items() if isinstance(features, Mapping) else ():  # a column has a single one
        of_items = feature[0] if isinstance(feature, list) else getattr(feature, "feature", feature)
        class_names = getattr(of_items, "names", None)
        if class_names and column not in unread:
            labels.setdefault(renamed.get(column) or column, dict(enumerate(class_names)))

    def objects() -> Iterator[JsonObject]:
        for number, row in enumerate(rows, start=1):
            if not isinstance(row, Mapping):
                fix = "read the dataset without its format: dataset.with_format(None)" * hasattr(rows, "with_format")
                raise DataError(f"row {number} is {shown(row)}, expected a mapping such as {{'tokens': …}}", fix=fix)
            read = {key: value for key, value in row.items() if key not in unread}
            plain: JsonObject = {renamed.get(key, str(key)): json_value(value) for key, value in read.items()}
            plain["id"] = id_text(plain.get("id"))
            yield with_names(without_nulls(plain), labels)

    return iter(RowsSource(str(getattr(dataset, "split", None) or "dataset"), objects, options, named))


def _no_rows(dataset: Any, columns: set[str | None]) -> DataError:
    """The error for a mapping in place of rows: splits, a data frame, or the result of indexing a dataset."""
    listed = ", ".join(map(str, dataset))
    if hasattr(dataset, "iloc"):
        return DataError("the dataset is a data frame, expected rows", fix="read it by Corpus.from_pandas")
    if not columns.isdisjoint(dataset):
        message = f"the dataset is a dictionary of columns ({listed}), as dataset[:2] and dataset[0] are, expected rows"
        return DataError(message, fix="choose rows by dataset.select(range(2)) or dataset.select([0])")
    return DataError(f"the dataset has the splits {listed}", fix=f"choose one: dataset[{next(iter(dataset), '')!r}]")


def numbered(names: Any) -> dict[int, str]:
    """The names of tags by number, from a list, or from a mapping in either direction; empty for None.

    Raises:
        SettingsError: If the names are something else, or two have the same number.

    >>> numbered(["O", "B-PER"]) == numbered({"O": 0, "B-PER": 1}) == numbered({"0": "O", "1": "B-PER"})
    True
    """
    given = {} if names is None else json_value(names)
    listed = [*given.items()] if isinstance(given, dict) else [*enumerate(given)] if isinstance(given, list) else []
    pairs: list[tuple[Any, Any]] = [
        (name, number) if isinstance(name, str) else (number, name) for number, name in listed
    ]
    numbered: dict[int, str] = {}
    for name, number in pairs:
        with suppress(TypeError, ValueError):
            numbered.setdefault(int(number), name)
    is_wrong = len(numbered) < len(pairs) or any(not isinstance(name, str) for name in numbered.values())
    if is_wrong or not isinstance(given, dict | list):
        expected = "a list of tags such as ['O', 'B-PER'], or a mapping of each number to its tag"
        raise SettingsError(f"names is {shown(names)}, expected {expected}")
    return numbered


def _keys(rows: Any) -> list[str]:
    first = next(iter(rows), None)
    return list(first) if isinstance(first, Mapping) else []


def column_named(
    columns: Sequence[str], wanted: str | None, role: str, known: Sequence[str], rare: Sequence[str] = ()
) -> str:
    """The column of a role. Raise `DataError` if none exists, or if several match and the user names none.

    Args:
        rare: Names that count if no known one exists.
    """
    column = found_column(columns, wanted, role, known) or found_column(columns, wanted, role, rare)
    if column is None and len(columns):
        raise no_column(columns, wanted, role, known)
    return column or known[0]


def found_column(columns: Sequence[str], wanted: str | None, role: str, known: Sequence[str]) -> str | None:
    """Like `column_named`, but None if no known column exists and the user names none."""
    matches = [name for name in ((wanted,) if wanted else known) if name in columns]
    if wanted and not matches and len(columns):
        raise no_column(columns, wanted, role, known)
    if len(matches) > 1:
        message = f"the columns {' and '.join(matches)} may {_ROLES[role]}, expected one of them"
        raise DataError(message, fix=f"name the one to read: {' or '.join(f'{role}={name!r}' for name in matches)}")
    if matches and list(columns).count(matches[0]) > 1:
        raise DataError(f"several columns are called {matches[0]}, expected one", fix="rename the others")
    return matches[0] if matches else None


def no_column(columns: Sequence[str], wanted: str | None, role: str, known: Sequence[str]) -> DataError:
    """The error for a column that is missing."""
    message = f"there is no column {wanted or ' or '.join(known)}; columns: {', '.join(map(str, columns))}"
    of_words = "name the columns of words and tags: words=..., tags=..."
    if role == "words" and not wanted and "text" in columns:
        of_words += (
            "; texts without labels are read by Corpus.from_texts, and texts with character offsets by nersery.read, "
            "from a JSONL file with these rows"
        )
    of_sentences = "name the column that says which sentence a word belongs to: sentence=..."
    return DataError(message, fix=of_sentences if role == "sentence" else of_words)


def id_text(id: Any) -> Any:
    """A number as text, or None if it is missing. In a column with gaps, whole numbers are floats.

    >>> id_text(7.0), id_text("a"), id_text(float("nan"))
    ('7', 'a', None)
    """
    if not isinstance(id, int | float):
        return id
    return str(integer_if_whole(id)) if id == id else None


def integer_if_whole(value: Any) -> Any:
    """A whole number in place of an equal float; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _Texts(TextFile):
    """Texts in memory, read like lines of a file. A line end within a text is white space."""

    in_memory = True

    def __init__(self, texts: Iterable[str]) -> None:
        super().__init__("texts")
        self._texts = [re.sub(r"[\r\n]", " ", text) for text in texts]

    def beginnings(self, longest: int) -> Iterator[str]:
        return (line[: longest + 1] for line in self._texts)


def text_sentences(texts: Iterable[str], options: Mapping[str, Any]) -> Iterator[Sentence]:
    """See `nersery.Corpus.from_texts`."""
    if not hasattr(texts, "__iter__"):
        raise SettingsError(f"the texts are {shown(texts)}, expected a list of strings")
    if isinstance(texts, Mapping) or hasattr(texts, "columns"):  # its items would be the names of its columns
        raise SettingsError(
            f"the texts are a {type(texts).__name__}, expected a list of strings, such as a column: "
            f"texts[{next(iter(texts), '')!r}]"
        )
    texts = [texts] if isinstance(texts, str) else [*texts]
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise SettingsError(f"text {number} is {shown(text)}, expected a string")
        if is_blank(text):
            raise DataError(f"text {number} is blank, expected words", fix="leave out empty texts")
    return iter(TextSource(_Texts(texts), read_options(options, ("split", "language", "repair"))))


def bio_sentences(
    words: Iterable[Sequence[str]], tags: Iterable[Sequence[str]], options: Mapping[str, Any]
) -> Iterator[Sentence]:
    """See `nersery.Corpus.from_bio`."""
    for name, value in (("words", words), ("tags", tags)):
        if not hasattr(value, "__iter__"):
            raise SettingsError(f"{name} is {shown(value)}, expected a list of {name} for each sentence")
    lists, tag_lists = list(words), list(tags)
    if len(lists) != len(tag_lists):
        message = f"{len(lists)} lists of words and {len(tag_lists)} lists of tags, expected one for each sentence"
        raise DataError(message, fix="give a list of words and a list of tags for each sentence")
    for number, pair in enumerate(zip(lists, tag_lists, strict=True), start=1):
        for name, items in zip(("words", "tags"), pair, strict=True):
            if isinstance(items, str) or not hasattr(items, "__iter__"):
                message = f"the {name} of sentence {number} are {shown(items)}, expected a list of {name}"
                raise DataError(message, fix="give a list of words and a list of tags for each sentence")
    rows = [json_value({"tokens": list(w), "tags": list(t)}) for w, t in zip(lists, tag_lists, strict=True)]
    return iter(RowsSource("bio", lambda: rows, options))


def to_bio(corpus: Iterable[Sentence], scheme: str) -> tuple[list[list[str]], list[list[str]]]:
    """See `nersery.Corpus.to_bio`."""
    scheme = tag_schemes.scheme_name(scheme)
    sentences = list(corpus)
    tags = [tag_schemes.encode(sentence.entities, len(sentence), scheme) for sentence in sentences]
    return [list(sentence.words) for sentence in sentences], tags


def to_dataset(corpus: Iterable[Sentence], scheme: str, types: Sequence[str]) -> Any:
    """See `nersery.Corpus.to_dataset`."""
    library = required("datasets", "datasets")
    if isinstance(types, str) or not hasattr(types, "__iter__"):
        raise SettingsError(f"types is {shown(types)}, expected a list of types")
    types = list(types)
    sentences = list(corpus)
    words, tags = to_bio(sentences, scheme)
    own_types = types_in(sentences)
    if types and (unknown := sorted(own_types - {*types})):
        raise DataError(f"the type {unknown[0]} is not in types; {did_you_mean(unknown[0], types)}")
    letters = tag_schemes.SCHEMES[tag_schemes.scheme_name(scheme)].letters
    names = ["O", *(f"{letter}-{type_}" for type_ in types or sorted(own_types) for letter in letters)]
    values = {"id": [sentence.id for sentence in sentences], "tokens": words, "ner_tags": tags}
    text = library.Value("string")
    features = {"id": text, "tokens": library.List(text), "ner_tags": library.List(library.ClassLabel(names=names))}
    if any(sentence.language for sentence in sentences):
        values["language"], features["language"] = [sentence.language for sentence in sentences], text
    return library.Dataset.from_dict(values, library.Features(features))
