"""One server: which requests it accepts, sending a request, and errors that do not contain the key."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from nersery.core.errors import JobFailedError, MissingResourceError, NerseryError, printable
from nersery.core.extras import required
from nersery.core.warnings import warn
from nersery.models.llm.answer_cache import AnswerCache
from nersery.models.llm.endpoint import Endpoint
from nersery.models.llm.prompt import Completion, Prompt
from nersery.models.llm.rate_limit import MAX_PAUSE, retry_delay

VARIANTS: Sequence[frozenset[str]] = (
    frozenset({"schema", "temperature", "seed", "max_tokens"}),
    frozenset({"schema", "seed", "max_completion_tokens"}),  # reasoning models choose the temperature themselves
    frozenset({"schema", "temperature", "max_tokens"}),  # Mistral has another name for the seed
    frozenset({"temperature", "seed", "max_tokens"}),
    frozenset({"temperature", "max_tokens"}),
    frozenset(),
)
"""The options that requests contain, best first. If a server refuses a variant, it is sent the next one."""
PROBE = Prompt(
    (("system", 'Answer with JSON only: {"ok": true}'), ("user", "Are you there?")),
    {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False},
)
MAX_PROBES = 6
"""Attempts at a busy server before a job starts, whatever ``retries`` is. Without an answer, the job cannot start."""
REFUSED = (400, 415, 422, 501)
"""HTTP statuses of a request that the server does not understand."""
FLAGGED = ("content_filter", "data_inspection_failed", "invalid_prompt")
"""Error codes of Azure, Alibaba and OpenAI for a text that their filter does not let through to the model."""
ABORTED = ("error", "abort", "insufficient_system_resource")
"""Finish reasons of OpenRouter, vLLM and DeepSeek if the server, and not the model, ended an answer."""
NO_KEY = "none"
"""Sent to servers without keys, because the client insists on one."""
MAX_MESSAGE_LENGTH = 300
MAX_ANSWER_LENGTH = 200_000
"""Characters. Longer text is not an answer to one sentence."""
MAX_RESPONSE_BYTES = 32 * 2**20
"""Bytes of a response after decompression."""
MAX_TOKENS = 10**9
"""Tokens of a request or an answer; a larger count cannot be right."""


class ServerError(NerseryError):
    """A request without an answer.

    Attributes:
        kind: A short text, the same for all errors of a kind.
        status: The HTTP status; 0 without a response, 200 for a response that is not an answer.
        is_unavailable: Whether no request can succeed: no server listens at the address, or it has no such model.
        is_busy: Whether the server had no time for the request, or a proxy did not reach the server.
        is_retryable: Whether a repeated request may succeed.
    """

    def __init__(self, text: str, kind: str, status: int = 0, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.kind, self.status, self.headers = kind, status, headers or {}
        self.is_unavailable = kind == "no connection" or status in (404, 405, 410)
        self.is_busy = status in (408, 409, 429) or status > 501
        self.is_rate_limit = status in (429, 503)
        self.is_retryable = status in (0, 200, 408, 409, 429) or status >= 500

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.kind, self.status, dict(self.headers))


class Connection:
    """A connection to a server, which `open` checks.

    Raises:
        MissingResourceError: If the client is not installed, or the key or the proxy cannot be used.
    """

    def __init__(self, settings: Endpoint) -> None:
        self._settings = settings
        if not (self._key.isascii() and self._key.isprintable()):  # the client's error would repeat it
            raise MissingResourceError(
                f"the key in {settings.key_variable} has a line break or a character that is not ASCII. Expected the "
                "key alone, in one line"
            )
        self._client = required("openai", "llm").OpenAI(
            api_key=self._key or NO_KEY,
            base_url=settings.base_url,
            timeout=settings.timeout,
            max_retries=0,
            http_client=_limited_client(),
        )
        self._variant = VARIANTS[0]
        self.name = f"{len(VARIANTS)} {settings.base_url} {settings.model}"  # variants are numbers in this list

    @property
    def _key(self) -> str:
        return os.environ.get(self._settings.key_variable, "").strip()

    def open(self, cache: AnswerCache) -> None:
        """Find out which requests the server accepts, unless the cache has the result of an earlier check.

        Raises:
            JobFailedError: If the server stays busy.
            MissingResourceError: If there is no server, no language model, or the key is missing or wrong.
        """
        if self._key and urlsplit(self._settings.base_url).scheme == "http" and is_remote(self._settings.base_url):
            warn(f"the key is sent to {self._settings.base_url} without encryption. Use https if the server has it")
        choices = [variant for variant in VARIANTS if self._settings.structured == "auto" or "schema" not in variant]
        known = cache.variant(self.name)
        if known is not None and VARIANTS[known] in choices:
            self._variant = VARIANTS[known]
            self._check_key()
            return
        refusals = []
        for variant in choices:
            self._variant = variant
            try:
                self._probe()
                break
            except ServerError as error:
                if error.status not in REFUSED or variant == choices[-1]:
                    raise MissingResourceError(self._no_model(error)) from None
                refusals.append(str(error))
        if "temperature" not in self._variant:
            left_out = "temperature" if "max_completion_tokens" in self._variant else "temperature and max_tokens"
            warn(f'"{self._settings.model}" refuses {left_out} ({refusals[0]}), so requests leave out {left_out}')
        cache.set_variant(self.name, VARIANTS.index(self._variant))

    def _no_model(self, error: ServerError) -> str:
        base_url = self._settings.base_url
        advice = "" if base_url.endswith("/v1") else ". The URLs of most servers end in /v1"
        return (
            f'no language model "{self._settings.model}" answers at {base_url}/chat/completions: {error}. Expected an '
            f"OpenAI-compatible server; check the settings server and model{advice}"
        )

    def _probe(self) -> None:
        """Try a request of the present variant. A busy server proves nothing about the variant, so wait and repeat."""
        for attempt in itertools.count(1):
            try:
                self.send(PROBE)
                return
            except ServerError as error:
                if not error.is_busy:
                    raise
                if attempt == MAX_PROBES:
                    raise JobFailedError(
                        f"{self._settings.base_url} was busy {attempt} times in a row: {error}. Expected one answer, "
                        "to learn which requests it accepts. Repeat the command later"
                    ) from None
                time.sleep(min(retry_delay(attempt, error.headers), MAX_PAUSE))

    def _check_key(self) -> None:
        """Check the key by requesting the list of models, which costs nothing. Servers may lack that list."""
        from openai import APIConnectionError, AuthenticationError, OpenAIError

        try:
            self._client.with_options(timeout=min(10, self._settings.timeout)).models.with_raw_response.list()
        except (AuthenticationError, APIConnectionError) as error:
            warn(f"{self._translated(error)}. Only answers in the cache can be used")
        except OpenAIError:
            pass

    def send(self, prompt: Prompt) -> Completion:
        """Send one request.

        Raises:
            ServerError: If there is no answer.
            MissingResourceError: If the key is missing or wrong, or its account has no credit left.
        """
        from httpx2 import Response
        from openai import OpenAIError

        settings = self._settings
        options: dict[str, Any] = {
            "temperature": settings.temperature, "seed": prompt.seed, "max_tokens": settings.max_tokens,
            "max_completion_tokens": settings.max_tokens,
        }  # fmt: skip
        chosen = {name: value for name, value in options.items() if name in self._variant}
        if "schema" in self._variant:
            schema = {"name": "answer", "strict": True, "schema": prompt.schema}
            chosen["response_format"] = {"type": "json_schema", "json_schema": schema}
        messages = [{"role": role, "content": text} for role, text in prompt.messages]
        body = {"model": settings.model, "messages": messages, **chosen}
        try:  # without the client's own types, which take half of its time
            return self._completion(self._client.post("/chat/completions", body=body, cast_to=Response).text)
        except OpenAIError as error:
            if _is_flagged(error):
                return Completion("", "content_filter")
            raise self._translated(error) from None

    def _completion(self, body: str) -> Completion:
        try:
            content = json.loads(body)
            choice = content["choices"][0]
            message, usage = choice["message"], content.get("usage") or {}
            text, refusal = _text(message.get("content")), message.get("refusal")
            sent, received = map(_tokens, (usage.get("prompt_tokens"), usage.get("completion_tokens")))
            finish = "refusal" if refusal else str(choice.get("finish_reason") or "stop")
            cleaned = self._without_key(text)[:MAX_ANSWER_LENGTH].encode("utf-8", "replace").decode()
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise ServerError(f"it answered {self._shown(body)}", "the response is no chat completion", 200) from None
        if finish in ABORTED:
            raise ServerError(f'it ended an answer with "{finish}"', "the answer broke off", 200)
        return Completion(cleaned, finish, sent, received)

    def _translated(self, error: Exception) -> ServerError:
        """An error of the client as a `ServerError`, without the key and without the request.

        Raises:
            MissingResourceError: If the key is missing or wrong, or its account has no credit left.
        """
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        if isinstance(error, APITimeoutError):
            return ServerError(
                f"no answer in {self._settings.timeout:g} s (the setting timeout)", "the server is silent"
            )
        if isinstance(error, APIConnectionError):
            cause = error.__cause__
            kind = "no connection" if type(cause).__name__ == "ConnectError" else "the connection broke"
            return ServerError(f"{kind} to {self._settings.base_url}: {self._shown(str(cause or error))}", kind)
        if not isinstance(error, APIStatusError):
            return ServerError(self._shown(str(error)), "the response is no chat completion", 200)
        status, message = error.status_code, self._shown(_message(error))
        if status in (401, 403):
            raise MissingResourceError(self._key_issue(status, message)) from None
        if status == 402 or error.code == "insufficient_quota":
            raise MissingResourceError(
                f"the account at {self._settings.base_url} has no credit left: {message}"
            ) from None
        return ServerError(f"status {status}, {message}", f"status {status}", status, error.response.headers)

    def _key_issue(self, status: int, message: str) -> str:
        variable, place = self._settings.key_variable, self._settings.base_url
        if self._key:
            return f"{place} refuses the key in {variable} (status {status}): {message}"
        return f"{place} requires a key (status {status}): {message}. Set the environment variable {variable}"

    def _shown(self, text: str) -> str:
        text = printable(self._without_key(" ".join(text.split()))).rstrip(".")
        return text if len(text) <= MAX_MESSAGE_LENGTH else f"{text[:MAX_MESSAGE_LENGTH]}…"

    def _without_key(self, text: str) -> str:
        """The text of a server without the key, which some servers repeat."""
        return text.replace(self._key, "***") if self._key else text


def is_remote(url: str) -> bool:
    """Whether a URL names a host that is not in a private network, as far as its name shows.

    >>> [is_remote(f"http://{host}:80/v1") for host in ("localhost", "gpu7", "10.0.0.7", "8.8.8.8", "llm.example.com")]
    [False, False, False, True, True]
    """
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith((".internal", ".lan", ".local", ".localhost"))


def _limited_client() -> Any:
    """An HTTP client that stops reading after `MAX_RESPONSE_BYTES` of a response. httpx has no such limit."""
    from httpx2 import ReadError, Request, Response
    from openai import DefaultHttpxClient

    class LimitedClient(DefaultHttpxClient):  # type: ignore[misc]
        def send(self, request: Request, **options: Any) -> Response:
            response = super().send(request, **{**options, "stream": True})
            content = bytearray()
            try:
                for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > MAX_RESPONSE_BYTES:
                        raise ReadError(f"the response has more than {MAX_RESPONSE_BYTES:,} bytes", request=request)
            finally:
                response.close()
            response.headers.pop("content-encoding", None)  # it is decompressed
            return Response(
                response.status_code, headers=response.headers, content=bytes(content), request=response.request
            )

    try:
        return LimitedClient()
    except (ImportError, ValueError) as error:  # such as a SOCKS proxy, which needs another package
        raise MissingResourceError(f"the proxy in the environment variables cannot be used: {error}") from None


def _text(content: Any) -> str:
    """The text of an answer. Mistral's reasoning models answer in parts, some of which are thoughts.

    >>> _text([{"type": "thinking", "thinking": []}, {"type": "text", "text": "{}"}]), _text(None)
    ('{}', '')
    """
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part["type"] == "text")
    return str(content or "")


def _tokens(count: Any) -> int:
    """A number of tokens; 0, which means unknown, for an impossible number.

    >>> [_tokens(count) for count in (12, None, -5, float("inf"), 10**40)]
    [12, 0, 0, 0, 0]
    """
    try:
        number = int(count or 0)
    except OverflowError:
        return 0
    return number if 0 <= number <= MAX_TOKENS else 0


def _is_flagged(error: Any) -> bool:
    """Whether a filter found the text of a request unsuitable. OpenRouter has no code for it, but repeats the text."""
    body = getattr(error, "body", None)
    if not isinstance(body, Mapping):
        return False
    details = body.get("metadata")
    return body.get("code") in FLAGGED or (isinstance(details, Mapping) and "flagged_input" in details)


def _message(error: Any) -> str:
    """The server's message about the error, which is JSON in the form of OpenAI or FastAPI, other JSON, or no JSON."""
    body = error.body
    if isinstance(body, Mapping):
        return str(body.get("message", body.get("detail", ""))) or json.dumps(body)
    return str(body or error.response.text or error)
