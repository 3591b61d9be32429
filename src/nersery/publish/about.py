"""What only the user knows of a dataset (name, licence, sources), and what files say of how it was made."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from nersery import io
from nersery.core import registry
from nersery.core.errors import DataError, Issue, MissingResourceError, SettingsError
from nersery.core.files import content_hash
from nersery.core.sentence import Corpus, Sentence
from nersery.evaluate.error_analysis import CORRECT, KINDS
from nersery.pipeline.job import rejects_of


@dataclass(frozen=True)
class Origins:
    """Where text or labels of a dataset come from.

    Args:
        name: What it is called.
        url: Where it can be found.
        license: Under which terms.
        note: Whatever else is to be said, e.g. what was taken of it.
    """

    name: str
    url: str = ""
    license: str = ""
    note: str = ""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid"}


@dataclass(frozen=True)
class About:
    """What a dataset's card says that no file does.

    Args:
        name: Of the dataset; that of the folder when it is empty.
        description: What it is and what it is for.
        license: Of the whole, e.g. ``cc-by-4.0``; an identifier of Hugging Face's list is understood by its hub.
        citation: How to cite it.
        sources: Where it comes from.
    """

    name: str = ""
    description: str = ""
    license: str = ""
    citation: str = ""
    sources: list[Origins] = field(default_factory=list)


def read_about(path: str | Path) -> About:
    """What a TOML file says.

    Raises:
        MissingResourceError: When it is not there.
        SettingsError: With all that is wrong in it.
    """
    try:
        table = tomllib.loads(_text_of(path))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is no TOML: {error}") from None
    values, problems = registry.validated(About, Path(path).stem, table)
    if problems:
        raise SettingsError("\n".join([f"{len(problems)} problems in {path}:", *problems]))
    return About(**values)


def _text_of(path: str | Path) -> str:
    try:
        return Path(path).read_text("utf-8-sig")
    except (FileNotFoundError, IsADirectoryError):
        raise MissingResourceError(f"the file {path} does not exist. Correct the option that names it") from None
    except UnicodeDecodeError as error:
        raise DataError(Issue(f"this is not UTF-8: {error.reason}", str(path)), fix="save it as UTF-8") from None


def read_evaluation(path: str | Path) -> dict[str, Any]:
    """What ``nersery evaluate GOLD PREDICTED --errors --json`` found.

    Raises:
        DataError: When the file is of another kind.
        MissingResourceError: When it is not there.
    """
    try:
        found = json.loads(_text_of(path))
        f1 = float(found["micro"]["f1"])
        per_type = {
            str(type_): {kind: int(row[kind]) for kind in (CORRECT, *KINDS)}
            for type_, row in found["errors"]["per_type"].items()
        }
    except (ValueError, LookupError, TypeError, AttributeError):
        raise DataError(
            Issue("this is no evaluation with kinds of errors", str(path)),
            fix=f"write it by: nersery evaluate GOLD PREDICTED --errors --json > {path}",
        ) from None
    return {"file": Path(path).name, "f1": f1, "per_type": per_type}


def gather(inputs: Sequence[tuple[io.Source, str]]) -> tuple[Corpus, dict[str, str], list[dict[str, Any]]]:
    """All sentences of some files, the splits that are given, and what is to be known of each file.

    Args:
        inputs: Each file with its split, which is empty where it has none.

    Raises:
        DataError: When two sentences share an id.
    """
    sentences: list[Sentence] = []
    given: dict[str, str] = {}
    records = []
    for source, split in inputs:
        own = list(source)
        sentences += own
        given |= dict.fromkeys((sentence.id for sentence in own), split) if split else {}
        records.append(_record(source, split, len(own)))
    try:
        return Corpus(sentences), given, records
    except DataError as error:
        fix = (
            "rename one of the files, for a format without ids makes them of its name; or give the sentences other ids"
        )
        raise DataError(error.issues, fix=fix) from None


def _record(source: io.Source, split: str, sentences: int) -> dict[str, Any]:
    """What is to be known of a file: its name, content, split, and what earlier stages left out of it, by reason."""
    path = source.file.path
    reasons = Counter(reject.reason for reject in source.rejects)
    beside = rejects_of(path)
    if beside.exists():
        reasons.update(reject.reason for reject in io.read_rejects(beside))
    return {
        "file": Path(source.file.name).name.encode("utf-8", "backslashreplace").decode(),
        "sha256": content_hash(path),
        "split": split,
        "sentences": sentences,
        "rejected": dict(sorted(reasons.items())),
    }
