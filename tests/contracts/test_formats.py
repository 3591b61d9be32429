"""What every format in the registry keeps."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nersery.core.errors import DataError, SettingsError
from nersery.core.sentence import Entity, Origin, Sentence, SoftLabel
from nersery.io import (
    Losses,
    ReadOptions,
    as_written,
    extensions,
    formats,
    open_corpus,
    readable,
    writable,
    write,
    writer,
)
from nersery.io.formats import COMMENTS, ENTITIES, ENTITY_SCORES, EVERYTHING, IDS, OFFSETS, WORDS

SCRIPTS = ["Ada wrote", "राम ने क्\u200dष", "می\u200cخواهم بروم", "東京 へ", "שלום עולם", "ਅੰਮ੍ਰਿਤਸਰ ਵਿੱਚ"]
BOTH = [name for name in writable() if WORDS in formats()[name].keeps and (name in readable() or name == "words")]


def corpus(*, labelled: bool) -> list[Sentence]:
    labels = (Entity(0, 1, "PER"),) if labelled else ()
    return [Sentence(tuple(text.split()), labels, f"s{n}") for n, text in enumerate(SCRIPTS)]


@pytest.mark.parametrize("name", BOTH)
def test_round_trip_keeps_every_code_point_of_six_scripts(tmp_path: Path, name: str) -> None:
    known = formats()[name]
    sentences = corpus(labelled=ENTITIES in known.keeps)
    path = tmp_path / "a"
    assert write(sentences, path, format=name) == len(sentences)
    source = open_corpus(path, ReadOptions(format="text" if name == "words" else name))
    back = list(source)
    assert [sentence.words for sentence in back] == [sentence.words for sentence in sentences]
    assert [sentence.labels for sentence in back] == [sentence.labels for sentence in sentences]
    if IDS in known.keeps:
        assert [sentence.id for sentence in back] == [sentence.id for sentence in sentences]
    assert len(list(source.outcomes())) == len(sentences), "read = written + rejected"


@pytest.mark.parametrize("name", BOTH)
def test_words_and_types_are_composed_on_request(tmp_path: Path, name: str) -> None:
    keeps, path, format = formats()[name].keeps, tmp_path / "a", "text" if name == "words" else name
    labels = (Entity(0, 1, normalize("NFD", "Người")),) if ENTITIES in keeps else ()
    sentence = Sentence((normalize("NFD", "Zoë"), "wrote"), labels, "s")
    write([sentence], path, format=name)
    (asis,) = open_corpus(path, ReadOptions(format=format))
    assert (asis.words, asis.labels) == (sentence.words, sentence.labels)
    source = open_corpus(path, ReadOptions(format=format, repair=("nfc",)))
    (composed,) = source
    assert composed.words == ("Zo\xeb", "wrote")
    assert [type_ for _, _, type_ in composed.labels] == [normalize("NFC", "Người")] * len(labels)
    assert source.repaired == {"nfc": 1 + len(labels)}


A_WORD = st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), min_size=1, max_size=6)
TYPES = st.sampled_from(["PER", "creative work", "B-X", "LOC#1"])


@st.composite
def labelled_sentence(draw: st.DrawFn) -> Sentence:
    """Any words that a sentence can have, with flat labels."""
    words = draw(st.lists(A_WORD.filter(lambda word: word == word.strip(" ")), min_size=1, max_size=6))
    borders = sorted(draw(st.sets(st.integers(0, len(words)), max_size=4)))
    entities = [Entity(a, b, draw(TYPES)) for a, b in zip(borders[::2], borders[1::2], strict=False)]
    return Sentence(tuple(words), tuple(entities), draw(st.text("abc:7", min_size=1, max_size=5)))


@pytest.mark.parametrize("name", BOTH)
@given(sentence=labelled_sentence())
@example(Sentence(("\ufeffIn", "Oslo"), id="a"))
@example(Sentence(("\ufeff",), id="a"))
@settings(max_examples=40, deadline=None)
def test_any_sentence_survives_a_round_trip_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, sentence: Sentence
) -> None:
    known, path = formats()[name], tmp_path_factory.mktemp("format") / "a"
    try:
        write([sentence], path, format=name)
    except DataError:
        assert not path.exists()
        return
    format = "text" if name == "words" else name
    split = "spaces" if format == "text" else None  # otherwise, it is split by its look
    options = ReadOptions(format=format, scheme="IOB2" if name == "conll" else None, split=split)
    (back,) = open_corpus(path, options)
    assert back.words == sentence.words
    assert back.labels == (sentence.labels if ENTITIES in known.keeps else ())
    if IDS in known.keeps:
        assert back.id == sentence.id


@pytest.mark.parametrize("name", [name for name in BOTH if formats()[name].recognises])
def test_recognises_its_own_files_without_an_extension(tmp_path: Path, name: str) -> None:
    write(corpus(labelled=ENTITIES in formats()[name].keeps), tmp_path / "a", format=name)
    assert type(open_corpus(tmp_path / "a")) is formats()[name].reader


@pytest.mark.parametrize("name", writable())
def test_labels_are_kept_refused_or_dropped_by_the_words_format(tmp_path: Path, name: str) -> None:
    if ENTITIES in formats()[name].keeps or name == "words":
        assert write(corpus(labelled=True), tmp_path / "a", format=name) == len(SCRIPTS)
    else:
        with pytest.raises(DataError, match="cannot hold"):
            write(corpus(labelled=True), tmp_path / "a", format=name)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", readable())
def test_compressed_files_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.ann").write_bytes(b"")
    for path in (tmp_path / "a.txt", tmp_path / "a"):
        path.write_bytes(gzip.compress(b"Ada O\n" * 99))
    with pytest.raises(DataError):
        list(open_corpus(tmp_path / ("a.ann" if name == "brat" else "a"), ReadOptions(format=name)))


def test_every_format_has_a_summary_and_each_extension_one_format() -> None:
    assert all(known.summary and (known.reader or known.writer) for known in formats().values())
    declared = [extension for known in formats().values() for extension in known.extensions]
    assert sorted(declared) == sorted(extensions())
    for name in set(formats()) - set(writable()):
        with pytest.raises(SettingsError, match="Choose"):
            writer(name)


RICH = Sentence(
    ("Ada", "has", "(none)"),
    (Entity(0, 1, "PER", 0.625),),
    "ID 7",
    "xh",
    Origin("METHOD", ("PARENT",), 3),
    {"SCORE": 0.375},
    (("C1", "C2", "C3"),),
    ("# COMMENT",),
    (SoftLabel(1, "SOFT", 0.25, 0.0),),
    "DOC9",
    ((123, 126), (127, 130), (130, 136)),
)
IN_FILE = {
    "languages": "xh",
    "ids": "ID 7",
    "entities": "PER",
    "documents": "DOC9",
    "offsets": "123",
    "words": '"(tokens|words)"',
}
"""A pattern for each part in the file of a tool."""


def stays(part: str, back: Sentence) -> bool:
    """Whether a part of `RICH` is unchanged."""
    if part == ENTITIES:
        return back.labels == RICH.labels or back.character_spans == RICH.character_spans
    if part == OFFSETS:  # of words that may have been split again
        return back.offsets[:1] == RICH.offsets[:1]
    if part == COMMENTS:
        return back.comments[-1:] == RICH.comments  # in some formats, after a comment that names the document
    if part == ENTITY_SCORES:
        return [entity.score for entity in back.entities] == [0.625]
    field = {part, part.removesuffix("s"), part.replace(" ", "_")} & {*RICH.__match_args__}
    return all(getattr(back, name) == getattr(RICH, name) for name in field)


@pytest.mark.parametrize("name", sorted({*writable()} - {"text"}))
def test_a_format_declares_what_a_round_trip_keeps(tmp_path: Path, name: str) -> None:
    path, keeps = tmp_path / "a", formats()[name].keeps
    write([RICH], path, format=name)
    if name in (*readable(), "words"):
        path = path / "DOC9.ann" if name == "brat" else path
        (back,) = open_corpus(path, ReadOptions(format="text" if name == "words" else name))
        assert {part for part in EVERYTHING if stays(part, back)} == keeps
    else:  # nersery reads this tool's files under another name, perhaps only once they are annotated
        text = path.read_text("utf-8")
        assert {part for part, mark in IN_FILE.items() if re.search(mark, text)} == keeps


@pytest.mark.parametrize("name", writable())
def test_notes_what_a_format_loses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    losses, lost = Losses(formats()[name], {"in"}), EVERYTHING - formats()[name].keeps - {WORDS, ENTITIES}
    for sentence in as_written((Sentence(("Ada",), id="in:1"), RICH, RICH), formats()[name]):
        losses.see(sentence)
    losses.report()
    start, _, listed = capsys.readouterr().err.strip().rpartition(": ")
    assert {*filter(None, listed.split(", "))} == lost
    assert start == (f"note: {name} does not store what these sentences have" if lost else "")


@pytest.mark.parametrize(
    ("id", "stems", "comments", "is_own"),
    [
        ("in:7", {"in", "b"}, (), False),
        ("b:7:1~eda-1", {"in", "b"}, (), False),
        ("other:7", {"in"}, (), True),
        ("7", {"in"}, (), True),
        ("x", {"in"}, ("# sent_id = x",), False),
        ("x", {"in"}, ("# sent_id = y",), True),
        ("7", (), (), False),
        ("in:7", (), (), False),
        ("x", (), (), True),
        ("", (), (), False),
    ],
)
def test_notes_the_loss_of_ids_that_reading_does_not_restore(
    capsys: pytest.CaptureFixture[str], id: str, stems: set[str], comments: tuple[str, ...], *, is_own: bool
) -> None:
    losses = Losses(formats()["conll"], stems)
    losses.see(Sentence(("Ada",), id=id, comments=comments))
    losses.report()
    assert ("have: ids" in capsys.readouterr().err) is is_own
