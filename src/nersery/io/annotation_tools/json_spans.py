"""Texts with character spans in JSON, as doccano, Prodigy, Label Studio and spaCy use them.

An object has a ``text`` and a list of labels under ``label``, ``labels``, ``entities``, ``spans`` or any other key. A
label is ``[start, end, type]``, or an object with ``start``, ``start_offset`` or ``begin``, ``end`` or ``end_offset``,
and ``label``, ``labels`` or ``type``; it may repeat its ``text``. Pairs ``["text", {"entities": […]}]``, tasks of
Label Studio (``data`` and ``annotations``), records of `argilla` and the forms in `json_forms` are read too. Prodigy's
``tokens`` are the words; otherwise the text is tokenized. Objects are one per line, in an array, or in lists in an
object. Other keys except ``id``, ``language`` and nersery's own ``meta`` are ignored, but values that seem to be labels
in another form are an error. The output is doccano's format: ``text`` and ``label``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nersery.core.errors import Issue, shown
from nersery.core.sentence import Sentence
from nersery.io.annotation_tools.answers import SEVERAL, Answers, issue_of_unannotated, note_if_unannotated
from nersery.io.annotation_tools.argilla import from_record, is_record
from nersery.io.annotation_tools.json_forms import (
    ENDS,
    LABEL_KEYS,
    STARTS,
    TYPES,
    counts_last,
    has_parts,
    has_text,
    holds_texts,
    inner_label,
    is_in_pieces,
    is_label,
    is_pair,
    normalized_object,
    seeming_label,
    texts_in,
)
from nersery.io.annotation_tools.label_studio import from_task
from nersery.io.annotation_tools.labelled_text import CharacterSpan, Document, LabelledSpan
from nersery.io.annotation_tools.standoff import StandoffSource, splits_alike, strict_layout
from nersery.io.base import Findings, Writer, unreadable_sentence
from nersery.io.columns_and_rows.json_files import first_value, layout_of, values_of
from nersery.io.columns_and_rows.objects import BrokenError, JsonObject, is_integer_pair, parsed, wrong_object
from nersery.io.columns_and_rows.rows import holds_words
from nersery.io.formats import FileHead, Format
from nersery.io.temporary_tables.ids import SeenIds

ARRAYS = (".json", ".jsonl", "")
"""Extensions of files that may be one array."""
OTHER_PLACES = ("tokens", "relations", "sents", "sentences", "segments", "paragraphs", "chunks")
"""Keys of lists with positions in the text that are not labels."""
SOURCE: Mapping[str, type] = {"id": str, "language": str, "document": str, "start": int, "words": list}
"""The keys under ``meta`` from which a sentence is restored, and the types of their values."""
REFUSALS = ("reject", "ignore")
"""Answers in Prodigy that forbid using the labels of a text."""
LAST_CHARACTERS = "texts in which the end of a label is its last character, as the texts of the labels show: {}"
WRONG = 'labels left out, because a reviewer has marked them as wrong ("correct": false): {}'
ASCII_ENCODER = json.JSONEncoder(allow_nan=False)
"""doccano 1.8.4 guesses the encoding of a file, and an emoji makes it guess wrong."""
EXPECTED = 'a "text" with "label": [[start, end, type], …], or a task of Label Studio'
EXPECTED_LABEL = "[start, end, type], or an object with start, end and label; start and end are whole numbers"


def holds_spans(line: str) -> bool | None:
    """Whether a line is an object with a text, and with no words or tags; None if it cannot be read or has neither."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return is_pair(value) or None
    if value.keys() & {"words", "tags", "ner_tags"}:
        return False
    if is_record(value):
        return True
    tokens = value.get("tokens")
    if isinstance(tokens, list) and any(isinstance(token, str) for token in tokens):
        return False
    if isinstance(value.get("text"), list):
        return False
    has_any = "text" in value or has_text(value) or isinstance(value.get("data"), dict)
    return has_any or is_in_pieces(value) or holds_texts(value) or None


class SpansSource(StandoffSource):
    """Sentences from texts with labels by characters, in JSON."""

    return_hint = (
        r"""convert the line ends: jq -c 'walk(if type == "string" then gsub("\r"; "\n") else . end)' old > new"""
    )

    @property
    def description(self) -> str:
        """The format, and what is left out of the first object: values that are neither text nor labels."""
        if (first := next(values_of(self.file), None)) is None:
            return "spans of text, empty"
        left_out = f", left out: {', '.join(keys)}" if (keys := _left_out(first)) else ""
        return f"spans of text{left_out}"

    def documents(self, findings: Findings) -> Iterator[Document]:
        number, written_ids, answers = 0, SeenIds(), Answers()
        for line, given in values_of(self.file):
            try:
                value = parsed(given, line)
            except BrokenError as broken:
                number += 1
                findings.record_broken(f"{self.file.stem}:{number}", broken.issues, unreadable_sentence(given))
                continue
            in_lists = isinstance(given, str) and holds_texts(value)
            for at, entry in texts_in(given, given.index("{")) if in_lists else [(1, value)]:
                number += 1
                yield from self._documents(
                    entry, f"{self.file.stem}:{number}", line + at - 1, findings, written_ids, answers
                )

    def _documents(
        self, value: Any, id: str, line: int, findings: Findings, written_ids: SeenIds, answers: Answers
    ) -> Iterator[Document]:
        try:
            value = {"text": value[0], **value[1]} if is_pair(value) else value
            if not isinstance(value, dict):
                raise wrong_object(line, f"{shown(value)}, expected {EXPECTED}")
            id = _id(value) or id
            if answers.is_known(value, line):
                return
            written = str(_written(value).get("id", ""))
            if written and written_ids.add(written, line) is not None:  # another annotation of the same task
                written = ""
            id = written or id
            if (answer := value.get("answer")) in REFUSALS:
                findings.skip(id, f"answered {answer}", _refused(value, line))
            else:
                value, wrong = _without_wrong(value)
                findings.noted += Counter({WRONG: wrong, SEVERAL: int(answers.begins_several(value, line))})
                document = _document(value, id, line, labelled=self.labelled, split=self.options.split)
                if self.labelled and not document.spans and (doubt := note_if_unannotated(value)):
                    findings.noted[doubt] += 1
                if any(span.written for span in document.spans):
                    findings.noted[LAST_CHARACTERS] += 1
                yield document
        except BrokenError as broken:
            findings.record_broken(id, broken.issues, unreadable_sentence(value))


def _left_out(first: tuple[int, Any]) -> list[str]:
    """The keys of an object whose values the user may miss, such as ids. Keys that begin with ``_`` are a tool's."""
    line, given = first
    try:
        value = parsed(given, line)
        if not isinstance(value, dict):
            return []
        is_task = isinstance(value.get("data"), dict)
        text = (from_task(value, line, labelled=False) if is_task else normalized_object(value)).get("text")
    except BrokenError:  # `documents` reports what is wrong
        return []
    if text is None:
        return []
    values, prefix = (value["data"], "data.") if is_task else (value, "")
    known = () if is_task else ("id", "language", "answer")
    plain = {key: content for key, content in values.items() if type(content) in (str, int, float) and content != text}
    return [f"{prefix}{key}" for key in plain if key not in known and not key.startswith("_")]


def _refused(value: JsonObject, line: int) -> Sentence:
    """The text of a refused answer for the rejects, with its labels as comments, if they can be read."""
    labels = value.get("spans")
    try:
        spans = [span for label in labels for span in _spans(label, line)] if isinstance(labels, list) else []
    except BrokenError:
        spans = []
    return unreadable_sentence(str(value.get("text", "")), [f"# label: {span}" for span in spans])


def _written(value: JsonObject) -> JsonObject:
    """What nersery wrote into a task about its sentence; see `tool_exports`."""
    holder = value["data"] if isinstance(value.get("data"), dict) else value
    meta: Any = holder.get("meta")
    if not isinstance(meta, dict) or "id" not in meta or not meta.keys() <= SOURCE.keys():
        return {}
    return meta if all(type(content) is SOURCE[key] for key, content in meta.items()) else {}


def _id(value: JsonObject) -> str:
    """The id of an object, if it is a text or a number; otherwise empty."""
    id = value.get("id")
    return str(id) if isinstance(id, str | int) and not isinstance(id, bool) else ""


def _document(value: JsonObject, id: str, line: int, *, labelled: bool, split: str | None) -> Document:
    """The document of an object. Raise `BrokenError` if it is none, or with ``labelled`` if it is unannotated."""
    written = _written(value)
    if isinstance(value.get("data"), dict):
        value = from_task(value, line, labelled=labelled)
    else:
        value = normalized_object(from_record(value, line, labelled=labelled) if is_record(value) else value)
    text = value.get("text")
    if text is None and "paragraphs" in value:
        fix = "make a DocBin of it: spacy convert"
        message = "this is training data of spaCy 2, which cannot be read"
        raise BrokenError(Issue(message, line=line, kind="data of spaCy 2", fixes=(fix,)))
    if text is None:
        raise wrong_object(line, f'no "text" beside {", ".join(map(repr, value)) or "nothing"}, expected {EXPECTED}')
    if not isinstance(text, str):
        raise wrong_object(line, f'"text" is {shown(text)}, expected {EXPECTED}')
    if value.get("_is_binary") is True:
        message = "its answer is about a single label, expected all labels of the text"
        raise BrokenError(Issue(message, line=line, kind="a single label judged"))
    if labelled and (issue := issue_of_unannotated(value, line)):
        raise BrokenError(issue)
    labels = [(label, span) for label in _labels(value, line, labelled=labelled) for span in _spans(label, line)]
    spans = [span for _, span in labels]
    if counts_last(text, labels):
        spans = [replace(span, end=span.end + 1, written=(span.start, span.end)) for span in spans]
    language = value.get("language", written.get("language"))
    if not isinstance(language, str | None):
        raise wrong_object(line, f'"language" is {shown(language)}, expected a BCP 47 tag such as en or hi')
    source = (written["document"], written.get("start", 0)) if "document" in written else None
    offsets = _offsets(value.get("tokens"), text, line)
    if offsets is None and not split:
        offsets = _written_offsets(written.get("words", []), text)
    return Document(id, text, spans, line, offsets, language, source=source)


def _labels(value: JsonObject, line: int, *, labelled: bool) -> Sequence[Any]:
    """The labels as they are; none if there is no key for them, as in unlabelled text.

    Raises:
        BrokenError: If two keys have labels, or if no key has any, but one seems to have some in an unknown form.
    """
    labels_by_key = {key: value[key] for key in LABEL_KEYS if value.get(key) not in (None, [])}
    labels_by_key = {key: content for key, content in labels_by_key.items() if labelled or has_parts(content)}
    lists = {key: content for key, content in value.items() if isinstance(content, list) and "suggestion" not in key}
    lists = {key: items for key, items in lists.items() if any(map(is_label, items))}
    labels_by_key |= {key: items for key, items in lists.items() if key != "tokens" or not _are_tagged_words(items)}
    if len(labels_by_key) > 1:
        raise wrong_object(line, f"labels are under {' and '.join(labels_by_key)}, expected one of them")
    for key, labels in labels_by_key.items():
        if not isinstance(labels, list):
            raise wrong_object(line, f'"{key}" is {shown(labels)}, expected a list of labels, each {EXPECTED_LABEL}')
        return labels
    if not any(isinstance(value.get(key), list) for key in LABEL_KEYS):  # an empty list says that there are no labels
        _refuse_other_forms(value, line)
    return ()


def _refuse_other_forms(value: JsonObject, line: int) -> None:
    """Raise `BrokenError` for labels in an unknown form, without which the text would seem to have no entities."""
    seeming = ((key, (inner_label if key in OTHER_PLACES else seeming_label)(part)) for key, part in value.items())
    for key, item in ((key, item) for key, item in seeming if item is not None):
        fix = f'write these labels as "label": [[start, end, type], …]; if "{key}" has no labels, remove it'
        message = f'"{key}" has {shown(item)}, which seems to be a label, expected {EXPECTED_LABEL}'
        raise BrokenError(Issue(message, line=line, kind="labels of unknown form", fixes=(fix,)))


def _spans(label: Any, line: int) -> Iterator[LabelledSpan]:
    """A label, or one for each type if it has several."""
    if isinstance(label, list) and _is_triple(label):
        (start, end, types), text = label[:3], None
    else:
        values = label if isinstance(label, dict) else {}
        start, end, types = (next((values[k] for k in keys if k in values), None) for keys in (STARTS, ENDS, TYPES))
        text = values.get("text")
    types = types if isinstance(types, list) and types else [types]
    right = type(start) is int and type(end) is int and all(isinstance(type_, str) for type_ in types)
    if not right or not isinstance(text, str | None):
        raise wrong_object(line, f"a label is {shown(label)}, expected {EXPECTED_LABEL}")
    yield from (LabelledSpan(start, end, type_, line, text) for type_ in types)


def _are_tagged_words(tokens: Sequence[Any]) -> bool:
    """Whether tokens are those of spaCy's ``Doc.to_json``, whose ``tag`` is a part of speech."""
    return all(isinstance(token, dict) and {"id", "tag"} <= token.keys() for token in tokens)


def _is_triple(label: Sequence[Any]) -> bool:
    """Whether a list begins with start, end and type.

    spaCy may write an empty id after them, and spacy-ner-annotator a number and a colour. A single name there may be
    the type, and the value before it the mention.
    """
    has_name = len(label) == 4 and isinstance(label[3], str) and bool(label[3])
    return len(label) > 2 and not has_name


def _without_wrong(value: JsonObject) -> tuple[JsonObject, int]:
    """An object without the labels that a reviewer in LightTag marked as wrong, and the number of these labels."""
    lists = {key: content for key, content in value.items() if isinstance(content, list)}
    right = {key: [label for label in content if not _is_wrong(label)] for key, content in lists.items()}
    return value | right, sum(map(len, lists.values())) - sum(map(len, right.values()))


def _is_wrong(label: Any) -> bool:
    return isinstance(label, dict) and label.get("correct") is False and is_label(label)


def _offsets(tokens: Any, text: str, line: int) -> list[CharacterSpan] | None:
    """The words in Prodigy's tokens. Tokens of white space are not words, and may have wrong positions."""
    if tokens is None:
        return None
    try:
        blank = [token for token in tokens if _is_blank(token.get("text"))]
        filled = [token for token in tokens if not _is_blank(token.get("text"))]
        offsets = [(token["start"], token["end"]) for token in filled]
        if not all(type(border) is int for place in offsets for border in place):
            raise TypeError
    except (TypeError, LookupError, AttributeError):
        raise wrong_object(line, '"tokens" are expected to be objects with text, start and end') from None
    words = [place for place in offsets if text[slice(*place)].strip()]
    if not _are_words(words, text):
        placed = (token for token in (*filled, *blank) if is_integer_pair([token.get("start"), token.get("end")]))
        odd = next((token for token in placed if text[token["start"] : token["end"]] != token.get("text")), None)
        seen = ""
        if odd is not None:
            seen = f", e.g. {shown(odd, 90)}, where the text has {shown(text[odd['start'] : odd['end']], 40)}"
        raise wrong_object(line, f'"tokens" are not all words of the text, in order{seen}')
    return words


def _is_blank(text: Any) -> bool:
    return isinstance(text, str) and text != "" and not text.strip()


def _written_offsets(pairs: Sequence[Any], text: str) -> list[CharacterSpan] | None:
    """The words that nersery wrote into a task; None if another tool wrote them, or the text was changed."""
    offsets = [(pair[0], pair[1]) for pair in pairs if is_integer_pair(pair)]
    return offsets if offsets and len(offsets) == len(pairs) and _are_words(offsets, text) else None


def _are_words(offsets: Sequence[CharacterSpan], text: str) -> bool:
    """Whether these offsets are those of all words of a text, in order."""
    borders = [0, *(border for place in offsets for border in place), len(text)]
    between = [text[end:start] for end, start in zip(borders[::2], borders[1::2], strict=True)]
    return borders == sorted(borders) and not any(gap.strip() for gap in between)


class SpansWriter(Writer):
    """Writes doccano's format: one object per line with the text, words joined by spaces, and its labels.

    ``tokens`` are added, as in Prodigy, if tokenizing the text would give other words. Scores, origin, columns and
    comments are lost.
    """

    def encode(self, sentence: Sentence) -> str:
        text, offsets = strict_layout(sentence)
        label = [[offsets[start][0], offsets[end - 1][1], type_] for start, end, type_ in sentence.labels]
        value: JsonObject = {"id": sentence.id, "text": text, "label": label, "language": sentence.language or None}
        value["tokens"] = None  # doccano refuses files in which lines have different keys
        if not splits_alike(text, sentence):
            words = zip(sentence.words, offsets, strict=True)
            value["tokens"] = [
                {"text": word, "start": start, "end": end, "id": n} for n, (word, (start, end)) in enumerate(words)
            ]
        return f"{ASCII_ENCODER.encode(value)}\n"


def _recognises(head: FileHead) -> bool:
    """Whether the first line with a text or words holds a text with labels, or the file is an array of such texts."""
    holds = next((holds for holds in map(holds_spans, head.lines) if holds is not None), False)
    if holds or head.extension not in ARRAYS or (layout := layout_of(head.file)) == "lines":
        return holds
    value = first_value(head.file)
    if layout == "object":
        return isinstance(value, dict) and (has_text(value) or is_in_pieces(value) or holds_texts(value))
    return not holds_words(value) or holds_spans(json.dumps(value)) is True


FORMATS = (
    Format(
        "spans",
        "labels by characters in JSON: doccano, Prodigy, Label Studio",
        reader=SpansSource,
        writer=SpansWriter,
        recognises=_recognises,
        rank=1,
    ),
)
