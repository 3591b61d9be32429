"""Labelled sequence linearization: each word of an entity is placed between two tokens for its tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nersery.core.sentence import Entity, Sentence
from nersery.core.text.definitions import description
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.tokens import TOKEN_PREFIX


@dataclass(frozen=True, slots=True)
class Linearized:
    """A sentence with tag tokens among its words.

    Args:
        words: Words and tag tokens.
        positions: The position of each word of the sentence in ``words``.
    """

    words: tuple[str, ...]
    positions: tuple[int, ...]


def linearize(sentence: Sentence, languages: Mapping[Entity, str] | None = None, *, closed: bool = True) -> Linearized:
    """The sentence with the tag token of each word of an entity before and after the word.

    Args:
        languages: The language of each entity, for a marker before the entity; None adds no markers.
        closed: Add the token after the word, too; otherwise it is only before the word.

    >>> sentence = Sentence(("Jo", "Li", "won"), (Entity(0, 2, "PER"),))
    >>> " ".join(linearize(sentence).words).replace(TOKEN_PREFIX, "")
    '<b-PER> Jo <b-PER> <i-PER> Li <i-PER> won'
    """
    tags = {
        position: (entity, tag_token(entity.type, begins=position == entity.start))
        for entity in sentence.entities
        for position in entity.positions
    }
    words: list[str] = []
    positions = []
    for position, word in enumerate(sentence.words):
        entity, tag = tags.get(position, (None, ""))
        if languages and entity is not None and position == entity.start and languages.get(entity):
            words.append(language_token(languages[entity]))
        words += [tag] if entity else []
        positions.append(len(words))
        words += [word, tag] if entity and closed else [word]
    return Linearized(tuple(words), tuple(positions))


def with_split_words(sentence: Sentence, parts: Callable[[str], Sequence[str]]) -> Sentence:
    """The sentence with words such as "10 000" split, for models whose text is split into words at spaces.

    Args:
        parts: Returns the words that the model writes for a word.

    >>> with_split_words(Sentence(("10 000", "won"), (Entity(0, 1, "NUM"),)), str.split).labels
    ((0, 2, 'NUM'),)
    """
    written = ((position, parts(word)) for position, word in enumerate(sentence.words))
    edits = [(position, position + 1, words) for position, words in written if len(words) > 1]
    return sentence.replace_spans(edits) if edits else sentence


def linearized_input(
    sentence: Sentence, positions: Iterable[int], languages: Mapping[Entity, str] | None = None
) -> MaskedInput:
    """The linearized sentence with words hidden.

    Args:
        positions: The positions of these words in the sentence, in order.
        languages: See `linearize`.
    """
    shown = linearize(sentence, languages)
    names = frozenset(shown.positions[position] for position in sentence.inside)
    gaps = tuple(shown.positions[position] for position in positions)
    return MaskedInput(shown.words, gaps, names=names, language=sentence.language)


def tag_token(type: str, *, begins: bool) -> str:
    """The token of a tag. No word of a corpus and no other type has the same, even if types differ only in case."""
    return f"{TOKEN_PREFIX}<{'b' if begins else 'i'}-{type}>"


def language_token(language: str) -> str:
    """The token for the language of an entity."""
    return f"{TOKEN_PREFIX}<language {language}>"


def token_descriptions(types: Iterable[str], languages: Iterable[str], own: Mapping[str, str]) -> dict[str, str]:
    """All tokens of some types and languages, with the texts that initialize their embeddings.

    Args:
        own: The user's descriptions of types.
    """
    tags = {
        tag_token(type_, begins=begins): description(type_, own) for type_ in sorted(types) for begins in (True, False)
    }
    return tags | {language_token(language): f"language {language}" for language in sorted(languages)}
