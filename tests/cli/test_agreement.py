"""What `nersery inspect agreement` and `nersery evaluate --errors` show."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nersery import Entity, Sentence, io
from nersery.cli import inspect_agreement as _agreement  # noqa: F401 - it adds the command
from nersery.evaluate.annotator_agreement import agreement
from tests.cli.calls import call

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
    """The current folder, with two labellings of the same sentences."""
    monkeypatch.chdir(tmp_path)
    for name, sentences in (("anna", FIRST), ("bela", SECOND)):
        io.write(sentences, f"{name}.jsonl")
        io.write(sentences, f"{name}.conll")


def test_json_equals_the_result_of_the_library():
    result = call("inspect", "agreement", "anna.jsonl", "bela.jsonl", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out) == agreement(FIRST, SECOND).as_dict()


def test_sentences_of_a_format_without_ids_are_paired_in_order():
    with_ids, without = (
        call("inspect", "agreement", f"anna.{end}", f"bela.{end}", "--json").out for end in ("jsonl", "conll")
    )
    assert with_ids == without


def test_the_table_shows_kappa_and_f1():
    result = call("inspect", "agreement", "anna.jsonl", "bela.jsonl")
    rows = [line.split() for line in result.out.splitlines() if line.strip("─ ")]
    # Equal by chance, of 12 x 12 pairs: PER 4 x 3, outside 6 x 7; LOC and ORG never.
    assert rows[1] == ["all", "words", "0.600", "75.0", "%", "37.5", "%", "12"]
    # Of the 6 words in an entity, PER 4 x 3 of 36; one of the second's is outside, but all of the first's are inside.
    assert rows[2] == ["words", "in", "an", "entity", "0.250", "50.0", "%", "33.3", "%", "6"]
    assert rows[-1] == ["entities", "33.3", "1", "3", "3"]
    assert "all words: inside and outside entities" in result.err


def test_notes_that_no_type_is_in_both_files():
    sentence = Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),), id="1")
    io.write([sentence], "one.jsonl")
    io.write([sentence.with_types({"PER": "Person"})], "two.jsonl")
    for more in ([], ["--json"]):
        assert (
            "note: no type is in both one.jsonl and two.jsonl"
            in call("inspect", "agreement", "one.jsonl", "two.jsonl", *more).err
        )


def test_without_labels_there_is_no_kappa():
    io.write([sentence.with_entities(()) for sentence in FIRST], "none.jsonl")
    rows = call("inspect", "agreement", "none.jsonl", "none.jsonl").out.splitlines()
    assert rows[2].split() == ["all", "words", "-", "100.0", "%", "100.0", "%", "12"]
    assert rows[3].split() == ["words", "in", "an", "entity", "-", "-", "-", "0"]
    assert rows[-1].split() == ["entities", "-", "0", "0", "0"]


@pytest.mark.parametrize(
    ("text", "why"), [("", "the file is empty"), ("Ada\tB_PER\n\nBo\tB-PER \nran\tO\n", "all are rejected")]
)
def test_without_sentences_there_is_no_f1(text: str, why: str):
    Path("bad.conll").write_text(text)
    result = call("evaluate", "bad.conll", "bad.conll", "--repair", "drop-sentence")
    assert (result.code, result.out) == (3, "")
    assert "error: bad.conll: there is no sentence to score\nFix: name files with sentences" in result.err
    result = call("inspect", "stats", "bad.conll", "--repair", "drop-sentence")
    assert f"note: there is no sentence in bad.conll: {why}\n" in result.err


def test_without_labels_there_is_no_f1():
    io.write([sentence.with_entities(()) for sentence in FIRST], "none.jsonl")
    result = call("evaluate", "none.jsonl", "none.jsonl")
    assert result.out.splitlines()[2].split() == ["micro", "-", "-", "-", "0", "0", "0"]
    assert "note: neither none.jsonl nor none.jsonl has an entity, so there is nothing to score\n" in result.err
    assert call("evaluate", "anna.jsonl", "none.jsonl").out.splitlines()[-1].split()[:4] == [
        "micro",
        "0.0",
        "0.0",
        "0.0",
    ]


def test_control_characters_in_types_are_escaped():
    io.write([Sentence(("Ada",), (Entity(0, 1, "P\x1b[2J"),), id="a")], "odd.jsonl")
    for args in (("evaluate", "odd.jsonl", "odd.jsonl"), ("inspect", "stats", "odd.jsonl")):
        result = call(*args)
        assert "\x1b" not in result.out
        assert "P\\x1b[2J  " in result.out


def test_other_sentences_are_refused():
    io.write(FIRST[:1], "less.jsonl")
    result = call("inspect", "agreement", "anna.jsonl", "less.jsonl")
    assert result.code == 3
    assert "sentence b: no second sentence has this id" in result.err
    assert "If only one file has them, use --missing leave-out" in result.err
    io.write([Sentence(("x",), id="other")], "other.jsonl")
    assert "--missing" not in call("inspect", "agreement", "less.jsonl", "other.jsonl").err
    io.write([replace(FIRST[0], words=("Bo", *WORDS[1:]))], "words.jsonl")
    assert "--missing" not in call("inspect", "agreement", "anna.jsonl", "words.jsonl").err


def test_errors_are_counted_by_kind_with_examples():
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
    assert "missed: in gold, without an overlapping prediction of its own" in result.err


def test_errors_are_in_the_json():
    result = call("evaluate", "anna.jsonl", "bela.jsonl", "--errors", "--json")
    errors = json.loads(result.out)["errors"]
    assert errors["per_type"]["LOC"]["type"] == 1
    assert [(one["kind"], one["id"]) for one in errors["examples"]] == [("boundary", "a"), ("type", "a")]


class TestLinks:
    @pytest.fixture(autouse=True)
    def alignments(self) -> None:
        """Of four links, three are possible and two sure; gold has three sure ones. The last pair has none."""
        Path("gold.align").write_text("1-1 2-2\n3p4 1-1\n\n", "utf-8")
        Path("found.align").write_text("0-0 1-1:0.5\n2-3 3-3\n\n", "utf-8")
        Path("plain.align").write_text("0-0 1-1\n2-3 3-3\n\n", "utf-8")

    def test_sure_and_possible_links_are_distinguished(self):
        result = call("inspect", "alignments", "gold.align", "found.align", "--gold-first", "1", "--json")
        assert result.code == 0, result.err
        assert json.loads(result.out) == {
            "precision": 3 / 4, "recall": 2 / 3, "alignment_error_rate": pytest.approx(1 - (2 + 3) / (4 + 3)),
            "links": 4, "gold": 3, "pairs": 3,
        }  # fmt: skip

    def test_blank_lines_at_the_end_of_either_file_are_ignored(self):
        plain = call("inspect", "alignments", "plain.align", "found.align", "--json").out
        Path("plain.align").write_text(Path("plain.align").read_text("utf-8") + "\n\n", "utf-8")
        for files in ("plain.align", "found.align"), ("found.align", "plain.align"):
            Path("found.align").write_text("0-0 1-1\n2-3 3-3\n\n", "utf-8")
            assert call("inspect", "alignments", *files, "--json").out == plain

    def test_notes_gold_that_may_count_from_1(self):
        asked = "no link in gold.align has a word 0. If its words are counted from 1, use --gold-first 1"
        assert asked in call("inspect", "alignments", "gold.align", "found.align").err
        assert asked not in call("inspect", "alignments", "gold.align", "found.align", "--gold-first", "1").err
        assert asked not in call("inspect", "alignments", "plain.align", "found.align").err

    def test_the_table_shows_scores_and_counts(self):
        Path("found.align").write_text("1-1 2-2\n3-4 4-4\n\n", "utf-8")
        result = call("inspect", "alignments", "gold.align", "found.align", "--first", "1")
        assert result.out.splitlines()[-1].split() == ["75.0", "66.7", "28.6", "4", "3", "2", "3"]

    @pytest.mark.parametrize(
        ("gold", "found", "message"),
        [
            ("0-0\n", "0-0\n0-0\n", "2 lines here, and 1 in gold.align"),
            ("0-0\n0=0\n\n0-x\n", "\n\n\n\n", "gold.align:2: '0=0' is not a link"),
            ("0-0\n0=0\n\n0-x\n", "\n\n\n\n", "gold.align:4: '0-x' is not a link"),
            ("0p0\n", "0-0\n", "no link is marked as sure"),
            ("0-0\n", "", "0 lines here, and 1 in gold.align"),
            ("0-0\n", "0p0\n", "found.align:1: '0p0' is not a link"),
            ("0-0\n0-0:0.5 1-1:1\n0-0:0.5\n", "\n\n\n", "error: gold.align:2: GOLD has probabilities\nFix: write it"),
        ],
    )
    def test_files_that_cannot_be_compared_are_refused(self, gold: str, found: str, message: str):
        Path("gold.align").write_text(gold, "utf-8")
        Path("found.align").write_text(found, "utf-8")
        result = call("inspect", "alignments", "gold.align", "found.align")
        assert (result.code, result.out) == (3, "")
        assert message in result.err


def test_sentences_in_only_one_file_can_be_left_out():
    io.write([*FIRST[:2], Sentence(("new",), id="of the first")], "one.jsonl")
    io.write([*SECOND[1:], Sentence(("new",), id="of the second")], "two.jsonl")
    assert call("inspect", "agreement", "one.jsonl", "two.jsonl").code == 3
    result = call("inspect", "agreement", "one.jsonl", "two.jsonl", "--missing", "leave-out", "--json")
    assert json.loads(result.out) == agreement(FIRST[1:2], SECOND[1:2]).as_dict()
    assert "note: left out 2 sentences of the first file and 1 of the second" in result.err
    result = call("inspect", "agreement", "two.jsonl", "one.jsonl", "--missing", "leave-out")
    assert "note: left out 1 sentence of the first file and 2 of the second" in result.err
    io.write([Sentence(("x",), id="other"), Sentence(("x",), id="of the first too")], "other.jsonl")
    result = call("inspect", "agreement", "one.jsonl", "other.jsonl", "--missing", "leave-out")
    assert result.code == 3
    assert "other.jsonl: it has no sentence from the first file" in result.err


def test_a_type_named_like_the_total_has_its_own_line():
    io.write([Sentence(("Ada",), (Entity(0, 1, type_),), id=type_) for type_ in ("micro", "entities")], "odd.jsonl")
    assert call("evaluate", "odd.jsonl", "odd.jsonl").out.count("micro") == 2
    assert call("inspect", "agreement", "odd.jsonl", "odd.jsonl").out.count("entities ") == 2


def test_a_sample_counts_the_sentences_that_were_not_drawn():
    result = json.loads(call("dataset", "sample", "anna.jsonl", "s.jsonl", "--size", "1", "--json").out)
    assert result["read"] == result["written"] + result["rejected"] + result["not_drawn"]
    assert result["not_drawn"] == len(FIRST) - 1
