"""The base of all formats: reading options, sources of sentences and writers."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar

from nersery.core import tags
from nersery.core.errors import DataError, Issue, SettingsError, did_you_mean, shown
from nersery.core.outcome import Reject
from nersery.core.random import is_whole
from nersery.core.sentence import UNKNOWN_COLUMN, Sentence, checked_sentences
from nersery.core.sentence_validation import CONTROL, without_control
from nersery.core.system.files import content_hash
from nersery.core.tags import TagIssue
from nersery.core.warnings import warn
from nersery.core.wording import as_parameters, either
from nersery.io import repairs
from nersery.io.formats import Format, readable
from nersery.io.input_files.text_file import TextFile
from nersery.io.temporary_tables.ids import SeenIds
from nersery.io.word_splitting.tokenization import SPLITTINGS

AUTO = "auto"
MAX_ISSUES = 10_000
"""After this many issues in one file, the rest is not read."""
MAX_PAIRS = 100_000
"""More different pairs of neighbouring tags than this show that the values are not tags."""
_BYTE_OF_WINDOWS = re.compile(rf"{CONTROL} U\+00(8[02-9A-CE]|9[1-9A-CEF])")
WINDOWS_HINT = "--encoding cp1252 if the file is from Windows, where these are quotes, dashes or letters"
UTF_8_HINT = "leave out --encoding: this file is UTF-8 (convert others: iconv -f iso8859-1 -t utf-8 OLD > NEW)"
_WORD = re.compile(r"word (\d+)\b")
LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
"""The form of a BCP 47 tag: ``en``, ``zh-Hant``, but not ``english`` or the name of a setting."""
RETURN_HINT = r"convert the line ends, e.g. with tr '\r' '\n'"
SAME_TEXTS_HINT = "if two files label the same texts, read only one, or compare them: nersery inspect agreement"
STRAY_RETURN_HINT = r"delete the carriage returns, e.g. with tr -d '\r'"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a corpus; the defaults detect everything.

    Args:
        format: A readable format, or ``auto``: by extension, else by content.
        encoding: E.g. ``utf-8``, ``latin-1``, ``utf-16``.
        language: A BCP 47 tag for sentences that do not name a language.
        repair: Names of `nersery.io.repairs.REPAIRS`; without them broken input is an error.
        word_column: Column of the words, from 1; None detects it.
        tag_column: Column of the tags, from 1; None detects it.
        scheme: A name of `nersery.core.tags.SCHEMES`; None detects it.
        split: How to split text into words (`nersery.io.word_splitting.tokenization`). Other formats contain words.
            None splits plain text at spaces, text with character labels at punctuation, brat and PubTator in words too.

    Raises:
        SettingsError: With all wrong values.
    """

    format: str = AUTO
    encoding: str = "utf-8"
    language: str = ""
    repair: tuple[str, ...] = ()
    word_column: int | None = None
    tag_column: int | None = None
    scheme: str | None = None
    split: str | None = None

    def __post_init__(self) -> None:
        if issues := [*self._type_issues()]:
            raise SettingsError("\n".join(issues))
        object.__setattr__(self, "repair", (self.repair,) if isinstance(self.repair, str) else tuple(self.repair))
        issues = [
            f'there is no repair "{name}"; {did_you_mean(name, repairs.REPAIRS)}'
            for name in self.repair
            if name not in repairs.REPAIRS
        ]
        if self.format not in (AUTO, *readable()):
            issues.append(f'there is no input format "{self.format}"; {did_you_mean(self.format, (AUTO, *readable()))}')
        if self.language and not LANGUAGE_TAG.fullmatch(self.language):
            issues.append(f"language is {self.language!r}, expected a BCP 47 tag such as en or hi")
        if not _is_encoding(self.encoding):
            issues.append(f'there is no encoding "{self.encoding}"; examples: utf-8, latin-1, utf-16, gb18030')
        for name, column in (("word_column", self.word_column), ("tag_column", self.tag_column)):
            if column is not None and column < 1:
                issues.append(f"{name} is {column}, expected 1 or more: the first column is 1")
        if self.word_column is not None and self.word_column == self.tag_column:
            issues.append(f"word_column and tag_column are both {self.word_column}, expected two columns")
        if self.split is not None and self.split not in SPLITTINGS:
            issues.append(f'there is no split "{self.split}"; {did_you_mean(self.split, SPLITTINGS)}')
        try:
            if self.scheme is not None:
                object.__setattr__(self, "scheme", tags.scheme_name(self.scheme))
        except SettingsError as error:
            issues.append(str(error))
        if issues:
            raise SettingsError("\n".join(issues))

    def _type_issues(self) -> Iterator[str]:
        """An issue for each value of the wrong type, which users of the library may pass."""
        optional = (name for name in ("split", "scheme") if getattr(self, name) is not None)
        for name in ("format", "encoding", "language", *optional):
            if not isinstance(value := getattr(self, name), str):
                yield f"{name} is {shown(value)}, expected text"
        for name in ("word_column", "tag_column"):
            if (value := getattr(self, name)) is not None and not is_whole(value):
                yield f"{name} is {shown(value)}, expected a whole number"
        repair: Any = self.repair
        if not isinstance(repair, str | list | tuple) or not all(isinstance(name, str) for name in repair):
            yield f"repair is {shown(repair)}, expected the name of a repair, or a list of names"


def read_options(options: Mapping[str, Any], known: Sequence[str] = ()) -> ReadOptions:
    """Build reading options. Names outside ``known``, by default all fields, and wrong values are a `SettingsError`."""
    names = known or [field.name for field in fields(ReadOptions)]
    if issues := [f'there is no option "{name}"; {did_you_mean(name, names)}' for name in options if name not in names]:
        raise SettingsError("\n".join(issues))
    return ReadOptions(**options)


def storable(text: str) -> str:
    """A text in a form that a sentence may hold: no carriage returns, lone surrogates or control characters."""
    return without_control(text.replace("\r", " ")).encode("utf-8", "replace").decode()


def _is_encoding(name: str) -> bool:
    try:
        "".encode(name)
    except (LookupError, ValueError):
        return False
    return True


def tag_issue(issue: TagIssue, scheme: str, line: int, *, word: bool = False) -> Issue:
    """A tag issue with its line in the file. With ``word``, the message gives the position of the word."""
    other_scheme = f"--scheme-in NAME if the tags are not {scheme}"
    fixes = [repairs.repair_hint(issue.repair) if issue.repair else issue.fix or other_scheme]
    if issue.kind != tags.UNKNOWN_TAG:
        fixes.append(other_scheme)
    message = f"word {issue.index}: {issue.message}" if word else issue.message
    return Issue(message, line=line, kind=issue.kind, fixes=tuple(fixes))


def issues_in(error: DataError, line: int) -> list[Issue]:
    """The issues because of which a sentence could not be built, with their line in the file."""
    hint = (repairs.repair_hint(repairs.CONTROL_CHARACTERS),)
    return [
        Issue(issue.message, line=line, kind="invalid sentence", fixes=hint if CONTROL in issue.message else ())
        for issue in error.issues
    ]


def at_words(issues: Iterable[Issue], line_of: Callable[[int], int]) -> list[Issue]:
    """The issues. Those that begin with the position of a word get the line of that word."""
    matches = ((issue, _WORD.match(issue.message)) for issue in issues)
    return [replace(issue, line=line_of(int(match[1]))) if match else issue for issue, match in matches]


def carriage_return_issue(text: str, line: int, fix: str = "") -> Issue | None:
    """An issue for a line with a carriage return before its end, as in files of old Macs; otherwise None."""
    if "\r" not in (inside := text.rstrip("\r\n")):
        return None
    fix = fix or (RETURN_HINT if re.search(r"\r(?![\r\t ])", inside) else STRAY_RETURN_HINT)
    message = "there is a carriage return inside the line, expected line feeds at the ends of lines"
    return Issue(message, line=line, kind="carriage return", fixes=(fix,))


def detect_scheme(sequences: Iterable[Sequence[str]], options: ReadOptions) -> str:
    """The tag scheme of a corpus, detected from the tags of its sentences."""
    pairs: set[tuple[str, str]] = set()
    for written in (repairs.composed_tags(sequence, options.repair) for sequence in sequences):
        pairs.update(zip([tags.OUTSIDE, *written], [*written, tags.OUTSIDE], strict=True))
        if len(pairs) > MAX_PAIRS:
            break
    return tags.detect(pairs)


def unreadable_sentence(given: Any, comments: Iterable[str] = ()) -> Sentence:
    """A stand-in for an unreadable sentence in a reject: its text, or its value as JSON, split at white space."""
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
    return Sentence(tuple(storable(text).split()) or (UNKNOWN_COLUMN,), comments=tuple(map(storable, comments)))


class Findings:
    """The findings of one pass over a file."""

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        self.file, self.options = file, options
        self.issues: list[Issue] = []
        self.rejects: list[Reject] = []
        self.repaired: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.noted: Counter[str] = Counter()
        """Notes to print at the end, each with ``{}`` in place of a number, and these numbers."""
        self.layer = ""
        """The layer with the labels in the first file of a folder, for a format with several layers."""
        self.may_drop = False
        """Whether a sentence was read without issues, so that something is left if broken sentences are dropped."""
        self._ids = SeenIds()
        self.overruled: Sequence[str] = ()
        """Fixes that single issues suggest, but that do not suit the whole file."""
        self.instead: dict[str, str] = {}
        """Fixes in place of such fixes."""
        self._fixes: dict[str, None] = {}
        self._may_be_misread = codecs.lookup(options.encoding).name == "iso8859-1"

    def clean(self, words: Sequence[str]) -> tuple[tuple[str, ...], Mapping[str, int]]:
        """The words after the requested repairs, and the number of words that each repair changed."""
        cleaned, counts = tuple(words), Counter[str]()
        for name, clean in repairs.WORD_REPAIRS.items():
            if name in self.options.repair:
                unclean, cleaned = cleaned, tuple(map(clean, cleaned))
                counts[name] += sum(map(str.__ne__, unclean, cleaned))
        return cleaned, +counts

    def skip(self, id: str, reason: str, sentence: Sentence) -> None:
        """Count an item that the file itself marks as not to be used."""
        self.rejects.append(Reject(reason, replace(sentence, id=storable(id))))
        self.skipped[reason] += 1

    def record_id(self, id: str, line: int) -> Issue | None:
        """Record an id. Return an issue if it was used before, otherwise None."""
        if (earlier := self._ids.add(id, line, self.file.name)) is None:
            return None
        is_other = earlier[1] != self.file.name
        where = f"line {earlier[0]}" + (f" of {earlier[1]}" if is_other else "")
        message = f'the id "{id}" is already used in {where}; expected another'
        return Issue(message, line=line, kind="id used twice", fixes=(SAME_TEXTS_HINT,) if is_other else ())

    def record_broken(self, id: str, issues: Sequence[Issue], sentence: Sentence) -> None:
        """Record an unreadable sentence: as a reject with ``--repair drop-sentence``, else as issues.

        Args:
            issues: At least one.
            sentence: Its words, as far as they are known, for the reject.

        Raises:
            DataError: After `MAX_ISSUES` issues.
        """
        issues = [replace(issue, file=self.file.name, sentence=id) for issue in issues]
        if repairs.DROP_SENTENCE in self.options.repair:
            comments = (f"# {issue}" for issue in issues)
            sentence = replace(sentence, id=storable(id), comments=(*sentence.comments, *comments))
            self.rejects.append(Reject(issues[0].kind, sentence))
            self.repaired[repairs.DROP_SENTENCE] += 1
            return
        self.issues += issues
        if self._may_be_misread and any(_BYTE_OF_WINDOWS.search(issue.message) for issue in issues):
            # before the repair, which would delete these characters
            self._fixes[UTF_8_HINT if self.file.seems_utf_8 else WINDOWS_HINT] = None
        self._fixes.update(dict.fromkeys(fix for issue in issues for fix in issue.fixes))
        if len(self.issues) >= MAX_ISSUES:
            self.issues.append(Issue(f"reading stopped after {len(self.issues):,} issues", self.file.name))
            raise self.error()

    def count_repairs(self, *repaired: Mapping[str, int]) -> None:
        """Count the repairs in a sentence that is kept."""
        for counts in filter(None, repaired):
            self.repaired.update(counts)

    def error(self) -> DataError:
        """The error with all issues of the file and their fixes."""
        fixes = [self.instead.get(fix, fix) for fix in self._fixes if fix not in self.overruled]
        does = "leaves each broken sentence out"
        if not self.file.in_memory:
            does = either("moves each broken sentence to the rejects", does)
        fixes += [f"--repair {repairs.DROP_SENTENCE} {does}"] * self.may_drop
        if self.file.in_memory:
            return DataError(self.issues, fix=as_parameters("; ".join(["correct the sentences", *fixes])))
        others = either("; ", ", or read it with other arguments of nersery.read: ") if fixes else ""
        return DataError(self.issues, fix=f"correct the file{others}{'; '.join(fixes)}")


class Source(ABC):
    """The sentences of a file. Each iteration reads the file again, in constant memory."""

    splits_text: ClassVar[bool] = False
    """Whether the reader splits text into words, as the options say. Otherwise the file contains words."""

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        self.file, self.options = file, options
        self.rejects: list[Reject] = []
        """What the last full pass left out, e.g. because of ``--repair drop-sentence``."""
        self.repaired: Counter[str] = Counter()
        """How much each repair changed in the last full pass, e.g. tags; ``drop-sentence`` counts sentences."""
        self.skipped: Counter[str] = Counter()
        """The number of rejects in the last full pass that the file itself marks as not to be used, by reason."""
        self.labelled = True
        """Whether unannotated text is an issue; see `nersery.io.open_text`."""
        self.add_advice: Callable[[DataError], DataError] | None = None
        """Turns a reading error into one with better advice."""

    @property
    @abstractmethod
    def description(self) -> str:
        """The detected format, e.g. ``conll, IOB1, 4 columns: word 1, tag 4``."""

    @property
    def stems(self) -> frozenset[str]:
        """The file names without extension, from which the reader makes ids for sentences without one."""
        return frozenset({self.file.stem})

    @abstractmethod
    def sentences(self, findings: Findings) -> Iterator[Sentence]:
        """Read the file once and record everything that is wrong in ``findings``."""

    def __iter__(self) -> Iterator[Sentence]:
        """The sentences of `in_order`, without the rejects."""
        return (outcome for outcome in self.in_order() if isinstance(outcome, Sentence))

    def in_order(self) -> Iterator[Sentence | Reject]:
        """The sentences, with unique ids, and the rejects, in file order. After an issue, the rest is only checked.

        Raises:
            DataError: At the end, with all issues of the file.
        """
        findings, passed = Findings(self.file, self.options), 0
        try:
            for sentence in repairs.in_nfc(self.sentences(findings), self.options.repair, findings.repaired):
                yield from findings.rejects[passed:]
                passed = len(findings.rejects)
                findings.may_drop = True
                if not findings.issues:
                    yield sentence
            if findings.issues:
                raise findings.error()
        except DataError as error:
            raise (self.add_advice(error) if self.add_advice else error) from None
        yield from findings.rejects[passed:]
        for text, count in findings.noted.items():
            warn(f"{self.file.name}: {text.format(f'{count:,}')}")
        self.rejects, self.repaired, self.skipped = findings.rejects, findings.repaired, findings.skipped

    def outcomes(self) -> Iterator[Sentence | Reject]:
        """The sentences, then the rejects: together, everything in the file."""
        yield from self
        yield from self.rejects

    def fingerprint(self) -> Any:
        """Content and reading options as JSON values, so that no job resumes with changed input.

        The file name is part of it, because sentences without ids get ids from it.
        """
        return {"content": f"{self.file.stem} {content_hash(self.file.path)}", "reading": asdict(self.options)}


class InMemory(Source):
    """A source of sentences in memory instead of a file.

    Args:
        name: What messages call them.
    """

    description = "in memory"
    stems = frozenset[str]()

    def __init__(self, rows: Iterable[Sentence], name: str = "the corpus") -> None:
        super().__init__(TextFile(name), ReadOptions())
        self._rows, self._name = rows, name

    def sentences(self, findings: Findings) -> Iterator[Sentence]:
        return checked_sentences(self._rows, self._name)

    def fingerprint(self) -> str:
        return digest_of(self._rows)


def digest_of(values: Iterable[Any]) -> str:
    """A digest of the `repr` of each value."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(repr(value).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


class Writer(ABC):
    """Turns sentences into the text of a format."""

    format: Format
    """Set by `nersery.io.writer`."""
    columns: int | None = None
    """The number of extra columns in the first sentence, if all need the same number. A resumed job sets it."""

    @abstractmethod
    def encode(self, sentence: Sentence) -> str:
        """The sentence as text; raises `DataError` if the format cannot hold it."""
