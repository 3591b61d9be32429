from __future__ import annotations

import random
from typing import Any

import pytest

from nersery import Entity, Sentence
from nersery.augment.components.span_filling import (
    NOT_FILLED,
    TOO_LONG,
    fill_spans,
    gap_words,
    hidden_spans,
    model_input,
)
from nersery.augment.flipda import FlipDA
from nersery.augment.linearized.parsing import UNSTORABLE
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.outcome import Reject
from nersery.core.training_context import Training
from nersery.models.seq2seq.seq2seq_inputs import Generated, Sampling, TextPair
from nersery.models.tokens import GAP, TOKEN_PREFIX

PARENT = Sentence(
    ("we", "saw", "Ada", "Lo", "in", "Oslo", "."),
    (Entity(2, 4, "PER"), Entity(5, 6, "LOC")),
    id="a",
    columns=(tuple("abcdefg"),),
)


class Writer:
    """Replaces T5: writes the same words for each source."""

    def __init__(self, words: str, *, finished: bool = True, longest: int = 100) -> None:
        self.words, self.finished, self.longest = words, finished, longest
        self.sources: list[tuple[str, ...]] = []

    def generate(self, sources: list[TextPair], rngs: Any, sampling: Sampling) -> list[Generated | None]:
        assert len(sources) == len(rngs)
        fit = [len(pair.source) <= self.longest for pair in sources]
        self.sources += [pair.source for pair, fits in zip(sources, fit, strict=True) if fits]
        words = tuple(GAP if word == "_" else word for word in self.words.split())
        return [Generated(words, -1.0, self.finished) if fits else None for fits in fit]


def fill(writer: Writer, sentence: Sentence, hidden: list[int], **descriptions: str) -> Sentence | Reject:
    model: Any = writer
    return fill_spans(model, Sampling(), descriptions, [(sentence, hidden)], [random.Random(0)])[0]


def test_the_model_reads_gaps_and_descriptions_of_types() -> None:
    writer = Writer("_ Grace Hopper _ Boston _")
    made = fill(writer, PARENT, [2, 3, 5], LOC="name of a place")
    assert writer.sources == [("we", "saw", "(person)", GAP, "in", "(name", "of", "a", "place)", GAP, ".")]
    assert isinstance(made, Sentence)
    assert made.words == ("we", "saw", "Grace", "Hopper", "in", "Boston", ".")
    assert made.labels == PARENT.labels


def test_a_gap_takes_any_number_of_words_and_labels_move_with_them() -> None:
    made = fill(Writer("_ they just _ Grace _ New York City"), PARENT, [0, 2, 3, 5])
    assert isinstance(made, Sentence)
    assert made.text == "they just saw Grace in New York City ."
    assert made.labels == ((3, 4, "PER"), (5, 8, "LOC"))
    assert len(made.columns[0]) == len(made.words)


def test_a_part_of_an_entity_is_replaced_within_it() -> None:
    made = fill(Writer("_ van der Berg"), PARENT, [3])
    assert isinstance(made, Sentence)
    assert made.mention(made.entities[0]) == ("Ada", "van", "der", "Berg")


@pytest.mark.parametrize(
    ("hidden", "gaps"),
    [
        ([], []),
        ([0, 1], [(0, 2)]),
        ([1, 2, 3], [(1, 2), (2, 4)]),
        ([2, 3, 4], [(2, 4)]),
        ([4, 5], [(4, 5), (5, 6)]),
        ([3, 4, 5, 6], [(3, 4), (5, 6)]),
    ],
)
def test_no_gap_crosses_the_border_of_an_entity(hidden: list[int], gaps: list[tuple[int, int]]) -> None:
    assert hidden_spans(PARENT, hidden) == gaps
    assert model_input(PARENT, gaps, {}).count(GAP) == len(gaps)
    assert all(
        pair != (GAP, GAP)
        for pair in zip(model_input(PARENT, gaps, {}), model_input(PARENT, gaps, {})[1:], strict=False)
    )


def test_entities_side_by_side_keep_their_borders() -> None:
    sentence = Sentence(tuple("abc"), (Entity(0, 1, "PER"), Entity(1, 2, "LOC")))
    assert hidden_spans(sentence, [0, 1, 2]) == [(0, 1), (1, 2)]
    assert model_input(sentence, [(0, 1), (1, 2)], {}) == ("(person)", GAP, "(location)", GAP, "c")


@pytest.mark.parametrize(
    ("words", "finished"),
    [
        ("_ Grace", True),
        ("_ Grace _", True),
        ("_ _ Oslo", True),
        ("", True),
        ("Grace _ Oslo", True),
        ("_ a _ b", False),
    ],
    ids=["a gap too few", "an empty gap", "an empty first gap", "nothing", "words before the first", "cut off"],
)
def test_texts_that_leave_a_gap_open_are_rejected(words: str, finished: bool) -> None:
    made = fill(Writer(words, finished=finished), PARENT, [2, 3, 5])
    assert isinstance(made, Reject)
    assert made.reason == NOT_FILLED
    assert made.sentence is None if not words else made.sentence and made.sentence.text == words.replace("_", "<gap>")


def test_words_that_no_file_can_store_are_rejected() -> None:
    made = fill(Writer("_ Gra\0ce"), PARENT, [2])
    assert isinstance(made, Reject)
    assert made.reason == UNSTORABLE


def test_text_after_the_last_gap_is_ignored() -> None:
    assert gap_words(Generated((GAP, "a", GAP, "b", GAP, "c"), -1.0, finished=False), 2) == [("a",), ("b",)]


def test_special_tokens_are_not_words() -> None:
    assert gap_words(Generated((GAP, "a", TOKEN_PREFIX + "<pad>"), -1.0, finished=True), 1) == []


def test_long_sentences_are_rejected_without_moving_others() -> None:
    writer: Any = Writer("_ Grace", longest=8)
    short = Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),))
    rngs = [random.Random(0), random.Random(1)]
    made = fill_spans(writer, Sampling(), {}, [(PARENT, [2]), (short, [0])], rngs)
    assert isinstance(made[0], Reject)
    assert made[0].reason == TOO_LONG
    assert isinstance(made[1], Sentence)
    assert made[1].words == ("Grace", "wrote")


class Reader:
    """Replaces a tagger that finds all labels."""

    def predict(self, sentences: list[Sentence]) -> list[Sentence]:
        return sentences


def test_works_with_a_tiny_t5(tiny_seq2seqs: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    method: Any = FlipDA(model=str(tiny_seq2seqs["t5"]), candidates=4, device="cpu", max_subwords=24)
    method.check()
    method.fit([PARENT], Training(tagger=Reader))  # type: ignore[arg-type]
    together = method.generate_batch([PARENT] * 8, [random.Random(n) for n in range(8)])
    alone = [method.generate(PARENT, random.Random(n)) for n in range(8)]
    assert together == alone
    reasons = {made.reason for made in together if isinstance(made, Reject)}
    assert reasons <= {NOT_FILLED}
    for made in together:
        if isinstance(made, Sentence):
            assert made.words != PARENT.words


def test_a_model_that_writes_whole_sentences_is_refused(tiny_seq2seqs: dict[str, Any]) -> None:
    with pytest.raises(MissingResourceError, match=r"mask token.*t5"):
        FlipDA(model=str(tiny_seq2seqs["bart"])).check()


def test_raw_text_to_adapt_to_is_refused(tiny_seq2seqs: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="adapt"):
        FlipDA(model=str(tiny_seq2seqs["t5"]), adapt="raw.txt").check()
