"""Files that one system reuses from another."""

from __future__ import annotations

from pathlib import Path

import pytest

from nersery import Sentence, io
from nersery.core.outcome import Reject
from nersery.experiments.run_state.sharing import take_first_copies
from nersery.io.jsonl import rejects_of


@pytest.mark.parametrize("word", ["Oslo", "a\u2028b", "a\u2029b"])
def test_takes_the_first_copies_whatever_the_words(word: str, tmp_path: Path) -> None:
    """JSONL keeps U+2028 and U+2029, which do not end a line."""
    copies = [Sentence((word,), id=f"a~shuffle-{number}") for number in (1, 2, 3)]
    made, path = tmp_path / "made.jsonl", tmp_path / "new/path.jsonl"
    io.write(copies, made)
    rejects_of(made).write_text("".join(io.reject_line(Reject("no", one)) for one in copies), "utf-8")
    assert take_first_copies(made, path, "shuffle", 2)
    assert io.read(path).sentences == tuple(copies[:2])
    assert rejects_of(path).read_bytes().split(b"\n")[:2] == rejects_of(made).read_bytes().split(b"\n")[:2]


def test_takes_no_copies_if_a_reject_shows_its_parent(tmp_path: Path) -> None:
    """The parent may itself be a copy from the system's base."""
    made = tmp_path / "made.jsonl"
    io.write([Sentence(("a",), id="a~eda-1~shuffle-1")], made)
    rejects_of(made).write_text(io.reject_line(Reject("failed", Sentence(("a",), id="a~eda-1"))), "utf-8")
    assert not take_first_copies(made, tmp_path / "new.jsonl", "shuffle", 1)
