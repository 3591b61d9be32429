from __future__ import annotations

from pathlib import Path

import pytest
from tests.standins import Memory, sentences

from nersery import registry
from nersery.tagger.base import Tagger
from nersery.tagger.gold import gold_tagger
from nersery.training import Training

GOLD = sentences(8)


def trained() -> Memory:
    tagger = Memory()
    tagger.fit(GOLD)
    return tagger


def test_a_folder_goes_before_the_caller_s_tagger(memory: list[tuple[int, int]], tmp_path: Path) -> None:
    trained().save(tmp_path)
    found = gold_tagger(str(tmp_path), GOLD, Training(tagger=lambda: pytest.fail("not asked for")))
    assert isinstance(found, Memory)
    assert len(memory) == 1, "nothing was trained anew"


def test_the_caller_s_tagger_goes_before_a_new_one() -> None:
    mine = trained()
    assert gold_tagger(None, GOLD, Training(tagger=lambda: mine)) is mine


def test_else_one_is_trained_with_the_same_seed(memory: list[tuple[int, int]], monkeypatch) -> None:
    made: list[Tagger] = []

    def create(kind: str, name: str) -> Tagger:
        assert (kind, name) == ("tagger", "transformer")
        made.append(registry.create("tagger", "memory"))
        return made[-1]

    monkeypatch.setattr("nersery.tagger.gold.create", create)
    assert gold_tagger(None, GOLD, Training(seed=5)) is made[0]
    assert memory == [(5, len(GOLD))]
