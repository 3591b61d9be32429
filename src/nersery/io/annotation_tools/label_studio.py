"""Tasks of Label Studio: the text in their ``data``, and the labels of the annotation that counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nersery.core.errors import Issue, shown
from nersery.io.annotation_tools.argilla import agreed
from nersery.io.annotation_tools.json_forms import ANNOTATIONS
from nersery.io.annotation_tools.labelled_text import whitespace_tokens
from nersery.io.columns_and_rows.objects import BrokenError, JsonObject, is_integer_pair, wrong_object

_PARTS = ("start", "end", "labels")
"""What the value of each label has."""
_PLAIN_TEXT = "label the text under <Text> in Label Studio, not under <HyperText>, where places count within HTML"
_COMPLETE = "give each marked text a type in Label Studio, or delete the mark, and export again"


def from_task(task: JsonObject, line: int, *, labelled: bool) -> JsonObject:
    """The text and the labels of a task of Label Studio. An unannotated one has none, or is broken if ``labelled``."""
    completed: list[Any] = next((task[key] for key in ANNOTATIONS if isinstance(task.get(key), list)), [])
    completed = [item for item in completed if isinstance(item, dict) and not item.get("was_cancelled")]
    completed = [item for item in completed if item.get("ground_truth")] or completed
    if not completed and labelled:
        but = ": it has only predictions" if task.get("predictions") else ""
        fix = "accept or correct them in Label Studio, and export again" if but else "annotate it"
        raise BrokenError(Issue(f"nobody has annotated this task{but}", line=line, kind="not annotated", fixes=(fix,)))
    label_lists = [_of_results(item, line) for item in completed] or [[]]
    labels = agreed(label_lists, "annotations", line, "keep the right annotation, or mark it as ground truth")
    return {"text": _text_of(task["data"], labels, line), "spans": labels}


def _of_results(annotation: JsonObject, line: int) -> list[JsonObject]:
    """The labels that somebody has given. Choices, relations and the like are left out."""
    if "result" not in annotation:
        raise wrong_object(line, 'the annotation has no "result", expected a list of labels')
    results = [] if annotation["result"] is None else annotation["result"]
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise wrong_object(line, f'"result" is {shown(results)}, expected a list of labels')
    labels = [*filter(_is_label, results)]
    known = {str(result.get("id", "")) for result in labels}
    with_places = (result for result in results if {"start", "end"} <= _value(result).keys())
    others = (result for result in with_places if not _is_label(result) and str(result.get("id", "")) not in known)
    if other := next(others, None):
        message = f'a label is of the kind "{other.get("type")}", expected "labels" over plain text'
        raise wrong_object(line, message, fixes=(_PLAIN_TEXT if _in_html(other) else _COMPLETE,))
    if len(texts := {str(result["to_name"]) for result in labels if "to_name" in result}) > 1:
        listed = ", ".join(sorted(texts))
        raise wrong_object(line, f"labels belong to {len(texts)} texts ({listed}), expected one text per task")
    for label in labels:
        _refuse_incomplete(label, line)
    return [{key: _value(result).get(key) for key in (*_PARTS, "text")} for result in labels]


def _is_label(result: JsonObject) -> bool:
    return result.get("type") == "labels" or "labels" in _value(result)


def _refuse_incomplete(label: JsonObject, line: int) -> None:
    """Raise `BrokenError` for a label without its position or type."""
    if "value" not in label:
        raise wrong_object(line, f'a label has no "value": {shown(label)}, expected one with {", ".join(_PARTS)}')
    if _in_html(label):
        message = f"a label is in the HTML of a page: {shown(label['value'])}, expected characters of plain text"
        raise wrong_object(line, message, fixes=(_PLAIN_TEXT,))
    if lacking := [part for part in _PARTS if _value(label).get(part) in (None, [])]:
        message = f'the "value" of a label has no {", ".join(lacking)}: {shown(label["value"])}'
        raise wrong_object(line, message, fixes=(_COMPLETE,) if lacking == ["labels"] else ())


def _in_html(result: JsonObject) -> bool:
    """Whether a result has its place in an element of a page, as those over ``<HyperText>`` do."""
    return isinstance(_value(result).get("start"), str)


def _value(result: JsonObject) -> JsonObject:
    """What somebody has chosen or marked; empty for relations."""
    value = result.get("value")
    return value if isinstance(value, dict) else {}


def _text_of(data: JsonObject, labels: Sequence[JsonObject], line: int) -> Any:
    """The text of a task: the value of ``text``, or else the only text, or the only one that the labels fit."""
    if "text" in data:
        return data["text"]
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    if labels and all(isinstance(label["text"], str) for label in labels):
        mentions = [" ".join(whitespace_tokens(label["text"])) for label in labels]
        having = {
            key: text for key, text in texts.items() if all(m in " ".join(whitespace_tokens(text)) for m in mentions)
        }
        placed = {key: text for key, text in having.items() if all(_covers(text, label) for label in labels)}
        texts = placed or having  # an emoji may count as two characters
    elif len(data) > 1:
        texts = {}
    if len(texts) != 1:
        found = ", ".join(data) or "nothing"
        raise wrong_object(line, f'"data" has {found}, expected "text", or one text that labels fit')
    return next(iter(texts.values()))


def _covers(text: str, label: JsonObject) -> bool:
    """Whether a label covers the text that it repeats."""
    place = [label["start"], label["end"]]
    return is_integer_pair(place) and whitespace_tokens(text[slice(*place)]) == whitespace_tokens(label["text"])
