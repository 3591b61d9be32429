import random
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery import Entity, Sentence
from nersery.augment.eda import EDA
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.outcome import Reject

WORDS = ("The", "Car", "of", "Mark", "Twain", "stood", "in", "New", "York")
SENTENCE = Sentence(WORDS, (Entity(3, 5, "PER"), Entity(7, 9, "LOC")), columns=(tuple(word.upper() for word in WORDS),))


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "synonyms.tsv"
    path.write_text("car\tautomobile\tmotor vehicle\nmark\tgrade point\n")
    return str(path)


def outcomes(method: EDA, sentence: Sentence = SENTENCE, times: int = 400) -> list[Sentence | Reject]:
    method.fit([])
    rng = random.Random(0)
    return [method.generate(sentence, rng) for _ in range(times)]


def texts(method: EDA, sentence: Sentence = SENTENCE) -> set[str]:
    return {made.text for made in outcomes(method, sentence)}


def mentions(sentence: Sentence) -> list[tuple[tuple[str, ...], str]]:
    return [(sentence.mention(entity), entity.type) for entity in sentence.entities]


def test_at_least_one_word_in_ten_becomes_a_synonym(table: str):
    method = EDA(["synonyms"], table=table)
    assert texts(method) == {
        "The Automobile of Mark Twain stood in New York",
        "The Motor vehicle of Mark Twain stood in New York",
        "The Car of Grade point Twain stood in New York",
    }
    long = Sentence(("car",) * 29)
    replaced = [sum(word in ("automobile", "motor") for word in made.words) for made in outcomes(method, long)]
    assert set(replaced) == {2}


def test_mentions_grow_with_their_synonyms(table: str):
    for made in outcomes(EDA(["synonyms"], rate=1.0, table=table)):
        assert mentions(made) == [(("Grade", "point", "Twain"), "PER"), (("New", "York"), "LOC")]


def test_a_turkish_capital_i_is_looked_up_as_its_small_letter(tmp_path: Path):
    table = tmp_path / "tr.tsv"
    table.write_text("ışık\tnur\n", "utf-8")
    sentence = Sentence(("Işık", "söndü"), language="tr")
    inserted = {"nur Işık söndü", "Işık nur söndü", "Işık söndü nur"}
    assert texts(EDA(["insertion"], table=str(table)), sentence) == inserted
    assert texts(EDA(["synonyms"], table=str(table)), sentence) == {"Nur söndü"}


def test_insertions_are_synonyms_of_other_words_outside_entities(table: str):
    found = outcomes(EDA(["insertion"], rate=0.25, table=table))
    added = Counter(len(made) - len(SENTENCE) for made in found)
    assert set(added) == {2, 3, 4}, "two synonyms, of one word or two each"
    for made in found:
        assert mentions(made) == mentions(SENTENCE)
        assert [word for word, upper in zip(made.words, made.columns[0], strict=True) if upper != "_"] == list(WORDS)
        assert {word for word, upper in zip(made.words, made.columns[0], strict=True) if upper == "_"} <= {
            "automobile", "motor", "vehicle",
        }  # fmt: skip
    places = {made.columns[0].index("_") for made in outcomes(EDA(["insertion"], table=table))}
    assert places == {0, 1, 2, 3, 5, 6, 7, 9}


def test_a_shuffle_keeps_every_segment_together():
    expected = {
        " ".join((*first, *second, *third, *fourth))
        for first, second, third, fourth in product(
            [("The", "Car", "of"), ("The", "of", "Car"), ("Car", "The", "of"), ("Car", "of", "The"),
             ("of", "The", "Car"), ("of", "Car", "The")],
            [("Mark", "Twain"), ("Twain", "Mark")],
            [("stood", "in"), ("in", "stood")],
            [("New", "York"), ("York", "New")],
        )
        if sum([first != WORDS[:3], second != WORDS[3:5], third != WORDS[5:7], fourth != WORDS[7:]]) == 1
    }  # fmt: skip
    assert texts(EDA(["shuffle"])) == expected, "one segment of four is the least that is shuffled"
    assert len(texts(EDA(["shuffle"], rate=1.0))) == 6 * 2 * 2 * 2 - 1


@given(st.randoms(use_true_random=False), st.floats(0, 1))
def test_swaps_take_place_only_outside_entities(rng: random.Random, rate: float):
    method = EDA(["swap"], rate)
    method.fit([])
    made = method.generate(SENTENCE, rng)
    if isinstance(made, Reject):
        assert rate >= 0.2, "several swaps may undo each other, always so where chance repeats itself"
        return
    assert made.entities == SENTENCE.entities
    assert mentions(made) == mentions(SENTENCE)
    assert sorted(made.words) == sorted(WORDS)
    assert made.columns[0] == tuple(word.upper() for word in made.words)
    if rate < 0.2:
        assert sum(old != new for old, new in zip(WORDS, made.words, strict=True)) == 2


@pytest.mark.parametrize(("rate", "gone"), [(0.0, 1), (0.1, 1), (0.25, 2), (1.0, 5)])
def test_deletions_leave_mentions_alone(rate: float, gone: int):
    found = outcomes(EDA(["deletion"], rate))
    assert {len(made) for made in found} == {len(SENTENCE) - gone}
    assert all(mentions(made) == mentions(SENTENCE) for made in found)
    assert gone == 5 or len({made.text for made in found}) > gone


def test_deletion_keeps_one_word_of_a_sentence_without_entities():
    assert {len(made) for made in outcomes(EDA(["deletion"], 1.0), Sentence(("a", "b", "c")))} == {1}


def test_operations_are_drawn_evenly(table: str):
    sentence = Sentence(("car", "a"))
    counts = Counter(len(made) for made in outcomes(EDA(["swap", "deletion"], table=table), sentence, 4000))
    assert counts[1] / 4000 == pytest.approx(0.5, abs=0.03)


def test_another_operation_is_tried_if_one_cannot_apply(table: str):
    assert texts(EDA(table=table), Sentence(("car",))) > {"automobile", "motor vehicle", "car automobile"}
    assert texts(EDA(table=table), Sentence(("sat", "down"))) == {"down sat"}
    same = Sentence(("no", "no", "Ada"), (Entity(2, 3, "PER"),))
    assert texts(EDA(["shuffle", "swap", "deletion"]), same) == {"no Ada"}
    twice = Sentence(("he", "is", "Ada"), (Entity(2, 3, "PER"),))
    assert set(outcomes(EDA(["swap"], rate=0.7), twice)) == {Reject("no operation applies")}, "two swaps of two words"
    nothing = Sentence(("Oslo",), (Entity(0, 1, "LOC"),))
    method = EDA(["synonyms", "insertion", "shuffle", "swap", "deletion"], table=table)
    assert set(outcomes(method, nothing)) == {Reject("no operation applies")}


def test_stop_words_are_neither_replaced_nor_inserted(table: str, tmp_path: Path):
    (tmp_path / "stop.txt").write_text("CAR\nmark\n")
    method = EDA(["synonyms", "insertion"], table=table, stop_words=str(tmp_path / "stop.txt"))
    assert set(outcomes(method)) == {Reject("no operation applies")}


def test_notes_that_only_other_operations_run_without_wordnet(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr("nersery.augment.eda.WORDNET", str(tmp_path))
    found = texts(EDA(wordnet=str(tmp_path)))
    assert len(found) > 5
    assert {tuple(sorted(text.split())) for text in found} == {tuple(sorted(WORDS))}
    note = capsys.readouterr().err
    assert note.startswith("note: eda has no synonyms, so it only uses these operations: shuffle. WordNet is")
    assert "wordnet-base" in note
    assert "word<TAB>synonym" in note


def test_refuses_only_synonym_operations_without_wordnet(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("nersery.augment.eda.WORDNET", str(tmp_path))
    with pytest.raises(MissingResourceError, match="wordnet-base"):
        EDA(["insertion", "synonyms"], wordnet=str(tmp_path))


@pytest.mark.parametrize("setting", ["table", "stop_words", "wordnet"])
def test_files_that_are_named_must_be_there(setting: str):
    with pytest.raises(MissingResourceError, match="/none/such"):
        EDA(**{setting: "/none/such"})


@pytest.mark.parametrize("operations", [[], ["swap", "swap"]])
def test_refuses_no_operations_and_repeated_ones(operations: list[str]):
    with pytest.raises(SettingsError, match="operations"):
        EDA(operations)
