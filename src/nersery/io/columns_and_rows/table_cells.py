"""Cells of tables that hold several words or tags: as lists, or separated by spaces or commas."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import zip_longest

from nersery.core.tags import looks_like_tag

_LIST, _ITEM = re.compile(r"""\[\s*['"\d\]]"""), re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,'"]+""")
"""The beginning of a list of quoted items or numbers, and an item."""
MIN_WORDS = 3
"""The minimum number of words in a cell with a whole text."""
_Cut = Callable[[str], list[str]]


def is_list(cell: str) -> bool:
    """Whether a cell holds a list as Python or NumPy writes it."""
    return _LIST.match(cell) is not None and cell.endswith("]")


def cell_parts(cell: str) -> list[str]:
    """The words or tags in a cell: a list, with or without quotation marks, or separated by spaces.

    >>> cell_parts("['Bosch', '1,5l']"), cell_parts("[Bosch, 1,5l]"), cell_parts("Bosch 1,5l")
    (['Bosch', '1,5l'], ['Bosch', '1,5l'], ['Bosch', '1,5l'])
    """
    if is_list(cell):
        return [_item(item) for item in _ITEM.findall(cell[1:-1])]
    if not _is_enclosed(cell):
        return cell.split()
    inner = cell.strip()[1:-1]
    return _at_commas(inner) if "," in inner else inner.split()


def tags_of(cell: str) -> list[str]:
    """The tags in a cell. Commas may separate them.

    >>> tags_of("B-PER,O"), tags_of("B-PER O")
    (['B-PER', 'O'], ['B-PER', 'O'])
    """
    parts = _at_commas(cell)
    return parts if len(parts) > 1 and are_tags(parts) else cell_parts(cell)


def cell_holds_several(cell: str) -> bool:
    """Whether a cell holds a list or several tags; a type may have spaces, as in ``B-New Person``."""
    parts = tags_of(cell)
    return is_list(cell) or (are_tags(parts) and (len(parts) > 1 or _is_enclosed(cell)))


def holds_tags(cell: str) -> bool:
    """Whether a cell holds a tag, or several."""
    return looks_like_tag(cell) or are_tags(tags_of(cell))


def are_tags(parts: Sequence[str]) -> bool:
    """Whether there are parts, and all of them have the form of a tag."""
    return bool(parts) and all(map(looks_like_tag, parts))


def whole_text(rows: Sequence[Sequence[str]]) -> str:
    """The first text in a column of which more than half of the cells are texts; empty if there is none.

    >>> whole_text([["1", "Ada met Bob."], ["2", "She left."], ["3", "Bob left Ada."]])
    'Ada met Bob.'
    """
    for cells in zip_longest(*rows, fillvalue=""):
        written = [cell for cell in cells if cell.strip() and not holds_tags(cell)]
        texts = [cell for cell in written if len(cell.split()) >= MIN_WORDS]
        if len(texts) > len(written) / 2:
            return texts[0]
    return ""


def word_cutter(rows: Sequence[tuple[str, str]]) -> _Cut:
    """The function that cuts the cells of a column into words.

    Args:
        rows: Cells of words and of tags. Brackets around single sentences do not make them lists.
    """
    written = [words for words, _ in rows if words.strip()]
    if sum(map(_is_enclosed, written)) > len(written) / 2:
        return cell_parts
    at_commas = any(len(_at_commas(tags)) > 1 and are_tags(_at_commas(tags)) for _, tags in rows)
    ways: list[_Cut] = [_at_commas] * at_commas + [str.split]
    return max(ways, key=lambda cut: sum(len(cut(words)) == len(tags_of(tags)) for words, tags in rows))


def _is_enclosed(cell: str) -> bool:
    return cell.strip().startswith("[") and cell.strip().endswith("]")


def _at_commas(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(", " if ", " in cell else ",")]


def _item(written: str) -> str:
    """A word or tag in a list. JSON writes an emoji as two escapes, which Python would read as two characters."""
    for read in (json.loads, ast.literal_eval) if written[0] in "'\"" else ():
        with suppress(ValueError, SyntaxError):
            return str(read(written))
    return written
