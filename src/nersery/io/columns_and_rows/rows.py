"""The keys that a row of JSONL or of a data set may have, and the issues with the keys of a row."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nersery.core.errors import beginning, did_you_mean, shown
from nersery.core.tags import looks_like_tag
from nersery.io.columns_and_rows.column_names import RARE_TAGS, RARE_WORDS, TAGS, TEXTS, WORDS
from nersery.io.columns_and_rows.objects import JsonObject, is_integer_pair, wrong_object

_ENTITY_KEYS = ({"start", "end", "type"}, {"start", "end", "type", "score"})


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and set(map(type, value)) <= {str}


def _is_finite_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _are_entities(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_entity, value))


def _is_entity(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() in _ENTITY_KEYS
        and type(value["start"]) is int
        and type(value["end"]) is int
        and isinstance(value["type"], str)
        and (value.get("score") is None or _is_finite_number(value["score"]))
    )


def _is_origin(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() <= {"method", "parents", "copy"}
        and isinstance(value.get("method"), str)
        and _are_strings(value.get("parents", []))
        and type(value.get("copy", 0)) is int
    )


_SOFT_LABEL: Mapping[str, Any] = {"word": int, "type": str, "begin": (int, float), "inside": (int, float)}


def _are_soft_labels(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(label, dict)
        and label.keys() == _SOFT_LABEL.keys()
        and all(isinstance(label[key], kind) and type(label[key]) is not bool for key, kind in _SOFT_LABEL.items())
        for label in value
    )


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


_TAGS = ("tags", "ner_tags")
_LABELS = ("entities", *_TAGS)
ROWS_OF_COLUMNS = (
    """python3 -c 'import pandas; pandas.read_json("old.json").to_json("new.jsonl", orient="records", lines=True)'"""
)
ROWS_OF_JSONL = 'map(json.loads, open("old.jsonl"))'
"""The code with which a user reads the rows of a file in Python."""
_NUMBERS = (
    'numbers must be turned into tags first, in Python by Corpus.from_dataset(rows, names=["O", "B-PER", …]), with '
    f"rows = {ROWS_OF_JSONL}"
)
_SHAPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "id": (_is_string, "a string"),
    "words": (_are_strings, "a list of strings"),
    "language": (_is_string, "a string"),
    "entities": (
        _are_entities,
        'a list of {"start": number, "end": number, "type": string}, optionally with a "score"',
    ),
    "origin": (_is_origin, '{"method": string, "parents": list of ids, "copy": number}'),
    "scores": (
        lambda value: isinstance(value, dict) and all(map(_is_finite_number, value.values())),
        "an object of finite numbers",
    ),
    "columns": (lambda value: isinstance(value, list) and all(map(_are_strings, value)), "a list of lists of strings"),
    "comments": (_are_strings, "a list of strings"),
    "soft_labels": (_are_soft_labels, 'a list of {"word": number, "type": string, "begin": number, "inside": number}'),
    "document": (_is_string, "a string"),
    "offsets": (
        lambda value: isinstance(value, list) and all(map(is_integer_pair, value)),
        "a list of [start, end], one for each word",
    ),
    "tokens": (_are_strings, "a list of strings"),
    **dict.fromkeys(_TAGS, (_are_strings, f"a list of strings such as B-PER; {_NUMBERS}")),
}
_OTHER_TAGS = frozenset(TAGS + RARE_TAGS) - {*_TAGS}
_PREFERRED_TAGS = frozenset({"labels", "label", "ner", "ner_labels"})
"""Of the other names of tags, those beside which the others are columns: ``tag`` may hold parts of speech."""
_OTHER_WORDS = tuple(name for name in (*TEXTS, *WORDS, *RARE_WORDS) if name not in ("words", "tokens"))
"""The names of lists of words in the examples of transformers and in some data sets."""
MARKS_OF_TAGS = ('tags"', *(f'"{name}"' for name in sorted(_OTHER_TAGS)))
"""Each line with tags contains one of these."""
_NATIVE = {key: check for key, (check, _) in _SHAPES.items() if key not in ("tokens", *_TAGS)}
"""The checks of the keys that nersery writes. Any of these keys may occur together."""
_MISSPELT = 0.81
"""The minimum similarity of a misspelt key to a known one of nearly the same length; ``uid`` and ``id`` have less."""


def is_native(row: Any) -> bool:
    """Whether a row has the form that nersery writes, and so no issues. Most rows do. Others need a closer look."""
    if type(row) is not dict or "words" not in row:
        return False
    for key, content in row.items():
        is_right = _NATIVE.get(key)
        if is_right is None or not is_right(content):
            return False
    return True


def normalized_row(row: Any, line: int) -> tuple[JsonObject, list[str]]:
    """A row with its id and document as text. If it has labels, other keys with a value per word become columns.

    Returns:
        The row, and the keys that are left out.

    Raises:
        BrokenError: With all issues of its keys and the shapes of their values.
    """
    if is_native(row):
        return row, []
    if isinstance(row, dict):
        row = without_nulls(row)
        row |= {key: str(row[key]) for key in ("id", "document") if type(row.get(key)) is int}
        if not has_words(row) and (name := next((name for name in _OTHER_WORDS if _is_filled(row.get(name))), "")):
            row = {"tokens" if key == name else key: content for key, content in row.items()}
    if messages := [*_issues(row)]:
        raise wrong_object(line, *messages, fixes=tuple(_advice(row)))
    others = _unknown_keys(row, key_of_tags(row))
    columns = [key for key in others if "columns" not in row and _is_column(row[key], row)]
    usual: JsonObject = {key: content for key, content in row.items() if key not in others}
    if columns:
        usual["columns"] = [[*map(str, row[key])] for key in columns]
    return usual, [key for key in others if key not in columns]


def without_nulls(row: JsonObject, *, labelled: bool = True) -> JsonObject:
    """The row without null values, which data sets have for keys of other rows, and with scores as an object.

    Args:
        labelled: Whether to keep null labels, so that they are an error: perhaps nobody has labelled the words.
    """
    row = {key: value for key, value in row.items() if value is not None or (labelled and key in _LABELS)}
    scores = row.get("scores")
    if isinstance(scores, list) and all(isinstance(s, dict) and s.keys() == {"name", "value"} for s in scores):
        scores = {score["name"]: score["value"] for score in scores}
    if isinstance(scores, dict):
        row["scores"] = {name: score for name, score in scores.items() if score is not None}
    return row


def key_of_tags(row: JsonObject) -> str:
    """The key of the tags of a row; empty if it has none.

    >>> key_of_tags({"words": ["Oslo"], "ner": ["B-LOC"]}), key_of_tags({"words": ["Oslo"], "labels": ["news"] * 3})
    ('ner', '')
    """
    keys = _keys_of_tags(row)
    return keys[0] if len(keys) == 1 else ""


def _keys_of_tags(row: JsonObject) -> list[str]:
    """The keys that may hold the tags of a row; several if it is not clear which one does.

    A preferred key is taken even if only another one has the form of tags: a broken tag is an error, not a reason to
    read another layer of this row.
    """
    if named := [key for key in _TAGS if key in row]:
        return named[:1]
    keys = [] if "entities" in row else [key for key in row if key in _OTHER_TAGS and _seem_tags(row[key], row)]
    if len(keys) > 1:
        keys = [key for key in keys if key in _PREFERRED_TAGS] or keys
    if len(keys) > 1 and len(tags := [key for key in keys if _have_form_of_tags(row[key])]) == 1:
        return tags
    return keys


def words_of(row: JsonObject) -> Any:
    """The words of a row."""
    return row["words"] if "words" in row else row.get("tokens")


def has_words(row: JsonObject) -> bool:
    """Whether a row has a key for words."""
    return not row.keys().isdisjoint(("words", "tokens"))


def holds_words(value: Any) -> bool:
    """Whether a value is a row with a list of words under one of the possible keys."""
    return isinstance(value, dict) and any(_is_filled(value.get(key)) for key in ("words", "tokens", *_OTHER_WORDS))


def _is_filled(words: Any) -> bool:
    return words != [] and _are_strings(words)


def _seem_tags(value: Any, row: JsonObject) -> bool:
    """Whether a value is a list of tags, or of their numbers, for the words of a row. Its length may be wrong."""
    words = words_of(row)
    if not isinstance(value, list) or not isinstance(words, list):
        return False
    if len(value) == len(words):
        return all(type(tag) in (str, int) for tag in value)
    return value != [] and _have_form_of_tags(value)


def _have_form_of_tags(values: Sequence[Any]) -> bool:
    return all(isinstance(tag, str) and looks_like_tag(tag) for tag in values)


def _unknown_keys(row: JsonObject, tags: str) -> list[str]:
    """The keys that nersery does not know; ``tags`` is the key of the tags."""
    return [key for key in row if key not in _SHAPES and key != tags]


def _is_column(content: Any, row: JsonObject) -> bool:
    """Whether a list has a value for each word, and a column can hold these values."""
    words = words_of(row)
    if not isinstance(content, list) or not isinstance(words, list) or len(content) != len(words):
        return False
    return all(type(item) is int or (type(item) is str and item.split() == [item]) for item in content)


def _issues(row: Any) -> Iterator[str]:
    """What is wrong with the keys of a row and the shapes of their values."""
    if not isinstance(row, dict):
        yield f'{shown(row)}, expected an object such as {{"words": […], "entities": […]}}'
        return
    keys = _keys_of_tags(row)
    tags = keys[0] if len(keys) == 1 else ""
    others = _unknown_keys(row, tags)
    if isinstance(row.get("reason"), str) and not tags:
        yield 'it has a "reason": this seems to be a file of rejects, expected a corpus without this key'
        return
    if not has_words(row) and len(others) > 1:
        listed = ", ".join(map(repr, row))
        expected = 'expected "words" with "entities" or "tags", or "text" with "label": [[start, end, type], …]'
        yield f"its keys are {beginning(listed)}, {expected}"
        return
    if len(keys) > 1:
        rivals = " and ".join(f'"{key}"' for key in keys)
        yield f'{rivals} may hold the tags, expected one of them; rename the right one to "tags"'
    is_labelled = keys or "entities" in row
    for key, content in row.items():
        if key in others:
            if not is_labelled or _is_misspelt(key, row):  # without labels, they may be under this key
                yield f'there is no key "{key}"; {did_you_mean(key, _SHAPES)}'
        else:
            check, expected = _SHAPES[key if key in _SHAPES else "ner_tags"]
            if not check(content):
                found = "has numbers" if key == tags and _are_numbers(content) else f"is {shown(content)}"
                yield f'"{key}" {found}, expected {expected}'
    if ("words" in row) is ("tokens" in row):
        yield 'expected exactly one of "words" and "tokens"'
    if len(row.keys() & {*_LABELS}) > 1:
        yield f"expected only one of {', '.join(_LABELS)}"
    if "entities" in row and (doubled := [key for key in row if key in _PREFERRED_TAGS and _seem_tags(row[key], row)]):
        yield f"expected only one of entities, {', '.join(doubled)}"


def _advice(row: Any) -> Iterator[str]:
    """How to correct an object that has its text under another key, or that holds a list of rows, or columns."""
    if not isinstance(row, dict):
        return
    if has_words(row):
        words = row.get("words", row.get("tokens"))
        if isinstance(words, dict) or (isinstance(words, list) and {*map(type, words)} == {list}):
            yield f"if each key has the values of all sentences, write a row for each: {ROWS_OF_COLUMNS}"
        return
    if key := next((key for key, text in row.items() if _is_string(text) and len(text.split()) > 2), ""):
        rename = f"""jq -c '.text = .["{key}"]' old > new.jsonl"""
        yield f'if "{key}" has the text, rename it, and the key of its labels likewise: {rename}'
    elif key := next((key for key, one in row.items() if isinstance(one, list) and {*map(type, one)} == {dict}), ""):
        inner = next((name for name, one in row[key][0].items() if isinstance(one, dict) and has_words(one)), "")
        path = f'.["{key}"][]' + (f'["{inner}"]' if inner else "")
        yield f"if \"{key}\" has the sentences, put each on a line of its own: jq -c '{path}' old > new.jsonl"


def _are_numbers(tags: Any) -> bool:
    """Whether tags are numbers. Their message is the same for all rows, so that it is printed once.

    A negative number has no name, so the message shows it.
    """
    return isinstance(tags, list) and {*map(type, tags)} == {int} and min(tags) >= 0


def _is_misspelt(key: str, row: JsonObject) -> bool:
    """Whether a key of a labelled row resembles a known one that the row lacks, and its value has the right shape."""
    lacking = _SHAPES.keys() - {*row, "words", "tokens", "entities", *_TAGS}
    close = difflib.get_close_matches(key.casefold(), sorted(lacking), 1, _MISSPELT)
    return any(abs(len(name) - len(key)) < 2 and _SHAPES[name][0](row[key]) for name in close)
