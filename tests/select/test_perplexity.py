from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nersery import Corpus, Sentence
from nersery.core.errors import MissingResourceError, SettingsError, UnfittedError
from nersery.core.progress import Progress, shown_by
from nersery.core.registry import check, create
from nersery.core.training_context import Training
from nersery.models.likelihoods.likelihood import Likelihood
from nersery.select.base import select
from nersery.select.perplexity import Perplexity

NEW = Corpus(Sentence(tuple(text.split()), id=text) for text in ("0 0", "1 3", "3 4 5", "1"))


class Reader:
    """A model for which each word is its negative log probability; ``-`` has no subwords."""

    kind = "perplexity"

    def likelihoods(self, texts: Sequence[Sequence[str]]) -> list[Likelihood]:
        return [Likelihood(-sum(map(float, text)), len(text)) for text in ([w for w in t if w != "-"] for t in texts)]

    def vocabulary_issue(self, words: Sequence[str]) -> str:
        return ""


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The models that were opened, with their settings."""
    asked: list[Any] = []
    monkeypatch.setattr(
        "nersery.models.likelihoods.fluency.open_scorer", lambda *args, **named: asked.append((args, named)) or Reader()
    )
    return asked


def test_the_score_is_minus_the_perplexity():
    result = select(NEW, Perplexity(threshold=-(math.e**3)), [])
    scores = {
        s.id: s.scores["perplexity"] for s in [*result.corpus, *(r.sentence for r in result.rejects if r.sentence)]
    }
    expected = {"0 0": -1, "1 3": -(math.e**2), "3 4 5": -(math.e**4), "1": -math.e}
    assert scores == pytest.approx(expected)
    assert [s.id for s in result.corpus] == ["0 0", "1 3", "1"]
    assert [reject.reason for reject in result.rejects] == ["perplexity < -20.0855"]


def test_sentences_must_reach_a_share_of_gold():
    """So the threshold suits every language and model."""
    gold = [Sentence((str(number / 10),), id=str(number)) for number in range(1, 21)] + [Sentence(("-",), id="none")]
    new = [Sentence((word,), id=word) for word in ("1.7", "1.8", "1.9", "9")]
    result = select(new, "perplexity", gold)
    assert [s.id for s in result.corpus] == ["1.7", "1.8"]
    assert [reject.reason for reject in result.rejects] == ["perplexity < that of 90% of gold"] * 2
    assert [s.id for s in select(new, "perplexity", gold, gold_share=1.0).corpus] == ["1.7", "1.8", "1.9"]
    few = select(new, "perplexity", gold[:19])
    assert [s.id for s in few.corpus] == ["1.7", "1.8", "1.9"]
    assert [reject.reason for reject in few.rejects] == ["perplexity < -500"]
    assert len(select(new, "perplexity", gold, threshold=-9000.0).corpus) == 4, "a threshold replaces gold"


def test_refuses_two_minimum_scores():
    with pytest.raises(SettingsError, match="threshold and gold_share both set the minimum score"):
        Perplexity(threshold=-50.0, gold_share=0.8)


def test_gold_may_score_less_than_usual():
    """Fluent Chinese has such scores under small models."""
    gold = [Sentence(("8",), id=str(number)) for number in range(20)]
    assert [s.id for s in select([Sentence((word,), id=word) for word in ("8", "8.1")], "perplexity", gold).corpus] == [
        "8"
    ]


def test_not_all_of_much_gold_is_scored(monkeypatch: pytest.MonkeyPatch):
    scored: list[Sequence[Sequence[str]]] = []
    likelihoods = Reader.likelihoods
    monkeypatch.setattr(Reader, "likelihoods", lambda self, texts: scored.append(texts) or likelihoods(self, texts))
    Perplexity().fit([Sentence(("1",))] * 500)
    assert sum(map(len, scored)) == 167


def test_a_sentence_without_subwords_is_rejected():
    (reject,) = select([Sentence(("-",), id="x")], Perplexity(), []).rejects
    assert reject.reason == "perplexity is not a number"


def test_the_model_is_opened_as_it_was_named(opened: list[Any]):
    Perplexity(model="my-lm", revision="v2", device="cpu", precision="fp32", trust_remote_code=True).fit([])
    (((source,), settings),) = opened
    assert (source.name, source.revision, source.trust_remote_code) == ("my-lm", "v2", True)
    assert settings == {"device": "cpu", "precision": "fp32", "progress": None}


@pytest.mark.parametrize("threshold", [0.0, 20.0])
def test_refuses_a_threshold_of_zero_or_more(threshold: float):
    with pytest.raises(SettingsError, match="expected a number below 0"):
        Perplexity(threshold=threshold)
    assert "below 0" in check("select", "perplexity", {"threshold": threshold})[0]


def test_registry_creates_the_selector():
    settings = {"threshold": -50, "model": "gpt2", "precision": "fp32"}
    assert create("select", "perplexity", settings) == Perplexity("gpt2", threshold=-50.0, precision="fp32")


def test_score_before_fit_is_an_error():
    with pytest.raises(UnfittedError, match="call fit before score"):
        Perplexity().score(list(NEW))


def test_refuses_a_missing_model_folder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    with pytest.raises(MissingResourceError, match="no model folder"):
        Perplexity(model="./none").fit([])


@pytest.mark.parametrize("gold", [[Sentence(("4",))], []])
def test_notes_once_that_the_model_does_not_suit_gold_or_the_text(
    gold: list[Sentence], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    looked_at: list[list[str]] = []
    monkeypatch.setattr(Reader, "vocabulary_issue", lambda _, words: looked_at.append([*words]) or "words are unknown")
    method = Perplexity()
    method.fit(gold)
    for sentence in NEW:
        method.score([sentence])
    assert looked_at == [["4"] if gold else ["0", "0"]]
    assert capsys.readouterr().err.count("words are unknown") == 1


def test_progress_within_a_text_does_not_say_that_the_selector_learns(opened: list[Any]) -> None:
    Perplexity().fit([], Training(progress=Progress("perplexity: learn", quiet=True)))
    ((_, settings),) = opened
    assert (settings["progress"].label, settings["progress"].quiet) == ("perplexity", True)


def test_shows_progress_while_gold_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A masked model takes minutes for it."""
    shown: list[str] = []
    monkeypatch.setattr("nersery.core.progress.LOG_SECONDS", 0.0)
    gold = [Sentence(("1",), id=str(number)) for number in range(40)]
    with shown_by(shown.append):
        Perplexity().fit(gold, Training(progress=Progress("learn")))
    assert [line.split(",")[:2] for line in shown[:3]] == [["perplexity", f" gold: {done}/40"] for done in (16, 32, 40)]


def test_a_killed_job_loses_few_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A masked model takes up to a second for each."""
    sizes: list[int] = []
    score = Perplexity.score
    monkeypatch.setattr(Perplexity, "score", lambda self, rows: sizes.append(len(rows)) or score(self, rows))
    new = Corpus(Sentence(("1",), id=str(number)) for number in range(100))
    select(new, "perplexity", [], output=tmp_path / "kept.jsonl", quiet=True)
    assert sizes == [64, 36]
