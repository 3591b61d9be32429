"""Sentences of all kinds, for round-trip tests."""

from __future__ import annotations

from hypothesis import strategies as st

from nersery.core.sentence import Entity, Origin, Sentence
from nersery.core.sentence_validation import is_type_name

AWKWARD = [
    "#MH17",
    "#",
    "# id x",
    "-DOCSTART-",
    "-",
    "O",
    "B-PER",
    "1",
    "_",
    "New York",
    "क्\u200dष",
    "می\u200cخواهم",
    "👩\u200d👩\u200d👧",
    "e\u0301",
    "é",
    "שלום",
    "東京",
    "\u200b",
    "\u00a0",
    "\u3000",
    "\u2028",
    "\ufeff",
    "\ufeffword",
    '"\\u0041',
]


def texts(forbidden: str = "") -> st.SearchStrategy[str]:
    """Words that may occur in a corpus, without the given characters."""
    characters = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=forbidden)
    words = st.sampled_from(AWKWARD) | st.text(characters, min_size=1, max_size=6)
    return words.filter(lambda word: word == word.strip(" ") != "" and not set(forbidden) & set(word))


@st.composite
def sentences(draw: st.DrawFn, *, forbidden: str = "", columns: int = 0) -> Sentence:
    """A sentence with words, entities and extra columns, but no id."""
    words = draw(st.lists(texts(forbidden), min_size=1, max_size=6))
    types = texts(forbidden).filter(is_type_name)
    entities, position = [], 0
    while position < len(words):
        end = position + draw(st.integers(0, 3))
        if position < end <= len(words):
            entities.append(Entity(position, end, draw(types)))
        position = max(end, position + 1)
    extra = st.lists(texts(forbidden), min_size=len(words), max_size=len(words)).map(tuple)
    return Sentence(tuple(words), tuple(entities), columns=tuple(draw(extra) for _ in range(columns)))


whole = st.integers(-(2**53), 2**53)
numbers = st.floats(allow_nan=False, allow_infinity=False) | whole
anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
comments = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=5)


@st.composite
def full_sentences(draw: st.DrawFn) -> Sentence:
    """A sentence with everything that a sentence can have, but no id."""
    sentence = draw(sentences(columns=draw(st.integers(0, 2))))
    entities = [
        Entity(entity.start, entity.end, entity.type, draw(st.none() | numbers)) for entity in sentence.entities
    ]
    origins = st.builds(Origin, anything, st.lists(anything).map(tuple), whole)
    return Sentence(
        sentence.words,
        tuple(entities),
        language=draw(anything),
        origin=draw(st.none() | origins),
        scores=draw(st.dictionaries(anything, numbers, max_size=2)),
        columns=sentence.columns,
        comments=tuple(draw(st.lists(comments, max_size=2))),
    )
