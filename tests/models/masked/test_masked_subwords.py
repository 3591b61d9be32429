from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from nersery.core.errors import SettingsError
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.masked.masked_subwords import MaskedInputEncoder, MaskedWindow
from nersery.models.pretrained.loading import ModelSource
from nersery.models.subwords.subwords import SubwordEncoder
from nersery.models.tokens import TOKEN_PREFIX

WORDS = ("Ada", "Lovelace", "wrote", "in", "दिल्ली", "東京", "unseenword", "\u200b", "👩‍👩‍👧", "[MASK]", "<b-per>")
LONG = tuple(WORDS[number % len(WORDS)] for number in range(300))


@pytest.fixture(scope="module", params=["wordpiece", "bytes", "unigram"])
def gaps(request: pytest.FixtureRequest, tiny_masked_lms: dict[str, Path]) -> MaskedInputEncoder:
    tokenizer = ModelSource(str(tiny_masked_lms[request.param])).tokenizer()
    return MaskedInputEncoder(SubwordEncoder(tokenizer, 64), tokenizer.mask_token_id)


def check_row(gaps: MaskedInputEncoder, row: MaskedWindow, masked_input: MaskedInput) -> None:
    """Check that masks are at the row's positions and nowhere else, and that targets are the gaps' subwords.

    Gaps that belong to a neighbouring window are ignored.
    """
    spans = gaps.subwords.word_spans(row.window)
    core = {at for word in range(*row.window.core) for at in range(*spans[word - row.window.start])}
    at_masks = [at for at, subword in enumerate(row.window.subwords) if subword == gaps.mask and at in core]
    assert at_masks == sorted(row.positions) == list(row.positions)
    assert len(row.positions) == len(row.targets) == len(row.places) > 0
    for target, (gap, subword) in zip(row.targets, row.places, strict=True):
        assert gap in masked_input.gaps
        assert gaps.subwords.subwords([masked_input.words[gap]])[0][subword] == target


def test_every_subword_of_every_gap_is_masked_once(gaps: MaskedInputEncoder) -> None:
    masked_input = MaskedInput(WORDS, (1, 4, 5, 6))
    (row,) = gaps.fully_masked(masked_input)
    check_row(gaps, row, masked_input)
    subwords = gaps.subwords.subwords(WORDS)
    assert row.places == tuple((gap, subword) for gap in masked_input.gaps for subword in range(len(subwords[gap])))
    (whole,) = gaps.subwords.windows(WORDS)
    assert [b for a, b in zip(row.window.subwords, whole.subwords, strict=True) if a == gaps.mask] == list(row.targets)
    assert all(a in (b, gaps.mask) for a, b in zip(row.window.subwords, whole.subwords, strict=True))


def test_no_word_of_a_text_is_read_as_a_special_token(gaps: MaskedInputEncoder) -> None:
    """Not even a word that is written like one."""
    special = set(gaps.subwords.tokenizer.all_special_ids) - {gaps.subwords.tokenizer.unk_token_id}
    for word in (*gaps.subwords.tokenizer.all_special_tokens, *WORDS):
        if word != gaps.subwords.tokenizer.unk_token:
            assert not special & set(gaps.subwords.subwords([word])[0]), word


def test_words_that_are_unknown_or_have_no_subwords_can_be_gaps(gaps: MaskedInputEncoder) -> None:
    masked_input = MaskedInput(WORDS, tuple(range(len(WORDS))))
    rows = gaps.fully_masked(masked_input)
    for row in rows:
        check_row(gaps, row, masked_input)
    assert {gap for row in rows for gap, _ in row.places} == set(masked_input.gaps)


def test_each_gap_of_a_long_text_belongs_to_one_window(gaps: MaskedInputEncoder) -> None:
    masked_input = MaskedInput(LONG, tuple(range(0, 300, 3)))
    rows = gaps.fully_masked(masked_input)
    assert len(rows) > 3
    assert all(len(row.window.subwords) <= 64 for row in rows)
    for row in rows:
        check_row(gaps, row, masked_input)
    found = Counter(place for row in rows for place in row.places)
    subwords = gaps.subwords.subwords(LONG)
    assert found == Counter({(gap, subword): 1 for gap in masked_input.gaps for subword in range(len(subwords[gap]))})


def test_a_gap_is_masked_in_every_window_that_contains_it(gaps: MaskedInputEncoder) -> None:
    masked_input = MaskedInput(LONG, tuple(range(0, 300, 3)))
    for rows in (gaps.fully_masked(masked_input), gaps.with_masks(masked_input, [(gaps.mask,)] * 100)):
        beside = 0
        for row in rows:
            for word, (start, end) in enumerate(gaps.subwords.word_spans(row.window), start=row.window.start):
                hidden = {subword == gaps.mask for subword in row.window.subwords[start:end]}
                assert hidden == {word in masked_input.gaps}
                beside += word in masked_input.gaps and word not in range(*row.window.core)
        assert beside > 0


def test_a_window_without_a_gap_gives_no_row(gaps: MaskedInputEncoder) -> None:
    assert gaps.fully_masked(MaskedInput(LONG, ())) == []
    assert len(gaps.fully_masked(MaskedInput(LONG, (150,)))) == 1
    assert gaps.randomly_masked(MaskedInput(LONG, ()), 1.0, random.Random(0)) == []


def test_the_visible_part_of_a_gap_longer_than_the_window_is_masked(gaps: MaskedInputEncoder) -> None:
    masked_input = MaskedInput(("Ada", "x" * 500, "wrote"), (1,))
    (row,) = gaps.fully_masked(masked_input)
    assert len(row.window.subwords) <= 64
    assert {gap for gap, _ in row.places} == {1}


@pytest.mark.parametrize(("rate", "least", "most"), [(0.0, 1, 1), (0.5, 2, 9), (1.0, 11, 999)])
def test_a_subword_is_masked_with_the_given_probability(
    gaps: MaskedInputEncoder, rate: float, least: int, most: int
) -> None:
    masked_input = MaskedInput(
        ("Ada", "Lovelace", "wrote", "in", "London", "Grace", "Oslo", "sells", "of", "the", "Boston"), ()
    )
    masked_input = MaskedInput(masked_input.words, tuple(range(11)))
    (everything,) = gaps.fully_masked(masked_input)
    counts = []
    for seed in range(20):
        (row,) = gaps.randomly_masked(masked_input, rate, random.Random(seed))
        check_row(gaps, row, masked_input)
        counts.append(len(row.positions))
    share = sum(counts) / 20 / len(everything.positions)
    assert least <= min(counts)
    assert max(counts) <= most or share == pytest.approx(rate, abs=0.1)
    assert rate == 0 or share == pytest.approx(rate, abs=0.1)


def test_each_window_has_at_least_one_masked_subword(gaps: MaskedInputEncoder) -> None:
    masked_input = MaskedInput(LONG, tuple(range(300)))
    rows = gaps.randomly_masked(masked_input, 0.0, random.Random(0))
    assert [len(row.positions) for row in rows] == [1] * len(gaps.subwords.windows(LONG))


def test_a_gap_has_the_given_number_of_masks(gaps: MaskedInputEncoder) -> None:
    masked_input = MaskedInput(WORDS, (0, 4))
    (row,) = gaps.with_masks(masked_input, ((gaps.mask,), (gaps.mask,) * 3))
    assert row.places == ((0, 0), (4, 0), (4, 1), (4, 2))
    assert [position for position, subword in enumerate(row.window.subwords) if subword == gaps.mask] == list(
        row.positions
    )
    assert row.positions[1:] == tuple(range(row.positions[1], row.positions[1] + 3))
    others = [word for number, word in enumerate(WORDS) if number not in masked_input.gaps]
    expected = [subword for ids in gaps.subwords.subwords(others) for subword in ids]
    inner = row.window.subwords[len(gaps.subwords.prefix) : -len(gaps.subwords.suffix)]
    assert [subword for subword in inner if subword != gaps.mask] == expected


def test_subwords_of_a_template_that_are_not_masks_are_visible(gaps: MaskedInputEncoder) -> None:
    shown = gaps.subwords.subwords(["Ada"])[0][0]
    (row,) = gaps.with_masks(MaskedInput(WORDS, (1,)), ((shown, gaps.mask, gaps.mask),))
    assert row.places == ((1, 0), (1, 1))
    first, second = row.positions
    assert row.window.subwords[first - 1 : second + 1] == (shown, gaps.mask, gaps.mask)


def test_every_window_begins_with_the_condition(gaps: MaskedInputEncoder) -> None:
    condition = ("name", "of", "a", "place")
    masked_input = MaskedInput(LONG, tuple(range(300)), condition)
    rows = gaps.fully_masked(masked_input)
    assert len(rows) > len(gaps.fully_masked(MaskedInput(LONG, masked_input.gaps)))
    ids = [subword for word in gaps.subwords.subwords(condition) for subword in word]
    front = (*gaps.subwords.prefix, *ids, gaps.subwords.tokenizer.sep_token_id)
    for row in rows:
        check_row(gaps, row, masked_input)
        assert row.window.subwords[: len(front)] == front
        assert min(row.positions) >= len(front), "a word of the condition is never hidden"
        assert len(row.window.subwords) <= 64
    assert {gap for row in rows for gap, _ in row.places} == set(range(300))


def test_condition_and_text_are_joined_as_in_transformers(gaps: MaskedInputEncoder) -> None:
    (window,) = gaps.subwords.windows(["Ada", "wrote"], ["name", "place"])
    tokenizer = gaps.subwords.tokenizer
    text = [subword for word in gaps.subwords.subwords(["name", "place"]) for subword in word]
    rest = [subword for word in gaps.subwords.subwords(["Ada", "wrote"]) for subword in word]
    assert list(window.subwords) == [
        tokenizer.cls_token_id, *text, tokenizer.sep_token_id, *rest, tokenizer.sep_token_id
    ]  # fmt: skip


def test_refuses_a_condition_without_room_after_it(gaps: MaskedInputEncoder) -> None:
    with pytest.raises(SettingsError, match=r'"(place ?)+ …" has \d+ subwords, but only 31 fit .*Shorten it'):
        gaps.fully_masked(MaskedInput(("Ada",), (0,), ("place",) * 40))


def test_a_tag_token_is_one_subword_and_not_a_word(gaps: MaskedInputEncoder) -> None:
    token = f"{TOKEN_PREFIX}<b-per>"
    gaps.subwords.token_ids[token] = (599,)
    masked_input = MaskedInput((token, "<b-per>", token), (1,))
    (row,) = gaps.fully_masked(masked_input)
    check_row(gaps, row, masked_input)
    assert row.window.subwords.count(599) == 2
    assert 599 not in row.targets
