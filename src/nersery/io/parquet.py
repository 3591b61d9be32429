"""Parquet, lossless: its columns are the keys of JSONL.

Scores are a list of ``{"name": string, "value": number}``, because their names differ between corpora, but columns must
not differ. Integer tags are read if the file's metadata names them, as in Hugging Face datasets.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from nersery.core.batched import batched
from nersery.core.errors import Issue, beginning
from nersery.core.extras import required
from nersery.io.annotation_tools.argilla import is_record
from nersery.io.annotation_tools.json_forms import LABEL_KEYS
from nersery.io.columns_and_rows.column_names import TAG_NAMES, WORD_NAMES
from nersery.io.columns_and_rows.objects import JsonObject, json_value
from nersery.io.columns_and_rows.rows import ROWS_OF_JSONL, without_nulls
from nersery.io.formats import EVERYTHING, Format
from nersery.io.input_files.binary import PARQUET
from nersery.io.input_files.text_file import TextFile
from nersery.io.jsonl import JsonlSource

READ_ROWS = 1024
GROUP_ROWS = 10_000
"""The number of rows in memory at once, when reading and when writing."""
MAX_VALUES, MAX_BYTES = 20_000, 1 << 20
"""The maximum values and bytes of a column per row, on average over a row group. No sentence has more. A file of 900
bytes can hold a row of 20 million words, and would take all memory."""
MAX_BATCH_BYTES = 1 << 28
"""The limit for rows that are decoded at once. Repeated values take no space, so sizes in the file do not show it."""
FEATURES = b"huggingface"
"""The metadata key under which Hugging Face's datasets describes the columns of a file."""
Names = Mapping[str, Mapping[int, str]]
"""The names that the numbers in each column stand for."""
Shape = str | list[Any] | Mapping[str, Any]
"""What a column holds: the name of an Arrow type, a list of items of one shape, or a shape for each key."""
ORIGIN: Shape = {"method": "string", "parents": ["string"], "copy": "int64"}
SHAPES: Mapping[str, Shape] = {
    "id": "string", "words": ["string"], "language": "string",
    "entities": [{"start": "int64", "end": "int64", "type": "string", "score": "float64"}],
    "origin": ORIGIN, "scores": [{"name": "string", "value": "float64"}], "columns": [["string"]],
    "comments": ["string"],
    "soft_labels": [{"word": "int64", "type": "string", "begin": "float64", "inside": "float64"}],
    "document": "string", "offsets": [["int64"]],
}  # fmt: skip
"""The columns of a sentence."""


class ParquetSource(JsonlSource):
    """Sentences of a Parquet file, read and checked like JSONL.

    Raises:
        DataError: If the file cannot be read.
        MissingResourceError: If pyarrow is not installed.
    """

    @property
    def description(self) -> str:
        return super().description.replace("jsonl", "parquet", 1)

    def values(self) -> Iterator[tuple[int, JsonObject]]:
        return enumerate(self._rows(), start=1)

    def _rows(self) -> Iterator[JsonObject]:
        parquet = load_pyarrow().parquet
        try:
            if not self.file.path.stat().st_size:
                raise ValueError("it is empty")
            with parquet.ParquetFile(self.file.path) as stream:
                names = _names(stream.schema_arrow.metadata)
                _refuse_repeated(stream.schema_arrow, self.file)
                _refuse_rows_of_words(stream.schema_arrow, self.file)
                _refuse_texts(stream.schema_arrow, self.file)
                _refuse_bombs(stream.metadata)
                has_bytes = any("binary" in str(type_) for type_ in stream.schema_arrow.types)
                for batch in stream.iter_batches(READ_ROWS):
                    if batch.nbytes > MAX_BATCH_BYTES:
                        raise ValueError(f"{batch.num_rows:,} rows take {batch.nbytes:,} bytes, too many for sentences")
                    rows = map(json_value, batch.to_pylist())
                    for row in map(_decoded, rows) if has_bytes else rows:
                        yield with_names(without_nulls(row), names)
        except (OSError, load_pyarrow().ArrowException, ValueError, TypeError, OverflowError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # pyarrow has none for damaged bytes
                raise self.file.unreadable(error) from None
            raise self.file.error(f"this cannot be read as Parquet: {error}", _advice(self.file, error)) from None

    def placed(self, issues: Sequence[Issue], given: Any) -> Sequence[Issue]:
        """The issues, with the code that reads the rows of this file in Python; see `JsonlSource`."""
        rows = _rows_in_python(self.file)
        return [replace(issue, message=issue.message.replace(ROWS_OF_JSONL, rows)) for issue in issues]


def _rows_in_python(file: TextFile) -> str:
    """The code that reads the rows of a file in Python."""
    return f"pyarrow.parquet.read_table({file.name!r}).to_pylist()"


def _advice(file: TextFile, error: Exception) -> str:
    """Advice for a file that cannot be read."""
    with file.path.open("rb") as stream:
        beginning = stream.read(len(PARQUET))
    if beginning not in (PARQUET, b""):
        return "name its format by --format"
    if beginning and not isinstance(error, (OSError, load_pyarrow().ArrowException)):
        return "leave out the columns that nersery does not read, or the rows that Python cannot hold"
    return "copy the file again if it is damaged or cut off; expected one sentence in each row"


def _refuse_repeated(schema: Any, file: TextFile) -> None:
    """Raise `DataError` if two columns have the same name, because a row would keep only the last."""
    if repeated := [name for name, count in Counter(schema.names).items() if count > 1]:
        message = f'the column "{repeated[0]}" occurs {schema.names.count(repeated[0])} times, expected once'
        raise file.error(message, "rename or leave out the others")


def _refuse_texts(schema: Any, file: TextFile) -> None:
    """Raise `DataError` for texts that are not split into words, which JSONL may hold."""
    types, is_nested = dict(zip(schema.names, schema.types, strict=True)), load_pyarrow().types.is_nested
    has_words = not types.keys().isdisjoint(("words", "tokens")) or "text" not in types or is_nested(types["text"])
    has_labels = any(name in LABEL_KEYS and is_nested(type_) for name, type_ in types.items())
    if has_words or not (has_labels or is_record(types)):
        return
    message = f'"text" holds whole texts, expected lists of words; columns: {beginning(", ".join(schema.names), 100)}'
    target = str(file.path.with_name(f"{file.path.stem}-texts.jsonl"))
    code = f"open({target!r}, 'w').writelines(json.dumps(row) + '\\n' for row in {_rows_in_python(file)})"
    raise file.error(
        message, f"save it as JSONL, which may hold texts, in Python: import json, pyarrow.parquet; {code}"
    )


def _refuse_rows_of_words(schema: Any, file: TextFile) -> None:
    """Raise `DataError` for a table without lists that has a row for each word."""
    names = {name.casefold() for name in schema.names}
    are_lists = any(map(load_pyarrow().types.is_nested, schema.types))
    if are_lists or names.isdisjoint(WORD_NAMES) or names.isdisjoint(TAG_NAMES):
        return
    columns = beginning(", ".join(schema.names), 100)
    message = f"this seems to have a row for each word, expected one for each sentence; columns: {columns}"
    table, target = f"pyarrow.parquet.read_table({file.name!r})", str(file.path.with_suffix(".csv"))
    code = f"import pyarrow.csv, pyarrow.parquet; pyarrow.csv.write_csv({table}, {target!r})"
    raise file.error(message, f"save it as CSV, where a row may be a word, in Python: {code}")


def _refuse_bombs(metadata: Any) -> None:
    """Raise `ValueError` for row groups that become far too large when they are decompressed."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            rows, values, size = group.num_rows, column.num_values, column.total_uncompressed_size
            if values > MAX_VALUES * max(rows, 1) or size > MAX_BYTES * (rows + 100):
                raise ValueError(
                    f"row group {number} has {values:,} values in {size:,} bytes of the column "
                    f'"{column.path_in_schema}" in {rows:,} rows, too many for sentences'
                )


def _decoded(value: Any) -> Any:
    """The value with bytes of UTF-8 as text, because not every writer of Parquet marks strings as such."""
    if isinstance(value, list):
        return [*map(_decoded, value)]
    if isinstance(value, dict):
        return {key: _decoded(content) for key, content in value.items()}
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            return value.decode()
    return value


def _names(metadata: Mapping[bytes, bytes] | None) -> Names:
    """The names of the numbers in columns of class labels, or of lists of them; empty if no metadata names them."""
    try:
        features = json.loads((metadata or {})[FEATURES])["info"]["features"].items()
        items = ((name, feature[0] if isinstance(feature, list) else feature) for name, feature in features)
        labels = {name: item.get("feature", item) for name, item in items if isinstance(item, dict)}
        classes = (
            pair for pair in labels.items() if isinstance(pair[1], dict) and pair[1].get("_type") == "ClassLabel"
        )
        return {name: dict(enumerate(label["names"])) for name, label in classes}
    except (ValueError, LookupError, TypeError, AttributeError):
        return {}


def with_names(row: JsonObject, names: Names) -> JsonObject:
    """The row with names for numbers. A number without a name, e.g. -1 for an unknown label, is left to the checks."""
    for key in row.keys() & names.keys():
        if isinstance(row[key], list):
            names_by_number = names[key]
            row[key] = [names_by_number.get(n, n) if type(n) is int else n for n in row[key]]
    return row


def write_rows(
    rows: Iterable[JsonObject], path: Path, shapes: Mapping[str, Shape], metadata: Mapping[bytes, str] | None = None
) -> None:
    """Write rows with a value for each column. A missing value becomes null.

    Raises:
        MissingResourceError: If pyarrow is not installed.
    """
    arrow = load_pyarrow()
    schema = arrow.schema({key: _arrow_type(arrow, shape) for key, shape in shapes.items()}, metadata)
    with arrow.parquet.ParquetWriter(path, schema) as stream:
        for part in batched(rows, GROUP_ROWS):
            stream.write_table(arrow.Table.from_pylist(part, schema))


def _arrow_type(arrow: Any, shape: Shape) -> Any:
    if isinstance(shape, str):
        return getattr(arrow, shape)()
    if isinstance(shape, Mapping):
        return arrow.struct({key: _arrow_type(arrow, part) for key, part in shape.items()})
    return arrow.list_(_arrow_type(arrow, shape[0]))


def write_lines(lines: Path, path: Path) -> None:
    """Write the sentences of a JSONL file that nersery wrote; see `write_rows`."""
    with lines.open(encoding="utf-8", newline="\n") as stream:
        write_rows((_with_list_of_scores(json.loads(line)) for line in stream), path, SHAPES)


def _with_list_of_scores(value: JsonObject) -> JsonObject:
    if "scores" in value:
        value["scores"] = [{"name": name, "value": score} for name, score in value["scores"].items()]
    return value


def load_pyarrow() -> Any:
    """The library with its module `parquet`. Raise `MissingResourceError` if it is not installed."""
    required("pyarrow.parquet", "parquet")
    return required("pyarrow", "parquet")


FORMATS = (
    Format(
        "parquet",
        "the keys of JSONL as columns",
        (".parquet",),
        ParquetSource,
        unwritable="Parquet is written in shards only, by `nersery augment`, `annotate`, `predict` or "
        "`crosslingual project` with --shards. Choose .jsonl, which holds the same",
        keeps=EVERYTHING,
    ),
)
