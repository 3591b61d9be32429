from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from nersery import Entity, Sentence
from nersery.augment.bda import BDA
from nersery.augment.cbt import CBT
from nersery.augment.masked_lm.word_replacement import WordPredictions, type_at
from nersery.core.errors import SettingsError
from nersery.core.outcome import Reject
from nersery.models.masked.masked_inputs import Drawing, MaskedInput, replaceable_positions
from nersery.models.masked.masked_lm import MaskedLM
from nersery.models.pretrained.loading import ModelSource

SENTENCE = Sentence(
    ("Ada", "Lovelace", "of", "London", ",", "won", "."),
    (Entity(0, 2, "PER"), Entity(3, 4, "LOC")),
    columns=(("x",) * 7,),
)
REPLACEABLE = [0, 1, 2, 3, 5]


class Conditioned(WordPredictions):
    """Conditions on the name of the type."""

    def condition(self, type: str | None) -> tuple[str, ...]:
        return ("type", type or "none")


METHOD, UNCONDITIONED = Conditioned(), WordPredictions()


class Watched(MaskedLM):
    """Records the inputs that it fills."""

    def __init__(self, source: ModelSource) -> None:
        super().__init__(source, "cpu", "fp32")
        self.asked: list[list[MaskedInput]] = []

    def fill(
        self, masked_inputs: Sequence[MaskedInput], rngs: Sequence[random.Random], drawing: Drawing
    ) -> list[tuple[str, ...]]:
        self.asked.append(list(masked_inputs))
        return super().fill(masked_inputs, rngs, drawing)


@pytest.fixture
def model(tiny_masked_lm: str) -> Watched:
    return Watched(ModelSource(tiny_masked_lm))


def replaced(
    model: MaskedLM, sentences: Sequence[Sentence], rngs: Sequence[random.Random], words: int, top_k: int = 50
) -> list[Sentence | Reject]:
    method = Conditioned(words=words, top_k=top_k)
    method._lm = model
    return method.generate_batch(sentences, rngs)


def rngs(count: int) -> list[random.Random]:
    return [random.Random(seed) for seed in range(count)]


def test_a_word_has_the_type_of_its_entity() -> None:
    assert [type_at(SENTENCE, position) for position in range(7)] == ["PER", "PER", None, "LOC", None, None, None]


def test_a_masked_input_hides_one_word_given_its_type() -> None:
    names = SENTENCE.inside
    assert METHOD.masked_input(SENTENCE, 1) == MaskedInput(SENTENCE.words, (1,), ("type", "PER"), names)
    assert METHOD.masked_input(SENTENCE, 2) == MaskedInput(SENTENCE.words, (2,), ("type", "none"), names)
    assert UNCONDITIONED.masked_input(SENTENCE, 3) == MaskedInput(SENTENCE.words, (3,), (), names)


def test_words_with_a_letter_or_digit_are_equally_likely_to_be_hidden() -> None:
    assert replaceable_positions(SENTENCE.words) == REPLACEABLE
    rng = random.Random(0)
    drawn = [METHOD.random_masked_input(SENTENCE, rng) for _ in range(5000)]
    counts = Counter(masked_input.gaps for masked_input in drawn)
    assert counts.keys() == {(position,) for position in REPLACEABLE}
    assert all(count / 5000 == pytest.approx(1 / 5, abs=0.03) for count in counts.values())
    assert all(masked_input == METHOD.masked_input(SENTENCE, masked_input.gaps[0]) for masked_input in drawn)


@pytest.mark.parametrize(
    "address", ["https://t.co/x", "(HTTP://t.co/x", "www.oslo.no", "@ada", "“@ada_1:", "＠ada", "ada@oslo.no"]
)
def test_links_and_user_names_are_kept(address: str) -> None:
    assert replaceable_positions((address, "#Oslo", "http", "www.", "@", "a.m.")) == [1, 2, 3, 5]


def test_a_sentence_of_signs_has_no_gap() -> None:
    signs = Sentence((".", "👩‍👩‍👧", "\u200b"))
    assert METHOD.random_masked_input(signs, random.Random(0)) == MaskedInput(signs.words, ())


def test_one_word_is_replaced_and_nothing_else(model: Watched) -> None:
    made = replaced(model, [SENTENCE] * 200, rngs(200), 1)
    positions = set()
    for new, masked_input in zip(made, model.asked[0], strict=True):
        assert isinstance(new, Sentence)
        (position,) = masked_input.gaps
        assert masked_input == METHOD.masked_input(SENTENCE, position)
        assert new == SENTENCE.replace_span(position, position + 1, (new.words[position],))
        positions.add(position)
    assert positions == set(REPLACEABLE)
    assert len(model.asked) == 1, "one pass for all sentences"


def test_several_words_are_replaced_in_turn_with_previous_ones_visible(model: Watched) -> None:
    made = replaced(model, [SENTENCE] * 50, rngs(50), 3, 10_000)
    assert len(model.asked) == 3
    for number, new in enumerate(made):
        assert isinstance(new, Sentence)
        turns = [masked_inputs[number] for masked_inputs in model.asked]
        positions = [masked_input.gaps[0] for masked_input in turns]
        assert len(set(positions)) == 3, "distinct words"
        so_far = SENTENCE
        for masked_input, position in zip(turns, positions, strict=True):
            assert masked_input == METHOD.masked_input(so_far, position), (
                "each under its own type, and after the one before"
            )
            so_far = so_far.replace_span(position, position + 1, (new.words[position],))
        assert so_far == new
    assert sum(turn[0].words != SENTENCE.words for turn in zip(*model.asked[1:], strict=True)) > 40


def test_the_order_of_the_turns_is_random(model: Watched) -> None:
    replaced(model, [SENTENCE] * 50, rngs(50), 2)
    pairs = [(first.gaps, second.gaps) for first, second in zip(*model.asked, strict=True)]
    assert 10 < sum(first < second for first, second in pairs) < 40


def test_all_words_of_a_short_sentence_are_replaced_but_no_signs(model: Watched) -> None:
    short, signs = Sentence(("Ada", "won", ".")), Sentence((".", "!"))
    made = replaced(model, [signs, SENTENCE, short, signs], rngs(4), 4)
    assert [len(masked_inputs) for masked_inputs in model.asked] == [2, 2, 1, 1]
    assert made[0] == made[3] == Reject("no word to replace")
    assert isinstance(made[2], Sentence)
    assert {masked_input.gaps for masked_inputs in model.asked[:2] for masked_input in masked_inputs[1:]} == {
        (0,),
        (1,),
    }


def test_the_model_is_not_called_without_words_to_replace(model: Watched) -> None:
    assert replaced(model, [], [], 1) == []
    assert replaced(model, [Sentence((".",))], rngs(1), 1) == [Reject("no word to replace")]
    assert model.asked == []


def test_draws_do_not_depend_on_other_sentences(model: Watched) -> None:
    others = [Sentence(tuple(text.split())) for text in ("Grace won", "we saw Oslo there today", "राम दिल्ली में रहता है")]
    together = replaced(model, [*others, SENTENCE], rngs(4), 2)
    alone = replaced(model, [SENTENCE], [rngs(4)[3]], 2)
    assert together[3:] == alone


def test_an_old_word_may_be_drawn_again(model: Watched) -> None:
    """Nothing is excluded, because the loop rejects such a sentence as unchanged."""
    made = replaced(model, [Sentence(("won",))] * 800, rngs(800), 1, 10_000)
    assert Sentence(("won",)) in made


def test_suggestions_depend_on_the_type_of_each_position(model: Watched) -> None:
    method, plain = Conditioned(), WordPredictions()
    method._lm = plain._lm = model
    (found,) = method.suggest([SENTENCE], [(0, 3, 5)], 4)
    for gap, type_ in enumerate(("PER", "LOC", None)):
        (alone,) = model.guesses([MaskedInput(SENTENCE.words, (0, 3, 5), method.condition(type_))], 4)
        assert found[gap] == alone[gap]
    assert found[0] != plain.suggest([SENTENCE], [(0, 3, 5)], 4)[0][0]
    assert method.suggest([SENTENCE, SENTENCE], [(), (1,)], 2)[0] == []


@pytest.mark.parametrize("types", [("LOC",), ("PER", "LOC", None)])
def test_a_condition_that_leaves_no_room_is_refused_at_once(tiny_masked_lm: str, types: tuple[str | None, ...]) -> None:
    class Long(CBT):
        def condition(self, type: str | None) -> tuple[str, ...]:
            return ("place",) * 40 if type in types else ()

    method = Long(tiny_masked_lm, device="cpu", epochs=10**9)
    with pytest.raises(SettingsError, match="in front of a sentence"):
        method.fit([SENTENCE])


@pytest.mark.parametrize("words", [0, -3])
def test_less_than_one_word_is_refused(words: int) -> None:
    with pytest.raises(SettingsError, match=f"words is {words}, expected 1 or more"):
        BDA(words=words)


def test_suggestions_follow_the_language_of_the_sentence(model: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when words are replaced: a Turkish *izmir* in place of *Ankara* is *İzmir*."""
    asked: list[MaskedInput] = []
    monkeypatch.setattr(model, "guesses", lambda masked_inputs, top_k: asked.extend(masked_inputs) or [[[]]])
    method, turkish = Conditioned(), replace(SENTENCE, language="tr")
    method._lm = model
    assert method.suggest([turkish], [(3,)], 1) == [[[]]]
    assert asked == [method.masked_input(turkish, 3)]
