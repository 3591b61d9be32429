from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from nersery.core.errors import SettingsError
from nersery.models.loading import ModelSource
from nersery.models.masked.masked_inputs import (
    OWN,
    Cloze,
    Drawing,
    is_replaceable,
)
from nersery.models.masked.masked_subwords import GapEncoder, Row
from nersery.models.subwords.subwords import PieceEncoder

WORDS = ("Ada", "Lovelace", "wrote", "in", "दिल्ली", "東京", "unseenword", "\u200b", "👩‍👩‍👧", "[MASK]", "<b-per>")
LONG = tuple(WORDS[number % len(WORDS)] for number in range(300))


@pytest.fixture(scope="module", params=["wordpiece", "bytes", "unigram"])
def gaps(request: pytest.FixtureRequest, tiny_masked_lms: dict[str, Path]) -> GapEncoder:
    tokenizer = ModelSource(str(tiny_masked_lms[request.param])).tokenizer()
    return GapEncoder(PieceEncoder(tokenizer, 64), tokenizer.mask_token_id)


def check_row(gaps: GapEncoder, row: Row, cloze: Cloze) -> None:
    """Masks stand where the row says, and nowhere else; the targets are the pieces of the words of the gaps.

    Gaps that a neighbouring window decides on are left aside.
    """
    spans = gaps.pieces.word_spans(row.window)
    core = {at for word in range(*row.window.core) for at in range(*spans[word - row.window.start])}
    at_masks = [at for at, piece in enumerate(row.window.pieces) if piece == gaps.mask and at in core]
    assert at_masks == sorted(row.positions) == list(row.positions)
    assert len(row.positions) == len(row.targets) == len(row.places) > 0
    for target, (gap, piece) in zip(row.targets, row.places, strict=True):
        assert gap in cloze.gaps
        assert gaps.pieces.pieces([cloze.words[gap]])[0][piece] == target


def test_every_piece_of_every_gap_is_hidden_once(gaps: GapEncoder) -> None:
    cloze = Cloze(WORDS, (1, 4, 5, 6))
    (row,) = gaps.rows(cloze)
    check_row(gaps, row, cloze)
    pieces = gaps.pieces.pieces(WORDS)
    assert row.places == tuple((gap, piece) for gap in cloze.gaps for piece in range(len(pieces[gap])))
    (whole,) = gaps.pieces.windows(WORDS)
    assert [b for a, b in zip(row.window.pieces, whole.pieces, strict=True) if a == gaps.mask] == list(row.targets)
    assert all(a in (b, gaps.mask) for a, b in zip(row.window.pieces, whole.pieces, strict=True))


def test_no_word_of_a_text_is_a_mask(gaps: GapEncoder) -> None:
    """Not even one that is written like it."""
    special = set(gaps.pieces.tokenizer.all_special_ids) - {gaps.pieces.tokenizer.unk_token_id}
    for word in (*gaps.pieces.tokenizer.all_special_tokens, *WORDS):
        if word != gaps.pieces.tokenizer.unk_token:
            assert not special & set(gaps.pieces.pieces([word])[0]), word


def test_words_that_are_unknown_or_vanish_can_be_gaps(gaps: GapEncoder) -> None:
    cloze = Cloze(WORDS, tuple(range(len(WORDS))))
    rows = gaps.rows(cloze)
    for row in rows:
        check_row(gaps, row, cloze)
    assert {gap for row in rows for gap, _ in row.places} == set(cloze.gaps)


def test_each_gap_of_a_long_text_is_decided_on_in_one_window(gaps: GapEncoder) -> None:
    cloze = Cloze(LONG, tuple(range(0, 300, 3)))
    rows = gaps.rows(cloze)
    assert len(rows) > 3
    assert all(len(row.window.pieces) <= 64 for row in rows)
    for row in rows:
        check_row(gaps, row, cloze)
    found = Counter(place for row in rows for place in row.places)
    pieces = gaps.pieces.pieces(LONG)
    assert found == Counter({(gap, piece): 1 for gap in cloze.gaps for piece in range(len(pieces[gap]))})


def test_a_gap_is_hidden_in_every_window_that_shows_it(gaps: GapEncoder) -> None:
    cloze = Cloze(LONG, tuple(range(0, 300, 3)))
    for rows in (gaps.rows(cloze), gaps.with_masks(cloze, [(gaps.mask,)] * 100)):
        beside = 0
        for row in rows:
            for word, (start, end) in enumerate(gaps.pieces.word_spans(row.window), start=row.window.start):
                hidden = {piece == gaps.mask for piece in row.window.pieces[start:end]}
                assert hidden == {word in cloze.gaps}
                beside += word in cloze.gaps and word not in range(*row.window.core)
        assert beside > 0


def test_a_window_without_a_gap_gives_no_row(gaps: GapEncoder) -> None:
    assert gaps.rows(Cloze(LONG, ())) == []
    assert len(gaps.rows(Cloze(LONG, (150,)))) == 1
    assert gaps.hidden(Cloze(LONG, ()), 1.0, random.Random(0)) == []


def test_a_gap_longer_than_the_window_is_hidden_as_far_as_it_is_seen(gaps: GapEncoder) -> None:
    cloze = Cloze(("Ada", "x" * 500, "wrote"), (1,))
    (row,) = gaps.rows(cloze)
    assert len(row.window.pieces) <= 64
    assert {gap for gap, _ in row.places} == {1}


@pytest.mark.parametrize(("rate", "least", "most"), [(0.0, 1, 1), (0.5, 2, 9), (1.0, 11, 999)])
def test_a_piece_is_hidden_with_the_probability(gaps: GapEncoder, rate: float, least: int, most: int) -> None:
    cloze = Cloze(("Ada", "Lovelace", "wrote", "in", "London", "Grace", "Oslo", "sells", "of", "the", "Boston"), ())
    cloze = Cloze(cloze.words, tuple(range(11)))
    (everything,) = gaps.rows(cloze)
    counts = []
    for seed in range(20):
        (row,) = gaps.hidden(cloze, rate, random.Random(seed))
        check_row(gaps, row, cloze)
        counts.append(len(row.positions))
    share = sum(counts) / 20 / len(everything.positions)
    assert least <= min(counts)
    assert max(counts) <= most or share == pytest.approx(rate, abs=0.1)
    assert rate == 0 or share == pytest.approx(rate, abs=0.1)


def test_each_window_has_a_hidden_piece_at_the_least(gaps: GapEncoder) -> None:
    cloze = Cloze(LONG, tuple(range(300)))
    rows = gaps.hidden(cloze, 0.0, random.Random(0))
    assert [len(row.positions) for row in rows] == [1] * len(gaps.pieces.windows(LONG))


def test_a_gap_has_as_many_masks_as_it_is_given(gaps: GapEncoder) -> None:
    cloze = Cloze(WORDS, (0, 4))
    (row,) = gaps.with_masks(cloze, ((gaps.mask,), (gaps.mask,) * 3))
    assert row.places == ((0, 0), (4, 0), (4, 1), (4, 2))
    assert [position for position, piece in enumerate(row.window.pieces) if piece == gaps.mask] == list(row.positions)
    assert row.positions[1:] == tuple(range(row.positions[1], row.positions[1] + 3))
    others = [word for number, word in enumerate(WORDS) if number not in cloze.gaps]
    expected = [piece for ids in gaps.pieces.pieces(others) for piece in ids]
    inner = row.window.pieces[len(gaps.pieces.prefix) : -len(gaps.pieces.suffix)]
    assert [piece for piece in inner if piece != gaps.mask] == expected


def test_what_is_no_mask_in_a_template_is_shown(gaps: GapEncoder) -> None:
    shown = gaps.pieces.pieces(["Ada"])[0][0]
    (row,) = gaps.with_masks(Cloze(WORDS, (1,)), ((shown, gaps.mask, gaps.mask),))
    assert row.places == ((1, 0), (1, 1))
    first, second = row.positions
    assert row.window.pieces[first - 1 : second + 1] == (shown, gaps.mask, gaps.mask)


def test_a_condition_stands_in_front_of_every_window(gaps: GapEncoder) -> None:
    condition = ("name", "of", "a", "place")
    cloze = Cloze(LONG, tuple(range(300)), condition)
    rows = gaps.rows(cloze)
    assert len(rows) > len(gaps.rows(Cloze(LONG, cloze.gaps)))
    ids = [piece for word in gaps.pieces.pieces(condition) for piece in word]
    front = (*gaps.pieces.prefix, *ids, gaps.pieces.tokenizer.sep_token_id)
    for row in rows:
        check_row(gaps, row, cloze)
        assert row.window.pieces[: len(front)] == front
        assert min(row.positions) >= len(front), "a word of the condition is never hidden"
        assert len(row.window.pieces) <= 64
    assert {gap for row in rows for gap, _ in row.places} == set(range(300))


def test_the_condition_reads_as_transformers_joins_two_texts(gaps: GapEncoder) -> None:
    (window,) = gaps.pieces.windows(["Ada", "wrote"], ["name", "place"])
    tokenizer = gaps.pieces.tokenizer
    text = [piece for word in gaps.pieces.pieces(["name", "place"]) for piece in word]
    rest = [piece for word in gaps.pieces.pieces(["Ada", "wrote"]) for piece in word]
    assert list(window.pieces) == [
        tokenizer.cls_token_id, *text, tokenizer.sep_token_id, *rest, tokenizer.sep_token_id
    ]  # fmt: skip


def test_a_condition_without_room_behind_it_is_refused(gaps: GapEncoder) -> None:
    with pytest.raises(SettingsError, match=r'"(place ?)+" has \d+ pieces, and only 31 fit .*Shorten it'):
        gaps.rows(Cloze(("Ada",), (0,), ("place",) * 40))


def test_a_tag_token_is_one_piece_and_no_word(gaps: GapEncoder) -> None:
    token = f"{OWN}<b-per>"
    gaps.pieces.own[token] = (599,)
    cloze = Cloze((token, "<b-per>", token), (1,))
    (row,) = gaps.rows(cloze)
    check_row(gaps, row, cloze)
    assert row.window.pieces.count(599) == 2
    assert 599 not in row.targets


@pytest.mark.parametrize("word", ["Ada", "3", "a.", "राम", "京", "أحمد", "Ⅳ", "½"])
def test_a_word_with_a_letter_or_digit_can_be_replaced(word: str) -> None:
    assert is_replaceable(word)


@pytest.mark.parametrize("word", [".", "।", "。", "👩‍👩‍👧", "\u200b", "--", "€"])
def test_a_word_of_signs_cannot_be_replaced(word: str) -> None:
    assert not is_replaceable(word)


@pytest.mark.parametrize("top_k", [0, -1])
def test_nothing_to_draw_from_is_refused(top_k: int) -> None:
    with pytest.raises(SettingsError, match=f"top_k is {top_k}, expected 1 or more"):
        Drawing(top_k)
