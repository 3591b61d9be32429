"""Parallel files, paired line by line or by ids."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

from nersery import Entity, Sentence, io
from nersery.core.errors import DataError, SettingsError
from nersery.core.outcome import Reject
from nersery.core.warnings import collected_notes
from nersery.crosslingual.parallel_corpus.bitext import Bitext, PairedBy, Row
from nersery.crosslingual.parallel_corpus.complete_pairs import (
    EMPTY_BOTH,
    EMPTY_SOURCE,
    EMPTY_TARGET,
    CompletePairs,
    reject_of,
)
from nersery.crosslingual.parallel_corpus.divergence import Features, first_divergence
from nersery.crosslingual.parallel_corpus.pairing_by_id import UNPAIRED
from nersery.crosslingual.parallel_corpus.sides import open_side, opened_side
from nersery.io.base import ReadOptions
from nersery.io.input_files.text_file import TextFile


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def bitext(target: str, *sources: str, by: PairedBy = "auto", **options: Any) -> Bitext:
    reading = ReadOptions(**options)
    return Bitext(open_side(target, reading), tuple(open_side(name, reading) for name in sources), by)


def texts(row: Row) -> list[str]:
    return [side.text if isinstance(side, Sentence) else f"- {side.reason}" for side in (row.target, *row.sources)]


def write(name: str, *lines: str) -> None:
    Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


# --- by order -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "paired_by"), [("ab", "id"), ("ba", "id"), ("cd", "order")])
def test_the_same_ids_in_any_order_pair_by_ids(order: str, paired_by: str):
    io.write([Sentence((id,), id=id) for id in "ab"], "t.jsonl")
    io.write([Sentence((id.upper(),), id=id) for id in order], "s.jsonl")
    rows = bitext("t.jsonl", "s.jsonl")
    assert rows.paired_by == paired_by
    assert [texts(row) for row in rows] == ([["a", "A"], ["b", "B"]] if paired_by == "id" else [["a", "C"], ["b", "D"]])


@pytest.mark.parametrize(("left", "right"), [("ab", "bb"), ("abcd", "dccb")])
def test_repeated_ids_are_not_the_same_ids(left: str, right: str) -> None:
    target, source = (
        opened_side([Sentence((id,), id=id) for id in ids], name) for ids, name in ((left, "target"), (right, "source"))
    )
    with pytest.raises(SettingsError, match=r"target and source have some ids in common, e\.g\. \w, but not all"):
        _ = Bitext(target, (source,)).paired_by


def test_partly_equal_ids_need_a_choice_of_pairing():
    """If they were paired by order, a missing sentence at the beginning would shift all labels."""
    io.write([Sentence((id,), id=id) for id in "abc"], "t.jsonl")
    io.write([Sentence((id,), id=id) for id in "bcd"], "s.jsonl")
    with pytest.raises(SettingsError, match=r'have some ids in common, e\.g\. b, but not all.*pair_by="id" or'):
        list(bitext("t.jsonl", "s.jsonl"))


def test_numbered_ids_pair_by_ids_if_some_are_missing(tmp_path: Path):
    """Convert writes such ids if it has dropped a sentence."""
    for folder, numbers in (("e", (1, 3, 4)), ("h", (1, 2, 4))):
        (tmp_path / folder).mkdir()
        io.write([Sentence((str(n),), id=f"train:{n}") for n in numbers], tmp_path / folder / "train.jsonl")
    rows = bitext(str(tmp_path / "e/train.jsonl"), str(tmp_path / "h/train.jsonl"))
    assert rows.paired_by == "id"
    assert [texts(row) for row in rows if isinstance(row.target, Sentence)][::2] == [["1", "1"], ["4", "4"]]


def test_files_of_text_are_paired_line_by_line():
    write("text.de", "Ada schrieb .", "Bo kam")
    write("text.en", "Ada wrote .", "Bo came")
    rows = bitext("text.de", "text.en")
    assert [texts(row) for row in rows] == [["Ada schrieb .", "Ada wrote ."], ["Bo kam", "Bo came"]]
    assert [texts(row) for row in rows] == [texts(row) for row in rows]
    assert [row.target.id for row in rows if isinstance(row.target, Sentence)] == ["text:1", "text:2"]
    assert rows.count() == 2


def test_empty_lines_are_rejects_and_shift_nothing():
    write("t.txt", "A", "", "C", "", "E")
    write("s.txt", "a", "b", "", "", "e")
    rows = list(bitext("t.txt", "s.txt"))
    assert texts(rows[4]) == ["E", "e"]
    b, c = (Sentence((word,), id=id) for word, id in (("b", "s:2"), ("C", "t:3")))
    rejects = [reject_of(row) for row in rows]
    assert rejects == [None, Reject(EMPTY_TARGET, b), Reject(EMPTY_SOURCE, c), Reject(EMPTY_BOTH), None]
    assert bitext("t.txt", "s.txt").count() == 5


def test_empty_lines_at_both_ends_are_ignored():
    write("t.txt", "A", "B", "", "")
    write("s.txt", "a", "b")
    assert len(list(bitext("t.txt", "s.txt"))) == bitext("t.txt", "s.txt").count() == 2
    write("s.txt", "a", "", "")
    rows = bitext("t.txt", "s.txt")
    assert [reject_of(row) is None for row in rows] == [True, False, False]
    assert rows.count() == 3


def test_a_labelled_source_can_have_any_format():
    io.write([Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),)), Sentence(("Bo",))], "s.conll")
    write("t.txt", "Ada schrieb", "Bo")
    rows = list(bitext("t.txt", "s.conll"))
    assert texts(rows[0]) == ["Ada schrieb", "Ada wrote"]
    (source,) = rows[0].sources
    assert isinstance(source, Sentence)
    assert source.labels == ((0, 1, "PER"),)
    assert bitext("t.txt", "s.conll").count() == 2


def test_a_broken_sentence_keeps_its_place():
    Path("s.conll").write_text("a\tO\n\nAda\tB-PER\nBo\tI-LOC\n\nc\tO\n")
    write("t.txt", "A", "B", "C")
    rows = list(bitext("t.txt", "s.conll", repair="drop-sentence"))
    assert [texts(rows[0]), texts(rows[2])] == [["A", "a"], ["C", "c"]]
    reject = reject_of(rows[1])
    assert reject is not None
    assert reject.reason not in (EMPTY_SOURCE, EMPTY_TARGET)
    assert bitext("t.txt", "s.conll", repair="drop-sentence").count() == 3
    with pytest.raises(DataError, match=r"s\.conll:4"):
        list(bitext("t.txt", "s.conll"))


def test_a_folder_of_files_is_paired_like_one_file():
    Path("t").mkdir()
    write("t/1.txt", "A", "", "C")
    write("t/2.txt", "D")
    write("s.txt", "a", "b", "c", "d")
    rows = list(bitext("t", "s.txt"))
    assert [texts(row)[1] for row in rows] == ["a", "b", "c", "d"]
    assert texts(rows[3])[0] == "D"
    assert isinstance(rows[1].target, Reject)


def test_a_row_has_several_sources():
    write("t.txt", "A", "B", "C")
    write("en.txt", "a", "", "")
    write("fr.txt", "x", "y", "")
    rows = list(bitext("t.txt", "en.txt", "fr.txt"))
    assert texts(rows[0]) == ["A", "a", "x"]
    assert [reject_of(row) is None for row in rows] == [True, True, False]


def test_a_pair_can_have_three_thousand_words():
    write("t.txt", " ".join(["w"] * 3000))
    write("s.txt", " ".join(["v"] * 3000))
    (row,) = bitext("t.txt", "s.txt")
    assert isinstance(row.target, Sentence)
    assert len(row.target) == 3000


def test_text_is_split_by_its_options():
    write("t.en", "Ada, l'amie.")
    side = open_side("t.en", ReadOptions(language="fr", split="punctuation"))
    assert [sentence.words for sentence in side] == [("Ada", ",", "l'", "amie", ".")]
    io.write([Sentence(("a",))], "s.jsonl")
    with pytest.raises(SettingsError, match=r"s\.jsonl is jsonl and already has words"):
        open_side("s.jsonl", ReadOptions(split="punctuation"))


def test_rows_are_read_lazily(monkeypatch: pytest.MonkeyPatch):
    write("t.txt", *["A b"] * 1000)
    write("s.txt", *["a b"] * 1000)
    rows, read = iter(bitext("t.txt", "s.txt")), list[str]()
    beginnings = TextFile.beginnings
    monkeypatch.setattr(TextFile, "beginnings", lambda *args: (read.append(line) or line for line in beginnings(*args)))
    next(rows)
    assert len(read) == 2


# --- by id ----------------------------------------------------------------------------------------------------------


def corpus(name: str, *ids: str) -> None:
    io.write([Sentence((f"{Path(name).stem}-{id}",), id=id) for id in ids], name)


def test_pairs_by_id_if_both_files_have_ids():
    corpus("t.jsonl", "1", "2", "3", "4")
    corpus("s.jsonl", "1", "3", "2", "9")
    rows = bitext("t.jsonl", "s.jsonl")
    assert rows.paired_by == "id"
    assert [texts(row) for row in rows] == [
        ["t-1", "s-1"],
        ["t-2", "s-2"],
        ["t-3", "s-3"],
        ["t-4", f"- {UNPAIRED}"],
        [f"- {UNPAIRED}", f"- {UNPAIRED}"],
    ]
    assert rows.count() == 5
    left = [reject_of(row) for row in rows][3:]
    assert [(reject.reason, reject.sentence.id) for reject in left if reject and reject.sentence] == [
        (UNPAIRED, "4"),
        (UNPAIRED, "9"),
    ]


def test_pairs_by_order_if_ids_differ_or_order_is_chosen():
    corpus("t.jsonl", "x1", "x2")
    corpus("s.jsonl", "y1", "y2")
    assert bitext("t.jsonl", "s.jsonl").paired_by == "order"
    corpus("s.jsonl", "x1", "x3")
    assert [texts(row) for row in bitext("t.jsonl", "s.jsonl", by="order")] == [["t-x1", "s-x1"], ["t-x2", "s-x3"]]


def test_generated_numbers_are_not_ids():
    for folder in ("de", "en"):
        Path(folder).mkdir()
        write(f"{folder}/x.conll", "a\tO", "", f"{folder}\tO", "")
    assert bitext("de/x.conll", "en/x.conll").paired_by == "order"


def test_text_has_no_ids():
    write("t.txt", "A")
    write("s.txt", "a")
    with pytest.raises(SettingsError, match=r"t\.txt is text and has no ids"):
        list(bitext("t.txt", "s.txt", by="id"))


# --- files of unequal length ----------------------------------------------------------------------------------------


def translations(count: int) -> tuple[list[str], list[str]]:
    """Sentences of many lengths; some share a number, as translations do."""
    rng = random.Random(1)
    source, target = [], []
    for _ in range(count):
        words, year = rng.randint(3, 30), f" {rng.randint(1900, 2000)}" * (rng.random() < 0.2)
        source.append("wort " * words + year)
        target.append("word " * max(1, words + rng.randint(-1, 1)) + year)
    return source, target


@pytest.mark.parametrize("missing", [100, 700, 1250])
def test_the_error_on_unequal_length_names_the_place(missing: int):
    source, target = translations(1500)
    del target[missing]
    write("s.txt", *source)
    write("t.txt", *target)
    for check in (lambda: list(bitext("t.txt", "s.txt")), bitext("t.txt", "s.txt").count):
        with pytest.raises(DataError) as caught:
            check()
        message = str(caught.value)
        assert "s.txt: 1,500 sentences, but 1,499 in t.txt" in message
        near = int(message.partition("near sentence ")[2].partition(":")[0].replace(",", ""))
        assert abs(near - missing) <= 5


def test_the_error_on_left_out_blank_lines_suggests_a_fix():
    """`nersery predict` makes such a corpus; the translation still has the blank lines."""
    write("p.txt", "a", "", "b", "c")
    write("p 1.sw", "A", "", "B", "C", "")
    io.write(io.read("p.txt"), "p.jsonl")
    message = "p.jsonl: 3 sentences, but 4 in p 1.sw; blank lines in p 1.sw: 1, the first is line 2"
    fix = "when p.jsonl was made, leave them out too: nersery dataset convert 'p 1.sw' NEW.txt --format text"
    for sides in (("p 1.sw", "p.jsonl"), ("p.jsonl", "p 1.sw")):
        with pytest.raises(DataError) as caught:
            list(bitext(*sides))
        assert fix in str(caught.value)
        assert "blank lines in p 1.sw: 1, the first is line 2" in str(caught.value)
        assert sides[0] == "p.jsonl" or message in str(caught.value)
    io.write(io.read("p 1.sw", format="text"), "NEW.txt")
    assert list(map(texts, bitext("NEW.txt", "p.jsonl"))) == [["A", "a"], ["B", "b"], ["C", "c"]]


def apart(source: list[list[str]], target: list[list[str]]) -> tuple[int, int] | None:
    return first_divergence(Features(source), Features(target))


def test_finds_where_files_of_unequal_length_diverge():
    source, target = ([line.split() for line in side] for side in translations(800))
    assert near(apart(source, target[:300] + target[307:]), (300, 7))
    assert near(apart(source[:300] + source[304:], target), (300, -4))
    first_of_two = target[:200] + target[201:500] + target[502:]
    assert near(apart(source, first_of_two), (200, 1))


def test_finds_where_files_of_equal_length_diverge():
    source, target = ([line.split() for line in side] for side in translations(800))
    assert near(apart(source, [*target[:300], *target[301:], ["more"]]), (300, 1))
    assert near(apart(source, [*target[:600], *target[595:-5]]), (600, -5))
    for length in (*range(30), 100, 800):
        assert apart(source[:length], target[:length]) is None


def test_a_shift_between_files_of_equal_length_is_noted(capsys: pytest.CaptureFixture[str]):
    source, target = translations(200)
    target.append(target.pop(99))
    write("s.txt", *source)
    write("t.txt", *target)
    pairs = CompletePairs(bitext("t.txt", "s.txt"), quiet=True)
    assert len(pairs) == 200
    assert not capsys.readouterr().err
    assert CompletePairs(pairs.bitext).count() == 200
    note = capsys.readouterr().err
    assert (
        "note: s.txt has as many sentences as t.txt, but they seem to stop matching near sentence 100: 101 here, "
        in note
    )
    assert "seems to be 100 there" in note
    assert "if so, correct the files so that each line is the translation of the same line" in note
    assert CompletePairs(bitext("s.txt", "s.txt", by="order")).count() == 200
    assert not capsys.readouterr().err


def near(found: tuple[int, int] | None, expected: tuple[int, int]) -> bool:
    return found is not None and abs(found[0] - expected[0]) <= 5 and found[1] == expected[1]


def test_finds_no_divergence_if_there_is_no_evidence():
    assert apart([["a"]] * 50, [["b"]] * 49) is None
    assert apart([["a"]], []) is None
    source, target = ([line.split() for line in side] for side in translations(400))
    assert apart(source, target[:350]) is None
    write("s.txt", "a", "b")
    write("t.txt", "A")
    with pytest.raises(DataError, match="it is unclear where they stop matching"):
        list(bitext("t.txt", "s.txt"))

    write("empty.txt")
    for names in (("t.txt", "empty.txt"), ("empty.txt", "t.txt")):
        with pytest.raises(DataError, match=r"; empty\.txt has no text\nFix: check how empty\.txt was made$"):
            list(bitext(*names))


# --- whole pairs ----------------------------------------------------------------------------------------------------


def test_complete_pairs_are_read_again_each_time():
    write("en.txt", "a b", "", "c", "d")
    write("de.txt", "A B", "X", "C", "")
    pairs = CompletePairs(bitext("de.txt", "en.txt"))
    assert len(pairs) == 2
    assert pairs.count() == 4
    for _ in range(2):
        assert [(pair.source, pair.target, pair.id) for pair in pairs] == [
            (("a", "b"), ("A", "B"), "de:1"),
            (("c",), ("C",), "de:3"),
        ]
    whole = [not isinstance(outcome, Reject) for outcome in pairs.outcomes()]
    assert whole == [True, False, True, False]


@pytest.mark.parametrize("splitting", ["spaces", "punctuation", "characters"])
def test_pairs_can_be_pickled_with_any_splitting(splitting: str):
    write("en.txt", "Ada, here.")
    Path("folder").mkdir()
    write("folder/de.txt", "Ada, hier.")
    sides = (open_side(name, ReadOptions(split=splitting)) for name in ("folder", "en.txt"))
    target, source = sides
    pairs = CompletePairs(Bitext(target, (source,)))
    assert list(pickle.loads(pickle.dumps(pairs))) == list(pairs)


def test_left_out_sentences_and_events_are_counted_and_noted() -> None:
    Path("en").mkdir()
    write("en/a.txt", "Ada ran")
    write("en/a.ann", "T1\tPER 0 3\tAda", "T2\tRun 4 7\tran", "E1\tRun:T2")
    answers = [{"text": "Ada lief", "spans": [], "answer": answer} for answer in ("accept", "ignore")]
    write("de.jsonl", *map(json.dumps, answers))
    source, target = open_side("en", ReadOptions(), labelled=True), open_side("de.jsonl", ReadOptions())
    with collected_notes() as notes:
        assert [row.unpaired_source for row in Bitext(source, (source,))] == [None]
        assert len([*target.in_order()]) == 2
    assert [note for note in notes if "events" in note]
    assert target.skipped == {"answered ignore": 1}
