"""JSON as corpora have it: no key twice, no NaN, no half characters, and issues by line."""

from __future__ import annotations

import json
from typing import Any

from nersery.core.errors import Issue
from nersery.io.base import lone_return

Object = dict[str, Any]


class BrokenError(Exception):
    """What is no sentence, and why."""

    def __init__(self, *issues: Issue) -> None:
        super().__init__()
        self.issues = issues


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def _object(pairs: list[tuple[str, Any]]) -> Object:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs twice in one object, expected once")
    return value


DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_object)
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def parsed(text: str, line: int) -> Any:
    """The JSON value of a line; raises `BrokenError` if it is invalid or cannot be stored."""
    try:
        return _decoded(text)
    except ValueError as error:
        raise BrokenError(lone_return(text, line) or Issue(str(error), line=line, kind="not JSON")) from None


def _decoded(text: str) -> Any:
    try:
        # `decode` would search white space around each object, which takes longer than to look whether there is any.
        value, end = DECODER.raw_decode(text) if text.startswith("{") else (None, 0)
        if text[end:] not in ("\n", ""):
            value = DECODER.decode(text)
        if "\\u" in text:  # in a file, only an escape can be half a surrogate pair
            ENCODER.encode(value).encode()
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} in column {error.colno}") from None
    except UnicodeEncodeError:
        raise ValueError("a string holds half of a surrogate pair, which no file can store") from None
    except RecursionError:
        raise ValueError("nested too deeply for a sentence") from None
    return value
