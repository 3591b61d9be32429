"""Converts sentences from and to data frames of pandas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import groupby
from numbers import Number
from operator import itemgetter
from typing import Any

from nersery.core.errors import DataError, Issue, SettingsError, shown
from nersery.core.extras import required
from nersery.core.sentence import Sentence
from nersery.core.tags import looks_like_tag
from nersery.io import libraries
from nersery.io.columns_and_rows.column_names import RARE_TAGS, RARE_WORDS, TAGS, WORDS
from nersery.io.columns_and_rows.objects import json_value
from nersery.io.columns_and_rows.table_cells import cell_holds_several, tags_of, word_cutter
from nersery.io.parquet import with_names

SENTENCES = ("sentence", "sentence_id", "id")
"""Known names of the column that says which sentence a word belongs to."""


def pandas_sentences(
    frame: Any, words: str | None, tags: str | None, sentence: str | None, names: Any, options: Mapping[str, Any]
) -> Iterator[Sentence]:
    """See `nersery.Corpus.from_pandas`."""
    if not (hasattr(frame, "columns") and hasattr(frame, "iloc")):
        advice = ": frame.to_pandas()" * hasattr(frame, "to_pandas")
        raise SettingsError(f"the frame is {shown(frame)}, expected a DataFrame of pandas{advice}")
    columns = list(frame.columns)
    word_column = libraries.column_named(columns, words, "words", WORDS, RARE_WORDS)
    tag_column = libraries.column_named(columns, tags or _only_tags(frame), "tags", TAGS, RARE_TAGS)
    if sentence and sentence in {*frame.index.names} - {*columns}:
        raise _ids_in_index(frame)
    id_column = libraries.found_column(columns, sentence, "sentence", SENTENCES)
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
        return libraries.dataset_sentences(table.to_dict("records"), word_column, tag_column, names, options)
    if id_column is None:
        has_ids = any(frame.index.names) or not frame.index.is_unique
        raise _ids_in_index(frame) if has_ids else libraries.no_column(columns, sentence, "sentence", SENTENCES)
    ids = _sentence_ids(frame[[id_column, word_column, tag_column]])
    numbers = libraries.numbered(names)
    words_with_ids = zip(ids, frame[word_column], frame[tag_column], languages, strict=True)
    rows = [
        with_names(
            {
                "id": libraries.id_text(json_value(id)),
                "tokens": [str(word) for _, word, _, _ in group],
                "tags": [libraries.integer_if_whole(json_value(tag)) for _, _, tag, _ in group],
                "language": _only({language for *_, language in group}),
            },
            {"tags": numbers},
        )
        for id, group in ((id, list(group)) for id, group in groupby(words_with_ids, itemgetter(0)))
    ]
    return iter(libraries.RowsSource("pandas", lambda: rows, options))


def _only_tags(frame: Any) -> str | None:
    """The only column with a known name whose values are tags, if the names leave it unclear; otherwise None.

    A usual name is clear if some of its values are tags, or numbers of tags: the others may be broken tags.
    """
    names = [name for name in (*TAGS, *RARE_TAGS) if list(frame.columns).count(name) == 1]
    values = {name: [part for cell in frame[name] for part in _tags_in(cell)] for name in names if len(names) > 1}
    usual = [name for name in values if name in TAGS]
    if len(usual) == 1 and not all(isinstance(value, str) and not looks_like_tag(value) for value in values[usual[0]]):
        return None
    tags = [name for name in values if all(isinstance(v, str) and looks_like_tag(v) for v in values[name])]
    return tags[0] if len(tags) == 1 else None


def _tags_in(cell: Any) -> Sequence[Any]:
    """The tags in a cell; parts of speech are cut at spaces as tags are."""
    if isinstance(cell, str):
        return [cell] if looks_like_tag(cell) else tags_of(cell)
    return list(cell) if hasattr(cell, "__iter__") else [cell]


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
        for sentence, words, tags in zip(sentences, *libraries.to_bio(sentences, scheme), strict=True)
        for pair in zip(words, tags, strict=True)
    ]
    frame = library.DataFrame(rows, columns=["sentence", "word", "tag", "language"])
    return frame if any(sentence.language for sentence in sentences) else frame.drop(columns="language")
