"""Converts other forms of JSON with texts and labels to the one that `json_spans` reads.

These are the forms of Flair, PubAnnotation, Rasa, LUIS, Azure, Snips, Dialogflow, Dataturks and CLUENER, and of data
sets whose labels have their offsets under ``span`` or ``pos``. In Dataturks, CLUENER and LUIS, a label ends at its last
character. The first two repeat the covered text, so that a label is never read one character short.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from nersery.core.tags import OUTSIDE, looks_like_tag
from nersery.io.annotation_tools.argilla import is_record
from nersery.io.annotation_tools.labelled_text import LabelledSpan
from nersery.io.columns_and_rows.objects import JsonObject, array_values, inner_values, is_integer_pair

TEXTS = ("text", "data", "sentence", "content", "originalText")
"""Keys of a text; ``data`` is an object in Label Studio."""
LABEL_KEYS = ("label", "labels", "entities", "spans")
ANNOTATIONS = ("annotations", "completions")
STARTS = ("start", "start_offset", "begin", "start_char", "startOffset", "start_pos", "start_idx", "start_index")
ENDS = ("end", "end_offset", "end_char", "endOffset", "end_pos", "end_idx", "end_index")
TYPES = ("label", "labels", "type", "entity_type", "tag", "category", "label_type")
_START_KEY, _END_KEY = re.compile("start|begin|offset", re.IGNORECASE), re.compile("end|stop|length", re.IGNORECASE)
_PLACE_KEY = re.compile("span|pos|offset|range|location", re.IGNORECASE)


def has_text(value: JsonObject) -> bool:
    """Whether an object has a text under any of the known keys."""
    return any(isinstance(value.get(key), str) for key in TEXTS)


def is_pair(value: Any) -> bool:
    """Whether a value is a text and an object with its labels, as in spaCy's examples."""
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict)


def holds_texts(value: Any) -> bool:
    """Whether an object without a text of its own holds texts, such as ``annotations`` beside ``classes``.

    >>> holds_texts({"classes": ["LOC"], "annotations": [["Oslo", {"entities": [[0, 4, "LOC"]]}]]})
    True
    """
    if not isinstance(value, dict) or has_text(value) or value.keys() & {"words", "tokens"} or is_record(value):
        return False
    if is_in_pieces(value) or (isinstance(value.get("data"), dict) and value.keys() & {*ANNOTATIONS, "predictions"}):
        return False  # a sentence of Snips, or a task of Label Studio
    return any(_is_labelled(content) or _are_texts(content) or holds_texts(content) for content in value.values())


def texts_in(text: str, at: int = 0) -> Iterator[tuple[int, Any]]:
    """All items in the lists of texts of such an object, from its JSON, with their lines from 1."""
    line, before = text.count("\n", 0, at) + 1, at
    for position, content in inner_values(text, at):
        line, before = line + text.count("\n", before, position), position
        if _are_texts(content):
            yield from array_values(text, position, "", is_all=False)
        elif _is_labelled(content):
            yield line, content
        elif holds_texts(content):
            yield from texts_in(text, position)


def _are_texts(content: Any) -> bool:
    """Whether some items of a list are texts, or hold texts, which makes them broken, so that they are noticed."""
    known = (is_pair, _is_text, is_in_pieces, holds_texts)
    return isinstance(content, list) and any(is_known(item) for item in content for is_known in known)


def _is_text(value: Any) -> bool:
    """Whether a value is an object with a text that is not a mention in another text."""
    if not isinstance(value, dict) or not has_text(value):
        return False
    return not _has_offsets(value) or any(isinstance(content, list) for content in value.values())


def _is_labelled(value: Any) -> bool:
    return isinstance(value, dict) and has_text(value) and any(isinstance(value.get(key), list) for key in LABEL_KEYS)


def normalized_object(value: JsonObject) -> JsonObject:
    """An object with its text under ``text``, and with labels in objects with ``start``, ``end``, ``label``, ``text``.

    Values of another form stay as they are.
    """
    if is_in_pieces(value):
        value = _joined(value)
    text_keys = [key for key in TEXTS if isinstance(value.get(key), str)]
    if "text" not in value and len(text_keys) == 1:
        value = {"text" if key == text_keys[0] else key: content for key, content in value.items()}
    return {key: _normalized_value(content) for key, content in value.items()}


def is_in_pieces(value: Any) -> bool:
    """Whether an object has a text in pieces under ``data``, some with a type, as in Snips and Dialogflow."""
    pieces = value.get("data") if isinstance(value, dict) else None
    if not isinstance(pieces, list) or not pieces or not all(isinstance(piece, dict) for piece in pieces):
        return False
    if any(not isinstance(piece.get("text"), str) or list in map(type, piece.values()) for piece in pieces):
        return False
    return len(pieces) == 1 or any(isinstance(_type_of_piece(piece), str) for piece in pieces)


def _type_of_piece(piece: JsonObject) -> Any:
    return piece.get("entity", piece.get("alias"))


def _joined(value: JsonObject) -> JsonObject:
    """The text of all pieces, and a label for each that has a type."""
    text, labels = "", []
    for piece in value["data"]:
        end = len(text) + len(piece["text"])
        if isinstance(type_ := _type_of_piece(piece), str):
            labels.append([len(text), end, type_])
        text += piece["text"]
    return {key: content for key, content in value.items() if key != "data"} | {"text": text, "spans": labels}


def _normalized_value(content: Any) -> Any:
    if isinstance(content, list):
        return [label for item in content for label in _normalized_label(item)]
    return _of_types(content) if isinstance(content, dict) else content


def _of_types(content: JsonObject) -> Any:
    """The labels of CLUENER, ``{type: {mention: [[first, last], …]}}``."""
    mentions = [(type_, mention) for type_, mention in content.items() if isinstance(mention, dict)]
    listed = [(t, text, places) for t, mention in mentions for text, places in mention.items()]
    triples = [(t, text, place) for t, text, places in listed if isinstance(places, list) for place in places]
    if len(mentions) < len(content) or not triples or not all(is_integer_pair(place) for *_, place in triples):
        return content
    return [{"start": first, "end": last + 1, "label": type_, "text": text} for type_, text, (first, last) in triples]


def _normalized_label(label: Any) -> Iterator[Any]:
    """A label, or, in Dataturks, one for each of its points."""
    if not isinstance(label, dict):
        yield label
        return
    points = label.get("points")
    place: Any = label.get("span", label.get("pos"))
    if isinstance(place, dict):
        place = [place.get("begin"), place.get("end")]
    if isinstance(points, list) and points and all(isinstance(point, dict) for point in points):
        for point in points:
            last = point.get("end")
            end = last + 1 if type(last) is int else last
            yield {"start": point.get("start"), "end": end, "label": label.get("label"), "text": point.get("text")}
    elif is_integer_pair(place):
        type_ = next((label[key] for key in ("type", "label", "obj") if key in label), None)
        yield {"start": place[0], "end": place[1], "label": type_, "text": label.get("name", label.get("text"))}
    elif {"start", "end", "value", "entity"} <= label.keys():  # of Rasa, where a value may be a synonym
        yield {"start": label["start"], "end": label["end"], "label": label["entity"]}
    elif {"startPos", "endPos", "entity"} <= label.keys() and type(label["endPos"]) is int:  # of LUIS
        yield {"start": label["startPos"], "end": label["endPos"] + 1, "label": label["entity"]}
    elif type(label.get("offset")) is int and type(label.get("length")) is int:  # of Azure
        yield label | {"start": label["offset"], "end": label["offset"] + label["length"]}
    else:
        yield label


def counts_last(text: str, labels: Sequence[tuple[Any, LabelledSpan]]) -> bool:
    """Whether each label ends at its last character. The mentions that labels repeat under any key show this.

    >>> counts_last("In Oslo .", [({"type": "LOC", "entity": "Oslo"}, LabelledSpan(3, 6, "LOC", 1))])
    True
    """
    short = long = 0
    for label, span in labels:
        values = label.values() if isinstance(label, dict) else ()
        repeated = {value.strip() for value in values if isinstance(value, str)} - {span.type}
        short += span.start < span.end and text[span.start : span.end] in repeated
        long += text[span.start : span.end + 1] in repeated
    return long > 0 and not short


def is_label(value: Any) -> bool:
    """Whether a value looks like a label, whatever its key."""
    if isinstance(value, list):
        return len(value) == 3 and [*map(type, value)] == [int, int, str]
    return isinstance(value, dict) and all(value.keys() & {*keys} for keys in (STARTS, ENDS, TYPES))


def has_parts(labels: Any) -> bool:
    """Whether labels are more than words or numbers, unlike the classes of a whole text."""
    return any(isinstance(label, list | dict) for label in (labels if isinstance(labels, list) else [labels]))


def seeming_label(content: Any) -> Any:
    """The first apparent label in a list, in an object at any depth, or as a word's tag; None if there is none.

    >>> seeming_label({"entities": [[0, 4, "LOC"]]}), seeming_label({"LOC": [[0, 4]]}), seeming_label({"start": 0})
    ([0, 4, 'LOC'], {'LOC': [[0, 4]]}, None)
    """
    if isinstance(content, list):
        are_tags = OUTSIDE in content and all(isinstance(tag, str) and looks_like_tag(tag) for tag in content)
        return next((item for item in content if are_tags or _seems_label(item)), None)
    if not isinstance(content, dict):
        return None
    if is_label(content) or (content and all(map(_are_integer_pairs, content.values()))):
        return content
    return next((label for inner in content.values() if (label := seeming_label(inner)) is not None), None)


def inner_label(content: Any) -> Any:
    """The first value below sentences or words that represents an entity; None if there is none.

    It is an object with a tag under ``ner``, as in Trankit's output, or a label in a list of labels.

    >>> inner_label([{"tokens": [{"text": "Oslo", "ner": "S-LOC"}]}]), inner_label([{"text": "Oslo"}])
    ({'text': 'Oslo', 'ner': 'S-LOC'}, None)
    """
    if isinstance(content, dict):
        if isinstance(content.get("ner"), str):
            return content
        lists = [content[key] for key in LABEL_KEYS if isinstance(content.get(key), list)]
        if label := next((label for labels in lists for label in labels if is_label(label)), None):
            return label
        content = [*content.values()]
    inner = map(inner_label, content) if isinstance(content, list) else ()
    return next((label for label in inner if label is not None), None)


def _seems_label(value: Any) -> bool:
    """Whether a value has two positions and, in a list, a text, like labels of any form, or is a list with one."""
    if isinstance(value, list):
        types = [*map(type, value)]
        return (str in types and types.count(int) > 1) or any(map(_seems_label, value))
    if not isinstance(value, dict):
        return False
    inner = [part for content in value.values() for part in (content if isinstance(content, list) else [content])]
    places = [content for key, content in value.items() if _PLACE_KEY.search(key)]
    if any(is_integer_pair(place) or _are_integer_pairs(place) for place in places):
        return True
    return any(_has_offsets(part) for part in (value, *inner) if isinstance(part, dict))


def _are_integer_pairs(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(map(is_integer_pair, value))


def _has_offsets(value: JsonObject) -> bool:
    integer_keys = [key for key, number in value.items() if type(number) is int]
    return any(map(_START_KEY.search, integer_keys)) and any(map(_END_KEY.search, integer_keys))
