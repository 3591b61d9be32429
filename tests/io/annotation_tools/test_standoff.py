"""Offsets that count otherwise than in characters, in any format with labels by characters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.io import ReadOptions, open_corpus, read

TEXT = "Dear all,\r\n\r\nI saw Ada in Oslo,\r\nand Sjögren too 😀 in Rome."
SPLIT = {
    "spaces": ["Ilé-Ifẹ̀,", "a.b!"],
    "punctuation": ["Ilé-Ifẹ̀", ",", "a.b", "!"],
    "signs": ["Ilé", "-", "Ifẹ̀", ",", "a", ".", "b", "!"],
    "characters": ["Ilé-Ifẹ̀", ",", "a.b", "!"],
}
LABELS = {"Ada": "PER", "Oslo": "LOC", "Sjögren": "PER", "Rome": "LOC"}


def save(path: Path, counted: str, *, utf16: bool = False) -> Path:
    """The text with labels whose offsets were counted in another form of it."""
    starts = {name: counted.index(name) for name in LABELS}
    if utf16:
        starts = {name: len(counted[:start].encode("utf-16-le")) // 2 for name, start in starts.items()}
    label = [[start, start + len(name), LABELS[name]] for name, start in starts.items()]
    if path.suffix == ".jsonl":
        path.write_text(json.dumps({"text": TEXT, "label": label}), "utf-8")
        return path
    path.mkdir()
    (path / "a.txt").write_bytes(TEXT.encode())
    lines = [
        f"T{n}\t{type_} {start} {end}\t{name}\n"
        for n, (name, (start, end, type_)) in enumerate(zip(LABELS, label, strict=True))
    ]
    (path / "a.ann").write_text("".join(lines), "utf-8")
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "folder"])
def test_line_ends_that_count_once(tmp_path: Path, name: str) -> None:
    path = save(tmp_path / name, TEXT.replace("\r\n", "\n"))
    with pytest.raises(DataError) as caught:
        read(path)
    assert "--repair crlf-offsets" in caught.value.fix
    assert "whole-words" not in caught.value.fix
    assert "cut-words" not in caught.value.fix
    source = open_corpus(path, ReadOptions(repair=("crlf-offsets",)))
    assert {"".join(s.mention(e)): e.type for s in source for e in s.entities} == LABELS
    assert source.repaired == {"crlf-offsets": 4}


def test_line_ends_that_count_once_and_emoji_that_count_twice(tmp_path: Path) -> None:
    path = save(tmp_path / "a.jsonl", TEXT.replace("\r\n", "\n"), utf16=True)
    source = open_corpus(path, ReadOptions(repair=("crlf-offsets", "utf16-offsets")))
    assert {"".join(s.mention(e)): e.type for s in source for e in s.entities} == LABELS


def test_line_ends_that_count_twice_as_they_should(tmp_path: Path) -> None:
    assert {"".join(s.mention(e)): e.type for s in read(save(tmp_path / "a.jsonl", TEXT)) for e in s.entities} == LABELS
    path = tmp_path / "b.jsonl"
    path.write_text(json.dumps({"text": "One\r\nOslo-based, Rome", "label": [[5, 9, "LOC"], [17, 21, "LOC"]]}), "utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    assert "--repair whole-words" in caught.value.fix
    assert "crlf-offsets" not in caught.value.fix


@pytest.mark.parametrize("split", [None, *SPLIT])
@pytest.mark.parametrize("name", ["a.jsonl", "a.pubtator", "a.ann"])
def test_text_is_split_as_the_option_says(tmp_path: Path, name: str, split: str | None) -> None:
    text, path = " ".join(SPLIT["spaces"]), tmp_path / name
    path.write_text({".jsonl": json.dumps({"text": text}), ".ann": ""}.get(path.suffix, f"1|t|{text}\n"), "utf-8")
    if path.suffix == ".ann":
        path.with_suffix(".txt").write_text(text, "utf-8")
    [sentence] = read(path, split=split)
    assert [*sentence.words] == SPLIT[split or ("punctuation" if name == "a.jsonl" else "signs")]
