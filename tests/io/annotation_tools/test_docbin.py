"""spaCy's DocBin: round trips, and files of other programs, which are read or refused with a reason."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
import spacy
import srsly

from nersery import Corpus, read, write
from nersery.cli.main import main
from nersery.core.errors import DataError
from nersery.io.annotation_tools import docbin
from nersery.io.annotation_tools.docbin import DocBinSource
from nersery.io.base import ReadOptions
from nersery.io.input_files.text_file import TextFile
from tests.io.annotation_tools.test_tool_exports import CORPUS

Doc, DocBin, Span = spacy.tokens.Doc, spacy.tokens.DocBin, spacy.tokens.Span


@pytest.fixture
def doc() -> Doc:
    """Two sentences that another program has split, with a line break between them."""
    words = ["Ada", "lives", "in", "New", "York", ".", "\n", "Bo", "left", "."]
    starts = [True, *[False] * 6, True, False, False]
    doc = Doc(spacy.blank("en").vocab, words, [True] * 5 + [False, False, True, False, False], sent_starts=starts)
    doc.ents = [Span(doc, 0, 1, "PERSON"), Span(doc, 3, 5, "GPE"), Span(doc, 7, 8, "PERSON")]
    return doc


def test_sentences_survive_a_round_trip(tmp_path: Path) -> None:
    write(CORPUS, tmp_path / "a.spacy")
    back = read(tmp_path / "a.spacy")
    assert [(s.words, s.labels, s.id, s.language, s.document, s.offsets) for s in back] == [
        (s.words, s.labels, s.id, s.language, s.document, s.offsets) for s in CORPUS
    ]


def test_spacy_loads_it(tmp_path: Path) -> None:
    write(CORPUS, tmp_path / "a.spacy")
    docs = list(DocBin().from_disk(tmp_path / "a.spacy").get_docs(spacy.blank("xx").vocab))
    assert [[(span.text, span.label_) for span in doc.ents] for doc in docs][1] == [("שלום", "PER")]
    back = Corpus.from_spacy(docs)
    assert [(s.words, s.labels, s.id, s.character_spans) for s in back] == [
        (s.words, s.labels, s.id, s.character_spans) for s in CORPUS
    ]


def test_documents_of_other_programs_are_divided_into_their_sentences(doc: Doc, tmp_path: Path) -> None:
    DocBin(docs=[doc, doc]).to_disk(tmp_path / "train.spacy")
    sentences = read(tmp_path / "train.spacy", language="en")
    assert [(s.id, s.text, s.labels, s.language) for s in sentences][:2] == [
        ("train:1:1", "Ada lives in New York .", ((0, 1, "PERSON"), (3, 5, "GPE")), "en"),
        ("train:1:2", "Bo left .", ((0, 1, "PERSON"),), "en"),
    ]
    assert sentences[2].id == "train:2:1"
    assert [doc.text[start:end] for start, end, _ in sentences[0].character_spans] == ["Ada", "New York"]


def test_reports_or_rejects_a_document_that_cannot_be_read(doc: Doc, tmp_path: Path) -> None:
    crossing = doc.copy()
    crossing.ents = [Span(crossing, 5, 8, "X")]
    odd = doc.copy()
    odd.user_data = {"id": "odd", "language": "en", "document": "", "offsets": [1, 2]}
    DocBin(docs=[doc, crossing, odd], store_user_data=True).to_disk(tmp_path / "a.spacy")
    with pytest.raises(DataError) as error:
        read(tmp_path / "a.spacy")
    assert [(issue.file, issue.sentence) for issue in error.value.issues] == [
        (str(tmp_path / "a.spacy"), "a:2"),
        (str(tmp_path / "a.spacy"), "a:3"),
    ]
    assert "crosses the end of a sentence" in str(error.value.issues[0])
    assert "its user_data cannot be read" in str(error.value.issues[1])
    source = DocBinSource(TextFile(tmp_path / "a.spacy"), ReadOptions(repair=("drop-sentence",)))
    assert [sentence.id for sentence in source] == ["a:1:1", "a:1:2"]
    assert [reject.sentence.id for reject in source.rejects] == ["a:2", "a:3"]
    assert source.rejects[0].sentence.text == "Ada lives in New York . Bo left."


def test_an_id_that_is_used_twice_is_an_issue(doc: Doc, tmp_path: Path) -> None:
    doc.user_data["id"] = "same"
    DocBin(docs=[doc, doc], store_user_data=True).to_disk(tmp_path / "a.spacy")
    with pytest.raises(DataError, match='the id "same:1" is already used in'):
        read(tmp_path / "a.spacy")


def test_spans_beside_the_entities_are_not_read_without_a_note(doc: Doc, tmp_path: Path, capsys) -> None:
    doc.spans["sc"] = [Span(doc, 0, 2, "CLAUSE")]
    DocBin(docs=[doc]).to_disk(tmp_path / "a.spacy")
    assert len(read(tmp_path / "a.spacy")) == 2
    assert "only doc.ents are read, not the spans 'sc'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "this cannot be read as spaCy's DocBin"),
        (b"Ada\tB-PER\n", "this cannot be read as spaCy's DocBin"),
        (zlib.compress(b"no messages"), "this cannot be read as spaCy's DocBin"),
        (zlib.compress(srsly.msgpack_dumps({"version": "0.1"})), "this cannot be read as spaCy's DocBin"),
        (zlib.compress(bytes(3_000_000)), "more than 2,000,000 bytes"),
    ],
    ids=["empty", "text", "no messages", "no documents", "bomb"],
)
def test_other_bytes_are_refused(content: bytes, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docbin, "MAX_BYTES", 2_000_000)
    (tmp_path / "a.spacy").write_bytes(content)
    with pytest.raises(DataError, match=what) as error:
        read(tmp_path / "a.spacy")
    assert error.value.issues[0].file == str(tmp_path / "a.spacy")


def test_reports_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no such file|does not exist|No such file"):
        read(tmp_path / "none.spacy")


def test_the_convert_command_reads_docbin_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    write(CORPUS, "a.spacy")
    monkeypatch.setattr("sys.argv", ["nersery", "dataset", "convert", "a.spacy", "b.conll"])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    assert f"read {len(CORPUS)}, wrote {len(CORPUS)}" in capsys.readouterr().out
