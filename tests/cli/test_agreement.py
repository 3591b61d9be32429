"""What `nersery agree` and `nersery evaluate --errors` show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nersery import Entity, Sentence, io
from nersery.cli import agreement as _agreement  # noqa: F401 - it adds the command
from nersery.evaluate.kappa import agreement
from tests.cli.test_cli import call

WORDS = ("Ada", "Lovelace", "saw", "New", "York", ".")
FIRST = [
    Sentence(WORDS, (Entity(0, 2, "PER"), Entity(3, 5, "LOC")), id="a"),
    Sentence(WORDS, (Entity(0, 2, "PER"),), id="b"),
]
SECOND = [
    Sentence(WORDS, (Entity(0, 1, "PER"), Entity(3, 5, "ORG")), id="a"),
    Sentence(WORDS, (Entity(0, 2, "PER"),), id="b"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the user is, with two labellings of the same sentences."""
    monkeypatch.chdir(tmp_path)
    for name, sentences in (("anna", FIRST), ("bela", SECOND)):
        io.write(sentences, f"{name}.jsonl")
        io.write(sentences, f"{name}.conll")


def test_json_is_what_the_library_finds():
    result = call("agree", "anna.jsonl", "bela.jsonl", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out) == agreement(FIRST, SECOND).as_dict()


def test_sentences_of_a_format_without_ids_are_paired_in_order():
    with_ids, without = (call("agree", f"anna.{end}", f"bela.{end}", "--json").out for end in ("jsonl", "conll"))
    assert with_ids == without


def test_the_table():
    result = call("agree", "anna.jsonl", "bela.jsonl")
    rows = [line.split() for line in result.out.splitlines() if line.strip("─ ")]
    # By chance alike, of 12 x 12 pairs: PER 4 x 3, outside 6 x 7; LOC and ORG never.
    assert rows[1] == ["all", "words", "0.600", "75.0", "%", "37.5", "%", "12"]
    # Of the 6 words in an entity, PER 4 x 3 of 36; one of the second's is outside, none of the first's.
    assert rows[2] == ["words", "in", "an", "entity", "0.250", "50.0", "%", "33.3", "%", "6"]
    assert rows[-1] == ["entities", "33.3", "1", "3", "3"]
    assert "all words: with those in no entity" in result.err


def test_without_labels_there_is_no_kappa():
    io.write([sentence.with_entities(()) for sentence in FIRST], "none.jsonl")
    rows = call("agree", "none.jsonl", "none.jsonl").out.splitlines()
    assert rows[2].split() == ["all", "words", "-", "100.0", "%", "100.0", "%", "12"]
    assert rows[3].split() == ["words", "in", "an", "entity", "-", "-", "-", "0"]
    assert rows[-1].split() == ["entities", "-", "0", "0", "0"]


def test_without_labels_there_is_no_f1():
    io.write([sentence.with_entities(()) for sentence in FIRST], "none.jsonl")
    result = call("evaluate", "none.jsonl", "none.jsonl")
    assert result.out.splitlines()[1].split() == ["micro", "-", "-", "-", "0", "0", "0"]
    assert "neither side has an entity" in result.err
    assert call("evaluate", "anna.jsonl", "none.jsonl").out.splitlines()[-1].split()[:4] == [
        "micro",
        "0.0",
        "0.0",
        "0.0",
    ]


def test_types_do_nothing_to_a_terminal():
    io.write([Sentence(("Ada",), (Entity(0, 1, "P\x1b[2J"),), id="a")], "odd.jsonl")
    for args in (("evaluate", "odd.jsonl", "odd.jsonl"), ("stats", "odd.jsonl")):
        result = call(*args)
        assert "\x1b" not in result.out
        assert "P\\x1b[2J  " in result.out


def test_other_sentences_are_refused():
    io.write(FIRST[:1], "less.jsonl")
    result = call("agree", "anna.jsonl", "less.jsonl")
    assert result.code == 3
    assert "sentence b: no second sentence has this id" in result.err


def test_errors_by_kind_with_examples():
    plain = call("evaluate", "anna.jsonl", "bela.jsonl")
    result = call("evaluate", "anna.jsonl", "bela.jsonl", "--errors")
    assert result.code == 0, result.err
    assert result.out.startswith(plain.out)
    lines = result.out[len(plain.out) :].splitlines()
    assert lines[1].split() == ["correct", "boundary", "type", "both", "missed", "spurious"]
    assert [line.split() for line in lines[3:5]] == [
        ["LOC", "0", "0", "1", "0", "0", "0"],
        ["PER", "1", "1", "0", "0", "0", "0"],
    ]
    assert lines[5:] == [
        "boundary in a: “Ada Lovelace” PER, predicted “Ada” PER",
        "type in a: “New York” LOC, predicted “New York” ORG",
    ]
    assert "missed: in gold, and no prediction is left that shares a word" in result.err


def test_errors_as_json():
    result = call("evaluate", "anna.jsonl", "bela.jsonl", "--errors", "--json")
    errors = json.loads(result.out)["errors"]
    assert errors["per_type"]["LOC"]["type"] == 1
    assert [(one["kind"], one["id"]) for one in errors["examples"]] == [("boundary", "a"), ("type", "a")]
