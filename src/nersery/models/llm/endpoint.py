"""A language model behind an OpenAI-compatible endpoint: its address and the settings of requests."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from typing import Literal
from urllib.parse import urlsplit

from nersery.core.errors import SettingsError
from nersery.core.settings.ranges import Count, CountOrZero, NotNegative, Positive

OPENAI = "https://api.openai.com/v1"
SERVER_VARIABLE, OPENAI_KEY_VARIABLE = "OPENAI_BASE_URL", "OPENAI_API_KEY"
OTHER_KEY_VARIABLE = "LLM_API_KEY"
"""The variable with the key of a server that only a setting names. A stranger's recipe must not get OpenAI's key."""


@dataclass
class Endpoint:
    """A model on a server.

    Args:
        model: The model's name on the server.
        server: URL of an OpenAI-compatible server, such as `http://localhost:11434/v1`; it gets `LLM_API_KEY` of the
            environment. Empty: `OPENAI_BASE_URL`, or else OpenAI, with `OPENAI_API_KEY`.
        temperature: Sampling temperature; 0 takes the most probable answer.
        max_tokens: Maximum tokens per answer.
        structured: ``auto`` sends a JSON schema if the server accepts one; ``off`` never does.
        concurrency: Maximum parallel requests; replaces `--workers`.
        requests_per_minute: Maximum requests per minute.
        retries: Repetitions of a request after server errors, with pauses.
        timeout: Seconds to wait for an answer.
        budget: Stop the job after this many tokens, prompts included. The same command resumes with a new budget.
        input_price: Dollars per million prompt tokens, for reports.
        output_price: Dollars per million answer tokens.
        cache: Folder of answers, so that none is paid for twice. Empty: ``~/.cache/nersery/llm``.
    """

    model: str
    _: KW_ONLY
    server: str = ""
    temperature: NotNegative = 0.0
    max_tokens: Count = 1024
    structured: Literal["auto", "off"] = "auto"
    concurrency: Count = 8
    requests_per_minute: Positive | None = None
    retries: CountOrZero = 5
    timeout: Positive = 120.0
    budget: Count | None = None
    input_price: NotNegative = 0.0
    output_price: NotNegative = 0.0
    cache: str = ""

    def check_endpoint(self) -> None:
        """Raise `SettingsError` for settings that cannot work."""
        if not self.model.strip():
            raise SettingsError("model is empty, expected the name of a model on the server")
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(f"server is {self.server!r}, expected a URL such as http://localhost:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            named = "server" if self.server else SERVER_VARIABLE  # not its value, which may hold a key
            raise SettingsError(
                f"{named} has a user, password or query: expected a plain URL; keys go into {OTHER_KEY_VARIABLE}"
            )

    @property
    def base_url(self) -> str:
        """The URL before ``/chat/completions``."""
        return (self.server or os.environ.get(SERVER_VARIABLE) or OPENAI).rstrip("/")

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the server's key."""
        default_url = (os.environ.get(SERVER_VARIABLE) or OPENAI).rstrip("/")
        return OPENAI_KEY_VARIABLE if self.base_url == default_url else OTHER_KEY_VARIABLE
