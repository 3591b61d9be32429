"""Duplicate ids are found in memory and on disk."""

from __future__ import annotations

import sqlite3
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery import Sentence, io
from nersery.core.errors import DiskError
from nersery.crosslingual.parallel_corpus.bitext import Bitext
from nersery.crosslingual.parallel_corpus.sides import open_side
from nersery.io.temporary_tables.ids import SeenIds, temporary_table


@given(st.lists(st.text(st.characters(), max_size=2)), st.integers(0, 5))
def test_finds_the_same_duplicates_whatever_the_memory(names: list[str], in_memory: int) -> None:
    ids, first = SeenIds(in_memory), {}
    for line, name in enumerate(names, start=1):
        assert ids.add(name, line, f"{line}.conll") == first.get(name)
        first.setdefault(name, (line, f"{line}.conll"))


def test_only_so_many_ids_are_kept_in_memory() -> None:
    ids = SeenIds(in_memory=10)
    for line in range(100):
        assert ids.add(str(line), line) is None
    assert len(ids._lines) <= 10
    assert [ids.add(str(line), 0) for line in (5, 50)] == [(5, ""), (50, "")]


def test_a_table_is_closed_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    warnings.simplefilter("always")
    table = temporary_table("words (word text)")
    del table
    assert not recwarn.list, "Python 3.13 and later warn about open connections"


def test_a_table_that_was_not_opened_is_closed_without_an_error() -> None:
    kind = type(temporary_table("words (word text)"))
    kind.__new__(kind).__del__()  # as after Ctrl-C while it opens


@pytest.fixture
def full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder in which no file takes more than a few pages."""
    connect = sqlite3.connect

    def connect_full(*args: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*args, **options)
        connection.execute("pragma max_page_count = 4")
        return connection

    monkeypatch.setattr("sqlite3.connect", connect_full)
    monkeypatch.delenv("SQLITE_TMPDIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_reports_a_full_disk_with_the_folder(full_disk: Path) -> None:
    ids = SeenIds(in_memory=0)
    with pytest.raises(DiskError, match=f"temporary file .* cannot be written in {full_disk}: .* is full.*TMPDIR"):
        any(ids.add(str(line), line) for line in range(10_000))


def test_reports_a_full_disk_when_pairing_sides_by_id(full_disk: Path) -> None:
    made = [Sentence((str(number) * 99,), id=str(number)) for number in range(500)]
    for name in ("s.jsonl", "t.jsonl"):
        io.write(made, full_disk / name)
    target, source = (open_side(full_disk / name, io.ReadOptions()) for name in ("t.jsonl", "s.jsonl"))
    with pytest.raises(DiskError, match=f"temporary file .* in {full_disk}"):
        list(Bitext(target, (source,), "id"))
