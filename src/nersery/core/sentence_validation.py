"""Checks of sentences. They are few and fast, because millions of sentences are built."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from numbers import Real
from operator import index
from typing import Any

from nersery.core.entity import Entity, Origin, SoftLabel
from nersery.core.errors import shown

CONTROL = "control character"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Category Cc without tab and line breaks. Joiners and direction marks, which some scripts need, are in Cf."""
_ODD = ("\t", "\r", "\n\n", "\n ", " \n")
"""A tab, a carriage return, an empty word, and a space at the ends of a word, where each word is on its own line."""
NUMBERS = (float, int)
"""The types of scores; formats cannot write NumPy numbers."""
MAX_INTEGER = 2**53
"""Up to here, a float represents every whole number exactly; some formats store numbers as floats."""
_TUPLES = (tuple,) * 6
MAX_SENTENCE_LENGTH = 1_000_000
"""The longest text of a sentence with offsets, in characters, gaps included, so that the text fits into memory."""
LETTERS = "BIMELSUW"
"""The letters of all tag schemes: begin B, inside I M, end E L, single S U W."""
_OF_SEVERAL = re.compile(rf"[|,] ?(O($|[|,])|[{LETTERS}]-)")
"""Matches a second tag in the type part of a value with nested tags, such as ``B-PER|B-ORG`` and ``I-PER|O``."""
TYPE_RULE = "a type is a name without tabs, line breaks, spaces at its ends, or tags such as |B-PER"
"""The rule that `is_type_name` checks, for messages."""
ROUNDING = 0.01
"""How much more than 1 rounded probabilities may add up to."""


def issue_in(sentence: Any) -> str | None:
    """The first issue in the parts of a `nersery.core.sentence.Sentence`; None if they are valid."""
    words, entities, columns, comments = sentence.words, sentence.entities, sentence.columns, sentence.comments
    scores, origin, soft_labels, offsets = sentence.scores, sentence.origin, sentence.soft_labels, sentence.offsets
    parts = (type(words), type(entities), type(columns), type(comments), type(soft_labels), type(offsets))
    if parts != _TUPLES:
        if isinstance(words, str):
            return f"words is the string {shown(words)}, expected a sequence of words, such as text.split()"
        names = ("words", "entities", "columns", "comments", "soft_labels", "offsets")
        name = next(name for name, part in zip(names, parts, strict=True) if part is not tuple)
        return f"{name} is {shown(getattr(sentence, name))}, expected a sequence, such as a tuple"
    if type(scores) is not dict:
        return f"scores must be numbers by name, got {shown(scores)}"
    if origin is not None and not isinstance(origin, Origin):
        return f"origin is {shown(origin)}, expected an Origin"
    return (
        _words_issue(words)
        or (_entities_issue(entities, words) if entities else None)
        or _texts_issue(
            [sentence.id, sentence.language, sentence.document, *comments, *scores, *[e.type for e in entities]],
            origin,
            comments,
        )
        or (_scores_issue(scores) if scores else None)
        or (_origin_issue(origin) if origin is not None else None)
        or (_columns_issue(columns, len(words)) if columns else None)
        or (_soft_labels_issue(soft_labels, len(words)) if soft_labels else None)
        or (_offsets_issue(offsets, len(words)) if offsets else None)
    )


def edit_issue(words: tuple[str, ...], entities: tuple[Entity, ...]) -> str | None:
    """The first issue in the words and entities after an edit; None if they are valid."""
    return _words_issue(words) or (_entities_issue(entities, words) if entities else None)


def identity_issue(id: str, origin: Origin) -> str | None:
    """The first issue in the id and origin of a generated sentence; None if they are valid."""
    if not isinstance(origin, Origin):
        return f"origin is {shown(origin)}, expected an Origin"
    return _texts_issue([id], origin, ()) or _origin_issue(origin)


def _normalized_entities(entities: Iterable[Entity]) -> tuple[Entity, ...]:
    entities = tuple(entities)
    if any(not isinstance(entity, Entity) for entity in entities):
        return entities  # unchanged, so that the error names the item that is no entity
    plain = (replace(e, start=_plain(e.start), end=_plain(e.end), score=_plain(e.score)) for e in entities)
    return tuple(sorted(plain))


def _plain(value: Any) -> Any:
    """A NumPy number as a Python number; any other value unchanged."""
    if isinstance(value, bool):
        return value
    try:
        return index(value)
    except TypeError:
        return float(value) if isinstance(value, Real) else value


NORMALIZERS: Mapping[str, Callable[[Any], Any]] = {
    "words": lambda words: words if isinstance(words, str) else tuple(words),
    "entities": _normalized_entities,
    "columns": lambda columns: tuple(map(tuple, columns)),
    "comments": tuple,
    "soft_labels": lambda labels: tuple(sorted(labels)),
    "offsets": lambda offsets: tuple((_plain(start), _plain(end)) for start, end in offsets),
    "scores": lambda scores: {name: _plain(score) for name, score in dict(scores).items()},
    "origin": lambda origin: replace(origin, parents=tuple(origin.parents), copy=_plain(origin.copy)),
}
"""Functions that convert each part of a sentence to the type and order that it should have."""


def _words_issue(words: tuple[str, ...]) -> str | None:
    """The first issue in the words, found in a few passes over the joined words."""
    if not words:
        return "a sentence needs at least one word"
    try:
        text = " ".join(words)
        # Checking the joined text is much faster than checking each word, and is enough for nearly all sentences.
        if (
            text.isprintable()  # no control character, tab, line break or lone surrogate
            and text.count(" ") == len(words) - 1
            and "  " not in text
            and text[:1] not in ("", " ")
            and text[-1] != " "
        ):
            return None
        joined = "\n".join(words)
        joined.encode()
    except TypeError:
        position, wrong = next((at, word) for at, word in enumerate(words) if not isinstance(word, str))
        return f"word {position} is {shown(wrong)}, expected a string"
    except UnicodeEncodeError as error:
        return f"a word holds the lone surrogate {joined[error.start]!r}, which no file can store"
    if joined.count("\n") != len(words) - 1 or any(odd in f"\n{joined}\n" for odd in _ODD):
        for position, word in enumerate(words):
            if word == "":
                return f"word {position} is empty"
            if any(character in word for character in "\t\n\r") or word != word.strip(" "):
                return f"word {position} is {shown(word)}: a word has no tab, no line break and no space at its ends"
    if match := _CONTROL.search(joined):
        position = joined.count("\n", 0, match.start())
        return f"word {position} is {shown(words[position])}: it holds the {CONTROL} U+{ord(match[0]):04X}"
    return None


def without_control(word: str) -> str:
    r"""A word without its control characters.

    >>> without_control("Ada\x00")
    'Ada'
    """
    return _CONTROL.sub("", word)


@lru_cache(1024)
def is_type_name(name: str) -> bool:
    """Whether a name can be a type: it is not empty and has no tabs, line breaks, outer spaces or tags in it.

    >>> is_type_name("Big City"), is_type_name("City "), is_type_name(""), is_type_name("City|B-ORG")
    (True, False, False, False)
    """
    if name.splitlines() != [name] or name != name.strip() or "\t" in name:
        return False
    return _OF_SEVERAL.search(name) is None


def _entities_issue(entities: tuple[Entity, ...], words: tuple[str, ...]) -> str | None:
    position = 0
    for entity in entities:
        try:  # costs nothing, unlike a check of the type of each entity
            start, end, type_, score = entity.start, entity.end, entity.type, entity.score
        except AttributeError:
            return f"entity {entities.index(entity)} is {shown(entity)}, expected an Entity"
        if type(start) is not int or type(end) is not int or not isinstance(type_, str):
            return f"start and end of {shown(entity)} must be whole numbers, and its type a string"
        if score is not None and type(score) not in NUMBERS:
            return f"{_entity_name(entity)}: its score is {shown(score)}, not a number"
        if type(score) is int and _is_too_large(score):
            return f"{_entity_name(entity)}: its score {_TOO_LARGE}"
        if not 0 <= start < end <= len(words):
            return f"{_entity_name(entity)} does not lie within the {len(words)} words"
        if start < position:
            return f"{_entity_name(entity)} overlaps the entity before it"
        if not is_type_name(type_):
            return f"{_entity_name(entity)}: {TYPE_RULE}, not {shown(type_)}"
        position = end
    return None


def _scores_issue(scores: Mapping[str, float]) -> str | None:
    wrong = [name for name, score in scores.items() if type(score) not in NUMBERS]
    if wrong:
        return f"the score {wrong[0]} is {shown(scores[wrong[0]])}, not a number"
    large = [name for name, score in scores.items() if _is_too_large(score)]
    return f"the score {large[0]} {_TOO_LARGE}" if large else None


def _origin_issue(origin: Origin) -> str | None:
    if type(origin.parents) is not tuple:
        return f"the parents of an origin must be a tuple, got {shown(origin.parents)}"
    if type(origin.copy) is not int:
        return f"the copy of an origin is {shown(origin.copy)}, not a whole number"
    return f"the copy of an origin {_TOO_LARGE}" if _is_too_large(origin.copy) else None


def _texts_issue(texts: list[str], origin: Origin | None, comments: tuple[str, ...]) -> str | None:
    """The first issue in the texts other than words and columns, found with one check of the joined texts."""
    try:
        if origin is not None:
            texts += (origin.method, *origin.parents)
        storable = _is_storable("".join(texts))
    except TypeError:
        wrong = next((text for text in texts if not isinstance(text, str)), getattr(origin, "parents", None))
        return (
            f"an id, language, document, comment, name of a score, or part of an origin is {shown(wrong)}, expected a "
            "string"
        )
    if not storable:
        return (
            "a type, id, language, document, comment, score or origin holds a lone surrogate, which no file can store"
        )
    for comment in comments:
        if "\n" in comment or "\r" in comment:
            return f"the comment {shown(comment)} has a line break in it"
    return None


def _columns_issue(columns: tuple[tuple[str, ...], ...], length: int) -> str | None:
    for column in columns:
        if type(column) is not tuple:
            return f"an extra column must be a tuple, got {shown(column)}"
        if len(column) != length:
            return f"an extra column does not have {length} values, one for each word"
        try:
            joined = "".join(column)
        except TypeError:
            return f"every value of an extra column must be a string, got {shown(column)}"
        if not _is_storable(joined):
            return "an extra column holds a lone surrogate, which no file can store"
        if "\t" in joined or "\n" in joined or "\r" in joined:
            return f"an extra column has a tab or line break in a value: {shown(column)}"
    return None


def _soft_labels_issue(labels: tuple[SoftLabel, ...], length: int) -> str | None:
    total, word = 0.0, 0
    for label in labels:
        if not isinstance(label, SoftLabel):
            return f"a soft label is {shown(label)}, expected a SoftLabel"
        if type(label.word) is not int or not isinstance(label.type, str) or not _is_storable(label.type):
            return f"the word of {shown(label)} must be a whole number, and its type a string"
        if not word <= label.word < length:
            return f"{shown(label)} is outside the {length} words, or out of order"
        if not is_type_name(label.type):
            return f"{shown(label)}: {TYPE_RULE}"
        if any(type(share) not in NUMBERS or not 0 <= share <= 1 for share in (label.begin, label.inside)):
            return f"{shown(label)}: expected probabilities in [0, 1]"
        total = label.begin + label.inside + (total if label.word == word else 0.0)
        if total > 1 + ROUNDING:
            return f"the soft labels of word {label.word} have probabilities that add up to {total:.4g}, more than 1"
        word = label.word
    return None


def _offsets_issue(offsets: tuple[tuple[int, int], ...], length: int) -> str | None:
    if len(offsets) != length:
        return f"there are {len(offsets)} offsets and {length} words, expected one (start, end) for each word"
    position = 0
    for offset in offsets:
        if type(offset) is not tuple or len(offset) != 2 or not type(offset[0]) is type(offset[1]) is int:
            return f"the offset {shown(offset)} is not a pair (start, end) of whole numbers"
        if not position <= offset[0] < offset[1]:
            return f"the offset {shown(offset)} is empty or overlaps the one before it"
        position = offset[1]
    if _is_too_large(position):
        return f"the end of the last word {_TOO_LARGE}"
    if position - offsets[0][0] > MAX_SENTENCE_LENGTH:
        return f"the offsets span {position - offsets[0][0]:,} characters, expected at most {MAX_SENTENCE_LENGTH:,}"
    return None


_TOO_LARGE = "is a whole number too large to be exact, expected one from -2^53 to 2^53"


def _is_too_large(number: float) -> bool:
    return type(number) is int and abs(number) > MAX_INTEGER


def _is_storable(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _entity_name(entity: Entity) -> str:
    return f"entity [{entity.start}, {entity.end}) {entity.type}"
