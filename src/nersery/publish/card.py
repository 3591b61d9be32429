"""The card of a dataset: ``README.md`` with metadata for Hugging Face at its head, and text for people below."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from nersery.core.errors import printable
from nersery.core.sentence import Sentence
from nersery.evaluate.error_analysis import CORRECT, KINDS
from nersery.io.input_files.folder import SPANS
from nersery.publish.about import About
from nersery.publish.splits import Divided
from nersery.report.model import SplitReport
from nersery.report.tables.report_tables import split_rows
from nersery.report.tables.table_columns import TEXT, Column, Kind, ReportTable, Row
from nersery.report.templating import markdown_template

NOT_GENERATED = "as it was read"
NONE_NAMED = "none named"
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
SIZE_NAMES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")
"""Size categories as Hugging Face writes them."""
SCORE = Kind(lambda value: f"{value:.4g}")


@dataclass(frozen=True)
class CardLayout:
    """The files of a dataset.

    Args:
        files: Paths by split, relative to the card.
        features: Columns of the files, as Hugging Face writes them.
    """

    files: Mapping[str, str]
    features: Sequence[Mapping[str, Any]]


Parts = Mapping[str, Sequence[Sentence]]
"""The sentences of each split."""


def card(about: About, divided: Divided, record: Mapping[str, Any], layout: CardLayout) -> str:
    """The text of the card, from the template `report/templates/card.md.j2`.

    Args:
        record: The record as `nersery.publish.dataset.publish` returns it.
    """
    splits, similarity = divided.splits, record["division"]["similarity"]
    languages = sorted({sentence.language for corpus in splits.values() for sentence in corpus})
    parts = {
        language: {split: [s for s in corpus if s.language == language] for split, corpus in splits.items()}
        for language in (languages if len(languages) > 1 else ())
    }
    errors_by_type = record["evaluation"]["per_type"] if record["evaluation"] else {}
    values = {
        "about": about,
        "divided": divided,
        "record": record,
        "paragraphs": list(filter(None, map(str.strip, about.description.split("\n\n")))),
        "citation": "\n".join(map(printable, about.citation.expandtabs(4).splitlines())),
        "counts": _counted(splits),
        "languages": [(language or NONE_NAMED, _counted(corpora)) for language, corpora in parts.items()],
        "methods": _methods(splits),
        "scores": _scores(splits),
        "alike": "are equal"
        if similarity == 1
        else f"have at least {100 * similarity:g}\u00a0% of their words in common",
        "versions": ", ".join(f"{name} {version}" for name, version in record["versions"].items()),
        "errors": _table(["type", CORRECT, *KINDS], [(type_, *row.values()) for type_, row in errors_by_type.items()]),
        "kinds": KINDS,
        "spans": SPANS,
        "is_jsonl": any(path.startswith(SPANS) for path in layout.files.values()),
    }
    return f"{front_matter(about, divided, layout)}\n{markdown_template('card.md.j2').render(values)}\n"


def front_matter(about: About, divided: Divided, layout: CardLayout) -> str:
    """The metadata that Hugging Face reads, between two lines of dashes."""
    import yaml

    sentences = sum(map(len, divided.splits.values()))
    languages = sorted({sentence.language for corpus in divided.splits.values() for sentence in corpus} - {""})
    values = {
        "pretty_name": about.name,
        **({"language": languages} if languages else {}),
        **({"license": about.license} if about.license else {}),
        "task_categories": ["token-classification"],
        "task_ids": ["named-entity-recognition"],
        "size_categories": [SIZE_NAMES[sum(sentences >= size for size in SIZES)]],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": path} for split, path in layout.files.items()],
            }
        ],
        "dataset_info": {"features": list(layout.features)},
    }
    return f"---\n{yaml.safe_dump(values, allow_unicode=True, sort_keys=False, width=120)}---\n"


def _table(head: Sequence[str], rows: Sequence[Row]) -> ReportTable:
    """A table whose first column is text and the others are counts."""
    return ReportTable("", "", [Column(head[0], TEXT), *map(Column, head[1:])], rows)


def _counted(splits: Parts) -> ReportTable:
    """Sentences, words and entities, and the entities of each type, by split."""
    sizes, mentions = split_rows({split: SplitReport.of(corpus) for split, corpus in splits.items()})
    return _table(["", *splits], [*sizes, *mentions])


def _methods(splits: Parts) -> ReportTable:
    by_split = {
        split: Counter(s.origin.method if s.origin else NOT_GENERATED for s in corpus)
        for split, corpus in splits.items()
    }
    methods = sorted(set().union(*by_split.values()))
    rows = [(method, *(counts[method] for counts in by_split.values())) for method in methods]
    return _table(["sentences by method", *splits], rows)


def _scores(splits: Parts) -> ReportTable:
    """The scores of the sentences. The lowest score of a selector is its threshold or above."""
    scores: dict[str, array[float]] = {}
    for sentence in chain.from_iterable(splits.values()):
        for name, score in sentence.scores.items():
            scores.setdefault(name, array("d")).append(score)
    extremes = Column("lowest score", SCORE), Column("highest", SCORE)
    columns = [Column("score", TEXT), Column("sentences scored"), *extremes]
    rows = [(name, len(values), min(values), max(values)) for name, values in sorted(scores.items())]
    return ReportTable("", "", columns, rows)
