"""Sends requests to an OpenAI-compatible server, several at a time. Each answer is paid for once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import copy_context
from functools import cached_property
from pathlib import Path

from nersery.core.errors import JobFailedError
from nersery.core.outcome import Reject
from nersery.core.progress import Progress
from nersery.core.system.files import cache_folder
from nersery.core.warnings import warn
from nersery.models.llm.answer_cache import AnswerCache
from nersery.models.llm.connection import REFUSED, Connection, ServerError
from nersery.models.llm.endpoint import Endpoint
from nersery.models.llm.prompt import Completion, Prompt
from nersery.models.llm.rate_limit import MAX_PAUSE, RateLimiter, retry_delay
from nersery.models.llm.spending import Spending

MAX_FAILURES = 5
"""The job stops after this many requests in a row that failed in spite of all retries."""


class ChatClient:
    """Gets answers from the cache, or else from a server.

    Attributes:
        spending: What this client has spent so far; during `planning`, what it would spend.
    """

    def __init__(self, settings: Endpoint) -> None:
        self._settings = settings
        self._connection: Connection | None = None
        self._plans = False
        self._failures = 0
        self._noted = set[str]()
        self._lock = threading.Lock()
        self.spending = Spending(settings)

    @contextmanager
    def planning(self) -> Iterator[Spending]:
        """Send nothing within the context. Requests are counted, and rejected if their answer is not in the cache."""
        before, self._plans = self.spending, True
        self.spending = Spending(self._settings)
        try:
            yield self.spending
        finally:
            self.spending, self._plans = before, False

    def check(self) -> None:
        """Check that a language model answers, and which requests it accepts; see `Connection.open`."""
        self._connection = Connection(self._settings)
        self._connection.open(self._answers)

    def ask(
        self, prompts: Sequence[Prompt], label: str = "requests", *, quiet: bool = True
    ) -> list[Completion | Reject]:
        """The answer to each prompt, in order, or the reason why it has no answer. Equal prompts are sent once.

        Raises:
            JobFailedError: If the budget is used up, or the server keeps failing. Answers so far are in the cache.
            MissingResourceError: If the server does not accept the key.
        """
        keys = [self._key(prompt) for prompt in prompts]
        by_key: dict[str, Prompt] = dict(zip(keys, prompts, strict=True))
        answers: dict[str, Completion | Reject] = {**self._answers.find(keys)}
        self.spending.cached += len(answers)
        missing = {key: prompt for key, prompt in by_key.items() if key not in answers}
        if self._plans:
            for prompt in missing.values():
                self.spending.estimate(prompt)
            answers |= dict.fromkeys(missing, Reject("only planned"))
        else:
            with Progress(label, len(by_key), quiet=quiet) as progress:
                progress.advance(len(answers), resumed=True, note=str(self.spending))
                if missing:
                    answers |= self._ask_missing(missing, progress)
        return [answers[key] for key in keys]

    @cached_property
    def _answers(self) -> AnswerCache:
        return AnswerCache(Path(self._settings.cache or cache_folder() / "llm"))

    def _key(self, prompt: Prompt) -> str:
        settings = self._settings
        return prompt.key(
            server=settings.base_url, model=settings.model, temperature=settings.temperature,
            max_tokens=settings.max_tokens, structured=settings.structured,
        )  # fmt: skip

    def _ask_missing(self, prompts: dict[str, Prompt], progress: Progress) -> dict[str, Completion | Reject]:
        if self._connection is None:
            self.check()
        limiter, answers = RateLimiter(self._settings.requests_per_minute), dict[str, Completion | Reject]()
        with ThreadPoolExecutor(self._settings.concurrency) as pool:
            futures: dict[Future[Completion | Reject], str] = {
                pool.submit(copy_context().run, self._answer, key, prompt, limiter): key  # --quiet is in the context
                for key, prompt in prompts.items()
            }
            try:
                for future in as_completed(futures):
                    answers[futures.pop(future)] = future.result()
                    progress.advance(note=str(self.spending))
            except BaseException:
                limiter.stop()
                pool.shutdown(cancel_futures=True)  # waits for sent requests, which are paid for
                raise
        return answers

    def _answer(self, key: str, prompt: Prompt, limiter: RateLimiter) -> Completion | Reject:
        """Send a request, repeat it after server errors, and store the answer."""
        self.spending.reserve(prompt)
        answer = None
        try:
            answer = self._repeated(prompt, limiter)
            self._answers.add(key, answer)
        except ServerError as error:
            return self._failed(error)
        finally:
            self.spending.settle(prompt, answer)
        self._failures = 0
        return answer

    def _repeated(self, prompt: Prompt, limiter: RateLimiter) -> Completion:
        assert self._connection is not None
        attempt = 0
        while True:
            limiter.acquire()
            try:
                return self._connection.send(prompt)
            except ServerError as error:
                if attempt == self._settings.retries or not error.is_retryable:
                    raise
                pause = retry_delay(attempt, error.headers)
                if pause > MAX_PAUSE:
                    self._note("pause", f"{self._settings.base_url} asks to wait {pause:.0f} s ({error})")
                limiter.pause(pause, everyone=error.is_rate_limit)
            attempt += 1

    def _failed(self, error: ServerError) -> Reject:
        """The reject of a request without an answer. Too many failures in a row stop the job."""
        with self._lock:
            self._failures += error.is_retryable
            failures = self._failures
        if error.is_unavailable or failures >= MAX_FAILURES:
            raise JobFailedError(
                f"{error}. Answers are kept: the same command resumes once {self._settings.base_url} answers again"
            )
        if error.status in REFUSED and not self.spending.asked and self._connection is not None:
            self._answers.forget_variant(self._connection.name)  # the server may have another model by now
        self._note(error.kind, f"a request got no answer and its sentence is rejected: {error}")
        return Reject(f"no answer: {error.kind}", error=error)

    def _note(self, kind: str, text: str) -> None:
        """Print the first note of a kind: rejects do not contain the server's message."""
        with self._lock:
            is_first = kind not in self._noted
            self._noted.add(kind)
        if is_first:
            warn(text)
