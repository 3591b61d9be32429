"""Answers and errors in the form of hosted and local servers: Azure, OpenRouter, Mistral, OpenAI, Ollama, vLLM."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nersery import Corpus, Sentence, annotate
from nersery.annotate.llm_labels import LlmLabels
from nersery.core.errors import JobFailedError, MissingResourceError
from nersery.core.outcome import Result
from nersery.core.warnings import forget_notes
from nersery.models.llm.connection import ServerError

pytest.importorskip("openai")
Responder = Callable[[dict[str, Any], str], tuple[int, Any]]
EMPTY = {"choices": [{"message": {"content": '{"entities": []}'}, "finish_reason": "stop"}]}


class Server(ThreadingHTTPServer):
    """A server in this process; `respond` gets a request and the text of its last message."""

    daemon_threads = True
    respond: Responder
    headers: dict[str, str]
    requests: list[dict[str, Any]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        status, content = self.server.respond(request, request["messages"][-1]["content"])
        body = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server() -> Iterator[Server]:
    forget_notes()
    with Server(("127.0.0.1", 0), Handler) as running:
        running.headers, running.requests = {}, []
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def labelled(server: Server, cache: Path, *texts: str, path: str = "/v1", **settings: Any) -> Result:
    url = f"http://127.0.0.1:{server.server_port}{path}"
    own = {"types": ["PER"], "retries": 0, "concurrency": 1, "cache": str(cache), **settings}
    method = LlmLabels("tiny", server=url, **own)
    method.check()
    return annotate(Corpus(Sentence(tuple(text.split())) for text in texts), method)


def test_a_sentence_that_a_filter_refuses_does_not_stop_the_job(server: Server, tmp_path: Path) -> None:
    errors = {
        "azure": (400, {"message": "The response was filtered", "code": "content_filter", "param": "prompt"}),
        "openrouter": (403, {"message": "flagged", "code": 403, "metadata": {"flagged_input": "bad", "reasons": []}}),
    }

    def respond(request: dict[str, Any], text: str) -> tuple[int, Any]:
        status, error = next((errors[name] for name in errors if name in text), (200, None))
        return status, {"error": error} if error else EMPTY

    server.respond = respond
    result = labelled(server, tmp_path, "Ada left", "bad azure", "bad openrouter", "Ada came")
    assert len(result.corpus) == 2
    assert [reject.reason for reject in result.rejects] == ["the model refused to answer"] * 2
    count = len(server.requests)
    assert labelled(server, tmp_path, "Ada left", "bad azure", "bad openrouter", "Ada came") == result
    assert len(server.requests) == count, "refusals are kept, too"


def test_a_model_that_disappears_stops_the_job(server: Server, tmp_path: Path) -> None:
    server.respond = lambda request, text: (404, {"error": {"message": "no tiny"}}) if "Ada" in text else (200, EMPTY)
    with pytest.raises(JobFailedError, match=r"status 404, no tiny\. Answers are kept: the same command resumes"):
        labelled(server, tmp_path, "who left", "Ada left", "Ada came")
    server.respond = lambda request, text: (200, EMPTY)
    assert len(labelled(server, tmp_path, "who left", "Ada left", "Ada came").corpus) == 3
    assert sum("who" in request["messages"][-1]["content"] for request in server.requests) == 1


def test_a_note_shows_the_first_error_of_rejected_sentences(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = {"error": {"message": "maximum context length is 2048 tokens."}}
    server.respond = lambda request, text: (400, error) if "long" in text else (200, EMPTY)
    result = labelled(server, tmp_path, "Ada left", "long text", "long again")
    assert [reject.reason for reject in result.rejects] == ["no answer: status 400"] * 2
    assert capsys.readouterr().err.count("status 400, maximum context length is 2048 tokens\n") == 1


def test_a_note_tells_of_a_long_pause(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nersery.models.llm.rate_limit.RateLimiter.pause", lambda limiter, seconds, everyone: None)
    server.headers = {"Retry-After": "600"}
    server.respond = lambda request, text: (429, {"error": {"message": "slow"}}) if "Ada" in text else (200, EMPTY)
    assert len(labelled(server, tmp_path, "who left", "Ada left", retries=1).rejects) == 1
    assert "asks to wait 600 s (status 429, slow)" in capsys.readouterr().err


def test_a_proxy_error_at_the_start_is_retried(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nersery.models.llm.connection.retry_delay", lambda attempt, headers: 0.01)
    server.respond = lambda request, text: (502, "Bad Gateway") if len(server.requests) == 1 else (200, EMPTY)
    assert len(labelled(server, tmp_path, "Ada left").corpus) == 1


def test_a_server_that_refuses_only_the_seed_gets_a_schema(server: Server, tmp_path: Path) -> None:
    """Mistral calls the seed ``random_seed`` and refuses fields that it does not know."""
    server.respond = lambda request, text: (
        (422, {"detail": []}) if {"seed", "max_completion_tokens"} & {*request} else (200, EMPTY)
    )
    labelled(server, tmp_path, "Ada left")
    last = server.requests[-1]
    assert {"response_format", "temperature", "max_tokens"} <= {*last}


def test_a_note_names_a_temperature_that_is_left_out(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.respond = lambda request, text: (
        (400, {"error": {"message": "no max_tokens"}}) if "max_tokens" in request else (200, EMPTY)
    )
    labelled(server, tmp_path, "Ada left")
    assert '"tiny" refuses temperature (status 400, no max_tokens)' in capsys.readouterr().err


def test_a_missing_path_has_advice(server: Server, tmp_path: Path) -> None:
    server.respond = lambda request, text: (404, {"detail": "Not Found"})
    with pytest.raises(MissingResourceError, match="The URLs of most servers end in /v1"):
        labelled(server, tmp_path, "Ada left", path="")
    with pytest.raises(MissingResourceError) as refused:
        labelled(server, tmp_path, "Ada left")
    assert "most servers" not in str(refused.value)


@pytest.mark.parametrize("key", ["sk-abc\nsk-secret", "“sk-secret”"])
def test_a_key_that_no_request_can_contain_is_not_repeated(
    key: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_API_KEY", key)
    with pytest.raises(MissingResourceError, match="the key in LLM_API_KEY has") as refused:
        labelled(server, tmp_path, "Ada left")
    assert "sk-" not in str(refused.value)
    assert not server.requests


def test_a_proxy_that_cannot_be_used_is_named(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "foo://proxy:1")
    with pytest.raises(MissingResourceError, match="the proxy in the environment variables cannot be used"):
        labelled(server, tmp_path, "Ada left")


def test_a_server_that_refuses_all_requests_is_checked_again_by_the_next_job(server: Server, tmp_path: Path) -> None:
    """A deployment of Azure keeps its name when its model is replaced."""
    server.respond = lambda request, text: (200, EMPTY)
    labelled(server, tmp_path, "Ada left")
    server.respond = lambda request, text: (
        (400, {"error": {"message": "no max_tokens"}}) if "max_tokens" in request else (200, EMPTY)
    )
    with pytest.raises(ServerError, match="no max_tokens"):
        labelled(server, tmp_path, "Ada came")
    assert len(labelled(server, tmp_path, "Ada came").corpus) == 1


def test_a_key_that_is_sent_without_encryption_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LLM_API_KEY", "sk-secret")
    with pytest.raises(MissingResourceError, match="no connection"):
        LlmLabels("tiny", server="http://llm.invalid/v1", types=["PER"], cache=str(tmp_path)).check()
    note = capsys.readouterr().err
    assert "the key is sent to http://llm.invalid/v1 without encryption" in note
    assert "sk-" not in note
