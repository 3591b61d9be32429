"""Finds mentions that a language model copied from a sentence: exactly, except for white space and Unicode forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from typing import Any

from nersery.core.entity import Entity, Span
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.core.text.text_forms import composed
from nersery.models.llm.prompt import PLACEHOLDERS, WRONG_FORM


def spelled(words: Sequence[str]) -> str:
    """Words joined, composed and without white space, to compare two ways of splitting and encoding the same text.

    >>> spelled(["New", "York"]) == spelled(["NewYork"])
    True
    """
    return "".join("".join(map(composed, words)).split())


def occurrences(mention: str, words: Sequence[str]) -> Iterator[Span]:
    """The spans of whole words that spell a mention, in order. White space does not count.

    >>> list(occurrences("U.S .", ["the", "U.S", ".", "and", "U.S."]))
    [(1, 3), (4, 5)]
    """
    wanted, text = spelled([mention]), spelled(words)
    ends = list(accumulate(len(spelled([word])) for word in words))
    # A word of white space alone, such as U+3000, has length 0. At the edge of a mention, it is not part of it.
    starts = {0: 0} | {end: number for number, end in enumerate(ends, start=1)}
    stops = {end: number for number, end in reversed([*enumerate(ends, start=1)])}
    place = text.find(wanted) if wanted else -1
    while place >= 0:
        start, end = starts.get(place), stops.get(place + len(wanted))
        if start is not None and end is not None:
            yield start, end
        place = text.find(wanted, place + 1)


def placed_mentions(answer: Any, sentence: Sentence, types: Collection[str]) -> tuple[Entity, ...] | Reject:
    """The entities of an answer, each at its words, or the reason why one of them has no place.

    Mentions of the same text take their places from left to right. If all entries for a text have the same type, that
    type also labels the places of the text that the answer leaves out.

    Args:
        answer: Should be a list of objects with ``text`` and ``type``; None counts as no entity. Types match in any
            case, and placeholders such as *N/A* that the sentence lacks are no entities.
    """
    mentions = _pairs([] if answer is None else answer)
    if isinstance(mentions, Reject):
        return mentions
    by_lower_case = {type_.casefold(): type_ for type_ in types}
    mentions = [
        (text, type_ if type_ in types else by_lower_case.get(type_.casefold(), type_))
        for text, type_ in mentions
        if text.strip(" .").casefold() not in PLACEHOLDERS or any(occurrences(text, sentence.words))
    ]
    taken: list[bool] = [False] * len(sentence)
    entities: list[Entity] = []
    # Longest first, so that no mention takes part of the place of a longer one.
    longest_first = sorted(mentions, key=lambda pair: -len(spelled(pair[:1])))
    for text, type_ in [*longest_first, *_repeated(mentions, sentence)]:
        if type_ not in types:
            return Reject("an entity has an unknown type")
        places = list(occurrences(text, sentence.words))
        if not places:
            return Reject("an entity is not in the sentence")
        free = next((place for place in places if not any(taken[slice(*place)])), None)
        if free is None:
            if any(entity.type == type_ and (entity.start, entity.end) in places for entity in entities):
                continue  # listed more often than it occurs
            return Reject("entities overlap")
        taken[slice(*free)] = [True] * (free[1] - free[0])
        entities.append(Entity(*free, type_))
    return tuple(sorted(entities, key=lambda entity: entity.start))


def _pairs(answer: Any) -> list[tuple[str, str]] | Reject:
    entries = answer if isinstance(answer, list) else [None]
    pairs = [(entry.get("text"), entry.get("type")) if isinstance(entry, dict) else (None, None) for entry in entries]
    if not all(isinstance(text, str) and isinstance(type_, str) and text.strip() for text, type_ in pairs):
        return WRONG_FORM
    return [(str(text), str(type_)) for text, type_ in pairs]


def _repeated(mentions: Sequence[tuple[str, str]], sentence: Sentence) -> list[tuple[str, str]]:
    """A mention for each place that the answer leaves out, if all entries for its text have the same type."""
    listed = Counter(spelled([text]) for text, _ in mentions)
    types: dict[str, set[str]] = {}
    for text, type_ in mentions:
        types.setdefault(spelled([text]), set()).add(type_)
    return [
        (text, next(iter(text_types)))
        for text, text_types in types.items()
        if len(text_types) == 1
        for _ in range(len(list(occurrences(text, sentence.words))) - listed[text])
    ]
