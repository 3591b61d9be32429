"""What every format keeps: the tests find the formats in the registry."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nersery.core.errors import DataError, SettingsError
from nersery.core.sentence import Entity, Sentence
from nersery.io import ReadOptions, extensions, formats, open_corpus, readable, writable, write, writer

SCRIPTS = ["Ada wrote", "राम ने क्\u200dष", "می\u200cخواهم بروم", "東京 へ", "שלום עולם", "ਅੰਮ੍ਰਿਤਸਰ ਵਿੱਚ"]
BOTH = [name for name in writable() if formats()[name].holds_words and (name in readable() or name == "words")]


def corpus(*, labelled: bool) -> list[Sentence]:
    labels = (Entity(0, 1, "PER"),) if labelled else ()
    return [Sentence(tuple(text.split()), labels, f"s{n}") for n, text in enumerate(SCRIPTS)]


@pytest.mark.parametrize("name", BOTH)
def test_six_scripts_come_back_code_point_for_code_point(tmp_path: Path, name: str) -> None:
    known = formats()[name]
    sentences = corpus(labelled=known.holds_labels)
    path = tmp_path / "a"
    assert write(sentences, path, format=name) == len(sentences)
    source = open_corpus(path, ReadOptions(format="text" if name == "words" else name))
    back = list(source)
    assert [sentence.words for sentence in back] == [sentence.words for sentence in sentences]
    assert [sentence.labels for sentence in back] == [sentence.labels for sentence in sentences]
    if known.holds_ids:
        assert [sentence.id for sentence in back] == [sentence.id for sentence in sentences]
    assert len(list(source.outcomes())) == len(sentences), "read = written + rejected"


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), min_size=1, max_size=6)
TYPES = st.sampled_from(["PER", "creative work", "B-X", "LOC#1"])


@st.composite
def labelled_sentence(draw: st.DrawFn) -> Sentence:
    """Any words that a sentence may hold, under flat labels."""
    words = draw(st.lists(WORDS.filter(lambda word: word == word.strip(" ")), min_size=1, max_size=6))
    borders = sorted(draw(st.sets(st.integers(0, len(words)), max_size=4)))
    entities = [Entity(a, b, draw(TYPES)) for a, b in zip(borders[::2], borders[1::2], strict=False)]
    return Sentence(tuple(words), tuple(entities), draw(st.text("abc:7", min_size=1, max_size=5)))


@pytest.mark.parametrize("name", BOTH)
@given(sentence=labelled_sentence())
@example(Sentence(("\ufeffIn", "Oslo"), id="a"))
@example(Sentence(("\ufeff",), id="a"))
@settings(max_examples=60, deadline=None)
def test_any_sentence_comes_back_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, sentence: Sentence
) -> None:
    known, path = formats()[name], tmp_path_factory.mktemp("format") / "a"
    try:
        write([sentence], path, format=name)
    except DataError:
        assert not path.exists()
        return
    options = ReadOptions(format="text" if name == "words" else name, scheme="IOB2" if name == "conll" else None)
    (back,) = open_corpus(path, options)
    assert back.words == sentence.words
    assert back.labels == (sentence.labels if known.holds_labels else ())
    if known.holds_ids:
        assert back.id == sentence.id


@pytest.mark.parametrize("name", [name for name in BOTH if formats()[name].recognises])
def test_what_a_format_writes_is_recognised_without_an_extension(tmp_path: Path, name: str) -> None:
    write(corpus(labelled=formats()[name].holds_labels), tmp_path / "a", format=name)
    assert type(open_corpus(tmp_path / "a")) is formats()[name].reader


@pytest.mark.parametrize("name", writable())
def test_labels_are_kept_or_refused_or_dropped_by_name(tmp_path: Path, name: str) -> None:
    if formats()[name].holds_labels or name == "words":
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


def test_every_format_is_described_and_each_extension_has_one() -> None:
    assert all(known.summary and (known.reader or known.writer) for known in formats().values())
    declared = [extension for known in formats().values() for extension in known.extensions]
    assert sorted(declared) == sorted(extensions())
    for name in set(formats()) - set(writable()):
        with pytest.raises(SettingsError, match="Choose"):
            writer(name)
