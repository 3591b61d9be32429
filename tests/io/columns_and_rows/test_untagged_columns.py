"""Files of words and bare types, such as ``Oslo LOC``."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.io import open_corpus, open_text, read

TYPES = "Ada PER\nLovelace PER\nwrote O\nin O\nOslo LOC\n. O\n"


@pytest.mark.parametrize("text", [TYPES, TYPES.replace(" ", "\t"), f"{TYPES}\nNo O\n"])
def test_does_not_read_columns_of_bare_types_as_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=r"a\.txt: its lines seem to be words and types .*'Ada', 'PER'\n") as caught:
        open_corpus(path)
    assert all(fix in str(caught.value) for fix in ("tag_column=2", 'repair="bare-type"', 'format="text"'))
    sentence = read(path, tag_column=2, repair="bare-type")[0]
    assert list(sentence.labels) == [(0, 2, "PER"), (4, 5, "LOC")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("outside", ["0", "OUT"])
def test_recognises_types_whatever_marks_no_entity(tmp_path: Path, outside: str, end: str) -> None:
    numbered = "".join(TYPES.replace("wrote", f"wrote{n}").replace("in O", f"in{n} O") for n in range(4))
    text = numbered.replace(" O", f"   {outside}").replace("\n", end)
    (tmp_path / "old.txt").write_bytes(text.encode())
    for open_ in (open_corpus, open_text):
        with pytest.raises(DataError, match=f"seem to be words and types .*\n.*where {outside} means no") as caught:
            open_(tmp_path / "old.txt")
    command = re.search(r"(sed .* )old > new", caught.value.fix)
    assert command is not None
    subprocess.run(f"{command[1]} old.txt > new", shell=True, cwd=tmp_path, check=True)
    labels = read(tmp_path / "new", tag_column=2, repair="bare-type")[0].labels
    assert [type_ for _, _, type_ in labels] == ["PER", "LOC"] * 4


@pytest.mark.parametrize(
    "text",
    [
        "Turn left\nGo left\n" * 5,
        "Ada Lovelace\nJohn Smith\nAnn Lee\n" * 99,
        "Yes .\nNo .\n" * 20,
        "hello world\ngoodbye world\nhello there\n" * 30,
        "apples 0\npears 0\nplums 1\n" * 20,
    ],
)
def test_lines_of_two_words_are_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    assert open_corpus(tmp_path / "a.txt").description.startswith("text")


def test_a_few_types_of_many_words_are_labels(tmp_path: Path) -> None:
    """Such as the languages of words, each of which is on less than half of the lines."""
    kinds = ("ENG", "SPA", "N")
    (tmp_path / "a.txt").write_text("".join(f"word{n}\t{kinds[n % 3]}\n" for n in range(60)))
    with pytest.raises(DataError, match="seem to be words and types"):
        open_corpus(tmp_path / "a.txt")


def test_fix_converts_types_of_one_letter_to_tags(tmp_path: Path) -> None:
    """Such as D and T for diseases and treatments."""
    path = tmp_path / "old.txt"
    path.write_text("aspirin T\nfor O\nchronic D\npain D\nin O\nall O\n", "utf-8")
    fixes = []
    for options in ({}, {"format": "conll"}):
        with pytest.raises(DataError) as caught:
            read(path, **options)
        fixes += re.findall(r"(sed .* )old > new", caught.value.fix)
    assert len(set(fixes)) == 1
    subprocess.run(f"{fixes[0]} old.txt > new", shell=True, cwd=tmp_path, check=True)
    [sentence] = read(tmp_path / "new")
    assert sentence.labels == ((0, 1, "T"), (2, 4, "D"))
