from __future__ import annotations

import random
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nersery import Entity, Sentence
from nersery.augment.linearized.linearization import tag_token
from nersery.augment.templates.masked_writer import GapLengths, MaskedWriter, partly_masked_input
from nersery.augment.templates.template import Template
from nersery.models.masked.masked_inputs import MaskedInput

SENTENCE = Sentence(tuple("the poet Jo Li was born here in May .".split()), (Entity(2, 4, "PER"),))
TEMPLATE = Template(SENTENCE, (1, 5))
"""Gaps: [0, 1), [4, 5), [6, 10)."""


class Scripted:
    """Guesses one word for each gap, numbered by turn; later gaps are more certain."""

    def __init__(self) -> None:
        self.asked: list[list[MaskedInput]] = []

    def guesses(
        self, masked_inputs: list[MaskedInput], top_k: int, *, punctuation: bool
    ) -> list[list[list[tuple[str, float]]]]:
        assert punctuation
        self.asked.append(masked_inputs)
        turn = len(self.asked)
        return [[[(f"w{turn}", (gap + 1) / 100)] for gap in masked_input.gaps] for masked_input in masked_inputs]


class Steady:
    """Guesses the same words for each gap."""

    def __init__(self, *words: tuple[str, float]) -> None:
        self.words = [*words]

    def guesses(
        self, masked_inputs: list[MaskedInput], top_k: int, *, punctuation: bool
    ) -> list[list[list[tuple[str, float]]]]:
        return [[self.words for _ in masked_input.gaps] for masked_input in masked_inputs]


def infill(
    model: Any, templates: list[Template], rngs: list[random.Random], lengths: GapLengths, **settings: int
) -> list[Sentence]:
    writer = MaskedWriter(SimpleNamespace(descriptions={}, **settings))
    writer._model, writer._lengths, writer._types = model, lengths, frozenset({"PER"})
    return cast(Any, writer.write(templates, rngs))


def filled(template: Template, lengths: GapLengths, **settings: int) -> tuple[Sentence, Scripted]:
    model = Scripted()
    settings = {"top_k": 5, "candidates": 1, "passes": 10, **settings}
    ((sentence),) = infill(cast(Any, model), [template], [random.Random(0)], lengths, **settings)
    return sentence, model


def test_lengths_are_those_of_gaps_in_the_same_place() -> None:
    lengths = GapLengths([TEMPLATE])
    rng = random.Random(0)
    assert [lengths.draw(TEMPLATE, gap, rng) for gap in TEMPLATE.gaps()] == [1, 1, 4]
    other = Template(Sentence(tuple("a b Jo c d e Li".split()), (Entity(2, 3, "PER"), Entity(6, 7, "PER"))))
    assert lengths.draw(other, (0, 2), rng) == 1
    assert lengths.draw(other, (3, 6), rng) == 1


def test_a_kind_of_gap_that_was_never_seen_takes_any_length() -> None:
    lengths = GapLengths([Template(Sentence(tuple("Jo a b Li".split()), (Entity(0, 1, "PER"), Entity(3, 4, "PER"))))])
    assert lengths.draw(TEMPLATE, (6, 10), random.Random(0)) == 2
    assert GapLengths([]).draw(TEMPLATE, (6, 10), random.Random(0)) == 4


def test_no_more_passes_than_there_are_gaps() -> None:
    lengths = GapLengths([TEMPLATE])
    assert len(filled(TEMPLATE, lengths, passes=10**12)[1].asked) == 6


def test_only_words_in_gaps_are_hidden() -> None:
    begins, inside = tag_token("PER", begins=True), tag_token("PER", begins=False)
    counts = set()
    for seed in range(200):
        masked_input = partly_masked_input(TEMPLATE, random.Random(seed))
        assert masked_input.words[2:8] == (begins, "Jo", begins, inside, "Li", inside)
        assert {masked_input.words[gap] for gap in masked_input.gaps} <= {"the", "was", "here", "in", "May", "."}
        counts.add(len(masked_input.gaps))
    assert counts == {1, 2, 3, 4, 5, 6}


def test_nothing_is_hidden_without_gaps() -> None:
    assert partly_masked_input(Template(Sentence(("Jo",), (Entity(0, 1, "PER"),))), random.Random(0)).gaps == ()


def test_entities_and_keywords_stay_and_all_gaps_are_filled() -> None:
    sentence, _ = filled(TEMPLATE, GapLengths([TEMPLATE]))
    assert [word if word[0] != "w" else "_" for word in sentence.words] == "_ poet Jo Li _ born _ _ _ _".split()
    assert sentence.labels == SENTENCE.labels


@pytest.mark.parametrize(
    ("text", "former"),
    [
        ("The Cat saw Jo TODAY", "The cat saw today today today"),
        ("He saw Jo .", "He saw he he saw jo"),
        ("2019 : Jo war in Genf", "Jo war in war in genf"),
        ("„ Wir sahen Jo“", "Wir sahen wir"),  # otherwise, sentences after a quotation mark would begin in lower case
        ("LONDON 5 Jo sang", "London london london sang sang sang"),
        ("WHY IS Jo SO COLD", "Why is why so cold so"),
        ("WHY IS JO SO COLD", "WHY IS WHY SO COLD SO"),  # a headline
        ("कल , 7 Jo में है ।", "कल कल कल में है में"),  # a sign could be replaced by a word of any script
        ("मैंने कल Jo को देखा", "मैंने कल मैंने को देखा को"),
        ("कल AM Jo में Data है", "कल कल कल में है में"),  # a Latin word could be of any language
        ("1 : Jo 2 .", "Jo jo jo jo jo jo"),
        ("그는 Jo 책을 샀다", "그는 그 그 책을 샀다 책"),  # endings stay, and should not be repeated
    ],
)
def test_gaps_are_masked_as_words_in_the_script_of_the_sentence(text: str, former: str) -> None:
    words = text.split()
    place = next(place for place, word in enumerate(words) if word.strip("“").title() == "Jo")
    template = Template(Sentence(tuple(words), (Entity(place, place + 1, "PER"),)))
    three = Template(Sentence(tuple("a b c Jo a b c".split()), (Entity(3, 4, "PER"),)))
    _, model = filled(template, GapLengths([three]))
    (masked_input,) = model.asked[0]
    assert [masked_input.words[gap] for gap in masked_input.gaps] == former.split()


def test_a_gap_takes_the_drawn_number_of_words_and_entities_move() -> None:
    three = Template(Sentence(tuple("a b c Jo a b c Li".split()), (Entity(3, 4, "PER"), Entity(7, 8, "PER"))))
    sentence, _ = filled(TEMPLATE, GapLengths([three]))
    assert [word if word[0] != "w" else "_" for word in sentence.words][:11] == "_ _ _ poet Jo Li _ _ _ born _".split()
    assert sentence.labels == ((4, 6, "PER"),)


def test_the_most_certain_words_come_first_and_are_seen_by_the_next() -> None:
    sentence, model = filled(TEMPLATE, GapLengths([TEMPLATE]), passes=3)
    assert sentence.words[0] == "w3"
    assert sentence.words[-2:] == ("w1", "w1")
    assert [len(masked_inputs[0].gaps) for masked_inputs in model.asked] == [6, 4, 2]
    assert model.asked[1][0].words[-2:] == ("w1", "w1")


@pytest.mark.parametrize(("passes", "turns"), [(1, 1), (6, 6), (50, 6)])
def test_no_more_passes_than_words(passes: int, turns: int) -> None:
    _, model = filled(TEMPLATE, GapLengths([TEMPLATE]), passes=passes)
    assert len([masked_inputs for masked_inputs in model.asked if masked_inputs]) == turns


def test_the_most_probable_candidate_is_kept() -> None:
    class Torn(Scripted):
        """The probable word is rarely drawn everywhere, but one of many candidates has it in each gap."""

        def guesses(
            self, masked_inputs: list[MaskedInput], top_k: int, *, punctuation: bool
        ) -> list[list[list[tuple[str, float]]]]:
            self.asked.append(masked_inputs)
            return [
                [[("good", 0.5), (f"bad{gap}", 0.4)] for gap in masked_input.gaps] for masked_input in masked_inputs
            ]

    model = Torn()
    settings = {"top_k": 5, "candidates": 50, "passes": 1}
    apart = Template(Sentence(tuple("a Jo b Li c".split()), (Entity(1, 2, "PER"), Entity(3, 4, "PER"))))
    (sentence,) = infill(cast(Any, model), [apart], [random.Random(0)], GapLengths([apart]), **settings)
    assert sentence.words == ("good", "Jo", "good", "Li", "good")
    assert len(model.asked[0]) == 1  # the drafts of a template begin the same, and are requested once


def test_short_gaps_are_not_preferred() -> None:
    """Their words are more probable, so candidates must have the same length."""

    class Honest(Scripted):
        def guesses(
            self, masked_inputs: list[MaskedInput], top_k: int, *, punctuation: bool
        ) -> list[list[list[tuple[str, float]]]]:
            return [[[("w", 1 / len(masked_input.words))] for _ in masked_input.gaps] for masked_input in masked_inputs]

    def gap_of(size: int) -> Template:
        return Template(Sentence(("Jo", *["a"] * size), (Entity(0, 1, "PER"),)))

    rngs = [random.Random(seed) for seed in range(200)]
    settings = {"top_k": 1, "candidates": 5, "passes": 1}
    lengths = GapLengths([gap_of(2), gap_of(8)])
    made = infill(cast(Any, Honest()), [gap_of(4)] * 200, rngs, lengths, **settings)
    assert sum(len(sentence) - 1 for sentence in made) / 200 == pytest.approx(5, abs=0.6)


def test_no_word_is_repeated_if_there_is_another() -> None:
    model = Steady(("poet", 0.8), ("born", 0.1), ("x", 0.05), ("y", 0.05))
    rngs = [random.Random(seed) for seed in range(50)]
    for passes in (1, 3, 10):
        settings = {"top_k": 4, "candidates": 2, "passes": passes}
        made = infill(cast(Any, model), [TEMPLATE] * 50, rngs, GapLengths([TEMPLATE]), **settings)
        assert not any(one == other for sentence in made for one, other in pairwise(sentence.words))


def test_no_sign_comes_first_or_next_to_another_sign() -> None:
    model = Steady((",", 0.5), (".", 0.3), ("x", 0.1), ("y", 0.1))
    rngs = [random.Random(seed) for seed in range(50)]
    for passes in (1, 3, 10):
        settings = {"top_k": 4, "candidates": 2, "passes": passes}
        made = infill(cast(Any, model), [TEMPLATE] * 50, rngs, GapLengths([TEMPLATE]), **settings)
        assert any("," in sentence.words for sentence in made)
        assert not any(sentence.words[0] in ",." for sentence in made)
        assert not any(one in ",." and other in ",." for sentence in made for one, other in pairwise(sentence.words))


def test_words_are_drawn_by_their_probability() -> None:
    model = Steady(("often", 0.6), ("seldom", 0.2))
    apart = Template(SENTENCE, (1, 5, 7, 9))  # no word would be drawn next to itself
    rngs = [random.Random(seed) for seed in range(400)]
    settings = {"top_k": 2, "candidates": 1, "passes": 1}
    made = infill(cast(Any, model), [apart] * 400, rngs, GapLengths([apart]), **settings)
    words = [word for sentence in made for word in sentence.words]
    assert words.count("often") / (words.count("often") + words.count("seldom")) == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize(("gold", "written"), [("May.", "Jo w? w Li w."), ("May .", "Jo w ? w Li w .")])
def test_signs_are_attached_to_words_as_in_gold(gold: str, written: str) -> None:
    class Punctuating:
        def guesses(
            self, masked_inputs: list[MaskedInput], top_k: int, *, punctuation: bool
        ) -> list[list[list[tuple[str, float]]]]:
            return [[[({4: "?", 10: "."}.get(gap, "w"), 1.0)] for gap in c.gaps] for c in masked_inputs]

    template = Template(Sentence(tuple("Jo a b c Li d e".split()), (Entity(0, 1, "PER"), Entity(4, 5, "PER"))))
    lengths = GapLengths([template, *[Template(Sentence(("in", *gold.split())))] * 10])
    lengths.draw = lambda template, gap, rng: gap[1] - gap[0]  # type: ignore[method-assign]
    settings = {"top_k": 1, "candidates": 1, "passes": 1}
    ((made),) = infill(cast(Any, Punctuating()), [template], [random.Random(0)], lengths, **settings)
    assert made.text == written
    assert [made.mention(entity) for entity in made.entities] == [("Jo",), ("Li",)]
