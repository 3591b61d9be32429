"""What every format keeps: the tests find the formats in the registry."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from nersery.core.errors import DataError, SettingsError
from nersery.core.sentence import Entity, Sentence
from nersery.io import ReadOptions, extensions, formats, open_corpus, readable, writable, write, writer

SCRIPTS = ["Ada wrote", "राम ने क्\u200dष", "می\u200cخواهم بروم", "東京 へ", "שלום עולם", "ਅੰਮ੍ਰਿਤਸਰ ਵਿੱਚ"]
BOTH = [name for name in writable() if name in readable() or name == "words"]


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
