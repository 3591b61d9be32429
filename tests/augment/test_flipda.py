from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.augment.base import NO_WORD
from nersery.augment.flipda import NO_AGREEMENT, NOT_NEW, REPEATS_WORD, FlipDA
from nersery.augment.linearized.linearization import tag_token
from nersery.core.errors import MissingResourceError
from nersery.core.outcome import Reject
from nersery.core.training_context import Training
from nersery.models.masked.masked_inputs import Drawing, MaskedInput
from tests.fakes import FakeVocabulary

PARENT = Sentence(
    ("we", "saw", "Ada", "Lo", "in", "Oslo", "."),
    (Entity(2, 4, "PER"), Entity(5, 6, "LOC")),
    id="a",
    columns=(tuple("abcdefg"),),
)
GOLD = Corpus([PARENT, Sentence(("we", "won"), id="b")])
WORDS = (0, 1, 2, 3, 4, 5)
"""Positions of the words of the parent that are more than punctuation."""
Score = Callable[[Sentence], float | None]


class Writer:
    """Replaces the language model: writes words that are numbered by turn."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        self.words, self.masked_inputs, self.drawings = words, [], []
        self.tokens: set[str] = set()

    def add_tokens(self, descriptions: dict[str, str]) -> None:
        self.tokens |= set(descriptions)

    def fill(self, masked_inputs: Sequence[MaskedInput], rngs: Any, drawing: Drawing) -> list[tuple[str, ...]]:
        self.drawings.append(drawing)
        made = []
        for masked_input in masked_inputs:
            self.masked_inputs.append(masked_input)
            word = (self.words or [f"w{len(self.masked_inputs)}"])[0]
            made.append(tuple(word if word in PARENT.words else f"{word}.{gap}" for gap in masked_input.gaps))
        return made


class Reader:
    """Replaces the tagger: predicts the given labels with a score, or no labels if that is None."""

    def __init__(self, score: Score = lambda sentence: 0.5) -> None:
        self.score, self.read = score, []

    def predict(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        self.read += sentences
        seen = []
        for sentence in sentences:
            score = self.score(sentence)
            entities = () if score is None else tuple(replace(e, score=score) for e in sentence.entities)
            seen.append(sentence.with_entities(entities))
        return seen


def fitted(writer: Any = None, reader: Any = None, types: tuple[str, ...] = ("LOC", "PER"), **settings: Any) -> Any:
    method: Any = FlipDA(**{"in_turn": False, "candidates": 4, **settings})
    method._lm, method._tagger, method._types = writer or Writer(), reader or Reader(), types
    return method


def test_every_flipped_entity_gets_another_type_and_new_words() -> None:
    writer = Writer()
    sentence = fitted(writer, flip_rate=1.0, mask_rate=0.0).generate(PARENT, random.Random(0))
    assert sentence.words[:2] == ("we", "saw")
    assert sentence.labels == ((2, 4, "LOC"), (5, 6, "PER"))
    assert not set(sentence.words) & {"Ada", "Lo", "Oslo"}
    begins, inside = (tag_token("LOC", begins=begins) for begins in (True, False))
    assert writer.masked_inputs[0].words[2:8] == (begins, "Ada", begins, inside, "Lo", inside)
    assert writer.masked_inputs[0].gaps == (3, 6, 10)
    assert sentence.columns == (("a", "b", "_", "_", "e", "_", "g"),)


def test_labels_are_kept_at_flip_rate_0_and_a_share_of_words_is_new() -> None:
    reader = Reader()
    method = fitted(reader=reader, flip_rate=0.0, mask_rate=0.5, candidates=200)
    assert method.generate(PARENT, random.Random(0)).labels == PARENT.labels
    assert {sentence.labels for sentence in reader.read} == {PARENT.labels}
    changed = [tuple(p for p in range(7) if s.words[p] != PARENT.words[p]) for s in reader.read]
    assert all(changed)
    assert {place for places in changed for place in places} == set(WORDS), "punctuation stays"
    assert 2.5 < sum(map(len, changed)) / 200 < 3.5


def test_at_least_one_word_is_new() -> None:
    reader = Reader()
    fitted(reader=reader, flip_rate=0.0, mask_rate=0.0, candidates=50).generate(PARENT, random.Random(0))
    assert {sum(a != b for a, b in zip(s.words, PARENT.words, strict=True)) for s in reader.read} == {1}


def test_types_are_drawn_evenly_from_the_others() -> None:
    method = fitted(types=("GRP", "LOC", "PER"), flip_rate=1.0)
    seen = [method.generate(PARENT, random.Random(seed)).labels for seed in range(60)]
    assert {labels[0][2] for labels in seen} == {"LOC", "GRP"}
    assert {labels[1][2] for labels in seen} == {"PER", "GRP"}
    assert len(set(seen)) == 4


@pytest.mark.parametrize(
    "entity", [Entity(2, 4, "NEW"), Entity(6, 7, "PER")], ids=["a type that gold does not have", "only punctuation"]
)
def test_keeps_an_entity_that_cannot_flip(entity: Entity) -> None:
    sentence = PARENT.with_entities([entity])
    made = [fitted(flip_rate=1.0).generate(sentence, random.Random(seed)) for seed in range(5)]
    assert {outcome.labels for outcome in made} == {sentence.labels}


def test_with_one_type_nothing_flips() -> None:
    sentence = PARENT.with_entities(PARENT.entities[:1])
    assert fitted(types=("PER",), flip_rate=1.0).generate(sentence, random.Random(0)).labels == sentence.labels


def test_keeps_the_candidate_of_which_the_tagger_is_surest() -> None:
    def score(sentence: Sentence) -> float:
        return 0.9 if sentence.words[2].startswith("w3.") else 0.4

    sentence = fitted(reader=Reader(score), flip_rate=1.0).generate(PARENT, random.Random(0))
    assert sentence.words[2].startswith("w3.")


def test_candidates_with_which_the_tagger_disagrees_are_rejected() -> None:
    reader = Reader(lambda sentence: 0.1 if sentence.words[2].startswith("w2.") else None)
    assert fitted(reader=reader, flip_rate=1.0).generate(PARENT, random.Random(0)).words[2].startswith("w2.")
    rejected = fitted(reader=Reader(lambda sentence: None)).generate(PARENT, random.Random(0))
    assert isinstance(rejected, Reject)
    assert rejected.reason == NO_AGREEMENT
    assert rejected.sentence is not None


def test_old_words_under_new_labels_are_rejected() -> None:
    method = fitted(Writer(["Oslo"]), flip_rate=1.0, mask_rate=0.0)
    rejected = method.generate(PARENT, random.Random(0))
    assert isinstance(rejected, Reject)
    assert rejected.reason == NOT_NEW


def test_old_words_under_new_labels_are_rejected_in_other_places_too() -> None:
    def fill_spans(drafts: Sequence[tuple[Sentence, Sequence[int]]], rngs: Any) -> list[Sentence]:
        return [target.replace_span(0, 1, ("they", "just")) for target, _ in drafts]

    method = fitted(flip_rate=1.0)
    method._fill_spans = fill_spans
    rejected = method.generate(PARENT, random.Random(0))
    assert isinstance(rejected, Reject)
    assert rejected.reason == NOT_NEW


def test_a_copy_of_the_parent_is_rejected() -> None:
    parent = Sentence(("we", "we"), id="a")
    rejected = fitted(Writer(["we"])).generate(parent, random.Random(0))
    assert isinstance(rejected, Reject)
    assert rejected.reason == NOT_NEW


def test_the_reason_is_old_words_if_the_tagger_agreed_once() -> None:
    agreements = iter([None, 0.5, None])
    method = fitted(Writer(["Oslo"]), Reader(lambda sentence: next(agreements)), candidates=3, flip_rate=1.0)
    assert method.generate(PARENT, random.Random(0)).reason == NOT_NEW


@pytest.mark.parametrize(
    ("word", "reason"), [("Oslo", REPEATS_WORD), ("जापान", REPEATS_WORD), ("林", None), ("...", None)]
)
def test_a_word_is_not_written_twice_in_a_row(word: str, reason: str | None) -> None:
    class Stutterer(Writer):
        def fill(self, masked_inputs: Sequence[MaskedInput], rngs: Any, drawing: Drawing) -> list[tuple[str, ...]]:
            return [(word,) * len(masked_input.gaps) for masked_input in masked_inputs]

    parent = PARENT.with_entities(PARENT.entities[:1])
    made = fitted(Stutterer(), flip_rate=1.0, mask_rate=0.0).generate(parent, random.Random(0))
    assert (made.reason if isinstance(made, Reject) else None) == reason
    repeating = Sentence(("Bora", "Bora"), (Entity(0, 2, "LOC"),), id="b")
    assert isinstance(fitted(Stutterer(), flip_rate=1.0).generate(repeating, random.Random(0)), Sentence)


def test_sentences_of_only_signs_are_rejected_without_moving_others() -> None:
    punctuation = Sentence(("...", "!"), id="c")
    made = fitted().generate_batch([punctuation, PARENT, punctuation], [random.Random(n) for n in range(3)])
    assert [outcome.reason for outcome in made[::2]] == [NO_WORD, NO_WORD]
    assert isinstance(made[1], Sentence)


def test_words_are_drawn_by_their_probability() -> None:
    writer = Writer()
    fitted(writer, top_k=15).generate(PARENT, random.Random(0))
    assert writer.drawings == [Drawing(15, weighted=True)]


def test_all_words_are_learnt_given_their_labels(monkeypatch) -> None:
    learnt: list[MaskedInput] = []

    class Learns(Writer):
        encoder = vocabulary = FakeVocabulary()

        def __init__(self, *anything: Any) -> None:
            super().__init__()

        def warn_if_unsuited(self, *anything: Any) -> None: ...

        def fine_tune(self, examples: Any, masked_input: Any, plan: Any, *, rate: float, **keeping: Any) -> None:
            assert (rate, keeping["seed"]) == (0.4, 3)
            learnt.extend(masked_input(example, random.Random(0)) for example in examples)

    monkeypatch.setattr("nersery.models.masked.masked_lm.MaskedLM", Learns)
    FlipDA(mask_rate=0.4).fit(GOLD, Training(seed=3, tagger=Reader))  # type: ignore[arg-type]
    begins, inside = (tag_token("PER", begins=begins) for begins in (True, False))
    place = tag_token("LOC", begins=True)
    words = ("we", "saw", begins, "Ada", begins, inside, "Lo", inside, "in", place, "Oslo", place, ".")
    names = frozenset([3, 6, 10])
    assert learnt == [MaskedInput(words, (0, 1, 3, 6, 8, 10), names=names), MaskedInput(("we", "won"), (0, 1))]


def test_works_with_a_tiny_model(tiny_masked_lm: str) -> None:
    method: Any = FlipDA(model=tiny_masked_lm, epochs=1, candidates=3, device="cpu")
    method.fit(GOLD, Training(tagger=Reader))  # type: ignore[arg-type]
    rngs = [random.Random(n) for n in range(6)]
    together = method.generate_batch([PARENT] * 6, rngs)
    alone = [method.generate(PARENT, random.Random(n)) for n in range(6)]
    assert together == alone
    assert any(isinstance(outcome, Sentence) and outcome.labels != PARENT.labels for outcome in together)


def test_refuses_a_missing_tagger_before_any_training(tiny_masked_lm: str) -> None:
    with pytest.raises(MissingResourceError, match="there is no folder"):
        FlipDA(tiny_masked_lm, tagger="./nowhere").check()
