"""JSONL, the native format: one object per line, lossless. An array of such objects can be read, too.

Keys: ``id``, ``words``, ``language``, ``entities`` (``start``, ``end``, ``type``, ``score``), ``origin`` (``method``,
``parents``, ``copy``), ``scores``, ``columns``, ``comments``, ``soft_labels`` (``word``, ``type``, ``begin``,
``inside``), ``document``, ``offsets``. Empty values are omitted. As in Hugging Face datasets, ``tokens`` is read as
``words``, and so is a list under ``text``, ``sentence`` or ``token``. Tags of any scheme under ``tags``, ``ner_tags``,
``ner``, ``labels``, ``label`` or ``ner_labels`` are read as ``entities``. In labelled objects, other keys with a value
per word become columns. The rest is left out and reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from nersery.core.errors import DataError, Issue, shown
from nersery.core.outcome import Reject
from nersery.core.sentence import Entity, Origin, Sentence, SoftLabel
from nersery.core.warnings import warn
from nersery.io.base import (
    Findings,
    ReadOptions,
    Source,
    Writer,
    detect_scheme,
    issues_in,
    tag_issue,
    unreadable_sentence,
)
from nersery.io.columns_and_rows.json_files import first_value, layout_of, values_of
from nersery.io.columns_and_rows.objects import ENCODER, BrokenError, JsonObject, parsed
from nersery.io.columns_and_rows.rows import (
    MARKS_OF_TAGS,
    holds_words,
    key_of_tags,
    normalized_row,
    without_nulls,
    words_of,
)
from nersery.io.formats import EVERYTHING, FileHead, Format
from nersery.io.input_files.text_file import BLANKS, TextFile
from nersery.io.repairs import BLANK_WORDS, OUTER_SPACE, decode_repaired, repair_hint

FIRST_ROWS = 100
"""The number of rows that are searched for keys that are left out, to report these before anything is read."""


class JsonlSource(Source):
    """Sentences of a JSONL file. If it has tags, a first pass detects their scheme.

    Raises:
        DataError: If the file cannot be read.
    """

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        super().__init__(file, options)
        self._empty = next(self.values(), None) is None
        self._left_out: dict[str, None] = {}
        self._has_tags = False
        detected = detect_scheme(self._tags(), options)  # needed even with a named scheme: it finds keys to leave out
        self.scheme = options.scheme or detected
        self._named = {*self._left_out}

    @property
    def description(self) -> str:
        if self._empty:
            return "jsonl, empty"
        left_out = f", left out: {', '.join(self._left_out)}" if self._left_out else ""
        return f"jsonl, {self.scheme}{left_out}" if self._has_tags else f"jsonl{left_out}"

    def sentences(self, findings: Findings) -> Iterator[Sentence]:
        for number, (line, given) in enumerate(self.values(), start=1):
            id, value = f"{self.file.stem}:{number}", None
            try:
                value, blank = self._without_blanks(self.load(given, line))
                id = value.get("id") or id
                if clash := findings.record_id(id, line):
                    raise BrokenError(clash)
                entities, repaired = self._entities(value, line)
                words, cleaned = findings.clean(words_of(value))
                sentence = _built(value, words, id, entities, self.options.language, line)
            except BrokenError as broken:
                findings.record_broken(id, self.placed(broken.issues, given), _rejected_sentence(value, given))
            else:
                findings.count_repairs(repaired, cleaned, blank, self.repaired_in(given))
                yield sentence
        if unnamed := [key for key in self._left_out if key not in self._named]:
            warn(f"{self.file.name}: left out {', '.join(unnamed)}, which occur after the first {FIRST_ROWS} lines")

    def _without_blanks(self, value: JsonObject) -> tuple[JsonObject, Mapping[str, int]]:
        """A row without blank words and their tags, if that repair is requested, and the number of these words."""
        key, words = key_of_tags(value), words_of(value)
        if BLANK_WORDS not in self.options.repair or not key or len(words) != len(value[key]):
            return value, {}
        kept = [at for at, word in enumerate(words) if word.strip(BLANKS)]
        if not kept or len(kept) == len(words):
            return value, {}
        columns = [[column[at] for at in kept] for column in value.get("columns", ())]
        parts = {"words": [words[at] for at in kept], key: [value[key][at] for at in kept]}
        value = {name: content for name, content in value.items() if name not in ("tokens", "columns")} | parts
        return value | ({"columns": columns} if columns else {}), {BLANK_WORDS: len(words) - len(kept)}

    def values(self) -> Iterator[tuple[int, Any]]:
        """The values of the file; see `values_of`."""
        return values_of(self.file)

    def placed(self, issues: Sequence[Issue], given: Any) -> Sequence[Issue]:
        """The issues of a sentence. Subclasses may give them other lines or fixes."""
        return issues

    def repaired_in(self, given: Any) -> Mapping[str, int]:
        """The number of words in a sentence that `values` has repaired, by repair."""
        return {}

    def load(self, given: Any, line: int) -> JsonObject:
        """The object of a line. Raise `BrokenError` if its keys or the shapes of its values are wrong."""
        row = parsed(given, line)
        if not self.labelled and isinstance(row, dict):
            row = without_nulls(row, labelled=False)
        value, left_out = normalized_row(row, line)
        if left_out:
            self._left_out |= dict.fromkeys(left_out)
        return value

    def _tags(self) -> Iterator[list[str]]:
        """The tags of the lines that can be read. Also record which keys of these lines are left out."""
        for number, (line, given) in enumerate(self.values()):
            if number >= FIRST_ROWS and isinstance(given, str) and not any(mark in given for mark in MARKS_OF_TAGS):
                continue  # without parsing the line, because most files have no tags
            try:
                value = self.load(given, line)
            except BrokenError:  # `sentences` reports what is wrong
                continue
            if key := key_of_tags(value):
                self._has_tags = True
                yield value[key]

    def _entities(self, value: JsonObject, line: int) -> tuple[tuple[Entity, ...], Mapping[str, int]]:
        if not (key := key_of_tags(value)):
            return _entities_of(value), {}
        written, words = value[key], words_of(value)
        if len(written) != len(words):
            message = f'{len(words)} words and {len(written)} "{key}", expected one for each word'
            raise BrokenError(Issue(message, line=line, kind="wrong number of tags"))
        entities_, tag_issues, repaired = decode_repaired(written, self.scheme, self.options.repair)
        if tag_issues:
            raise BrokenError(*(tag_issue(issue, self.scheme, line, word=True) for issue in tag_issues))
        return entities_, repaired


def _entities_of(value: JsonObject) -> tuple[Entity, ...]:
    return tuple([Entity(**entity) for entity in value.get("entities", ())])


def _built(
    value: JsonObject, words: Sequence[str], id: str, entities: tuple[Entity, ...], language: str, line: int
) -> Sentence:
    origin = value.get("origin")
    if origin is not None:
        origin = Origin(origin["method"], tuple(origin.get("parents", ())), origin.get("copy", 0))
    try:
        return Sentence(
            tuple(words),
            entities,
            id,
            value.get("language", language),
            origin,
            value.get("scores", {}),
            tuple(map(tuple, value.get("columns", ()))),
            tuple(value.get("comments", ())),
            tuple([SoftLabel(**label) for label in value.get("soft_labels", ())]),
            value.get("document", ""),
            tuple(map(tuple, value.get("offsets", ()))),
        )
    except DataError as error:
        hints = _hints(words, labelled=bool(key_of_tags(value)))
        raise BrokenError(*(replace(issue, fixes=issue.fixes or hints) for issue in issues_in(error, line))) from None


def _hints(words: Sequence[str], *, labelled: bool) -> tuple[str, ...]:
    """A hint at the repair of white space in words, if it helps."""
    if labelled and not all(word.strip(BLANKS) for word in words):
        return (repair_hint(BLANK_WORDS),)
    return (repair_hint(OUTER_SPACE),) if any(word.strip(BLANKS) != word for word in words) else ()


def _rejected_sentence(value: JsonObject | None, given: Any) -> Sentence:
    """A broken sentence for the rejects: its words with their tags as a column, or its line as it is."""
    try:
        if value is not None:
            key = key_of_tags(value)
            return Sentence(tuple(words_of(value)), columns=(tuple(value[key]),) if key else ())
    except DataError:
        pass
    return unreadable_sentence(given)


def to_object(sentence: Sentence) -> JsonObject:
    """A sentence as JSON values. Most empty values are left out."""
    value: JsonObject = {"id": sentence.id, "words": list(sentence.words)}
    if sentence.language:
        value["language"] = sentence.language
    value["entities"] = [
        entity.as_dict() | ({} if entity.score is None else {"score": entity.score}) for entity in sentence.entities
    ]
    if sentence.origin is not None:
        origin = sentence.origin
        value["origin"] = {"method": origin.method, "parents": list(origin.parents), "copy": origin.copy}
    if sentence.scores:
        value["scores"] = dict(sentence.scores)
    if sentence.columns:
        value["columns"] = [list(column) for column in sentence.columns]
    if sentence.comments:
        value["comments"] = list(sentence.comments)
    if sentence.soft_labels:
        value["soft_labels"] = [asdict(label) for label in sentence.soft_labels]
    if sentence.document:
        value["document"] = sentence.document
    if sentence.offsets:
        value["offsets"] = sentence.offsets
    return value


class JsonlWriter(Writer):
    """Writes every part of a sentence."""

    def encode(self, sentence: Sentence) -> str:
        return _line(to_object(sentence), sentence)


def rejects_of(target: Path) -> Path:
    """The path of the rejects of an output file."""
    target = target if target.name else target.resolve()  # for the current folder; the root has no name even then
    return target.parent / f"{target.name}.rejects.jsonl"


def reject_line(reject: Reject) -> str:
    """A reject as a line of JSONL: what is known of the sentence, and the reason."""
    value = {} if reject.sentence is None else to_object(reject.sentence)
    return _line({**value, "reason": reject.reason}, reject.sentence)


def _line(value: JsonObject, sentence: Sentence | None) -> str:
    try:
        return ENCODER.encode(value) + "\n"
    except ValueError:
        message, id = "a score is NaN or infinite, which JSON cannot hold", sentence.id if sentence else ""
        raise DataError(Issue(message, sentence=id), fix="make the method return finite scores") from None


def read_rejects(path: Path) -> Iterator[Reject]:
    """Read rejects that `reject_line` wrote, or none if the file does not exist. Other lines are a `DataError`."""
    if not path.exists():
        return
    for line, text in enumerate(TextFile(path, "utf-8").lines(), start=1):
        try:
            yield _reject(text, line)
        except BrokenError as broken:
            issues = [Issue(issue.message, str(path), issue.line) for issue in broken.issues]
            raise DataError(issues, fix="write the file again with nersery") from None


def _reject(text: str, line: int) -> Reject:
    value = parsed(text, line)
    if not isinstance(value, dict) or not isinstance(value.get("reason"), str):
        raise BrokenError(Issue(f'{shown(value)}, expected a sentence with a "reason"', line=line, kind="no reject"))
    reason: str = value.pop("reason")
    if not value:
        return Reject(reason)
    value, _ = normalized_row(value, line)
    return Reject(reason, _built(value, words_of(value), value.get("id", ""), _entities_of(value), "", line))


def _recognises(head: FileHead) -> bool:
    is_object = head.first_line.startswith("{") and head.first_line.rstrip(BLANKS).endswith("}")
    if head.extension == ".jsonl" or is_object:
        return True
    return layout_of(head.file) == "array" and holds_words(first_value(head.file))


FORMATS = (
    Format(
        "jsonl",
        "one object on each line, lossless",
        (".jsonl",),
        JsonlSource,
        JsonlWriter,
        keeps=EVERYTHING,
        recognises=_recognises,
        rank=2,
        shares_extensions=True,
    ),
)
