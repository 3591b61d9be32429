"""Advice for files of columns in which no tags are found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from nersery.core.errors import DataError, beginning
from nersery.core.tags import ONE_LETTER_TYPES, ONE_LEVEL, OUTSIDE, holds_several, looks_like_tag
from nersery.io.columns_and_rows.word_column import MIN_ROWS
from nersery.io.input_files.foreign import foreign_formats
from nersery.io.input_files.text_file import TextFile

_BEFORE_TAG = re.compile(r"([,;|]|[^\S\t ])(?:O|[BI]-[^\s,;|]+)$")
NUMBERS_TO_TAGS = (
    """awk -v OFS='\\t' 'BEGIN {split("O B-PER I-PER", tags)} NF > 1 {$NF = tags[$NF + 1]} {print}' old > new"""
)
_BRACKET = re.compile(r"\*\)?|\([^\s()*]+(?:\*|\))")


def _other_separator(values: Sequence[str]) -> str:
    """Advice if a character other than a tab or space separates words and tags; empty if there is none.

    >>> _other_separator(["Ada,B-PER", "ran,O"])
    'read it as a table: --format csv'
    """
    marks = {match[1] for value in values if (match := _BEFORE_TAG.search(value))}
    mark = marks.pop() if len(marks) == 1 else ""
    if not mark.isspace():
        return "read it as a table: --format csv" if mark else ""
    code = "".join(rf"\x{byte:02X}" for byte in mark.encode())
    return rf"separate the columns with tabs: sed 's/{code}/\t/g' old > new"


def no_tags(file: TextFile, columns: Sequence[Sequence[str]], *, is_conllu: bool) -> DataError:
    """The error for a file in which no column looks like tags.

    Args:
        is_conllu: Whether tags may also be in MISC.
    """
    values = ", ".join(repr(column[0]) for column in columns)
    misc = " and no key in MISC, after the last tab, holds tags such as NER=B-PER" * is_conllu
    seen = f"the first line has: {beginning(values, 100)}"
    return file.error(f"no column looks like tags (O, B-PER, I-PER …){misc}; {seen}", _fix(columns))


def _fix(columns: Sequence[Sequence[str]]) -> str:
    """The advice for the first form that the columns have, from rare forms to common ones."""
    firsts = [column[0] for column in columns]
    if len(columns) == 1 and (fix := _other_separator(columns[0])):
        return fix
    if any(all(map(_BRACKET.fullmatch, column)) and "*" in column for column in columns):
        return foreign_formats()["words and entities in brackets, in columns"].advice
    if any(map(holds_several, firsts)):
        return ONE_LEVEL
    if any(" " in first and looks_like_tag(first.split()[0]) for first in firsts):
        return foreign_formats()["sentences with their tags beside them"].advice
    if sum(" " in first for first in firsts) > 1:
        return "for parallel text, save each language in its own file, e.g. cut -f1 pairs.tsv > text.en"
    if any("|" in first and looks_like_tag(first.rpartition("|")[2]) for first in firsts):
        return r"make a line of each word: sed 's/$/\n/' old | tr ' |' '\n\t' > new.conll"
    if len(columns) > 1 and len({*columns[-1]}) > 1 and all(map(str.isdecimal, columns[-1])):
        return f"where the numbers stand for tags, write these, in the order of the numbers: {NUMBERS_TO_TAGS}"
    has_zero_beside_tags = any("0" in column and any(tag.startswith("B-") for tag in column) for column in columns)
    if has_zero_beside_tags or 2 * columns[-1].count("0") >= len(columns[-1]):
        return f"where the digit 0 means no entity, {_to_letter('0')}"
    return (
        "name the column by --tag-column, with --repair bare-type if it holds types without letters (PER, O), "
        "letter-last for PER-B, small-letter for b-per, or underscore for B_PER or B–PER; or name the format by "
        "--format text or jsonl"
    )


def outside_value(columns: Sequence[Sequence[str]]) -> str:
    """The value outside entities in a last column of types alone, as in ``Oslo LOC``; empty for other columns.

    It is the most frequent value, and occurs in half of the lines or is one of few values. It is ``O``, or another
    value if there are many lines of a word and its type, and far more words than types. Lines of two words, as in a
    list of names, are text.
    """
    types = Counter(columns[-1] if len(columns) > 1 else ())
    if types.total() < MIN_ROWS:
        return ""
    value, count = types.most_common(1)[0]
    words = len({*columns[0]})
    is_most, enough = 2 * count >= types.total(), 20 * len(types)
    if value == OUTSIDE:
        return value if is_most or enough <= types.total() else ""
    are_pairs = len(columns) == 2 and types.total() >= 4 * MIN_ROWS and not any(" " in word for word in columns[0])
    has_types = len(types) > 1 and 4 * len(types) <= words and (is_most or enough <= words)
    return value if are_pairs and has_types and value.isalnum() else ""


def types_without_prefixes(file: TextFile, columns: Sequence[Sequence[str]]) -> DataError | None:
    """The error for columns of words and types without B- and I-, as in ``Oslo LOC``; None for other columns."""
    outside = outside_value(columns)
    row = next((row for row in zip(*columns, strict=True) if outside and row[-1] != outside), None)
    if row is None or looks_like_tag(row[-1], broken=True):
        return None
    fix = (
        f"name the column and the form of its types: --tag-column {len(columns)} with --repair bare-type (PER, O), "
        "letter-last (PER-B) or small-letter (b-per)"
    )
    if all(len(type_) == 1 for type_ in columns[-1] if type_ != outside):
        fix = ONE_LETTER_TYPES
    if outside != OUTSIDE:
        fix = f"where {outside} means no entity, {_to_letter(outside)}; then {fix}"
    first = beginning(", ".join(map(repr, row)), 100)
    message = f"its lines seem to be words and types without B- and I-, the first {first}"
    return file.error(message, f"{fix}; --format text reads each line as a sentence")


def _to_letter(outside: str) -> str:
    return rf"write the letter O: sed -E 's/([\t ]){outside}(\r?)$/\1O\2/' old > new"
