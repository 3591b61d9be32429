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
        ("7\t0\t14\tMasseter spasm", "7\t0\t13\tMasseter spasm", r":3 .*covers 'Masseter spas', and should cover"),
        (
            "7\t0\t14\tMasseter spasm\tDisease\tD014313\t",
            "7\t0\t14\tMasseter",
            r":3 \(sentence 7\): .*expected a number, start",
        ),
        ("7\t0\t14", "8\t0\t14", r":3 \(sentence 7\): '8\\t0\\t14.*expected a number, start"),
        ("7\t31\t44", "7\t310\t440", "does not lie within the 59 characters"),
        ("\n\n", "\n\nstray\n\n", r":7 \(sentence a:7\): 'stray', expected"),
    ],
)
def test_broken_lines_are_told_or_the_document_is_rejected(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = save(tmp_path, DOCUMENT.replace(old, new))
    with pytest.raises(DataError, match=message):
        read(path)
    corpus = open_corpus(path, ReadOptions(repair=("drop-sentence",)))
    assert len(list(corpus)) < 3
    assert len(corpus.rejects) == 1


def test_text_that_only_looks_like_it_is_text(tmp_path: Path) -> None:
    assert open_corpus(save(tmp_path, "7|t|A title\nand a line\n")).description.startswith("text")
