"""The data files of a recipe: train, dev, test and raw text, each one file or one file for each language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from nersery.core.errors import SettingsError, at, shown
from nersery.core.sentence import Corpus, Sentence
from nersery.core.text.languages import canonical
from nersery.io import ReadOptions
from nersery.io.base import LANGUAGE_TAG

SPLITS = ("train", "dev", "test", "raw")
"""The keys of files; ``raw`` is text to label."""

PLACEHOLDER = "{language}"
"""Stands for each language in the name of a file."""

EXAMPLE = '{ en = "en.conll", hi = "hi.conll" }'


@dataclass(frozen=True)
class DataFile:
    """A file of a split.

    Args:
        name: The name as in the recipe.
        language: The language of all its sentences, if the split has a file for each language; else empty.
    """

    split: str
    name: str
    language: str = ""

    @property
    def label(self) -> str:
        """Its name in messages.

        >>> DataFile("train", "a.conll").label, DataFile("train", "hi.conll", "hi").label
        ('train', 'train (hi)')
        """
        return f"{self.split} ({self.language})" if self.language else self.split


@dataclass
class DataSettings:
    """The files, and how to read them; see `nersery.io.ReadOptions`.

    Args:
        train: Labelled sentences to sample and augment: a file, or a table of languages and files.
        dev: Labelled sentences for choosing the best weights.
        test: Labelled sentences to score on, used for nothing else. Leave out for cross-validation.
        raw: Sentences for methods that label raw text; their labels are ignored.
        languages: For example `["en", "hi"]`. In a file name, `{language}` stands for each of these.
        language: Language of sentences without one.
        format: As for `nersery dataset convert --format`.
        encoding: For example `latin-1`.
        repair: Repairs to apply, see `nersery list repairs`.
        word_column: Column of the words in CoNLL files, counted from 1; detected by default.
        tag_column: Column of the tags; also detected.
        scheme: Tag scheme, such as `IOB1`; detected by default.
        split: Where to split lines of text: at `spaces` (default), also at `punctuation`, also at `signs` inside words,
            or between `characters`.
    """

    train: str | dict[str, Any]
    test: str | dict[str, Any] | None = None
    dev: str | dict[str, Any] | None = None
    raw: str | dict[str, Any] | None = None
    languages: list[str] = field(default_factory=list)
    language: str = ""
    format: str = "auto"
    encoding: str = "utf-8"
    repair: list[str] = field(default_factory=list)
    word_column: int | None = None
    tag_column: int | None = None
    scheme: str | None = None
    split: str | None = None

    def __post_init__(self) -> None:
        for split in SPLITS:
            name = getattr(self, split)
            if self.languages and isinstance(name, str) and PLACEHOLDER in name:
                setattr(self, split, {language: name.replace(PLACEHOLDER, language) for language in self.languages})

    @property
    def reading(self) -> ReadOptions:
        """How the files are read; a `SettingsError` that lists all values that cannot be used."""
        options = {key: value for key, value in asdict(self).items() if key not in (*SPLITS, "languages")}
        return ReadOptions(**{**options, "repair": tuple(self.repair)})

    def files(self, split: str) -> list[DataFile]:
        """The files of a split, sorted by language, so that their order in the recipe does not matter."""
        value = getattr(self, split)
        if isinstance(value, Mapping):
            return [DataFile(split, value[language], language) for language in sorted(value)]
        return [DataFile(split, value)] if value else []

    def has_languages(self, split: str) -> bool:
        """Whether a split has a file for each language."""
        return isinstance(getattr(self, split), Mapping)

    def issues(self) -> list[str]:
        """Issues of the values; their types were checked before."""
        issues = [f"data.{key} is empty: expected a file" for key in ("train", "test") if getattr(self, key) == ""]
        for split in SPLITS:
            if isinstance(name := getattr(self, split), str) and PLACEHOLDER in name:
                issues.append(f'data.{split} is "{name}": name the languages, e.g. data.languages = ["en", "hi"]')
            if self.has_languages(split):
                issues += _table_issues(f"data.{split}", getattr(self, split))
        tables = [[*value] for split in SPLITS if isinstance(value := getattr(self, split), Mapping)]
        if self.languages and not issues and self.languages not in tables:
            issues.append(
                f"data.languages is {shown(self.languages)}, but no file name contains {PLACEHOLDER}: write "
                f'e.g. train = "{PLACEHOLDER}/train.conll", or leave out data.languages'
            )
        try:
            _ = self.reading
        except SettingsError as error:
            issues += at("data", str(error).split("\n"))
        return issues


def _table_issues(key: str, table: Mapping[str, Any]) -> list[str]:
    """The issues of a table from languages to files."""
    if not table:
        return [f"{key} is an empty table: expected a file for each language, e.g. {EXAMPLE}"]
    issues = []
    languages: dict[str, str] = {}
    files: dict[str, str] = {}
    for language, name in table.items():
        if not LANGUAGE_TAG.fullmatch(language):
            issues.append(
                f"{key}: {language!r} is not a language, expected a BCP 47 tag such as en or hi, as in {EXAMPLE}"
            )
            continue
        if (other := languages.setdefault(canonical(language), language)) != language:
            issues.append(f"{key}: {other} and {language} are the same language")
        if not isinstance(name, str) or not name:
            issues.append(f"{key}.{language} is {shown(name)}: expected a file")
        elif (other := files.setdefault(name, language)) != language:
            issues.append(f"{key}: {other} and {language} have the same file, {name}; expected one for each language")
    return issues


CorpusByFile = Mapping[DataFile, Corpus]
"""The corpus of each file, by split and language."""


def parts_of(parts: CorpusByFile, *splits: str) -> Iterator[tuple[DataFile, Corpus]]:
    """The files of some splits, with their corpora."""
    return ((file, part) for file, part in parts.items() if file.split in splits)


def train_of(parts: CorpusByFile, language: str) -> list[Corpus]:
    """The training sentences of a language, by file; all files if the language is unknown."""
    train = parts_of(parts, "train")
    wanted = ("", canonical(language))
    return [part for file, part in train if not language or canonical(file.language) in wanted]


def sentences_of(parts: CorpusByFile, split: str) -> Iterator[Sentence]:
    """The sentences of all files of a split."""
    return (sentence for _, part in parts_of(parts, split) for sentence in part)
