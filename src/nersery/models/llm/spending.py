"""Tokens and dollars: what was spent, what a job would spend, and the limit of both."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from nersery.core.errors import JobFailedError
from nersery.models.llm.endpoint import Endpoint
from nersery.models.llm.prompt import Completion, Prompt, estimated_tokens


@dataclass
class Spending:
    """Counts requests and tokens, for several threads.

    Args:
        settings: The endpoint with the prices and the budget.
        asked: Requests that were or would be sent.
        cached: Requests that the cache answers.
        sent: Tokens of the requests.
        received: Tokens of the answers.
    """

    settings: Endpoint
    asked: int = 0
    cached: int = 0
    sent: int = 0
    received: int = 0
    _reserved: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def estimate(self, prompt: Prompt) -> None:
        """Count a request that is only planned."""
        sent, received = _estimated(prompt)
        self.asked, self.sent, self.received = self.asked + 1, self.sent + sent, self.received + received

    def reserve(self, prompt: Prompt) -> None:
        """Set tokens aside for a request; a `JobFailedError` if the budget has fewer left."""
        tokens, budget = sum(_estimated(prompt)), self.settings.budget
        with self._lock:
            used = self.sent + self.received
            if budget is not None and used + self._reserved + tokens > budget:
                raise JobFailedError(
                    f"the budget of {budget:,} tokens is used up: {self}, {self._reserved:,} for requests under way, "
                    f"{tokens:,} for the next. Answers are kept: the same command resumes, with the same budget again"
                )
            self._reserved += tokens

    def settle(self, prompt: Prompt, answer: Completion | None) -> None:
        """Release the tokens set aside for a request, and count those of its answer, estimated if they are unknown."""
        sent, received = _estimated(prompt)
        with self._lock:
            self._reserved -= sent + received
            if answer is not None:
                self.asked += 1
                self.sent += answer.sent or sent
                self.received += (answer.sent and answer.received) or estimated_tokens(answer.text)

    @property
    def dollars(self) -> float:
        """The cost; 0 without prices."""
        return (self.sent * self.settings.input_price + self.received * self.settings.output_price) / 1e6

    def as_dict(self) -> dict[str, int | float]:
        """The counts and the cost, for JSON."""
        names = ("asked", "cached", "sent", "received", "dollars")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        """One line, e.g. ``900 requests, 100 from the cache, 81,000 + 9,000 tokens, $0.02``."""
        cost = f", ${self.dollars:,.2f}" if self.settings.input_price or self.settings.output_price else ""
        cached = f", {self.cached:,} from the cache" if self.cached else ""
        return f"{self.asked:,} requests{cached}, {self.sent:,} + {self.received:,} tokens{cost}"


def _estimated(prompt: Prompt) -> tuple[int, int]:
    return sum(estimated_tokens(text) + 4 for _, text in prompt.messages), estimated_tokens(prompt.expected) + 8
