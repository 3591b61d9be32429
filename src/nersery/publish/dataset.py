"""Writes the folder of a dataset: Parquet with tags, JSONL with spans, the card, and a record of how it was made."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

from nersery import io
from nersery.core import tags
from nersery.core.errors import DataError, MissingResourceError, SettingsError
from nersery.core.sentence import Sentence, types_in
from nersery.core.system.files import DESCRIPTION, write_atomic, write_json
from nersery.core.system.folders import check_replaceable, replaced_folder
from nersery.core.version import __version__
from nersery.io.input_files.folder import SPANS
from nersery.io.parquet import FEATURES, ORIGIN, SHAPES, Shape, load_pyarrow, write_rows
from nersery.publish.about import About
from nersery.publish.card import CardLayout, card, front_matter
from nersery.publish.splits import Divided

CARD = "README.md"
TAGS = "tags"
"""The folder of the Parquet files."""
FILES = (CARD, DESCRIPTION, SPANS, TAGS)
"""Everything that the folder of a published dataset contains."""
TAG_SHAPES: Mapping[str, Shape] = {
    "id": "string", "language": "string", "tokens": ["string"], "ner_tags": ["int64"], "origin": ORIGIN,
}  # fmt: skip
"""The columns of the Parquet files."""
OPTIONAL = SHAPES.keys() - {"id", "words", "language", "entities", "origin"}
"""Keys of JSONL that the card names only if a sentence has them."""
Feature = Mapping[str, Any]


def check_parquet() -> None:
    """Raise `MissingResourceError` if pyarrow is not installed."""
    try:
        load_pyarrow()
    except MissingResourceError as error:
        raise MissingResourceError(f"{error}, or write only JSONL (--no-parquet)") from None


def check_folder(folder: Path, *, force: bool) -> None:
    """Raise `SettingsError` if a folder contains anything but a dataset, or a dataset and ``force`` is not set."""
    check_replaceable(folder, DESCRIPTION, "dataset", FILES, force=force)


def publish(
    divided: Divided,
    folder: Path,
    about: About,
    record: Mapping[str, Any],
    *,
    parquet: bool = True,
    force: bool = False,
) -> dict[str, Any]:
    """Write a dataset completely or not at all.

    Args:
        record: How the dataset was made: ``inputs``, ``division`` and ``evaluation``.
        force: Replace an existing folder at the end.

    Returns:
        The record that was written to the folder.

    Raises:
        MissingResourceError: If Parquet is requested and pyarrow is not installed.
        SettingsError: If there is no sentence, or if `check_folder` refuses the folder.
        DataError: If no sentence has an entity.
    """
    if not divided.splits:
        raise SettingsError("there is no sentence to publish")
    if not types_in(chain.from_iterable(divided.splits.values())):
        raise DataError(
            "no sentence has an entity, so there are no labels to publish",
            fix="name labelled corpora; raw text is labelled by nersery predict or nersery annotate",
        )
    if parquet:
        check_parquet()
    # Each on one line, because the hub knows no licence with a line break at its end.
    name, license = (" ".join(text.split()) for text in (about.name.strip() or folder.name, about.license))
    about = replace(about, name=name, license=license)
    full = {
        "versions": {"nersery": __version__, "python": ".".join(map(str, sys.version_info[:3]))},
        "about": asdict(about),
        **record,
        "splits": {split: len(corpus) for split, corpus in divided.splits.items()},
        "dropped": [*divided.dropped, *divided.generated],
    }
    with replaced_folder(folder) as unfinished:
        spans = _write_spans(divided, unfinished)
        layout = _write_tags(divided, unfinished) if parquet else spans
        write_atomic(unfinished / CARD, card(about, divided, full, layout))
        if parquet:  # a card describes one format
            names = {split: f"{split}.jsonl" for split in spans.files}
            text = front_matter(about, divided, replace(spans, files=names))
            write_atomic(unfinished / SPANS / CARD, f"{text}\nSee the [card](../README.md) one folder up.\n")
        write_json(unfinished / DESCRIPTION, full)
        check_folder(folder, force=force)  # somebody may have made one in the meantime
    return full


def _write_spans(divided: Divided, folder: Path) -> CardLayout:
    """Write JSONL as nersery reads it."""
    files = {split: f"{SPANS}/{split}.jsonl" for split in divided.splits}
    for split, corpus in divided.splits.items():
        io.write(corpus, folder / files[split])
    return CardLayout(files, _span_features(chain.from_iterable(divided.splits.values())))


def _write_tags(divided: Divided, folder: Path) -> CardLayout:
    """Write Parquet as most token-classification datasets have it."""
    files = {split: f"{TAGS}/{split}.parquet" for split in divided.splits}
    types = sorted(types_in(chain.from_iterable(divided.splits.values())))
    names = ["O", *(f"{letter}-{type_}" for type_ in types for letter in "BI")]
    numbers = {name: number for number, name in enumerate(names)}
    labels = {"feature": {"names": names, "_type": "ClassLabel"}, "_type": "Sequence"}  # what the numbers mean
    metadata = {FEATURES: json.dumps({"info": {"features": {**_described(TAG_SHAPES), "ner_tags": labels}}})}
    (folder / TAGS).mkdir()
    for split, corpus in divided.splits.items():
        write_rows(_rows(corpus, numbers), folder / files[split], TAG_SHAPES, metadata)
    classes = {"class_label": {"names": {str(number): name for number, name in enumerate(names)}}}
    features = _features(TAG_SHAPES)
    return CardLayout(files, [{**f, "list": classes} if f["name"] == "ner_tags" else f for f in features])


def _features(shapes: Mapping[str, Shape]) -> list[Feature]:
    """Columns as the head of a card describes them."""
    return [{"name": name, **_feature(shape)} for name, shape in shapes.items()]


def _feature(shape: Shape) -> Feature:
    if isinstance(shape, str):
        return {"dtype": shape}
    if isinstance(shape, Mapping):
        return {"struct": _features(shape)}
    inner = _feature(shape[0])
    return {"list": inner.get("dtype") or inner.get("struct") or inner}


def _span_features(sentences: Iterable[Sentence]) -> list[Feature]:
    """The columns of native JSONL, with optional keys only if they occur."""
    scores, occurring = set[str](), set[str]()
    for sentence in sentences:
        scores.update(sentence.scores)
        occurring.update(name for name in OPTIONAL - occurring if getattr(sentence, name))
    shapes = {**SHAPES, "scores": dict.fromkeys(sorted(scores), "float64")}
    return _features({name: shape for name, shape in shapes.items() if name not in OPTIONAL - occurring})


def _described(shape: Shape) -> Feature:
    """A column as the datasets library of Hugging Face describes it in a file."""
    if isinstance(shape, str):
        return {"dtype": shape, "_type": "Value"}
    if isinstance(shape, Mapping):
        return {name: _described(part) for name, part in shape.items()}
    return {"feature": _described(shape[0]), "_type": "Sequence"}


def _rows(sentences: Iterable[Sentence], numbers: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    for sentence in sentences:
        yield {
            "id": sentence.id,
            "language": sentence.language,
            "tokens": list(sentence.words),
            "ner_tags": [numbers[tag] for tag in tags.encode(sentence.entities, len(sentence), "IOB2")],
            "origin": sentence.origin and asdict(sentence.origin),
        }
