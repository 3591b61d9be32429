from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from nersery import Entity, Sentence
from nersery.core.errors import SettingsError
from nersery.core.progress import Progress
from nersery.evaluate import novelty as module
from nersery.evaluate.novelty import MentionCounts, load_oracle, novelty
from tests.report.report_fixture import sentence as described
from tests.standins import Memory, sentences


def sentence(marked: str) -> Sentence:
    """Read ``[Ada Lovelace|PER] wrote``."""
    read = described("", marked)
    return Sentence(tuple(read["words"]), tuple(Entity(**entity) for entity in read["entities"]))


GOLD = [sentence("[Ada|PER] lives in [New York|LOC]"), sentence("[Oslo|LOC] greets [Ada|PER]")]
NEW = [
    sentence("[Ada|PER] lives in [Lima|LOC]"),
    sentence("[Lima|LOC] greets [Ada|LOC]"),
    sentence("[York|LOC] greets [New York|LOC]"),
    sentence("nobody came"),
]


class Counting(Memory):
    """Counts the sentences to predict."""

    asked = 0

    def predict(self, sentences: Sequence[Sentence], progress: Any = None) -> list[Sentence]:
        self.asked += len(sentences)
        return super().predict(sentences)


def oracle_of(*gold: str) -> Counting:
    tagger = Counting()
    tagger.fit([sentence(each) for each in gold])
    return tagger


def test_counts_match_a_calculation_by_hand():
    found = novelty(NEW, GOLD)
    assert found.as_dict() == {
        "total": {"distinct": 5, "new": 3, "valid": None},
        "per_type": {
            "LOC": {"distinct": 4, "new": 3, "valid": None},  # Lima, Ada (in gold a person) and York
            "PER": {"distinct": 1, "new": 0, "valid": None},
        },
    }


def test_gold_sentences_add_no_new_mentions():
    assert novelty([*GOLD, *NEW, *NEW], GOLD).total.new == novelty(NEW, GOLD).total.new
    assert novelty(GOLD, GOLD).total == MentionCounts(3, 0)


@pytest.mark.parametrize("mention", ["ada", "Ada Lovelace", "ADA"])
def test_other_words_or_case_make_another_mention(mention: str):
    assert novelty([sentence(f"[{mention}|PER] came")], GOLD).total.new == 1


def test_another_unicode_form_is_not_a_new_mention():
    assert novelty([sentence("[Zoe\u0308|PER] wrote")], [sentence("[Zo\u00eb|PER] wrote")]).total.new == 0


def test_valid_needs_the_same_words_and_type():
    oracle = oracle_of("[Lima|LOC]", "[Ada|PER]", "[York greets|LOC]")
    found = novelty(NEW, GOLD, oracle)
    assert found.per_type == {"LOC": MentionCounts(4, 3, 1), "PER": MentionCounts(1, 0, 0)}
    assert found.total.valid == 1


def test_one_valid_occurrence_makes_a_mention_valid():
    oracle = oracle_of("[Lima|LOC]", "[Lima greets|GRP]")  # so that the one in the second sentence is not found
    assert novelty(NEW[1:2], GOLD, oracle).total.valid == 0
    for order in (NEW[:2], NEW[1::-1]):
        assert novelty(order, GOLD, oracle).total.valid == 1


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_batch_size_does_not_matter(size: int, monkeypatch: pytest.MonkeyPatch):
    oracle = Memory()
    oracle.fit(sentences(12))
    expected = novelty(sentences(60, 40), sentences(3), oracle)
    assert 0 < (expected.total.valid or 0) < expected.total.new
    monkeypatch.setattr(module, "BATCH_SIZE", size)
    assert novelty(iter(sentences(60, 40)), sentences(3), oracle) == expected


def test_asks_the_oracle_only_about_undecided_new_mentions(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "BATCH_SIZE", 1)
    oracle = oracle_of("[Lima|LOC]")
    novelty([*GOLD, NEW[0], NEW[0], NEW[3]], GOLD, oracle)
    assert oracle.asked == 1


def test_empty_input():
    assert novelty([], []).as_dict() == {"total": {"distinct": 0, "new": 0, "valid": None}, "per_type": {}}
    assert novelty([], GOLD, oracle_of("[Lima|LOC]")).total == MentionCounts(0, 0, 0)


def test_progress_counts_sentences():
    progress = Progress("novelty", quiet=True)
    novelty(NEW, GOLD, progress=progress)
    assert progress.done == len(NEW)


def test_load_oracle_returns_the_types_that_the_oracle_lacks(tiny_model: str, tmp_path):
    from nersery.taggers.transformer import TransformerTagger

    tagger = TransformerTagger(model=tiny_model, steps=1)
    tagger.fit(sentences(4))
    tagger.save(tmp_path / "tagger")
    folder = str(tmp_path / "tagger")
    assert load_oracle(folder, {"PER", "LOC"})[1] == []
    assert load_oracle(folder, {"PER", "PROD", "CW"})[1] == ["CW", "PROD"]
    assert load_oracle(folder, set())[1] == []
    with pytest.raises(SettingsError, match=r"predicts LOC, PER, but not the types to judge: CW, PROD\. Name a"):
        load_oracle(folder, {"PROD", "CW"})
