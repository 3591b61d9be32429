"""JSONL, the native format: one object per line, lossless.

Keys: ``id``, ``words``, ``language``, ``entities`` (``start``, ``end``, ``type``, ``score``), ``origin`` (``method``,
``parents``, ``copy``), ``scores``, ``columns``, ``comments``, ``soft_labels`` (``word``, ``type``, ``begin``,
``inside``), ``document``, ``offsets``; empty ones are omitted. As in Hugging Face datasets,
``tokens`` is read as ``words``, and ``tags``, ``ner_tags``, ``ner``, ``labels`` or ``ner_labels`` in any scheme as
``entities``; of other keys, those with a value per word become columns, and the source's description names the ignored
ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nersery.core.errors import DataError, Issue, did_you_mean
from nersery.core.outcome import Reject
from nersery.core.sentence import Entity, Origin, Sentence, SoftLabel
from nersery.io.base import Pass, ReadOptions, Source, Writer, detect_scheme, issues_in, tag_issue, unread
from nersery.io.formats import EVERYTHING, Beginning, Format
from nersery.io.objects import ENCODER, BrokenError, Object, parsed
from nersery.io.rows import OTHER_TAGS, with_usual_names
from nersery.io.text_file import BLANKS, TextFile

_ENTITY_KEYS = ({"start", "end", "type"}, {"start", "end", "type", "score"})


def _texts(value: Any) -> bool:
    return isinstance(value, list) and set(map(type, value)) <= {str}


def _number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _entities(value: Any) -> bool:
    return isinstance(value, list) and all(map(_entity, value))


def _entity(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() in _ENTITY_KEYS
        and type(value["start"]) is int
        and type(value["end"]) is int
        and isinstance(value["type"], str)
        and (value.get("score") is None or _number(value["score"]))
    )


def _origin(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() <= {"method", "parents", "copy"}
        and isinstance(value.get("method"), str)
        and _texts(value.get("parents", []))
        and type(value.get("copy", 0)) is int
    )


_SOFT_LABEL: Mapping[str, Any] = {"word": int, "type": str, "begin": (int, float), "inside": (int, float)}


def _soft_labels(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(label, dict)
        and label.keys() == _SOFT_LABEL.keys()
        and all(isinstance(label[key], kind) and type(label[key]) is not bool for key, kind in _SOFT_LABEL.items())
        for label in value
    )


def _pairs_of_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, list) and [*map(type, v)] == [int, int] for v in value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


_SHAPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "id": (_text, "a string"),
    "words": (_texts, "a list of strings"),
    "language": (_text, "a string"),
    "entities": (_entities, 'a list of {"start": number, "end": number, "type": string}, each perhaps with a "score"'),
    "origin": (_origin, '{"method": string, "parents": list of ids, "copy": number}'),
    "scores": (
        lambda value: isinstance(value, dict) and all(map(_number, value.values())),
        "an object of finite numbers",
    ),
    "columns": (lambda value: isinstance(value, list) and all(map(_texts, value)), "a list of lists of strings"),
    "comments": (_texts, "a list of strings"),
    "soft_labels": (_soft_labels, 'a list of {"word": number, "type": string, "begin": number, "inside": number}'),
    "document": (_text, "a string"),
    "offsets": (_pairs_of_numbers, "a list of [start, end], one for each word"),
    "tokens": (_texts, "a list of strings"),
    "tags": (_texts, "a list of strings such as B-PER"),
    "ner_tags": (_texts, "a list of strings such as B-PER; numbers must be turned into them first"),
}
_TAGS = ("tags", "ner_tags")
_MARKS_OF_TAGS = ('tags"', *(f'"{name}"' for name in OTHER_TAGS))
_PLAIN = {key: check for key, (check, _) in _SHAPES.items() if key not in ("tokens", *_TAGS)}
"""The checks of the keys that nersery writes; any of them go together."""


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
        detected = detect_scheme(self._tags())  # a pass even where the scheme is named: it finds what is left out
        self.scheme = options.scheme or detected

    @property
    def description(self) -> str:
        """The format, and the scheme of the tags if there are any."""
        if self._empty:
            return "jsonl, empty"
        left_out = f", left out: {', '.join(self._left_out)}" if self._left_out else ""
        return f"jsonl, {self.scheme}{left_out}" if self._has_tags else "jsonl"

    def sentences(self, findings: Pass) -> Iterator[Sentence]:
        """One pass over the file."""
        for number, (line, given) in enumerate(self.values(), start=1):
            id, value = f"{self.file.stem}:{number}", None
            try:
                value = self.load(given, line)
                id = value.get("id") or id
                if clash := findings.clash(id, line):
                    raise BrokenError(clash)
                entities, repaired = self._entities(value, line, findings)
                words, cleaned = findings.clean(_words(value))
                sentence = _built(value, words, id, entities, self.options.language, line)
            except BrokenError as broken:
                findings.broken(id, self.placed(broken.issues, given), _remains(value, given))
            else:
                findings.count(repaired, cleaned, self.repaired_in(given))
                yield sentence

    def values(self) -> Iterator[tuple[int, Any]]:
        """The lines that are not blank, with their numbers from 1; other formats give objects in place of lines."""
        return ((line, text) for line, text in enumerate(self.file.lines(), start=1) if text.strip(BLANKS))

    def placed(self, issues: Sequence[Issue], given: Any) -> Sequence[Issue]:
        """The issues of a sentence, perhaps in the lines of their words."""
        return issues

    def repaired_in(self, given: Any) -> Mapping[str, int]:
        """How many words of a sentence `values` has mended, by the repair."""
        return {}

    def load(self, given: Any, line: int) -> Object:
        """The object of a line, with its keys and the shapes of its values checked; else a `BrokenError`."""
        value: Object = _ours(parsed(given, line))
        _check(value, line)
        return value

    def _tags(self) -> Iterator[list[str]]:
        """The tags of the lines that can be read; keys that are left out of these lines are noted."""
        for line, given in self.values():
            if isinstance(given, str) and not any(mark in given for mark in _MARKS_OF_TAGS):
                continue  # before the line is parsed, for most files have none
            try:
                row = with_usual_names(parsed(given, line))
                value = _ours(row)
                _check(value, line)
            except BrokenError:  # `sentences` says what is wrong
                continue
            for key in value.keys() & {*_TAGS}:
                self._has_tags = True
                kept = "columns" not in row
                others = (k for k in row if k not in _SHAPES and not (kept and _is_column(row[k], row)))
                self._left_out |= dict.fromkeys(others)
                yield value[key]

    def _entities(self, value: Object, line: int, findings: Pass) -> tuple[tuple[Entity, ...], Mapping[str, int]]:
        if value.keys().isdisjoint(_TAGS):
            return _entities_of(value), {}
        key = next(key for key in _TAGS if key in value)
        written, words = value[key], _words(value)
        if len(written) != len(words):
            message = f'{len(words)} words and {len(written)} "{key}", expected one for each word'
            raise BrokenError(Issue(message, line=line, kind="wrong number of tags"))
        entities_, tag_issues, repaired = findings.decode(written, self.scheme)
        if tag_issues:
            raise BrokenError(*(tag_issue(issue, self.scheme, line, word=True) for issue in tag_issues))
        return entities_, repaired


def _ours(value: Any) -> Any:
    """A line of a dataset with columns in place of keys that are not ours; others as they are."""
    value = with_usual_names(value)
    if not isinstance(value, dict) or "tokens" not in value or not value.keys() & {*_TAGS}:
        return value
    known = {key: content for key, content in value.items() if key in _SHAPES}
    if type(known.get("id")) is int:
        known["id"] = str(known["id"])
    columns = [[*map(str, value[key])] for key in value if key not in known and _is_column(value[key], value)]
    return known | {"columns": columns} if columns and "columns" not in known else known


def _is_column(content: Any, value: Object) -> bool:
    """Whether there is a value for each word that a column can hold."""
    if not isinstance(content, list) or not isinstance(value["tokens"], list) or len(content) != len(value["tokens"]):
        return False
    return all(type(item) is int or (type(item) is str and item.split() == [item]) for item in content)


def _check(value: Any, line: int) -> None:
    if not _is_plain(value) and (messages := list(_issues(value))):
        raise BrokenError(*(Issue(message, line=line, kind="wrong object") for message in messages))


def _is_plain(value: Any) -> bool:
    """Whether an object is as nersery writes it and so without issues, which most are; others need a closer look."""
    if type(value) is not dict or "words" not in value:
        return False
    for key, content in value.items():
        is_right = _PLAIN.get(key)
        if is_right is None or not is_right(content):
            return False
    return True


def _issues(value: Any) -> Iterator[str]:
    """What is wrong with the keys and shapes of an object."""
    if not isinstance(value, dict):
        yield f'{value!r:.60}, expected an object such as {{"words": […], "entities": […]}}'
        return
    if isinstance(value.get("reason"), str):
        yield 'it has a "reason": this seems to be a file of rejects, expected a corpus without this key'
        return
    if value.keys().isdisjoint(("words", "tokens")) and len(value.keys() - _SHAPES.keys()) > 1:
        keys = ", ".join(map(repr, value))
        expected = 'expected "words" with "entities" or "tags", or "text" with "label": [[start, end, type], …]'
        yield f"its keys are {keys:.60}, {expected}"
        return
    for key, content in value.items():
        if key not in _SHAPES:
            yield f'there is no key "{key}"; {did_you_mean(key, _SHAPES)}'
        elif not _SHAPES[key][0](content):
            yield f'"{key}" is {content!r:.60}, expected {_SHAPES[key][1]}'
    if ("words" in value) is ("tokens" in value):
        yield 'expected exactly one of "words" and "tokens"'
    if len(value.keys() & {"entities", *_TAGS}) > 1:
        yield f"expected only one of {', '.join(('entities', *_TAGS))}"


def _entities_of(value: Object) -> tuple[Entity, ...]:
    return tuple([Entity(**entity) for entity in value.get("entities", ())])


def _words(value: Object) -> list[str]:
    words: list[str] = value["words"] if "words" in value else value["tokens"]
    return words


def _built(
    value: Object, words: Sequence[str], id: str, entities: tuple[Entity, ...], language: str, line: int
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
        raise BrokenError(*issues_in(error, line)) from None


def _remains(value: Object | None, given: Any) -> Sentence:
    """A broken sentence for the rejects: its words with their tags as a column, or its line as it is."""
    try:
        if value is not None:
            columns = tuple(tuple(value[key]) for key in _TAGS if key in value)
            return Sentence(tuple(_words(value)), columns=columns)
    except DataError:
        pass
    return unread(given)


def to_object(sentence: Sentence) -> Object:
    """A sentence as JSON values; what is empty is left out."""
    value: Object = {"id": sentence.id, "words": list(sentence.words)}
    if sentence.language:
        value["language"] = sentence.language
    value["entities"] = [_entity_object(entity) for entity in sentence.entities]
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
        value["offsets"] = [list(offset) for offset in sentence.offsets]
    return value


def _entity_object(entity: Entity) -> Object:
    value: Object = {"start": entity.start, "end": entity.end, "type": entity.type}
    return value if entity.score is None else {**value, "score": entity.score}


class JsonlWriter(Writer):
    """Writes every part of a sentence."""

    def encode(self, sentence: Sentence) -> str:
        """One line; raises `DataError` if a score is NaN or infinite."""
        return _line(to_object(sentence), sentence)


def reject_line(reject: Reject) -> str:
    """A reject as a line of JSONL: what is known of the sentence, and the reason."""
    value = {} if reject.sentence is None else to_object(reject.sentence)
    return _line({**value, "reason": reject.reason}, reject.sentence)


def _line(value: Object, sentence: Sentence | None) -> str:
    try:
        return ENCODER.encode(value) + "\n"
    except ValueError:
        sentence_id = sentence.id if sentence is not None and sentence.id else None
        raise DataError(
            Issue("a score is NaN or infinite, which JSON cannot hold", sentence=sentence_id),
            fix="let the method give finite scores",
        ) from None


def read_rejects(path: Path) -> Iterator[Reject]:
    """Read rejects that `reject_line` wrote; none if the file does not exist. Other lines are a `DataError`."""
    if not path.exists():
        return
    for line, text in enumerate(TextFile(path, "utf-8").lines(), start=1):
        try:
            yield _reject(text, line)
        except BrokenError as broken:
            raise DataError(
                [Issue(issue.message, str(path), issue.line) for issue in broken.issues],
                fix="let nersery write the file again",
            ) from None


def _reject(text: str, line: int) -> Reject:
    value = parsed(text, line)
    if not isinstance(value, dict) or not isinstance(value.get("reason"), str):
        raise BrokenError(Issue(f'{value!r:.60}, expected a sentence with a "reason"', line=line, kind="no reject"))
    reason: str = value.pop("reason")
    if not value:
        return Reject(reason)
    _check(value, line)
    return Reject(reason, _built(value, _words(value), value.get("id", ""), _entities_of(value), "", line))


def _begins(start: Beginning) -> bool:
    first = start.lines[0] if start.lines else ""
    return start.extension == ".jsonl" or (first.startswith("{") and first.rstrip(BLANKS).endswith("}"))


FORMATS = (
    Format(
        "jsonl",
        "one object on each line, lossless",
        (".jsonl",),
        JsonlSource,
        JsonlWriter,
        keeps=EVERYTHING,
        recognises=_begins,
        rank=2,
        shares_extensions=True,
    ),
)
