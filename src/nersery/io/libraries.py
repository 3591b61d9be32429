"""Converts sentences from and to objects of other libraries: Hugging Face datasets, pandas, lists of tags or texts.

Rows with tags are read like lines of JSONL, with the same checks, repairs and errors. No library is needed to read.
The functions for spaCy are in `nersery.io.annotation_tools.spacy_documents`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from itertools import groupby
from numbers import Number
from operator import itemgetter
from typing import Any

from nersery.core import tags as tag_schemes
from nersery.core.errors import DataError, Issue, SettingsError, did_you_mean
from nersery.core.extras import required
from nersery.core.sentence import Sentence, types_in
from nersery.io.annotation_tools.spacy_documents import spacy_sentences as spacy_sentences
from nersery.io.annotation_tools.spacy_documents import to_spacy as to_spacy
from nersery.io.base import read_options
from nersery.io.columns_and_rows.column_names import RARE_TAGS, RARE_WORDS, TAGS, WORDS
from nersery.io.columns_and_rows.objects import WRONG_OBJECT, BrokenError, Object, json_value
from nersery.io.columns_and_rows.rows import without_nulls
from nersery.io.columns_and_rows.table_cells import cell_holds_several, tags_of, word_cutter
from nersery.io.input_files.text_file import TextFile
from nersery.io.jsonl import JsonlSource
from nersery.io.parquet import with_names
from nersery.io.text import TextSource, is_blank

SENTENCES = ("sentence", "sentence_id", "id")
"""Known names of the column that says which sentence a word belongs to."""
_ROLES = {"words": "hold the words", "tags": "hold the tags", "sentence": "say which sentence a word belongs to"}
"""What a column does, by the argument that names it."""
IGNORED = -100
"""The tag of items that PyTorch ignores in a loss."""
_READ_BY_NAME = frozenset({"tokens", "words", "entities", "tags", "ner_tags"})
"""Columns that the JSONL reader takes for words or labels, whichever columns the user names."""


class _RowsSource(JsonlSource):
    """Rows in memory, read and checked like lines of JSONL."""

    def __init__(self, name: str, rows: Callable[[], Iterable[Object]], options: Mapping[str, Any]) -> None:
        self._rows, file = rows, TextFile(name)
        file.in_memory = True
        super().__init__(file, read_options(options, ("language", "scheme", "repair")))

    def values(self) -> Iterator[tuple[int, Object]]:
        return enumerate(self._rows(), start=1)

    def load(self, given: Any, line: int) -> Object:
        """The row, checked like a line of JSONL. A tag that is still a number is a separate issue."""
        for key in given.keys() & {"tags", "ner_tags"}:
            tags = given[key] if isinstance(given[key], list) else []
            if numbers := [tag for tag in tags if isinstance(tag, int | float)]:
                raise BrokenError(_unnamed(key, IGNORED if IGNORED in numbers else numbers[0], line))
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
    if not hasattr(dataset, "__iter__"):
        raise SettingsError(
            f"the dataset is {dataset!r:.60}, expected a split of a dataset, or rows with words and tags"
        )
    rows = dataset if hasattr(dataset, "features") else list(dataset)  # an iterator can be read only once
    columns = getattr(rows, "column_names", None) or _keys(rows)
    word_column = _column(columns, words, "words", WORDS[:2])
    tag_column = _column(columns, tags, "tags", (*TAGS[:2], "entities"))
    labelled = "entities" if tag_column == "entities" else "ner_tags"
    renamed: dict[Any, str] = {word_column: "tokens", tag_column: labelled}
    unread = _READ_BY_NAME.intersection(columns) - renamed.keys()
    numbers = _numbered(names)
    labels = {"ner_tags": numbers} if numbers else {}
    for column, feature in (getattr(rows, "features", None) or {}).items():
        of_items = feature[0] if isinstance(feature, list) else getattr(feature, "feature", feature)
        class_names = getattr(of_items, "names", None)
        if class_names and column not in unread:
            labels.setdefault(renamed.get(column, column), dict(enumerate(class_names)))

    def objects() -> Iterator[Object]:
        for number, row in enumerate(rows, start=1):
            if not isinstance(row, Mapping):
                fix = "read the dataset without its format: dataset.with_format(None)" * hasattr(rows, "with_format")
                raise DataError(f"row {number} is {row!r:.60}, expected a mapping such as {{'tokens': …}}", fix=fix)
            read = {key: value for key, value in row.items() if key not in unread}
            plain: Object = {renamed.get(key, str(key)): json_value(value) for key, value in read.items()}
            plain["id"] = _id_text(plain.get("id"))
            yield with_names(without_nulls(plain), labels)

    return iter(_RowsSource(str(getattr(dataset, "split", None) or "dataset"), objects, options))


def _no_rows(dataset: Any, columns: set[str | None]) -> DataError:
    """The error for a mapping in place of rows: splits, a data frame, or the result of indexing a dataset."""
    listed = ", ".join(map(str, dataset))
    if hasattr(dataset, "iloc"):
        return DataError("the dataset is a data frame, expected rows", fix="read it by Corpus.from_pandas")
    if not columns.isdisjoint(dataset):
        message = f"the dataset is a dictionary of columns ({listed}), as dataset[:2] and dataset[0] are, expected rows"
        return DataError(message, fix="choose rows by dataset.select(range(2)) or dataset.select([0])")
    return DataError(f"the dataset has the splits {listed}", fix=f"choose one: dataset[{next(iter(dataset), '')!r}]")


def _numbered(names: Any) -> dict[int, str]:
    """The names of tags by number, from a list, or from a mapping in either direction; empty for None.

    Raises:
        SettingsError: If the names are something else, or two have the same number.

    >>> _numbered(["O", "B-PER"]) == _numbered({"O": 0, "B-PER": 1}) == _numbered({"0": "O", "1": "B-PER"})
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
        raise SettingsError(f"names is {names!r:.60}, expected {expected}")
    return numbered


def _keys(rows: Any) -> list[str]:
    first = next(iter(rows), None)
    return list(first) if isinstance(first, Mapping) else []


def _column(
    columns: Sequence[str], wanted: str | None, role: str, known: Sequence[str], rare: Sequence[str] = ()
) -> str:
    """The column of a role. Raise `DataError` if none exists, or if several match and the user names none.

    Args:
        rare: Names that count if no known one exists.
    """
    column = _found_column(columns, wanted, role, known) or _found_column(columns, wanted, role, rare)
    if column is None and len(columns):
        raise _no_column(columns, wanted, role, known)
    return column or known[0]


def _found_column(columns: Sequence[str], wanted: str | None, role: str, known: Sequence[str]) -> str | None:
    """Like `_column`, but None if no known column exists and the user names none."""
    matches = [name for name in ((wanted,) if wanted else known) if name in columns]
    if wanted and not matches and len(columns):
        raise _no_column(columns, wanted, role, known)
    if len(matches) > 1:
        message = f"the columns {' and '.join(matches)} may {_ROLES[role]}, expected one of them"
        raise DataError(message, fix=f"name the one to read: {' or '.join(f'{role}={name!r}' for name in matches)}")
    if matches and list(columns).count(matches[0]) > 1:
        raise DataError(f"several columns are called {matches[0]}, expected one", fix="rename the others")
    return matches[0] if matches else None


def _no_column(columns: Sequence[str], wanted: str | None, role: str, known: Sequence[str]) -> DataError:
    message = f"there is no column {wanted or ' or '.join(known)}; columns: {', '.join(map(str, columns))}"
    of_words = "name the columns of words and tags: words=..., tags=..."
    of_sentences = "name the column that says which sentence a word belongs to: sentence=..."
    return DataError(message, fix=of_sentences if role == "sentence" else of_words)


def _id_text(id: Any) -> Any:
    """A number as text, or None if it is missing. In a column with gaps, whole numbers are floats.

    >>> _id_text(7.0), _id_text("a"), _id_text(float("nan"))
    ('7', 'a', None)
    """
    if not isinstance(id, int | float):
        return id
    return str(_whole(id)) if id == id else None


def _whole(value: Any) -> Any:
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
        raise SettingsError(f"the texts are {texts!r:.60}, expected a list of strings")
    if isinstance(texts, Mapping) or hasattr(texts, "columns"):  # its items would be the names of its columns
        raise SettingsError(
            f"the texts are a {type(texts).__name__}, expected a list of strings, such as a column: "
            f"texts[{next(iter(texts), '')!r}]"
        )
    texts = [texts] if isinstance(texts, str) else [*texts]
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise SettingsError(f"text {number} is {text!r:.60}, expected a string")
        if is_blank(text):
            raise DataError(f"text {number} is blank, expected words", fix="leave out empty texts")
    return iter(TextSource(_Texts(texts), read_options(options, ("split", "language", "repair"))))


def bio_sentences(
    words: Iterable[Sequence[str]], tags: Iterable[Sequence[str]], options: Mapping[str, Any]
) -> Iterator[Sentence]:
    """See `nersery.Corpus.from_bio`."""
    for name, value in (("words", words), ("tags", tags)):
        if not hasattr(value, "__iter__"):
            raise SettingsError(f"{name} is {value!r:.60}, expected a list of {name} for each sentence")
    lists, tag_lists = list(words), list(tags)
    if len(lists) != len(tag_lists):
        message = f"{len(lists)} lists of words and {len(tag_lists)} lists of tags, expected one for each sentence"
        raise DataError(message, fix="give a list of words and a list of tags for each sentence")
    for number, pair in enumerate(zip(lists, tag_lists, strict=True), start=1):
        for name, items in zip(("words", "tags"), pair, strict=True):
            if isinstance(items, str) or not hasattr(items, "__iter__"):
                message = f"the {name} of sentence {number} are {items!r:.60}, expected a list of {name}"
                raise DataError(message, fix="give a list of words and a list of tags for each sentence")
    rows = [json_value({"tokens": list(w), "tags": list(t)}) for w, t in zip(lists, tag_lists, strict=True)]
    return iter(_RowsSource("bio", lambda: rows, options))


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
        raise SettingsError(f"types is {types!r:.60}, expected a list of types")
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


def pandas_sentences(
    frame: Any, words: str | None, tags: str | None, sentence: str | None, names: Any, options: Mapping[str, Any]
) -> Iterator[Sentence]:
    """See `nersery.Corpus.from_pandas`."""
    if not hasattr(frame, "columns"):
        raise SettingsError(f"the frame is {frame!r:.60}, expected a DataFrame of pandas")
    columns = list(frame.columns)
    word_column = _column(columns, words, "words", WORDS, RARE_WORDS)
    tag_column = _column(columns, tags, "tags", TAGS, RARE_TAGS)
    if sentence and sentence in {*frame.index.names} - {*columns}:
        raise _ids_in_index(frame)
    id_column = _found_column(columns, sentence, "sentence", SENTENCES)
    if not len(frame):
        return iter(())
    languages = _languages(frame.drop(columns=[word_column, tag_column]))
    word = next(iter(frame[word_column].dropna()), None)
    # Cells may hold several tags as text, as in a CSV file.
    is_written = any(isinstance(cell, str) and cell_holds_several(cell) for cell in frame[tag_column])
    if is_written or (hasattr(word, "__iter__") and not isinstance(word, str | bytes)):  # a row for each sentence
        table = frame[[word_column, tag_column]].astype(object)
        if is_written:
            pairs = zip(table[word_column], table[tag_column], strict=True)
            cut = word_cutter([pair for pair in pairs if all(isinstance(cell, str) for cell in pair)])
            table[word_column] = table[word_column].map(partial(_cut_text, cut))
            table[tag_column] = table[tag_column].map(partial(_cut_text, _numbers_or_tags))
        if id_column:
            table["id"] = frame[id_column].astype(object).where(frame[id_column].notna(), None)
        if any(languages):
            table["language"] = languages
        return dataset_sentences(table.to_dict("records"), word_column, tag_column, names, options)
    if id_column is None:
        has_ids = any(frame.index.names) or not frame.index.is_unique
        raise _ids_in_index(frame) if has_ids else _no_column(columns, sentence, "sentence", SENTENCES)
    ids = _sentence_ids(frame[[id_column, word_column, tag_column]])
    numbers = _numbered(names)
    words_with_ids = zip(ids, frame[word_column], frame[tag_column], languages, strict=True)
    rows = [
        with_names(
            {
                "id": _id_text(json_value(id)),
                "tokens": [str(word) for _, word, _, _ in group],
                "tags": [_whole(json_value(tag)) for _, _, tag, _ in group],
                "language": _only({language for *_, language in group}),
            },
            {"tags": numbers},
        )
        for id, group in ((id, list(group)) for id, group in groupby(words_with_ids, itemgetter(0)))
    ]
    return iter(_RowsSource("pandas", lambda: rows, options))


def _languages(frame: Any) -> list[str | None]:
    """The language of each row, from a column of this name."""
    values = frame["language"] if list(frame.columns).count("language") == 1 else [None] * len(frame)
    return [value if isinstance(value, str) and value else None for value in values]


def _only(languages: Set[str | None]) -> str | None:
    """The language of the words of a sentence; None if there is none, or more than one."""
    known = languages - {None}
    return next(iter(known)) if len(known) == 1 else None


def _ids_in_index(frame: Any) -> DataError:
    index = ", ".join(str(name) for name in frame.index.names if name) or "an index without a name"
    names = "" if any(frame.index.names) else 'names="sentence"'
    message = f"no column says which sentence a word belongs to, but perhaps the index does: {index}"
    return DataError(message, fix=f"make it a column: frame.reset_index({names})")


def _sentence_ids(table: Any) -> Any:
    """The sentence of each word in a table of sentences, words and tags. Raise `DataError` for wrong rows."""
    id_column, word_column, tag_column = table.columns
    ids = table[id_column]
    ids = ids.where(ids != "").ffill()  # with keep_default_na=False, an empty cell is empty text, not missing
    advice = "pandas reads words such as NA and null as missing: pd.read_csv(..., keep_default_na=False)"
    _refuse_rows(table, table[[word_column, tag_column]].isna().any(axis=1), "no word or no tag", advice)
    is_text = table[word_column].map(lambda word: isinstance(word, str | Number) > isinstance(word, bool))
    advice = f'bytes need .str.decode("utf-8"); true and false need pd.read_csv(..., dtype={{"{word_column}": str}})'
    _refuse_rows(table, ~is_text.astype(bool), "a word that is not text", advice)
    advice = f"fill the column {id_column} at the first word of each sentence, or name another: sentence=..."
    _refuse_rows(table, ids.isna(), "no sentence, and none is above it", advice)
    advice = "give each sentence an id of its own"
    if ids.equals(table[id_column]):  # sorting would move rows below an empty id away from their sentence
        advice += f', or put the rows of each sentence together: frame.sort_values({id_column!r}, kind="stable")'
    is_apart = ids.duplicated() & (ids != ids.shift())
    _refuse_rows(table, is_apart, "the id of a sentence that ended above it", advice)
    return ids


def _cut_text(cut: Callable[[str], Any], cell: Any) -> Any:
    return cut(cell) if isinstance(cell, str) else cell


def _numbers_or_tags(cell: str) -> list[int | str]:
    return [int(tag) if tag.removeprefix("-").isdecimal() else tag for tag in tags_of(cell)]


def _refuse_rows(table: Any, wrong: Any, description: str, fix: str) -> None:
    """Raise `DataError` for the first wrong row, if there is one."""
    if wrong.any():
        row = wrong.to_numpy().argmax()
        label = table.index[row]
        named = "" if str(label) == str(row) else f" (index {label})"
        raise DataError(Issue(f"row {row + 1}{named} has {description}: {table.iloc[row].to_dict()}"), fix=fix)


def to_pandas(corpus: Iterable[Sentence], scheme: str) -> Any:
    """See `nersery.Corpus.to_pandas`."""
    library = required("pandas", "datasets")
    sentences = list(corpus)
    rows = [
        (sentence.id, *pair, sentence.language)
        for sentence, words, tags in zip(sentences, *to_bio(sentences, scheme), strict=True)
        for pair in zip(words, tags, strict=True)
    ]
    frame = library.DataFrame(rows, columns=["sentence", "word", "tag", "language"])
    return frame if any(sentence.language for sentence in sentences) else frame.drop(columns="language")
