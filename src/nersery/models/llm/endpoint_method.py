"""Base of every method that asks a language model behind an endpoint. Imports no client, so listing stays fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from nersery.core.counting import plural
from nersery.core.errors import printable
from nersery.core.outcome import Reject
from nersery.core.progress import Progress
from nersery.core.registry import name_of
from nersery.core.settings.typed_settings import hidden
from nersery.core.warnings import warn
from nersery.models.llm.chat_client import ChatClient
from nersery.models.llm.endpoint import Endpoint
from nersery.models.llm.prompt import WRONG_FORM, Completion, Prompt

MAX_SHOWN_LENGTH = 100
"""Characters of an answer that a note shows."""


@dataclass
class EndpointMethod(Endpoint):
    """Base of the methods that ask a language model; their documentation includes the settings of `Endpoint`."""

    items_at_once: ClassVar[int] = 2048
    """Large, because the pool runs dry at the end of each batch, and the cache keeps answers, whatever the batch."""
    in_place_of_workers: ClassVar[str] = "concurrency"
    """Each worker would have its own limits, so that a job could spend its budget many times."""
    _is_quiet: bool = hidden(default=True)
    _has_shown: bool = hidden(default=False)

    @cached_property
    def client(self) -> ChatClient:
        """The client that sends the requests. Its connections open with the first request."""
        return ChatClient(self)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the client, because each worker opens its own connections."""
        return {name: value for name, value in self.__dict__.items() if name != "client"}

    def check(self) -> None:
        """Check that the model answers and accepts the key; see `Annotator.check` and `Augmenter.check`."""
        self.client.check()

    def follow(self, progress: Progress | None) -> None:
        """Show the progress of requests if the progress of the job is shown."""
        self._is_quiet = progress is None or progress.quiet

    def ask(self, prompts: Sequence[Prompt], key: str) -> list[Any | Reject]:
        """The value of a key in the answer to each prompt, or why there is none; see `ChatClient.ask`."""
        answers = self.client.ask(prompts, f"{name_of(self)}: requests", quiet=self._is_quiet)
        contents = [answer if isinstance(answer, Reject) else answer.content(key) for answer in answers]
        self._show_unusable(
            [a for a, content in zip(answers, contents, strict=True) if content == WRONG_FORM], len(answers)
        )
        return contents

    def _show_unusable(self, unusable: Sequence[Completion | Reject], asked: int) -> None:
        """Show one of the unusable answers, once, if most are unusable: rejects do not contain the answers."""
        if len(unusable) <= asked / 2 or self._has_shown:
            return
        self._has_shown = True
        text = next((" ".join(a.text.split()) for a in unusable if isinstance(a, Completion) and a.text.strip()), "")
        shown = (
            f', such as "{printable(text[:MAX_SHOWN_LENGTH])}{"…" if len(text) > MAX_SHOWN_LENGTH else ""}"'
            if text
            else ": all are empty"
        )
        warn(f'"{self.model}" gave no JSON of the expected form in {len(unusable)} of {plural(asked, "answer")}{shown}')
