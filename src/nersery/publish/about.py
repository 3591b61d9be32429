"""What only the user knows about a dataset (name, licence, sources), and what its files say about how it was made."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from nersery import io
from nersery.core.counting import plural
from nersery.core.errors import DataError, Issue, MissingResourceError, SettingsError
from nersery.core.settings import typed_settings
from nersery.core.system.files import advice_for_missing, content_hash
from nersery.evaluate.error_analysis import CORRECT, KINDS
from nersery.io.jsonl import rejects_of
from nersery.io.temporary_tables.sentence_table import SentenceTable
from nersery.publish.splits import SPLITS, TRAIN, Leaks, Repeated


@dataclass(frozen=True)
class CitedSource:
    """A source of texts or labels.

    Args:
        note: E.g. which part was used.
    """

    name: str
    url: str = ""
    license: str = ""
    note: str = ""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError('expected a name for each source, e.g. name = "Wikipedia"')


@dataclass(frozen=True)
class About:
    """What a card says about a dataset beyond its files.

    Args:
        name: Name of the dataset; empty takes that of the folder.
        description: Its content and purpose.
        license: E.g. ``cc-by-4.0``; identifiers of Hugging Face's list work on its hub.
        citation: How to cite it.
        sources: The sources of its texts or labels.
    """

    name: str = ""
    description: str = ""
    license: str = ""
    citation: str = ""
    sources: list[CitedSource] = field(default_factory=list)


def read_about(path: str | Path) -> About:
    """Read a TOML file about a dataset.

    Raises:
        MissingResourceError: If it does not exist.
        SettingsError: If it has issues; lists all of them.
    """
    try:
        table = tomllib.loads(_text_of(path))
    except ValueError as error:  # also for a number with thousands of digits
        raise SettingsError(f"{path} is not TOML: {error}") from None
    values, issues = typed_settings.validated(About, Path(path).stem, table)
    if issues:
        raise SettingsError("\n".join([f"{plural(len(issues), 'issue')} in {path}:", *issues]))
    return About(**values)


def _text_of(path: str | Path) -> str:
    try:
        return Path(path).read_text("utf-8-sig")
    except (FileNotFoundError, IsADirectoryError):
        advice = advice_for_missing(Path(path)) or "correct the option that names it"
        raise MissingResourceError(f"the file {path} does not exist: {advice}") from None
    except UnicodeDecodeError as error:
        raise DataError(Issue(f"this is not UTF-8: {error.reason}", str(path)), fix="save it as UTF-8") from None


def read_evaluation(path: str | Path) -> dict[str, Any]:
    """Read the output of ``nersery evaluate GOLD PREDICTED --errors --json``.

    Raises:
        DataError: If the file is something else.
        MissingResourceError: If it does not exist.
    """
    try:
        evaluation = json.loads(_text_of(path))
        f1 = float(evaluation["micro"]["f1"])
        per_type = {
            str(type_): {kind: int(row[kind]) for kind in (CORRECT, *KINDS)}
            for type_, row in evaluation["errors"]["per_type"].items()
        }
    except (ValueError, LookupError, TypeError, AttributeError):
        raise DataError(
            Issue("this is not an evaluation with kinds of errors", str(path)),
            fix="write one: nersery evaluate GOLD PREDICTED --errors --json > errors.json",  # `path` may be a corpus
        ) from None
    return {"file": Path(path).name, "f1": f1, "per_type": per_type}


@dataclass(frozen=True)
class Gathered:
    """The result of `gather`.

    Args:
        sentences: All sentences, each id once.
        given: The given split of each id that has one.
        records: A record of each file.
        repeated: The id and both splits of each sentence that was dropped because a later split has the same one.
    """

    sentences: SentenceTable
    given: Mapping[str, str]
    records: Sequence[Mapping[str, Any]]
    repeated: Sequence[Repeated]


def gather(inputs: Sequence[tuple[io.Source, str]], leaks: Leaks = "refuse") -> Gathered:
    """Read all sentences of the files.

    Args:
        inputs: Each file with its split, or with an empty string.
        leaks: With ``drop``, a sentence that a later split repeats under the same id is dropped.

    Raises:
        DataError: If two sentences have the same id.
    """
    table = SentenceTable()
    given: dict[str, str] = {}
    repeated: list[Repeated] = []
    records: dict[int, dict[str, Any]] = {}
    order = [*range(len(inputs))]
    if leaks == "drop":  # the sentences to keep come first
        order.sort(key=lambda position: SPLITS.index(inputs[position][1] or TRAIN), reverse=True)
    for position in order:
        source, split = inputs[position]
        count_before = len(table) + len(repeated)
        for sentence in source:
            try:
                table.add(sentence)
            except DataError as error:
                number = table.number_of(sentence.id)
                is_same = number is not None and table[number].words == sentence.words
                later = given.get(sentence.id, TRAIN)
                is_leak = is_same and later != (split or TRAIN)
                if not is_leak or leaks != "drop":
                    issues = [replace(issue, file=source.file.name) for issue in error.issues]
                    raise DataError(issues, fix=_fix_of_repeated(is_same=is_same, is_leak=is_leak)) from None
                repeated.append((sentence.id, (split or TRAIN, later)))
                continue
            if split:
                given[sentence.id] = split
        records[position] = _record(source, split, len(table) + len(repeated) - count_before)
    return Gathered(table, given, [records[position] for position in sorted(order)], repeated)


def _fix_of_repeated(*, is_same: bool, is_leak: bool) -> str:
    if not is_same:
        return (
            "rename one of the files, because formats without ids derive them from the file name; or give the "
            "sentences other ids"
        )
    drop = ", or from the earlier split (--leaks drop)" if is_leak else ""
    return f"it also has the same words: remove it from one of the files{drop}"


def _record(source: io.Source, split: str, sentences: int) -> dict[str, Any]:
    """The record of a file: name, hash, split, number of sentences, and what earlier stages left out, by reason."""
    path = source.file.path
    reasons = Counter(reject.reason for reject in (*source.rejects, *io.read_rejects(rejects_of(path))))
    return {
        "file": Path(source.file.name).name.encode("utf-8", "backslashreplace").decode(),
        "sha256": content_hash(path),
        "split": split,
        "sentences": sentences,
        "rejected": dict(sorted(reasons.items())),
    }
