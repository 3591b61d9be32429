"""The card of a dataset: ``README.md`` with what Hugging Face reads at its head, and what people read below."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from nersery.core.errors import printable
from nersery.core.sentence import Sentence
from nersery.evaluate.error_analysis import CORRECT, KINDS
from nersery.io.folder import SPANS
from nersery.publish.about import About
from nersery.publish.splits import Divided
from nersery.report.escaping import markdown_text
from nersery.report.number_format import plural

NOT_GENERATED = "as it was read"
NO_LANGUAGE = "none named"
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
SIZE_NAMES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")
"""As Hugging Face writes sizes."""


@dataclass(frozen=True)
class CardLayout:
    """The files of a dataset.

    Args:
        files: By split, relative to the card.
        features: Their columns, as Hugging Face writes them.
    """

    files: Mapping[str, str]
    features: Sequence[Mapping[str, Any]]


Parts = Mapping[str, Sequence[Sentence]]
"""The sentences of each split."""


def card(about: About, divided: Divided, record: Mapping[str, Any], layout: CardLayout) -> str:
    """The text of the card.

    Args:
        record: As `nersery.publish.dataset.publish` returns it.
    """
    made, errors = _made(divided, record), _known_errors(record["evaluation"]) if record["evaluation"] else ()
    lines = chain(_title(about), _counts(divided.splits), _sources(about), made, errors, _loading(layout))
    return f"{front_matter(about, divided, layout)}\n" + "\n".join(lines).rstrip() + "\n"


def front_matter(about: About, divided: Divided, layout: CardLayout) -> str:
    """What Hugging Face reads, between two lines of dashes."""
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


def _title(about: About) -> Iterator[str]:
    yield from (f"# {markdown_text(about.name)}", "")
    for paragraph in filter(None, (part.strip() for part in about.description.split("\n\n"))):
        yield from (str(markdown_text(paragraph)), "")


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """A table whose first column is text and the others figures; everything is escaped."""
    yield f"| {' | '.join(str(markdown_text(title)) for title in head)} |"
    yield f"|:--|{'--:|' * (len(head) - 1)}"
    for row in rows:
        cells = (f"{cell:,}" if isinstance(cell, int) else str(markdown_text(cell)) for cell in row)
        yield f"| {' | '.join(cells)} |"
    yield ""


def _counts(splits: Parts) -> Iterator[str]:
    yield from ("## Sentences and entities", "", *_counted(splits))
    languages = sorted({sentence.language for corpus in splits.values() for sentence in corpus})
    for language in languages if len(languages) > 1 else ():
        own = {split: [s for s in corpus if s.language == language] for split, corpus in splits.items()}
        yield from (f"### Language: {markdown_text(language or NO_LANGUAGE)}", "", *_counted(own))


def _counted(splits: Parts) -> Iterator[str]:
    """Sentences, words and entities, and the entities of each type, by split."""
    types = {split: Counter(e.type for s in corpus for e in s.entities) for split, corpus in splits.items()}
    rows: list[tuple[Any, ...]] = [
        ("sentences", *map(len, splits.values())),
        ("words", *(sum(map(len, corpus)) for corpus in splits.values())),
        ("entities", *(counts.total() for counts in types.values())),
    ]
    rows += [(type_, *(counts[type_] for counts in types.values())) for type_ in sorted(set().union(*types.values()))]
    return _table(["", *splits], rows)


def _sources(about: About) -> Iterator[str]:
    yield from ("## Sources and licences", "")
    yield f"Licence of the whole: {markdown_text(about.license)}." if about.license else "No licence was named."
    yield ""
    for source in about.sources:
        parts = [source.name, source.license and f"licence {source.license}", source.url, source.note]
        yield f"- {'; '.join(str(markdown_text(part)) for part in parts if part)}"
    yield from (() if about.sources else ("No sources were named.",))
    yield ""
    if about.citation:
        lines = about.citation.expandtabs(4).splitlines()
        yield from ("## Citation", "", *(f"    {printable(line)}" for line in lines), "")


def _made(divided: Divided, record: Mapping[str, Any]) -> Iterator[str]:
    yield from ("## How it was made", "")
    splits = divided.splits
    made = {
        split: Counter(s.origin.method if s.origin else NOT_GENERATED for s in corpus)
        for split, corpus in splits.items()
    }
    methods = sorted(set().union(*made.values()))
    yield from _table(
        ["sentences by method", *splits], [(m, *(counts[m] for counts in made.values())) for m in methods]
    )
    yield from _scores(chain.from_iterable(splits.values()))
    yield from ("Files that it was made of:", "") if record["inputs"] else ()
    for one in record["inputs"]:
        given = f", given as {one['split']}" if one["split"] else ""
        yield f"- {markdown_text(one['file'])}: {one['sentences']:,} sentences{given} (sha256 {one['sha256']})"
        if one["rejected"]:
            reasons = ", ".join(f"{markdown_text(reason)} {count:,}" for reason, count in one["rejected"].items())
            yield f"  - left out before: {reasons}"
    yield from ("", *_division(divided, record["division"]))
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    yield from (f"Versions: {markdown_text(versions)}.", "")


def _scores(sentences: Iterable[Sentence]) -> Iterator[str]:
    """What filters said of the sentences that they kept; the lowest score lies where a threshold lay, or above."""
    scores: dict[str, array[float]] = {}
    for sentence in sentences:
        for name, score in sentence.scores.items():
            scores.setdefault(name, array("d")).append(score)
    rows = [(name, len(found), f"{min(found):.4g}", f"{max(found):.4g}") for name, found in sorted(scores.items())]
    yield from _table(["filter", "sentences scored", "lowest score", "highest"], rows) if rows else ()


def _division(divided: Divided, settings: Mapping[str, Any]) -> Iterator[str]:
    share = f"have at least {100 * settings['similarity']:g} % of their words in common"
    alike = "are equal" if settings["similarity"] == 1 else share
    yield (
        f"Sentences that {alike} (in order, without case), and those made from one parent, stand in one split: "
        f"{divided.groups:,} groups, the largest of {divided.largest:,} sentences. Seed {settings['seed']}."
    )
    for (own, last), count in sorted(divided.leaks.items()):
        what = "left out, for" if divided.dropped else "kept, though"
        yield f"\nOf {own}, {plural(count, 'sentence')} {what} {last} has its like, or one of the same parent."
    yield ""


def _known_errors(evaluation: Mapping[str, Any]) -> Iterator[str]:
    yield from ("## Known errors", "")
    yield f"Labels compared with those made by hand ({markdown_text(evaluation['file'])}): "
    yield from (f"F1 over whole entities {100 * evaluation['f1']:.1f}.", "")
    rows = [(type_, *row.values()) for type_, row in evaluation["per_type"].items()]
    yield from _table(["type", CORRECT, *KINDS], rows)
    yield from (f"- {kind}: {meaning}" for kind, meaning in KINDS.items())
    yield ""


def _loading(layout: CardLayout) -> Iterator[str]:
    yield from ("## How to load it", "", "```python", "from datasets import load_dataset", "")
    yield 'dataset = load_dataset("path/to/this/folder")'
    yield from ("```", "")
    if not any(path.startswith(SPANS) for path in layout.files.values()):
        yield f"`path/to/this/folder/{SPANS}` is the same in JSONL, with entities as spans and all that is known."
    yield "`nersery` reads the folder by its name, and those files with nothing lost."
