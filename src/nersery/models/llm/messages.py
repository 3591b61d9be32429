"""Parts of prompts to a language model: the types, gold sentences as examples, and the form of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nersery.core.random import item_rng
from nersery.core.sentence import Sentence
from nersery.core.text.definitions import definition
from nersery.models.llm.prompt import Message

MAX_EXAMPLE_LENGTH = 60
"""The most words of a gold sentence that is shown to the model."""


def type_list(types: Sequence[str], definitions: Mapping[str, str]) -> str:
    """The types and their definitions, one per line."""
    return "\n".join(f"- {type_}: {definition(type_, definitions)}" for type_ in types)


def chosen_examples(gold: Sequence[Sentence], number: int, *keys: object) -> list[Sentence]:
    """Gold sentences in random order: first those that add a type, then any others.

    Args:
        keys: Keys of the random generator.
    """
    drawn = [sentence for sentence in gold if len(sentence) <= MAX_EXAMPLE_LENGTH]
    item_rng(*keys).shuffle(drawn)
    shown: set[str] = set()
    first = []
    for sentence in drawn:
        types = {entity.type for entity in sentence.entities}
        if not types <= shown:
            first.append(sentence)
            shown |= types
    seen = {id(sentence) for sentence in first}
    return [*first, *(sentence for sentence in drawn if id(sentence) not in seen)][:number]


def conversation(system: str, examples: Sequence[tuple[str, str]], asked: str) -> tuple[Message, ...]:
    """Instructions, examples as earlier questions and answers, and the question."""
    turns = [turn for question, answer in examples for turn in (("user", question), ("assistant", answer))]
    return (("system", system), *turns, ("user", asked))


def object_schema(**properties: Any) -> dict[str, Any]:
    """The JSON schema of an object with exactly these keys."""
    return {
        "type": "object", "properties": properties, "required": [*properties], "additionalProperties": False
    }  # fmt: skip


def mention_list(sentence: Sentence) -> list[dict[str, str]]:
    """The entities of a sentence as a model should write them."""
    return [{"text": " ".join(sentence.mention(entity)), "type": entity.type} for entity in sentence.entities]
