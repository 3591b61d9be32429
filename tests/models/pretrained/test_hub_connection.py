"""A hub that cannot be reached is named at once, while transformers repeats its requests."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from nersery.core.errors import MissingResourceError
from nersery.models.pretrained.hub_connection import refuse_unreachable_hub
from nersery.models.pretrained.loading import ModelSource

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def open_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_an_unknown_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise OSError(-2, "Name or service not known")

    monkeypatch.setattr("socket.getaddrinfo", unknown)
    with pytest.raises(MissingResourceError, match=r"neither a folder nor in the cache, and \S+ cannot be reached"):
        ModelSource("no-such-model").config()


def test_a_host_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, closed_port: int) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{closed_port}")
    with pytest.raises(OSError, match=r"and 127\.0\.0\.1 cannot be reached \(.*refused.*\)$"):
        refuse_unreachable_hub("no-such-model")


@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY", "all_proxy"])
def test_a_proxy_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, closed_port: int, variable: str) -> None:
    monkeypatch.setenv(variable, f"http://user:secret@127.0.0.1:{closed_port}")
    with pytest.raises(OSError, match=rf"and the proxy 127\.0\.0\.1:{closed_port} cannot be reached"):
        refuse_unreachable_hub("no-such-model")


def test_the_proxy_answers_for_the_hub(monkeypatch: pytest.MonkeyPatch, open_port: int) -> None:
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{open_port}")
    refuse_unreachable_hub("some-model")


def test_a_proxy_that_the_hub_does_not_need(monkeypatch: pytest.MonkeyPatch, open_port: int, closed_port: int) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{open_port}")
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{closed_port}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    refuse_unreachable_hub("some-model")
