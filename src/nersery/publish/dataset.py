"""Writes the folder: Parquet with tags, JSONL with spans, the card, and a record of how it was made."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

from nersery import io
from nersery.core import tags
from nersery.core.batched import batched
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.files import replaced_folder, write_atomic
from nersery.core.sentence import Sentence
from nersery.core.version import __version__
from nersery.io.folder import CARD, RECORD, SPANS
from nersery.io.parquet import FEATURES, load_pyarrow
from nersery.publish.about import About
from nersery.publish.card import CardLayout, card, front_matter
from nersery.publish.splits import Divided

TAGS = "tags"
"""The folder of the Parquet files."""
FILES = (CARD, RECORD, SPANS, TAGS)
"""All that a published dataset holds."""
ROWS = 10_000
"""In memory at once as rows of Parquet."""
Feature = Mapping[str, Any]


def check_parquet() -> None:
    """Raise `MissingResourceError` if pyarrow is not installed."""
    try:
        load_pyarrow()
    except MissingResourceError as error:
        raise MissingResourceError(f"{error}, or write JSONL alone (--no-parquet)") from None


def publish(
    divided: Divided, folder: Path, about: About, record: Mapping[str, Any], *, parquet: bool = True
) -> dict[str, Any]:
    """Write a dataset completely or not at all; an existing folder is replaced at the end.

    Args:
        record: How it was made: ``inputs``, ``division`` and ``evaluation``.

    Returns:
        The record in the folder.

    Raises:
        MissingResourceError: If Parquet is requested and pyarrow is not installed.
        SettingsError: If there is no sentence.
    """
    if not divided.splits:
        raise SettingsError("there is no sentence to publish")
    if parquet:
        check_parquet()
    about = replace(about, name=about.name or folder.name)
    full = {
        "versions": {"nersery": __version__, "python": ".".join(map(str, sys.version_info[:3]))},
        "about": asdict(about),
        **record,
        "splits": {split: len(corpus) for split, corpus in divided.splits.items()},
        "dropped": list(divided.dropped),
    }
    with replaced_folder(folder) as unfinished:
        spans = _write_spans(divided, unfinished)
        layout = _write_tags(divided, unfinished) if parquet else spans
        write_atomic(unfinished / CARD, card(about, divided, full, layout))
        if parquet:  # one card speaks of one format
            names = {split: f"{split}.jsonl" for split in spans.files}
            text = front_matter(about, divided, replace(spans, files=names))
            write_atomic(unfinished / SPANS / CARD, f"{text}\nSee the [card](../README.md) one folder up.\n")
        write_atomic(unfinished / RECORD, json.dumps(full, ensure_ascii=False, indent=1) + "\n")
    return full


def _write_spans(divided: Divided, folder: Path) -> CardLayout:
    """JSONL as nersery reads it."""
    files = {split: f"{SPANS}/{split}.jsonl" for split in divided.splits}
    for split, corpus in divided.splits.items():
        io.write(corpus, folder / files[split])
    return CardLayout(files, _span_features(chain.from_iterable(divided.splits.values())))


def _write_tags(divided: Divided, folder: Path) -> CardLayout:
    """Parquet as most token-classification datasets have it."""
    files = {split: f"{TAGS}/{split}.parquet" for split in divided.splits}
    types = sorted({entity.type for corpus in divided.splits.values() for s in corpus for entity in s.entities})
    names = ["O", *(f"{letter}-{type_}" for type_ in types for letter in "BI")]
    for split, corpus in divided.splits.items():
        _write_parquet(corpus, folder / files[split], names)
    return CardLayout(files, _tag_features(names))


# --- features, as the head of a card writes them ----------------------------------------------------------------------


def _value(name: str, dtype: str = "string") -> Feature:
    return {"name": name, "dtype": dtype}


def _texts(name: str) -> Feature:
    return {"name": name, "list": "string"}


def _origin() -> Feature:
    return {"name": "origin", "struct": [_value("method"), _texts("parents"), _value("copy", "int64")]}


def _tag_features(names: Sequence[str]) -> list[Feature]:
    classes = {"class_label": {"names": {str(number): name for number, name in enumerate(names)}}}
    return [_value("id"), _value("language"), _texts("tokens"), {"name": "ner_tags", "list": classes}, _origin()]


def _span_features(sentences: Iterable[Sentence]) -> list[Feature]:
    """Of the keys of native JSONL those that occur."""
    entity = [_value("start", "int64"), _value("end", "int64"), _value("type"), _value("score", "float64")]
    features = [_value("id"), _texts("words"), _value("language"), {"name": "entities", "list": entity}, _origin()]
    label = [_value("word", "int64"), _value("type"), _value("begin", "float64"), _value("inside", "float64")]
    optional: dict[str, Feature] = {
        "columns": {"name": "columns", "list": {"list": "string"}},
        "comments": _texts("comments"),
        "soft_labels": {"name": "soft_labels", "list": label},
        "document": _value("document"),
        "offsets": {"name": "offsets", "list": {"list": "int64"}},
    }
    scores, found = set[str](), set[str]()
    for sentence in sentences:
        scores.update(sentence.scores)
        found.update(name for name in optional.keys() - found if getattr(sentence, name))
    if scores:
        features.append({"name": "scores", "struct": [_value(name, "float64") for name in sorted(scores)]})
    return [*features, *(feature for name, feature in optional.items() if name in found)]


# --- Parquet ----------------------------------------------------------------------------------------------------------


def _write_parquet(sentences: Iterable[Sentence], path: Path, names: Sequence[str]) -> None:
    pyarrow = load_pyarrow()
    texts = pyarrow.list_(pyarrow.string())
    origin = pyarrow.struct({"method": pyarrow.string(), "parents": texts, "copy": pyarrow.int64()})
    columns = {"id": pyarrow.string(), "language": pyarrow.string(), "tokens": texts,
               "ner_tags": pyarrow.list_(pyarrow.int64()), "origin": origin}  # fmt: skip
    schema = pyarrow.schema(columns, metadata={FEATURES: json.dumps({"info": {"features": _described(names)}})})
    rows = _rows(sentences, {name: number for number, name in enumerate(names)})
    path.parent.mkdir(exist_ok=True)
    with pyarrow.parquet.ParquetWriter(path, schema) as stream:
        for part in batched(rows, ROWS):
            stream.write_table(pyarrow.Table.from_pylist(part, schema))


def _described(names: Sequence[str]) -> Feature:
    """The columns as Hugging Face's datasets describes them in a file, so that it alone says what the numbers mean."""

    def value(dtype: str) -> Feature:
        return {"dtype": dtype, "_type": "Value"}

    def several(feature: Feature) -> Feature:
        return {"feature": feature, "_type": "Sequence"}

    text = value("string")
    labels = several({"names": list(names), "_type": "ClassLabel"})
    origin = {"method": text, "parents": several(text), "copy": value("int64")}
    return {"id": text, "language": text, "tokens": several(text), "ner_tags": labels, "origin": origin}


def _rows(sentences: Iterable[Sentence], numbers: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    for sentence in sentences:
        origin = sentence.origin
        yield {
            "id": sentence.id,
            "language": sentence.language,
            "tokens": list(sentence.words),
            "ner_tags": [numbers[tag] for tag in tags.encode(sentence.entities, len(sentence), "IOB2")],
            "origin": origin and {"method": origin.method, "parents": list(origin.parents), "copy": origin.copy},
        }
