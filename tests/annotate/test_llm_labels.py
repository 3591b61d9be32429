"""Labels by a large language model; for the client see tests/models/llm."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nersery import Entity, Sentence
from nersery.annotate.llm_labels import LlmLabels
from nersery.models.llm.chat_client import ChatClient
from nersery.models.llm.prompt import Completion

GOLD = [Sentence(("Ada", "Jr", "."), (Entity(0, 1, "PER"),), id="g")]


def test_answers_vote_after_their_punctuation_is_stripped(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [json.dumps({"entities": [{"text": text, "type": "PER"}]}) for text in ("Ada ,", "Ada", "spoke")]
    monkeypatch.setattr(ChatClient, "ask", lambda *_, **__: [Completion(text) for text in texts])
    method = LlmLabels("m", server="http://localhost", samples=3, temperature=1.0)
    method.fit(GOLD)
    (labelled,) = method.annotate([Sentence(("Ada", ",", "spoke", ","), id="a")])
    assert isinstance(labelled, Sentence)
    assert list(labelled.labels) == [(0, 1, "PER")]


@pytest.mark.parametrize(
    ("settings", "gold", "expected"),
    [
        ({}, GOLD, [(0, 1, "PER")]),
        ({}, [Sentence(("Bo", ","), (Entity(0, 2, "PER"),), id="g")], [(0, 2, "PER")]),
        ({"types": ["PER"], "examples": 0}, GOLD, [(0, 2, "PER"), (3, 4, "PER")]),
    ],
    ids=["gold has no sign", "gold has the signs", "nothing is learnt from gold"],
)
def test_strips_punctuation_that_no_gold_mention_has(
    settings: dict[str, Any], gold: list[Sentence], expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps({"entities": [{"text": "Ada ,", "type": "PER"}, {"text": ",", "type": "PER"}]})
    monkeypatch.setattr(ChatClient, "ask", lambda client, prompts, *_, **quiet: [Completion(text) for _ in prompts])
    method = LlmLabels("m", server="http://localhost", **settings)
    method.fit(gold)
    (labelled,) = method.annotate([Sentence(("Ada", ",", "spoke", ","), id="a")])
    assert isinstance(labelled, Sentence)
    assert list(labelled.labels) == expected
