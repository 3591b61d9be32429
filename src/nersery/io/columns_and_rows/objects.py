"""Reads JSON of corpora: no key twice, no NaN, no half characters, and issues by line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from nersery.core.errors import DataError, Issue, beginning
from nersery.io.base import carriage_return_issue
from nersery.io.input_files.text_file import BLANKS, byte_order_mark_issue

JsonObject = dict[str, Any]
_PLAIN = frozenset({str, int, float, bool, type(None)})
_WRITTEN = (date, Decimal, UUID)
"""Types of values that are converted to their text."""


WRONG_OBJECT = "wrong object"
"""The kind of issues with keys and the shapes of their values."""


class BrokenError(Exception):
    """Raised for a value that is not a sentence, with the reasons."""

    def __init__(self, *issues: Issue) -> None:
        super().__init__()
        self.issues = issues


def wrong_object(line: int, *messages: str, fixes: tuple[str, ...] = ()) -> BrokenError:
    """The error for the keys of an object and the shapes of their values."""
    return BrokenError(*(Issue(message, line=line, kind=WRONG_OBJECT, fixes=fixes) for message in messages))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def _finite(text: str) -> float:
    if math.isinf(value := float(text)):
        raise ValueError(f"the number {beginning(text, 20)} is too large")
    return value


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs twice in one object, expected once")
    return value


DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse_constant, object_pairs_hook=_object)
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def parsed(given: Any, line: int) -> Any:
    """The JSON value of a line; other values stay as they are. Raise `BrokenError` for invalid or unstorable JSON."""
    if not isinstance(given, str):
        return given
    try:
        return _decoded(given)
    except ValueError as error:
        reason, before = _reason(error), 0
        if isinstance(error, json.JSONDecodeError):
            end = len(given.rstrip(BLANKS))
            column = f"{error.msg.removesuffix(' at')} in column {error.colno}"
            reason = f"not JSON: {column if error.pos < end else 'the line ends early, expected a whole object'}"
            before = given.count("\n", 0, min(error.pos, end))  # in an object on several lines
        known = carriage_return_issue(given.split("\n")[before], line + before) or byte_order_mark_issue(given, line)
        fixes = ("if it has several objects, put each on a line of its own: jq -c . old > new",) if before else ()
        if given.rstrip(BLANKS).endswith("},"):
            fixes = ("put no comma between objects: sed -E 's/[}],([[:space:]]*)$/}\\1/' old > new.jsonl",)
        raise BrokenError(known or Issue(reason, line=line + before, kind="not JSON", fixes=fixes)) from None


def json_value(value: Any) -> Any:
    """The value with tuples and arrays as lists, NumPy's numbers as numbers, dates as text. Checks refuse the rest.

    >>> json_value({"words": ("Oslo", b"Rome"), 1: Decimal("0.5")})
    {'words': ['Oslo', b'Rome'], '1': '0.5'}
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, list | tuple):
        return [*map(json_value, value)]
    if isinstance(value, Mapping):
        return {str(key): json_value(content) for key, content in value.items()}
    if isinstance(value, str):  # a member of an enumeration
        return str.__str__(value)
    if isinstance(value, _WRITTEN) and value == value:  # pandas' missing date does not equal itself
        return str(value)
    return json_value(value.tolist()) if hasattr(value, "tolist") else value


def is_integer_pair(value: Any) -> bool:
    """Whether a value is a list of two whole numbers."""
    return isinstance(value, list) and [*map(type, value)] == [int, int]


def _reason(error: Exception) -> str:
    """The message of an error, reworded if Python reports its own limit."""
    return "a number has too many digits" if "set_int_max_str_digits" in str(error) else str(error)


def _decoded(text: str) -> Any:
    try:
        # `decode` would search for white space around each object. It is faster to check whether there is any.
        value, end = DECODER.raw_decode(text) if text.startswith("{") else (None, 0)
        if text[end:] not in ("\n", ""):
            value = DECODER.decode(text)
        if "\\u" in text:  # in a file, only an escape can be half a surrogate pair
            ENCODER.encode(value).encode()
    except UnicodeEncodeError:
        raise ValueError("a string holds half of a surrogate pair, which no file can store") from None
    except RecursionError:
        raise ValueError("nested too deeply for a sentence") from None
    return value


def array_values(text: str, at: int, file: str, *, is_all: bool = True) -> Iterator[tuple[int, Any]]:
    """The values of the array that begins at a position in the text of a file, with their lines from 1.

    Args:
        is_all: Whether nothing may follow the array.

    Raises:
        DataError: If it is not an array, or has no end.
    """
    at, line, before = at + 1, text.count("\n", 0, at) + 1, at
    try:
        while (at := _after_blanks(text, at)) < len(text) and text[at] != "]":
            line, before = line + text.count("\n", before, at), at
            value, at = DECODER.raw_decode(text, at)
            yield line, value
            at = _after_blanks(text, at)
            if text[at : at + 1] not in (",", "]"):
                raise ValueError("expected a comma or the end of the array")
            at += text[at] == ","
        if is_all and text[at:].rstrip(BLANKS) != "]":
            raise ValueError("the array has no end, or something follows it")
    except (ValueError, RecursionError) as error:
        line += text.count("\n", before, at)
        message = f"not JSON: {_reason(error)}"
        raise DataError(Issue(message, file, line), fix="export the file again, or correct it") from None


def inner_values(text: str, at: int) -> Iterator[tuple[int, Any]]:
    """The values in the array or object that begins at a position in valid JSON, each with its own position.

    >>> [*inner_values('{"a": [1], "b": 2}', 0)]
    [(6, [1]), (16, 2)]
    """
    is_object, at = text[at] == "{", _after_blanks(text, at + 1)
    while text[at] not in "]}":
        if is_object:  # after the key and its colon
            at = _after_blanks(text, _after_blanks(text, DECODER.raw_decode(text, at)[1]) + 1)
        value, end = DECODER.raw_decode(text, at)
        yield at, value
        end = _after_blanks(text, end)
        at = _after_blanks(text, end + (text[end] == ","))


def _after_blanks(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\r", "\n"):
        at += 1
    return at
