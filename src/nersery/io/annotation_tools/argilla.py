"""Records of Argilla. The responses that people have submitted are the labels; the suggestions of models are not.

- Argilla 2 as a dataset: columns ``Q.responses``, ``Q.responses.status`` and ``Q.suggestion`` for a question ``Q``
- Argilla 2 as JSON: ``fields``, ``responses`` with a ``value`` each, ``suggestions``, and a ``status`` of the record
- Argilla 1: ``annotation``, with labels ``[type, start, end]``, and ``prediction``
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nersery.core.errors import Issue, shown
from nersery.io.columns_and_rows.objects import BrokenError, JsonObject, wrong_object

_RESPONSES, _SUGGESTION = ".responses", ".suggestion"


def is_record(value: Any) -> bool:
    """Whether a value is a record of Argilla.

    >>> is_record({"text": "Oslo", "ner.suggestion": []}), is_record({"text": "Oslo", "label": []})
    (True, False)
    """
    if not isinstance(value, dict):
        return False
    names_parts = any(key.endswith((_RESPONSES, _SUGGESTION)) for key in value)
    return names_parts or {"fields", "responses"} <= value.keys() or {"annotation_agent", "prediction"} <= value.keys()


def from_record(value: JsonObject, line: int, *, labelled: bool) -> JsonObject:
    """The text of a record, with its labels under ``label``.

    Raises:
        BrokenError: If ``labelled`` requires labels and nobody has submitted any, or it is not clear which count.
    """
    if "annotation_agent" in value:
        answers = {"annotation": [] if value.get("status") == "Discarded" else [_with_names(value.get("annotation"))]}
    else:
        all_answers = _all(value, line)
        answers = {name: [answer for status, answer in given if status == "submitted"] for name, given in all_answers}
    answers = {name: [*filter(_are_labels, given)] for name, given in answers.items()}
    if len(names := [name for name, given in answers.items() if any(given)]) > 1:
        message = f"labels are answers to {' and '.join(names)} in Argilla, expected one question"
        raise BrokenError(Issue(message, line=line, kind="several questions"))
    label_lists = answers[names[0]] if names else [[] for given in answers.values() if given][:1]
    if not label_lists and labelled:
        message = "nobody has submitted labels for this Argilla record; model suggestions are not read"
        raise BrokenError(Issue(message, line=line, kind="not annotated", fixes=("submit responses in Argilla",)))
    fix = "keep one submitted response for each record"
    return {**_fields(value, line), "label": agreed(label_lists or [[]], "responses in Argilla", line, fix)}


def agreed(label_lists: Sequence[list[Any]], description: str, line: int, fix: str) -> list[Any]:
    """The labels that several people have given. Raise `BrokenError` if they differ."""
    if any(sorted(map(str, other)) != sorted(map(str, label_lists[0])) for other in label_lists[1:]):
        message = f"{len(label_lists)} {description} that differ, expected one"
        raise BrokenError(Issue(message, line=line, kind="annotations differ", fixes=(fix,)))
    return label_lists[0]


def _all(value: JsonObject, line: int) -> list[tuple[str, list[tuple[Any, Any]]]]:
    """The responses to each question of Argilla 2, as status and answer. JSON only says if the record is completed."""
    if isinstance(responses := value.get("responses"), dict):
        default = "submitted" if value.get("status") in (None, "completed") else None
        return [
            (name, [(given.get("status", default), given.get("value")) for given in values if isinstance(given, dict)])
            for name, values in responses.items()
            if isinstance(values, list)
        ]
    columns = [(key, values) for key, values in value.items() if key.endswith(_RESPONSES) and isinstance(values, list)]
    return [(key, [*zip(_statuses(value, key, line), values, strict=True)]) for key, values in columns]


def _statuses(value: JsonObject, key: str, line: int) -> list[Any]:
    """The status of each response in a column."""
    name, count = f"{key}.status", len(value[key])
    statuses = value.get(name)
    if statuses is None:
        return [None] * count
    if not isinstance(statuses, list) or len(statuses) != count:
        raise wrong_object(line, f'"{name}" is {shown(statuses)}, expected a list with the status of each response')
    return statuses


def _are_labels(answer: Any) -> bool:
    """Whether an answer labels parts of a text. Other answers choose, rate, rank or write."""
    return answer == [] or (isinstance(answer, list) and any(isinstance(a, dict) and "start" in a for a in answer))


def _with_names(annotation: Any) -> Any:
    """The labels of Argilla 1 in the form of Argilla 2."""
    if not isinstance(annotation, list) or not all(isinstance(label, list) and len(label) == 3 for label in annotation):
        return annotation
    return [{"start": start, "end": end, "label": type_} for type_, start, end in annotation]


def _fields(value: JsonObject, line: int) -> JsonObject:
    """The fields of a record that describe its text. If there is only one text, it is under ``text``."""
    fields = value.get("fields", value)
    if not isinstance(fields, dict):
        raise wrong_object(line, f'"fields" is {shown(fields)}, expected an object with the text')
    texts = [key for key, content in fields.items() if isinstance(content, str)]
    if "fields" in value and len(texts) == 1:
        return {"id": value.get("id"), "text": fields[texts[0]]}
    known = ("id", "language", "text", "data", "sentence", "content")
    return {key: fields[key] for key in known if key in fields}
