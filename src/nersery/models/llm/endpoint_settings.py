"""Base of every method that asks a language model behind an endpoint. Imports no client, so listing stays fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nersery.core.definitions import definition
from nersery.core.outcome import Reject
from nersery.core.progress import Progress
from nersery.core.random import item_rng
from nersery.core.registry import name_of
from nersery.core.sentence import Sentence
from nersery.models.llm.chat_client import ChatClient
from nersery.models.llm.endpoint import Endpoint
from nersery.models.llm.prompt import Completion, Message, Prompt, data_message

LONGEST_EXAMPLE = 60
"""Words of a gold sentence that is shown to the model."""
BATCH = 2048
"""Sentences at once. The pool runs dry at the end of each batch; answers are kept in the cache, not by the batch."""


@dataclass
class EndpointSettings(Endpoint):
    """Base of the methods that ask a language model; their documentation includes the settings of `Endpoint`."""

    _client: Any = field(default=None, init=False, repr=False, compare=False)
    _is_quiet: bool = field(default=True, init=False, repr=False, compare=False)

    @property
    def items_at_once(self) -> int:
        """Items that the method wants at once."""
        return BATCH

    @property
    def client(self) -> ChatClient:
        """What sends the requests; its connections open with the first one."""
        if self._client is None:
            self._client = ChatClient(self)
        client: ChatClient = self._client
        return client

    def __getstate__(self) -> dict[str, Any]:
        """Without the client, which opens its own connections in each worker."""
        return {**self.__dict__, "_client": None}

    def check(self) -> None:
        """Check that the model answers and accepts the key; see `Annotator.check` and `Augmenter.check`."""
        self.client.check()

    def follow(self, progress: Progress | None) -> None:
        """Show the progress of requests, if that of the job is shown."""
        self._is_quiet = progress is None or progress.quiet

    def ask(self, prompts: Sequence[Prompt]) -> list[Completion | Reject]:
        """The answers; see `ChatClient.ask`."""
        return self.client.ask(prompts, f"{name_of(self)}: requests", quiet=self._is_quiet)


def type_list(types: Sequence[str], definitions: Mapping[str, str]) -> str:
    """The types and what they mean, a line each."""
    return "\n".join(f"- {type_}: {definition(type_, definitions)}" for type_ in types)


def chosen_examples(gold: Sequence[Sentence], number: int, *keys: object) -> list[Sentence]:
    """Some gold sentences: first those that show further types, then any, by chance.

    Args:
        keys: Of the random generator.
    """
    drawn = [sentence for sentence in gold if len(sentence) <= LONGEST_EXAMPLE]
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


def mentions_message(sentence: Sentence) -> str:
    """The entities of a sentence as the answer of a model."""
    return data_message(entities=mention_list(sentence))
