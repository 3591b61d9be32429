"""The JSON values of a file: in an array, as one object on several lines, or one on each line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal

from nersery.core.errors import DataError
from nersery.io.columns_and_rows.objects import DECODER, ENCODER, array_values
from nersery.io.input_files.text_file import BLANKS, MAX_LINE_LENGTH, TextFile

_ARRAY = re.compile(r'\[[ \t\r]*\n|\[\s*(?:[{\]]|\[\s*")')
_OBJECT = re.compile(r'\{\s*\n\s*"')
_LINES_OF_BEGINNING = 3


def layout_of(file: TextFile) -> Literal["array", "object", "lines"]:
    """How the values of a file are laid out.

    A list that begins with a text, such as spaCy's ``["text", {"entities": […]}]``, is the value of a line. An object
    may also begin on the first line of a ``.json`` file and end on another one.
    """
    lines = [*islice(filter(str.strip, file.beginnings(MAX_LINE_LENGTH)), _LINES_OF_BEGINNING)]
    beginning = "".join(lines).lstrip(BLANKS)
    if _ARRAY.match(beginning):
        return "array"
    if _OBJECT.match(beginning):
        return "object"
    may_go_on = beginning.startswith("{") and file.path.suffix.lower() == ".json" and not _is_json(lines[0])
    return "object" if may_go_on and _is_json(file.read()) else "lines"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def values_of(file: TextFile) -> Iterator[tuple[int, Any]]:
    """The values with their lines from 1: those of an array, or otherwise their text, for `parsed`.

    Raises:
        DataError: If an array is broken.
    """
    layout = layout_of(file)
    if layout == "array":
        text = file.read()
        for line, value in array_values(text, text.index("["), file.name):
            yield line, ENCODER.encode(value) if isinstance(value, str) else value  # a text would be taken for JSON
    elif layout == "object":
        yield 1, file.read()
    else:
        yield from ((line, text) for line, text in enumerate(file.lines(), start=1) if text.strip(BLANKS))


def first_value(file: TextFile) -> Any:
    """The first value; None if it cannot be read."""
    try:
        return next((decoded(given) for _, given in values_of(file)), None)
    except (ValueError, RecursionError, DataError):
        return None


def decoded(given: Any) -> Any:
    """One of `values_of` as a value. Raise `ValueError` or `RecursionError` if its text cannot be read."""
    return DECODER.decode(given) if isinstance(given, str) else given
