from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.annotate.base import annotate
from nersery.annotate.qa_prompting import QaPrompting
from nersery.core.errors import MissingResourceError, SettingsError, UnfittedError
from nersery.core.warnings import collected_notes, without_advice
from nersery.models.question_answering import ExtractedAnswer
from tests.annotate.answerer import build_answerer

WHO = "Who is the named person or family mentioned in texts?"
ADA = Sentence(("Ada", "Lovelace", "saw", "Oslo", "."), id="raw:1")
NONE = Sentence(("nobody", "came"), id="raw:2")
GOLD = [Sentence(("Oslo",), (Entity(0, 1, "LOC"),), id="g"), Sentence(("Ada",), (Entity(0, 1, "PER"),), id="h")]


class Script:
    """A model that gives scripted answers to a question and a sentence, and records what it is asked."""

    def __init__(self, answers: Mapping[tuple[str, str], Sequence[ExtractedAnswer]]) -> None:
        self.written = answers
        self.calls: list[tuple[list[tuple[str, str]], dict[str, int]]] = []
        self.looked_at: list[set[str]] = []
        self.subwords = SimpleNamespace(tokenizer=self)

    def tokenize(self, text: str) -> list[str]:
        return ["▁北京", "很"] if text == "北京很" else ["<unk>"]

    def warn_if_unsuited(self, words: Sequence[str], languages: set[str]) -> None:
        assert words
        self.looked_at.append(languages)

    def check_questions(self, questions: Iterable[str]) -> None:
        assert all(questions)

    def answers(self, questions: Sequence[str], sentences: Sequence[Any], **limits: int) -> list[list[ExtractedAnswer]]:
        pairs = [(asked, " ".join(words)) for asked, words in zip(questions, sentences, strict=True)]
        self.calls.append((pairs, limits))
        return [list(self.written.get(pair, ())) for pair in pairs]


def fitted(script: Script, gold: Sequence[Sentence] = (), **settings: Any) -> QaPrompting:
    method = QaPrompting(**settings)
    method._model = script
    method.fit(gold)
    return method


def asking(found: Mapping[str, Sequence[ExtractedAnswer]], words: str, **settings: Any) -> tuple[Entity, ...]:
    """The entities that result from answers to the questions of each type."""
    script = Script({(f"{type_}?", words): answers for type_, answers in found.items()})
    method = fitted(script, definitions={type_: f"{type_}?" for type_ in found}, **settings)
    return method.annotate([Sentence(tuple(words.split(" ")))])[0].entities


@pytest.fixture
def notes() -> Iterator[list[str]]:
    """The notes to the user."""
    with collected_notes() as messages:
        yield messages


class TestQuestions:
    def test_all_pairs_of_a_batch_are_asked_at_once(self) -> None:
        script = Script({})
        fitted(script, types=["PER", "X"], definitions={"X": "Where?"}, max_answers=4, max_answer_words=5).annotate(
            [ADA, NONE]
        )
        ((pairs, limits),) = script.calls
        assert pairs == [(asked, s.text) for s in (ADA, NONE) for asked in (WHO, "Where?")]
        assert limits == {"top": 4, "longest": 5}

    @pytest.mark.parametrize(
        ("settings", "gold", "types"),
        [
            ({"types": ["MISC", "PER", "MISC"]}, GOLD, ["MISC", "PER"]),
            ({"definitions": {"PER": "head of state"}}, GOLD, ["LOC", "PER"]),
            ({"definitions": {"X": "ship", "A": "boat"}}, [], ["X", "A"]),
            ({"definitions": {"X": "ship"}, "types": ["X"]}, GOLD, ["X"]),
        ],
    )
    def test_types_come_from_settings_gold_or_definitions(
        self, settings: dict[str, Any], gold: list[Sentence], types: list[str]
    ) -> None:
        found = Script({})
        everywhere = [ExtractedAnswer(0, 1, 0.9)]
        found.answers = lambda questions, *_, **__: [everywhere for _ in questions]  # type: ignore[method-assign]
        method = fitted(found, gold, **settings)
        assert list(method._questions) == types
        assert method.annotate([ADA])[0].labels == ((0, 1, types[0]),)

    @pytest.mark.parametrize("gold", [[], [Sentence(("a",))]])
    def test_error_without_any_type_says_what_to_do(self, gold: list[Sentence]) -> None:
        with pytest.raises(
            SettingsError,
            match=r"does not know which types to find. Name them .types = .* .definitions., or .* as gold",
        ):
            fitted(Script({}), gold)

    def test_notes_types_without_a_definition_once(self, notes: list[str]) -> None:
        fitted(Script({}), types=["PER", "SuperConductor", "人"], definitions={"PER": "king"})
        assert len(notes) == 1
        assert "no definition of SuperConductor, 人" in notes[0]
        assert '"Which super conductor is mentioned in texts?"' in notes[0]
        assert 'definitions = { "SuperConductor" = "..." }' in notes[0]

    def test_leaves_missing_definitions_to_the_note_of_grow(self, notes: list[str]) -> None:
        with without_advice():
            fitted(Script({}), types=["SuperConductor"])
        assert not notes

    def test_types_with_a_definition_need_no_note(self, notes: list[str]) -> None:
        fitted(Script({}), types=["PER", "X"], definitions={"X": "king"})
        assert notes == []

    def test_notes_the_share_of_gold_mentions_that_are_too_long(self, notes: list[str]) -> None:
        gold = [Sentence(("word",) * 14, (Entity(0, length, "PER"),)) for length in [3] * 9 + [12, 14]]
        fitted(Script({}), gold)
        assert notes == [
            "18% of the mentions in gold have more than 10 words, but qa_prompting does not find mentions that long: "
            "set max_answer_words = 14"
        ]
        fitted(Script({}), gold, max_answer_words=12)
        fitted(Script({}), gold, types=["LOC"])
        assert len(notes) == 2

    def test_annotate_before_fit_is_an_error(self) -> None:
        with pytest.raises(UnfittedError, match="call fit before annotate"):
            QaPrompting(types=["PER"]).annotate([ADA])


class TestEntities:
    def test_answers_over_the_threshold_are_entities_with_scores(self) -> None:
        found = {
            "PER": [ExtractedAnswer(0, 2, 0.9), ExtractedAnswer(2, 3, 0.4999)],
            "LOC": [ExtractedAnswer(3, 4, 0.5)],
        }
        entities = asking(found, ADA.text)
        assert entities == (Entity(0, 2, "PER"), Entity(3, 4, "LOC"))
        assert [entity.score for entity in entities] == [0.9, 0.5]

    def test_the_threshold_is_a_setting(self) -> None:
        found = {"PER": [ExtractedAnswer(0, 2, 0.9), ExtractedAnswer(2, 3, 0.0)]}
        assert len(asking(found, ADA.text, threshold=0.0)) == 2
        assert asking(found, ADA.text, threshold=1.0) == ()

    def test_a_type_can_have_several_entities(self) -> None:
        found = {"PER": [ExtractedAnswer(3, 4, 0.8), ExtractedAnswer(0, 1, 0.7), ExtractedAnswer(1, 2, 0.6)]}
        assert [e.start for e in asking(found, ADA.text)] == [0, 1, 3]

    @pytest.mark.parametrize(
        ("per", "loc", "kept"),
        [
            ((0, 2, 0.6), (1, 4, 0.7), (1, 4, "LOC")),
            ((0, 2, 0.7), (1, 4, 0.6), (0, 2, "PER")),
            ((1, 4, 0.6), (0, 2, 0.6), (0, 2, "LOC")),
            ((0, 2, 0.6), (0, 3, 0.6), (0, 3, "LOC")),
            ((0, 2, 0.6), (0, 2, 0.6), (0, 2, "PER")),
        ],
        ids=["score", "score again", "the first", "the longer", "the type that stands first"],
    )
    def test_keeps_one_of_two_types_that_claim_the_same_words(self, per: Any, loc: Any, kept: Any) -> None:
        (entity,) = asking({"PER": [ExtractedAnswer(*per)], "LOC": [ExtractedAnswer(*loc)]}, ADA.text)
        assert (entity.start, entity.end, entity.type) == kept

    def test_a_chain_of_overlaps_keeps_both_ends(self) -> None:
        found = {
            "A": [ExtractedAnswer(0, 2, 0.9)],
            "B": [ExtractedAnswer(1, 4, 0.8)],
            "C": [ExtractedAnswer(3, 5, 0.7)],
        }
        assert [e.type for e in asking(found, ADA.text)] == ["A", "C"]

    def test_an_answer_is_extended_to_a_whole_katakana_name(self) -> None:
        (entity,) = asking({"LOC": [ExtractedAnswer(1, 3, 0.9)]}, "北 ウ ェ ー ル ズ 議 会")
        assert (entity.start, entity.end) == (1, 6)

    def test_characters_are_joined_into_words_of_the_vocabulary_for_the_model(self) -> None:
        script = Script({("LOC?", "a 北京 很"): [ExtractedAnswer(1, 2, 0.9)]})
        gold = [Sentence(tuple("北京很"), (Entity(0, 3, "LOC"),), id="g")] * 20
        method = fitted(script, gold, definitions={"LOC": "LOC?"}, max_answer_words=2)
        raw = Sentence(tuple("a北京很"), id="raw", comments=("# kept",))
        assert method.annotate([raw]) == [raw.with_entities([Entity(1, 3, "LOC")])]

    def test_punctuation_alone_is_not_a_mention(self) -> None:
        words = ". \u200b 5 % क । 京"
        found = {"X": [ExtractedAnswer(place, place + 1, 0.9) for place in range(7)]}
        assert [e.start for e in asking(found, words)] == [2, 4, 6]
        assert len(asking({"X": [ExtractedAnswer(2, 4, 0.9)]}, words)) == 1

    def test_a_sentence_without_an_answer_is_written(self) -> None:
        result = annotate(
            Corpus([ADA, NONE]), fitted(Script({(WHO, ADA.text): [ExtractedAnswer(0, 2, 0.9)]}), types=["PER"])
        )
        assert str(result.tally) == "read 2, wrote 2, rejected 0"
        assert result.corpus[1].entities == ()


class TestNotes:
    def test_checks_the_model_on_the_first_text_only(self) -> None:
        script = Script({})
        method = fitted(script, types=["PER"])
        for batch in ([], [ADA], [NONE]):
            method.annotate(batch)
        assert script.looked_at == [{""}]

    def test_notes_a_very_long_sentence_once(self, notes: list[str]) -> None:
        method = fitted(Script({}), types=["PER"])
        for words in (200, 201, 500):
            method.annotate([ADA, Sentence(("a",) * words, id=f"raw:{words}\x1b[2J")])
        assert len(notes) == 1
        assert "the sentence raw:201\\x1b[2J has 201 words: one question about such a long text" in notes[0]


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"max_answers": 0}, "max_answers is 0, expected 1 or more"),
            ({"max_answer_words": 0}, "max_answer_words is 0, expected 1 or more"),
            ({"threshold": 1.5}, "threshold is 1.5, expected a number in"),
            ({"threshold": float("nan")}, "threshold is nan"),
            ({"definitions": {"PER": " "}}, "definitions has no text for PER"),
            ({"definitions": {"P\nER": "x"}}, "definitions has the type 'P\\\\nER': a type is a name"),
            ({"types": ["P\u2028ER"]}, "types has the type 'P\\\\u2028ER': a type is a name"),
            ({"types": ["PER", ""]}, "types has the type '': a type is a name"),
        ],
    )
    def test_refuses_invalid_settings(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(SettingsError, match=message):
            QaPrompting(**settings)


class TestModels:
    @pytest.fixture(scope="class")
    def model(self, tmp_path_factory: pytest.TempPathFactory) -> str:
        return build_answerer(tmp_path_factory.mktemp("answerer"))

    def test_a_real_model_labels_text_of_any_kind(self, model: str) -> None:
        texts = [
            "Ada Lovelace wrote the first program in London .",
            "\u2060",
            "\u200b",
            "नई\u200cद दिल्ली ।",
            "Ada Oslo " * 90,
        ]
        corpus = Corpus(Sentence(tuple(text.split()), id=str(n)) for n, text in enumerate(texts))
        settings: dict[str, Any] = {"definitions": {"PER": "Who?", "LOC": "Where?"}, "threshold": 0.0}
        result = annotate(corpus, QaPrompting(model, **settings))
        assert [sentence.words for sentence in result.corpus] == [sentence.words for sentence in corpus]
        assert [bool(sentence.entities) for sentence in result.corpus] == [True, False, False, True, True]
        alone = annotate(corpus, QaPrompting(model, **settings), batch_size=1)
        assert [s.entities for s in alone.corpus] == [s.entities for s in result.corpus]
        scores = [[e.score for e in s.entities] for s in result.corpus]
        assert scores == [[e.score for e in s.entities] for s in alone.corpus]

    def test_a_model_of_another_kind_is_refused_before_any_work(self, tiny_masked_lm: str) -> None:
        with pytest.raises(MissingResourceError, match="BertForMaskedLM; expected an extractive question-answering"):
            QaPrompting(tiny_masked_lm, types=["PER"]).check()

    def test_refuses_a_question_that_leaves_no_room_before_any_work(self, model: str) -> None:
        with pytest.raises(SettingsError, match=r'the question "Which long long .* Shorten it'):
            QaPrompting(model, definitions={"PER": "long " * 40}).fit([])

    def test_refuses_a_missing_model_folder(self, tmp_path: Path) -> None:
        with pytest.raises(MissingResourceError, match="no model folder"):
            QaPrompting(str(tmp_path / "nowhere"), types=["PER"]).check()
