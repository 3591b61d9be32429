"""Plain text is split into words like the other side of parallel text, in the same way by `align` and `project`."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from nersery import Entity, Sentence, align, io, project
from nersery.core.alignments import Link
from nersery.crosslingual.parallel_corpus.sides import open_side
from nersery.crosslingual.parallel_corpus.word_borders import split_to_match
from nersery.io.base import ReadOptions, Source
from tests.cli.calls import call

SEPARATE, ATTACHED = ("Ada", "came", ",", "too", "."), ("Ada", "came,", "too.")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, words in (("separate", SEPARATE), ("attached", ATTACHED), ("unsigned", ("Ada", "came"))):
        io.write([Sentence(words, (Entity(0, 1, "PER"),))] * 12, f"{name}.jsonl")
    Path("raw.txt").write_text("Ada came, too.\n\n" * 6, "utf-8")
    Path("split.txt").write_text("Ada came , too .\n" * 12, "utf-8")
    Path("de.txt").write_text("Auch Ada, sie kam.\n" * 12, "utf-8")
    Path("zh.txt").write_text("艾达也来了,真的来了。\n" * 12, "utf-8")
    for text in ("de", "zh"):
        lines = Path(f"{text}.txt").read_text("utf-8").splitlines(keepends=True)
        Path(text).mkdir()
        for part in (1, 2):
            Path(text, f"{part}.txt").write_text("".join(lines[6 * part - 6 : 6 * part]), "utf-8")


def words(side: Source) -> tuple[str, ...]:
    return next(iter(side)).words


@pytest.mark.parametrize(
    ("other", "text", "is_split"),
    [
        ("separate.jsonl", "de.txt", True),
        ("unsigned.jsonl", "de.txt", True),
        ("split.txt", "de.txt", True),
        ("attached.jsonl", "de.txt", False),
        ("raw.txt", "de.txt", False),
        ("zh.txt", "de.txt", True),
        ("raw.txt", "zh.txt", True),
        ("attached.jsonl", "zh.txt", True),
        ("separate.jsonl", "split.txt", False),
    ],
)
def test_text_is_split_like_the_other_side(other: str, text: str, is_split: bool) -> None:
    target, (source,) = split_to_match(open_side(text, ReadOptions()), [open_side(other, ReadOptions())])
    line = Path(text).read_text("utf-8").splitlines()[0]
    assert (words(target) != tuple(line.split())) == is_split
    assert "".join(words(target)) == line.replace(" ", "")
    _, (turned,) = split_to_match(open_side(other, ReadOptions()), [open_side(text, ReadOptions())])
    assert words(turned) == words(target)
    again, _ = split_to_match(open_side(other, ReadOptions()), [open_side(text, ReadOptions())])
    assert words(again) == words(source)


@pytest.mark.parametrize("text", ["de", "zh"])
@pytest.mark.parametrize("other", ["separate.jsonl", "attached.jsonl", "raw.txt", "zh.txt", "zh"])
def test_a_folder_of_text_is_split_like_one_file(other: str, text: str) -> None:
    def split(target: str, source: str) -> list[tuple[str, ...]]:
        sides = split_to_match(open_side(target, ReadOptions()), [open_side(source, ReadOptions())])
        loaded = pickle.loads(pickle.dumps(sides))  # as for a worker
        return [sentence.words for side in (loaded[0], *loaded[1]) for sentence in side]

    assert split(text, other) == split(f"{text}.txt", other)
    assert split(other, text) == split(other, f"{text}.txt")


def test_a_named_split_stays() -> None:
    reading = ReadOptions(split="spaces")
    target, _ = split_to_match(open_side("zh.txt", reading), [open_side("separate.jsonl", ReadOptions())])
    assert words(target) == ("艾达也来了,真的来了。",)
    assert 'the split "characters" cuts them' in target.description


@pytest.mark.parametrize(("links", "kept"), [("0-0 3-3", True), ("0-0 4-4", False), ("4-5", False), ("", False)])
def test_links_of_text_split_at_spaces_keep_that_split(links: str, kept: bool) -> None:
    Path("links").write_text(f"{links}\n" * 12)
    files = ("separate.jsonl", "de.txt", "out.jsonl", "--alignments", "links")
    result = call("crosslingual", "project", *files)
    assert result.code == 0, result.err
    note = 'de.txt: text, line by line; split only at spaces, because the links refer to such words (the split "punct'
    assert (note in result.err) == kept
    assert ("punctuation is split off" in result.err) != kept


@pytest.mark.parametrize("text", ["de.txt", "de"])
@pytest.mark.parametrize("links", ["1-1 4-4", "1-1 5-6"])
def test_links_counted_from_1_show_how_text_was_split(links: str, text: str) -> None:
    Path("links").write_text(f"{links}\n" * 12)
    command = ("crosslingual", "project", "separate.jsonl", text, "out.jsonl", "--alignments", "links")
    result = call(*command, "--first", "1")
    assert result.out == "out.jsonl: read 12, wrote 12, rejected 0\n", result.err
    assert ("links refer to such words" in result.err) == (links == "1-1 4-4")
    described = result.err.splitlines()[0]
    result = call(*command, "--force")
    assert result.err.splitlines()[0] == described


def test_a_wrong_link_does_not_hide_that_text_was_split_at_spaces() -> None:
    links = [(Link(0, 0),)] * 11 + [(Link(0, 4),)]
    projected = project("separate.jsonl", "de.txt", links)
    assert [s.words for s in projected.corpus] == [("Auch", "Ada,", "sie", "kam.")] * 11


@pytest.mark.parametrize("text", ["de.txt", "zh.txt", "de", "zh"])
def test_align_and_project_split_text_in_the_same_way(text: str) -> None:
    spans = [{"text": "Ada came, too.", "label": [[0, 3, "PER"]]}] * 12
    Path("en.jsonl").write_text("".join(json.dumps(line) + "\n" for line in spans))
    assert call("crosslingual", "align", "en.jsonl", text, "links").code == 0
    result = call("crosslingual", "project", "en.jsonl", text, "out.jsonl", "--alignments", "links")
    assert result.code == 0, result.err
    assert "note: " not in result.err
    found = project("en.jsonl", text, align("en.jsonl", text))
    assert [(s.words, s.labels) for s in found.corpus] == [(s.words, s.labels) for s in io.read("out.jsonl")]
    assert all(word not in ("Ada,", "kam.") and len(word) < 6 for s in found.corpus for word in s.words)
