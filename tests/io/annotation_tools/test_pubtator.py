"""PubTator's documents, as in BC5CDR and NCBI-disease."""

from __future__ import annotations

from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.io import ReadOptions, open_corpus, read

DOCUMENT = (
    "7|t|Masseter spasm in a patient.\n"
    "7|a|A suxamethonium-induced spasm.\n"
    "7\t0\t14\tMasseter spasm\tDisease\tD014313\t\n"
    "7\t31\t44\tsuxamethonium\tChemical\tD013390\n"
    "7\tCID\tD013390\tD014313\n"
    "7\tPositive_Correlation\t1499\t4609\tNovel\n"
    "\n"
)


def save(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.txt"
    path.write_text(text, "utf-8")
    return path


def test_title_and_abstract_are_a_sentence_each(tmp_path: Path) -> None:
    path = save(tmp_path, DOCUMENT + "8|t|No label\n8|a|\n")
    assert open_corpus(path).description == "pubtator"
    first, second, third = read(path)
    assert (first.id, first.words[:2], first.labels) == ("7:1", ("Masseter", "spasm"), ((0, 2, "Disease"),))
    assert (second.id, second.labels) == ("7:2", ((1, 2, "Chemical"),))
    assert second.words == ("A", "suxamethonium", "-", "induced", "spasm", ".")
    assert (second.document, second.offsets[1]) == ("7", (31, 44))
    assert (third.id, third.words, third.labels) == ("8:1", ("No", "label"), ())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("7\t0\t14\tMasseter spasm", "7\t0\t13\tMasseter spasm", r":3 .*covers 'Masseter spas', but should cover"),
        (
            "7\t0\t14\tMasseter spasm\tDisease\tD014313\t",
            "7\t0\t14\tMasseter",
            r":3 \(sentence 7\): .*expected a number, start",
        ),
        ("7\t0\t14", "8\t0\t14", r":3 \(sentence 7\): '8\\t0\\t14.*expected a number, start"),
        ("7\t31\t44", "7\t310\t440", "does not lie within the 59 characters"),
        ("\n\n", "\n\nstray\n\n", r":8 \(sentence a:8\): 'stray', expected"),
        ("7\t0\t14", "7\t-1\t14", r":3 \(sentence 7\): '7\\t-1.*expected a number, start"),
        ("7\t0\t14", "7\t 0\t14", r":3 \(sentence 7\): '7\\t 0.*expected a number, start"),
        ("7\t0\t14", "7\t0.0\t14.0", r":3 \(sentence 7\): '7\\t0.*expected a number, start"),
        ("7\t0\t14", "7\tTITLE\t0\t14", r":3 \(sentence 7\): '7\\tTITLE.*expected a number, start"),
        ("7\t0\t14", f"7\t0\t{'9' * 5000}", r":3 \(sentence 7\): '7\\t0\\t99.*expected a number, start"),
    ],
)
def test_reports_broken_lines_or_rejects_the_document(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = save(tmp_path, DOCUMENT.replace(old, new))
    with pytest.raises(DataError, match=message):
        read(path)
    corpus = open_corpus(path, ReadOptions(repair=("drop-sentence",)))
    assert len(list(corpus)) < 3
    assert len(corpus.rejects) == 1


@pytest.mark.parametrize("separator", ["\n", ""])
@pytest.mark.parametrize("before", ["8|t|No label\n", "8|t|No label\n8|a|\n", "8|t|A spasm\n8\t2\t7\tspasm\tDisease\n"])
def test_a_title_begins_a_document(tmp_path: Path, before: str, separator: str) -> None:
    found = read(save(tmp_path, f"{before}{separator}{DOCUMENT}"))
    assert [(s.id, len(s.entities)) for s in found] == [("8:1", "spasm" in before), ("7:1", 1), ("7:2", 1)]


def test_an_abstract_before_its_title_is_the_same_document(tmp_path: Path) -> None:
    found = read(save(tmp_path, "8|a|A spasm\n8|t|No label\n8\t2\t7\tspasm\tDisease\n"))
    assert [(s.id, len(s.entities)) for s in found] == [("8:1", 1), ("8:2", 0)]


@pytest.mark.parametrize("text", ["7|t|A title\nand a line\n", "a|x|b\nc|x|d\n", "7|t|A title\n8\tB-PER\n"])
def test_does_not_recognise_similar_text(tmp_path: Path, text: str) -> None:
    assert not open_corpus(save(tmp_path, text)).description.startswith("pubtator")
