"""How long systems will take, by the steps of their trainings."""

from __future__ import annotations

from typing import Any

import pytest

from nersery.experiments.execution.run_time import annotator_speed, steps_of
from nersery.experiments.systems import MethodSettings
from nersery.models.llm.chat_client import ChatClient
from tests.standins import sentences


@pytest.mark.parametrize(
    ("method", "settings", "sentences", "steps"),
    [
        ("transformer", {}, 100, 300),
        ("transformer", {}, 16_000, 3000),
        ("transformer", {"steps": 40}, 100, 40),
        ("transformer", {"epochs": 2, "batch_size": 8}, 100, 26),
        ("bilstm_crf", {}, 100, 800),
        ("bilstm_crf", {}, 16_000, 8000),
    ],
)
def test_steps_are_those_of_the_tagger(method: str, settings: dict[str, Any], sentences: int, steps: int) -> None:
    assert steps_of(MethodSettings(method, settings, "tagger"), sentences) == steps


def test_no_sentence_is_sent_to_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ChatClient, "ask", lambda *_, **__: pytest.fail("asked"))
    settings = {"model": "m", "server": "http://127.0.0.1:9/v1", "types": ["PER"]}
    assert annotator_speed(MethodSettings("llm_labels", settings, "annotate"), [], sentences(4)) == 0
