from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.annotate.base import Annotator, annotate
from nersery.annotate.gliner import GlinerLabels
from nersery.annotate.llm_labels import LlmLabels
from nersery.annotate.qa_prompting import QaPrompting
from nersery.core.errors import NerseryError, SettingsError
from nersery.core.outcome import Reject
from nersery.core.sentence import Origin
from nersery.core.training_context import NO_TRAINING, Training

RAW = Corpus(
    [
        Sentence(("Ada", "wrote"), (Entity(1, 2, "OLD"),), id="a", language="en", origin=Origin("melm", ("g",), 2)),
        Sentence(("Oslo",), id="b", columns=(("NNP",),), comments=("# from a book",)),
        Sentence(("nobody", "came"), id="c"),
    ]
)


@dataclass
class Capitals(Annotator):
    """Every word with a capital is a name."""

    change: Callable[[Sentence], Any] = lambda sentence: sentence
    fitted: list[Any] = field(default_factory=list)

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        self.fitted.append((list(gold), training))

    def annotate(self, sentences: Sequence[Sentence]) -> list[Sentence | Reject]:
        return [self.change(sentence.with_entities(self._names(sentence))) for sentence in sentences]

    def _names(self, sentence: Sentence) -> list[Entity]:
        return [Entity(at, at + 1, "NAME", 0.9) for at, word in enumerate(sentence.words) if word[0].isupper()]


def test_sentences_get_labels_and_an_origin_and_keep_the_rest() -> None:
    result = annotate(RAW, Capitals())
    assert str(result.tally) == "read 3, wrote 3, rejected 0"
    for before, after in zip(RAW, result.corpus, strict=True):
        assert replace(after, entities=before.entities, origin=before.origin) == before
        assert after.origin == Origin("Capitals")
    assert [sentence.labels for sentence in result.corpus] == [((0, 1, "NAME"),), ((0, 1, "NAME"),), ()]
    assert result.corpus[0].entities[0].score == 0.9


def test_notes_a_definition_of_an_unknown_type(capsys: pytest.CaptureFixture[str]) -> None:
    gold = [Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"), Entity(1, 2, "LOC")))]
    assert GlinerLabels("m", definitions={"PERR": "king"}).types_to_find(gold) == ["LOC", "PER"]
    note = 'definitions has "PERR", which is not one of the types; did you mean "PER"? Known: LOC, PER'
    assert note in capsys.readouterr().err


def test_annotator_is_fitted_once_on_the_given_gold() -> None:
    annotator, training = Capitals(), Training(seed=3)
    annotate(RAW, annotator, RAW[:1], training=training, batch_size=1)
    assert annotator.fitted == [([RAW[0]], training)]


def test_a_reject_names_its_sentence() -> None:
    result = annotate(RAW, Capitals(lambda s: s if s.entities else Reject("no name")))
    assert str(result.tally) == "read 3, wrote 2, rejected 1 (no name: 1)"
    assert result.rejects[0].sentence == RAW[2]


def test_rejects_sentences_whose_words_were_changed() -> None:
    result = annotate(RAW, Capitals(lambda s: replace(s, words=("Rome",), columns=()) if len(s) == 1 else s))
    (reject,) = result.rejects
    assert reject.reason.startswith("failed: MethodError: Capitals changed the words")
    assert reject.sentence == RAW[1]


def test_rejects_answers_that_are_not_sentences() -> None:
    result = annotate(RAW, Capitals(lambda s: None if len(s) == 1 else s))
    (reject,) = result.rejects
    assert reject.reason == "failed: MethodError: Capitals answered with None, expected a Sentence or Reject"


@dataclass
class Sorting(Capitals):
    """Sorts its batch, as for speed, and forgets to restore the order."""

    def annotate(self, sentences: Sequence[Sentence]) -> list[Sentence | Reject]:
        assert isinstance(sentences, list)
        sentences.sort(key=len)
        return super().annotate(sentences)


def test_a_method_that_changes_its_batch_does_not_mix_up_sentences() -> None:
    found = [(sentence.id, sentence.words) for sentence in annotate(RAW, Sorting()).corpus]
    assert found == [(sentence.id, sentence.words) for sentence in RAW]


def test_too_few_outcomes_are_an_error() -> None:
    class Short(Capitals):
        def annotate(self, sentences: Sequence[Sentence]) -> list[Sentence | Reject]:
            return super().annotate(sentences)[1:]

    with pytest.raises(NerseryError, match="Short was given 3 items and answered with 2 outcomes"):
        annotate(RAW, Short())


def test_sentence_scores_come_from_the_annotator() -> None:
    scored = Corpus([RAW[0].with_scores(old=0.1)])
    result = annotate(scored, Capitals(lambda s: replace(s, scores={"new": 1.0})))
    assert result.corpus[0].scores == {"new": 1.0}


@pytest.mark.parametrize("cls", [GlinerLabels, LlmLabels, QaPrompting])
def test_types_that_the_labelled_sentences_lack_are_refused(cls: type[Any]) -> None:
    method = cls(model="m", types=["PRE", "LOC"])
    with pytest.raises(SettingsError, match=r"types has PRE, .* count as an error .* mean .PER.\?.*Leave PRE out"):
        method.check_types({"PER", "LOC"})
    method.check_types({"PRE", "LOC", "PER"})


@pytest.mark.parametrize(
    ("settings", "learns"),
    [({}, False), ({"temperature": 1.0}, True), ({"examples": 1}, True), ({"types": None}, True)],
)
def test_llm_labels_are_shared_unless_they_depend_on_gold_or_sampling(settings: dict[str, Any], learns: bool) -> None:
    own = {"types": ["PER"], "examples": 0, "server": "http://localhost", **settings}
    assert LlmLabels("tiny", **own).learns is learns
