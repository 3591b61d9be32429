"""Documents in files of columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from nersery import Corpus, Entity, Sentence, io
from tests.cli.calls import call

DOCUMENTS = "-DOCSTART- -X- O\n\nAda O B-PER\nwon O O\n\nso O O\n\n-DOCSTART- -X- O\n\nBob O B-PER\n\n"


FIRST, SECOND = "a:document 1", "a:document 2"
SEVEN = "_\t" * 7


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.conll", "x O\n\n-DOCSTART-\n\nAda B-X\n\nso O\n\n-DOCSTART-\n\nBob B-X\n", ["", FIRST, FIRST, SECOND]),
        ("a.conll", "# newdoc id = d 1\n# x\nAda B-X\n\nso O\n\n# newdoc\nBob B-X\n", ["d 1", "d 1", SECOND]),
        ("a.conll", "# newdocument id = x\nAda B-X\n\n# newpar id = p\nso O\n", ["", ""]),
        ("a.conll", "# newdoc id = d\n\n# newdoc id = e\nAda B-X\nso X\n\nBob B-X\n", ["e"]),
        ("a.conllu", f"# newdoc id = d\n1\tAda\t{SEVEN}NER=B-X\n\n1\tso\t{SEVEN}_\n", ["d", "d"]),
    ],
)
def test_reads_the_document_from_marks(tmp_path: Path, name: str, text: str, found: list[str]) -> None:
    (tmp_path / name).write_text(text)
    corpus = io.read(tmp_path / name, repair="drop-sentence")
    assert [sentence.document for sentence in corpus] == found


def test_conll_2012_names_the_document(tmp_path: Path) -> None:
    row = "{0} 0 0 {1} NN * - - - - {2} -\n"
    text = "#begin document (bc/{0}); part 000\n" + row.format("bc/{0}", "Ada", "(PERSON)") + "\n#end document\n"
    (tmp_path / "a.gold_conll").write_text(text.format(1) + text.format(2))
    assert [sentence.document for sentence in io.read(tmp_path / "a.gold_conll")] == ["bc/1", "bc/2"]


def documents(*names: str) -> Corpus:
    return Corpus(Sentence((f"w{n}",), (Entity(0, 1, "X"),), document=name) for n, name in enumerate(names))


def test_written_documents_are_read_again(tmp_path: Path) -> None:
    io.write(documents("", "a", "a", "b", "a"), tmp_path / "a.conll")
    text = (tmp_path / "a.conll").read_text()
    assert text.count("# newdoc id = a\n") == 2
    assert text.count("# newdoc id = b\n") == 1
    assert [sentence.document for sentence in io.read(tmp_path / "a.conll")] == ["", "a", "a", "b", "a"]


def test_the_marks_of_a_file_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text(DOCUMENTS)
    io.write(io.read(tmp_path / "a.conll"), tmp_path / "b.conll", separator=" ")
    assert (tmp_path / "b.conll").read_text() == DOCUMENTS


def test_sampled_sentences_keep_their_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "".join(f"-DOCSTART-\n\nw{d}a B-X\n\nw{d}b B-X\n\nw{d}c B-X\n\n" for d in range(9))
    Path("a.conll").write_text(text)
    assert "documents" not in call("dataset", "sample", "a.conll", "b.conll", "--size", "9").err
    drawn = {sentence.words: sentence.document for sentence in io.read("b.conll")}
    assert len(set(drawn.values())) > 3
    by_number: dict[str, set[str]] = {}
    for (word,), document in drawn.items():
        by_number.setdefault(word[1], set()).add(document)
    assert all(len(names) == 1 for names in by_number.values())


def test_notes_a_conversion_that_loses_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.conll").write_text(DOCUMENTS)
    assert "documents" not in call("dataset", "convert", "a.conll", "b.conll").err
    io.write(documents("a", "b"), "a.jsonl")
    assert "have: ids, documents" in call("dataset", "convert", "a.jsonl", "c.conll").err
