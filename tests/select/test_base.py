import math
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from nersery import Corpus, Sentence, io
from nersery.core.errors import NerseryError, SettingsError
from nersery.core.outcome import Reject, collect
from nersery.core.training_context import NO_TRAINING
from nersery.pipeline.job import run
from nersery.select.base import Selector, batch_selection, select


@dataclass
class Length(Selector):
    """Scores a sentence by its length."""

    avoids_held_out: ClassVar[bool] = True
    threshold: float = 3.0
    calls: list = field(default_factory=list)

    def fit(self, gold, training=NO_TRAINING):
        self.calls.append(("fit", len(gold), len(list(training.held_out))))

    def fit_candidates(self, candidates):
        self.calls.append(("fit_candidates", len(list(candidates))))

    def score(self, sentences):
        self.calls.append(("score", len(sentences)))
        return [len(sentence) for sentence in sentences]


@dataclass
class Broken(Selector):
    """Answers with whatever it is given."""

    threshold: float = 0.5
    answer: tuple = ()

    def score(self, sentences):
        return self.answer


CORPUS = Corpus(Sentence(("w",) * n, id=f"s{n}") for n in range(1, 6))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "^Broken answered with None, expected a list of scores, one for each item"),
        ((score for score in [1.0]), "^Broken answered with <generator object .*expected a list of scores"),
        (("x",), "^sentence s1: Broken answered with the score 'x', expected a number"),
        ((None,), "^sentence s1: Broken answered with the score None, expected a number"),
        ((10**400,), "^sentence s1: Broken answered with the score 1000.*, expected a number"),
        ((1j,), "^sentence s1: Broken answered with the score 1j, expected a number"),
    ],
)
def test_scores_that_are_not_a_list_of_numbers_are_an_error(answer, expected):
    with pytest.raises(NerseryError, match=expected):
        select(CORPUS[:1], Broken(answer=answer))


def test_a_reason_that_is_not_text_is_an_error():
    class Wordless(Length):
        def reason(self, sentence, score):
            return None

    with pytest.raises(NerseryError, match=r"^sentence s1: Wordless answered with a Reject whose reason is None"):
        select(CORPUS, Wordless(threshold=100.0))


def test_below_the_threshold_is_rejected_and_at_it_kept():
    result = select(CORPUS, Length(), CORPUS)
    assert [sentence.id for sentence in result.corpus] == ["s3", "s4", "s5"]
    assert [reject.reason for reject in result.rejects] == ["Length < 3"] * 2
    assert str(result.tally) == "read 5, wrote 3, rejected 2 (Length < 3: 2)"


def test_scores_stay_with_kept_and_rejected_sentences():
    before = Corpus([CORPUS[0].with_scores(other=0.5), CORPUS[4]])
    result = select(before, Length(), CORPUS)
    assert result.corpus[0].scores == {"Length": 5.0}
    assert type(result.corpus[0].scores["Length"]) is float
    assert result.rejects[0].sentence.scores == {"other": 0.5, "Length": 1.0}


def test_is_fitted_then_reads_candidates_then_scores_in_batches():
    selector = Length()
    select(CORPUS, selector, CORPUS[:2], held_out=CORPUS[:3], batch_size=4)
    assert selector.calls == [("fit", 2, 3), ("fit_candidates", 5), ("score", 4), ("score", 1)]


def test_refuses_held_out_sentences_that_the_selector_ignores():
    with pytest.raises(
        SettingsError, match=r"Broken does not check for held-out sentences.*a second selection, by duplicates"
    ):
        select(CORPUS, Broken(), CORPUS, held_out=CORPUS)


def test_rejects_scores_that_are_nan_or_infinite():
    answer = (math.nan, math.inf, -math.inf, 1.0)
    result = select(CORPUS[:4], Broken(answer=answer), CORPUS)
    assert result.tally.reasons == {"Broken is not a number": 1, "Broken is infinite": 2}
    assert [reject.sentence for reject in result.rejects] == list(CORPUS[:3])
    assert all(io.reject_line(reject) for reject in result.rejects)


def test_passes_on_the_rejects_of_the_reader():
    dropped = Reject("wrong number of columns", Sentence(("broken",), id="q"))
    result = collect(run([CORPUS[3], dropped], batch_selection(Length())))
    assert result.rejects == (dropped,)
    assert result.tally.read == 2


def test_too_few_scores_are_an_error():
    with pytest.raises(NerseryError, match="given 5 items and answered with 1 scores"):
        select(CORPUS, Broken(answer=(1.0,)), CORPUS)


def test_a_sentence_without_an_id_is_refused():
    with pytest.raises(NerseryError, match="without an id cannot be judged"):
        select([Sentence(("a",))], Length(), CORPUS)
