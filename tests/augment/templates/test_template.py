from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery import Entity, Sentence
from nersery.augment.templates.template import Template, attention_keywords, merge_entities, random_keywords
from nersery.augment.words.stop_words import bare
from nersery.core.errors import DataError

FILM = Sentence(
    ("the", "Jo", "Li", "film", "won", ",", "in", "Oslo", "."),
    (Entity(1, 3, "PER"), Entity(7, 8, "LOC")),
    id="film",
    language="en",
)
#        the    Jo     Li     film   won    ,      in     Oslo   .
JO = [0.10, 0.90, 0.80, 0.20, 0.40, 0.90, 0.10, 0.70, 0.90]
LI = [0.50, 0.70, 0.60, 0.30, 0.00, 0.90, 0.20, 0.90, 0.90]
OSLO = [0.10, 0.80, 0.90, 0.10, 0.20, 0.90, 0.30, 0.90, 0.90]
OTHER = [0.20, 0.10, 0.20, 0.30, 0.40, 0.50, 0.60, 0.70, 0.80]
ATTENTION = np.array([OTHER, JO, LI, OTHER, OTHER, OTHER, OTHER, OSLO, OTHER], np.float32)


def words(sentence: Sentence, places: tuple[int, ...]) -> list[str]:
    return [sentence.words[place] for place in places]


class TestTemplate:
    def test_keeps_entities_and_keywords_and_leaves_gaps(self) -> None:
        template = Template(FILM, (3, 6))
        assert template.kept == (1, 2, 3, 6, 7)
        assert template.gaps() == ((0, 1), (4, 6), (8, 9))

    def test_a_sentence_of_entities_only_has_no_gap(self) -> None:
        sentence = Sentence(("a",) * 41, (Entity(0, 40, "ORG"), Entity(40, 41, "LOC")))
        assert (Template(sentence).kept, Template(sentence).gaps()) == (tuple(range(41)), ())

    def test_a_sentence_without_entities_and_keywords_is_one_gap(self) -> None:
        assert Template(Sentence(("a", "b"))).gaps() == ((0, 2),)

    @pytest.mark.parametrize("keywords", [(1,), (3, 0), (3, 3), (9,), (-1,)])
    def test_keywords_are_words_outside_entities_in_order(self, keywords: tuple[int, ...]) -> None:
        with pytest.raises(DataError, match="sentence film: keywords are positions"):
            Template(FILM, keywords)

    @given(st.lists(st.sampled_from("egk"), min_size=1, max_size=8))
    def test_most_torn_has_the_largest_number_of_gaps(self, kinds: list[str]) -> None:
        """Each word is an entity, in a gap, or a keyword."""
        entities = tuple(Entity(place, place + 1, "X") for place, kind in enumerate(kinds) if kind == "e")
        sentence, keywords = Sentence(tuple(kinds), entities), [p for p, kind in enumerate(kinds) if kind == "k"]
        some = (kept for count in range(len(keywords) + 1) for kept in combinations(keywords, count))
        most = Template(sentence, tuple(keywords)).with_most_gaps()
        assert {*most.keywords} <= {*keywords}
        assert len(most.gaps()) == max(len(Template(sentence, kept).gaps()) for kept in some)

    def test_dynamic_masking_drops_the_drawn_share(self) -> None:
        template = Template(FILM, (0, 3, 4, 6))
        rng, same = random.Random(5), random.Random(5)
        for _ in range(200):
            rate = next(rate for rate in iter(lambda: same.gauss(0.5, 1 / 4), None) if 0 <= rate <= 1)
            dropped = same.sample((0, 3, 4, 6), round(rate * 4))
            assert template.dynamically_masked(rng).keywords == tuple(
                place for place in (0, 3, 4, 6) if place not in dropped
            )

    def test_every_keyword_is_dropped_about_half_of_the_time(self) -> None:
        template, rng = Template(FILM, (0, 3, 4, 6)), random.Random(0)
        drawn = [template.dynamically_masked(rng) for _ in range(2000)]
        left = Counter(place for one in drawn for place in one.keywords)
        assert all(left[place] == pytest.approx(1000, abs=120) for place in (0, 3, 4, 6))
        assert {len(one.keywords) for one in drawn} == {0, 1, 2, 3, 4}

    def test_a_single_keyword_is_dropped_or_kept(self) -> None:
        rng = random.Random(0)
        assert {Template(FILM, (3,)).dynamically_masked(rng).keywords for _ in range(50)} == {(), (3,)}

    def test_nothing_is_drawn_without_keywords(self) -> None:
        rng = random.Random(0)
        state = rng.getstate()
        assert Template(FILM).dynamically_masked(rng) == Template(FILM)
        assert rng.getstate() == state

    def test_joined_appends_the_other_template(self) -> None:
        other = Sentence(("seen", "Pune", "राम"), (Entity(1, 2, "LOC", 0.5),), id="pune", language="hi")
        joined = Template(FILM, (3, 4)).mixed_with(Template(other, (2,)))
        assert joined.sentence.words == FILM.words + other.words
        assert joined.sentence.labels == ((1, 3, "PER"), (7, 8, "LOC"), (10, 11, "LOC"))
        assert (joined.sentence.id, joined.sentence.language) == ("film", "en")
        assert words(joined.sentence, joined.keywords) == ["film", "won", "राम"]
        assert joined.gaps() == ((0, 1), (5, 7), (8, 10))  # the end of one and the beginning of the other are one gap

    def test_joined_keeps_the_number_of_extra_columns(self) -> None:
        """Otherwise, a file of columns could not store it with the others."""
        sentence = Sentence(("Jo", "won"), (Entity(0, 1, "PER"),), columns=(("NNP", "VBD"),))
        template = Template(sentence)
        assert template.mixed_with(template).sentence.columns == (("NNP", "VBD", "NNP", "VBD"),)
        assert template.mixed_with(Template(Sentence(("yes", "!")))).sentence.columns == (("NNP", "VBD", "_", "_"),)
        assert Template(Sentence(("yes", "!"))).mixed_with(template).sentence.columns == ()

    def test_a_template_can_be_joined_to_itself(self) -> None:
        template = Template(FILM, (3,))
        assert template.mixed_with(template).keywords == (3, 12)


class TestMergeEntities:
    def test_attention_to_entities_is_summed_and_from_them_averaged(self) -> None:
        units, merged = merge_entities(FILM, ATTENTION)
        assert units == ((0, 1), (1, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9))
        from_jo_li = [
            (0.10 + 0.50) / 2, ((0.90 + 0.80) + (0.70 + 0.60)) / 2, (0.20 + 0.30) / 2, (0.40 + 0.00) / 2,
            0.90, (0.10 + 0.20) / 2, (0.70 + 0.90) / 2, 0.90,
        ]  # fmt: skip
        assert merged[1] == pytest.approx(from_jo_li)
        assert merged[6] == pytest.approx([0.10, 0.80 + 0.90, 0.10, 0.20, 0.90, 0.30, 0.90, 0.90])

    def test_neighbouring_entities_stay_separate(self) -> None:
        sentence = Sentence(("a", "b", "c"), (Entity(0, 2, "PER"), Entity(2, 3, "PER")))
        units, merged = merge_entities(sentence, np.arange(9.0).reshape(3, 3))
        assert units == ((0, 2), (2, 3))
        assert merged.tolist() == [[4.0, 3.5], [13.0, 8.0]]

    @pytest.mark.parametrize("shape", [(8, 8), (10, 10), (9, 8)])
    def test_attention_between_other_words_is_refused(self, shape: tuple[int, int]) -> None:
        with pytest.raises(ValueError, match="between 9 words"):
            merge_entities(FILM, np.zeros(shape))


class TestAttentionKeywords:
    """Six words are outside entities, so each entity takes two at a rate of 0.3."""

    def test_takes_the_words_that_entities_attend_to_most(self) -> None:
        # Jo Li: the .3, film .25, won .2, in .15; Oslo: in .3, won .2, the and film .1; punctuation is never taken
        assert words(FILM, attention_keywords(FILM, ATTENTION, 0.3)) == ["the", "film", "won", "in"]

    def test_stop_words_are_replaced_by_the_next_words(self) -> None:
        assert words(FILM, attention_keywords(FILM, ATTENTION, 0.3, {"the", "in"})) == ["film", "won"]
        assert words(FILM, attention_keywords(FILM, ATTENTION, 0.1, {"the", "in"})) == ["film", "won"]
        upper = Sentence(("THE", *FILM.words[1:]), FILM.entities)
        assert words(upper, attention_keywords(upper, ATTENTION, 0.3, {"the"})) == ["film", "won", "in"]

    def test_entities_attend_as_a_whole(self) -> None:
        # by itself, Jo would take won before film, and Li the before film
        sentence = Sentence(FILM.words, (Entity(1, 3, "PER"),))
        assert words(sentence, attention_keywords(sentence, ATTENTION, 0.2, {"the", "oslo"})) == ["film", "won"]
        alone = Sentence(FILM.words, (Entity(1, 2, "PER"),))
        assert words(alone, attention_keywords(alone, ATTENTION, 0.1, {"li", "oslo"})) == ["won"]

    def test_takes_the_first_of_equal_words(self) -> None:
        assert attention_keywords(FILM, np.ones((9, 9)), 0.3) == (0, 3)

    @pytest.mark.parametrize(
        ("rate", "count"), [(0.0, 0), (0.01, 1), (0.1, 1), (0.3, 3), (0.31, 4), (0.7, 7), (1.0, 10)]
    )
    def test_the_share_of_words_outside_entities_is_rounded_up(self, rate: float, count: int) -> None:
        sentence = Sentence((*"abcdefghij", "K"), (Entity(10, 11, "LOC"),))
        assert len(attention_keywords(sentence, np.ones((11, 11)), rate)) == count

    def test_takes_no_more_words_than_there_are(self) -> None:
        sentence = Sentence(("!", "a", "$", "।", "K", "।"), (Entity(4, 5, "LOC"),))
        assert attention_keywords(sentence, np.ones((6, 6)), 1.0) == (1,)

    def test_there_are_none_without_entities_or_other_words(self) -> None:
        assert attention_keywords(Sentence(("a", "b")), np.ones((2, 2))) == ()
        assert attention_keywords(Sentence(("a", "b"), (Entity(0, 2, "X"),)), np.ones((2, 2))) == ()


class TestRandomKeywords:
    def test_draws_any_words_in_the_same_number_as_by_attention(self) -> None:
        sentence = Sentence((*"abcdefgh", ".", "THE", "K"), (Entity(10, 11, "LOC"),))
        drawn = [random_keywords(sentence, 0.3, {"the"}, random.Random(seed)) for seed in range(400)]
        assert {len(places) for places in drawn} == {3}
        assert all(list(places) == sorted(set(places)) for places in drawn)
        counts = Counter(place for places in drawn for place in places)
        assert set(counts) == set(range(8))
        assert all(count == pytest.approx(150, abs=45) for count in counts.values())

    def test_each_entity_draws_its_own_keywords(self) -> None:
        sentence = Sentence((*"abcdefgh", "K", "L"), (Entity(8, 9, "LOC"), Entity(9, 10, "LOC")))
        lengths = {len(random_keywords(sentence, 0.3, set(), random.Random(seed))) for seed in range(60)}
        assert lengths == {3, 4, 5, 6}

    def test_there_are_none_without_entities(self) -> None:
        assert random_keywords(Sentence(("a", "b")), 0.5, set(), random.Random(0)) == ()


def test_bare_words_are_empty_for_punctuation() -> None:
    assert [bare(FILM.words[place]) for place in FILM.outside] == ["the", "film", "won", "", "in", ""]
