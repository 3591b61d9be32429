"""Raw text as people have it: what lines can hold, and what is no sentence."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.crosslingual.bitext import open_side
from nersery.io import (
    ReadOptions,
    open_corpus,
    read,
    reject_line,
)
from nersery.io import text as module
from nersery.io.text_file import TextFile

SHORT = 20


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file; lines of text may have 20 characters."""
    monkeypatch.setattr(module, "LONGEST", SHORT)
    return tmp_path / "raw.txt"


def test_what_cannot_be_seen_stays_in_the_words(path: Path) -> None:
    path.write_bytes("\ufeffAda\x00 m\x07 \x1b[31m\n\u200b\nक्\u200dष नई\u200cद\n\ufeffBo\n".encode())
    assert [s.words for s in read(path)] == [
        ("Ada\x00", "m\x07", "\x1b[31m"),
        ("\u200b",),
        ("क्\u200dष", "नई\u200cद"),
        ("\ufeffBo",),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_line_may_just_be_long(path: Path, end: str) -> None:
    line = "a " * (SHORT // 2 - 1) + "bc"
    path.write_bytes(f"{line}{end}".encode())
    assert [s.text for s in read(path)] == [line]


@pytest.mark.parametrize("line", ["a " * SHORT, "東京" * SHORT, " " * SHORT + " a", "x" * (SHORT + 1), "a " * 1000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
def test_a_line_that_is_too_long_is_named(path: Path, line: str, encoding: str) -> None:
    path.write_bytes(f"\ufeffone\n{line}\nthree\n".encode(encoding))
    with pytest.raises(DataError) as caught:
        read(path, encoding=encoding, format="text")
    problem = caught.value.issues[0]
    assert (problem.line, problem.sentence) == (2, "raw:2")
    assert problem.message.startswith("the line has more than 20 characters, expected one sentence")
    assert "put each sentence on a line of its own" in caught.value.fix


def test_or_it_is_rejected_and_the_others_are_read(path: Path) -> None:
    path.write_text("a " * 1000 + "\nb\n" + " " * 999 + "\nc", "utf-8")
    source = open_corpus(path, replace(ReadOptions(), repair=("drop-sentence",)))
    assert [s.id for s in source] == ["raw:2", "raw:4"]
    assert [reject.reason for reject in source.rejects] == ["line too long, its beginning kept"] * 2
    assert all("more than 20 characters" in reject_line(reject) for reject in source.rejects)


def test_no_line_fills_the_memory(path: Path) -> None:
    with path.open("w") as stream:
        for _ in range(1000):
            stream.write("a b c d " * 1000)
        stream.write("\nb\n")
    tracemalloc.start()
    lines = list(TextFile(path).lines(SHORT))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lines == [("a b c d " * 3)[: SHORT + 1], "b\n"]
    assert peak < 2**20, "the line has eight megabytes"


@pytest.mark.parametrize(
    ("text", "split", "is_cut"),
    [
        ("王小明在北京工作很多年。\n", "spaces", False),
        ("王小明在北京工作很多年，很好。\n", "punctuation", False),
        ("王小明在北京工作很多年，很好。\n", "characters", True),
        ("王小明 在 北京 工作 很多 年 。\n", "spaces", True),
        ("นายกรัฐมนตรีไปกรุงเทพ สมชายวงศ์สวัสดิ์\n", "punctuation", False),
        ("นายก รัฐมนตรี ไป ที่ กรุงเทพมหานคร แล้ว\n", "spaces", True),
        ("of the people who live here now " * 4 + "王小明在北京工作很多年\n", "spaces", True),
        ("राष्ट्रपति प्रतिनिधिमंडल के साथ\n", "spaces", True),
    ],
)
def test_phrases_of_a_script_without_spaces_are_told_of(tmp_path: Path, text: str, split: str, is_cut: bool) -> None:
    path = tmp_path / "raw.txt"
    path.write_text(text, "utf-8")
    said = "" if is_cut else '; its script has no spaces, so whole phrases are taken for words (the split "characters"'
    opened = open_corpus(path, ReadOptions(split=split)).description, open_side(path, ReadOptions(), split).description
    assert [description.partition(" cuts")[0] for description in opened] == [f"text{said}", f"text, line by line{said}"]
