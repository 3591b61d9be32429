"""Notes on links of other words than those to project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nersery import Corpus, Entity, Sentence, io, project
from nersery.core.alignments import Alignment, Link
from nersery.core.errors import DataError
from nersery.crosslingual.parallel_corpus.sides import open_side
from nersery.io.base import ReadOptions
from tests.cli.calls import call


@pytest.mark.parametrize(("links", "is_noted"), [("0-0 1-1", True), ("0-0 2-1", False), ("0-0 3-1", False)])
def test_notes_links_of_a_source_that_was_split_at_spaces_for_alignment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], links: str, is_noted: bool
) -> None:
    """Labels of a text file have separate punctuation, but `align` reads the file as it is split by default."""
    path = tmp_path / "links"
    path.write_text(f"{links}\n" * 12, "utf-8")
    source = Corpus.from_texts(["Ada, here."] * 12)
    project(source, [Sentence(("Ada,", "hier."))] * 12, path)
    note = "links seems to have been aligned with words split at spaces in source, but its punctuation is separate"
    assert (note in capsys.readouterr().err) == is_noted


def test_full_stops_without_a_link_do_not_count_as_words_split_at_spaces(capsys: pytest.CaptureFixture[str]) -> None:
    source, links = Corpus.from_texts(["Ada lives here."] * 12), [(Link(0, 0), Link(1, 1), Link(2, 2))] * 12
    project(source, [Sentence(("Ada", "lebt", "hier."))] * 12, links)
    assert "split at spaces" not in capsys.readouterr().err


@pytest.mark.parametrize("links", [(Link(0, 0), Link(3, 1)), (Link(3, 1), Link(0, 0))])
def test_the_order_of_links_in_memory_does_not_matter(capsys: pytest.CaptureFixture[str], links: Alignment) -> None:
    project(Corpus.from_texts(["Ada, here."] * 12), [Sentence(("Ada,", "hier."))] * 12, [links] * 12)
    assert "split at spaces" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("links", "first", "note"),
    [
        (["1-1 2-2"] * 12, 0, "no link in links points to word 0: do the files count from 1 (--first 1)?"),
        (["1-1 2-2"] * 11 + ["2-0"], 0, ""),
        (["1-1 2-2"] * 9 + [""] * 3, 0, ""),
        (["2-2 3-3"] * 12, 1, ""),
        (["1-1 2-2"] * 11 + ["1-1 3-3"], 0, "links point outside their sentences, and none to word 0: do the files"),
        (["1-1 2-2"] * 11 + ["1-0 3-3"], 0, "links does not seem to belong to en.jsonl and de.jsonl"),
    ],
)
def test_notes_links_that_seem_to_count_from_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: list[str], first: int, note: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("en", "de"):
        io.write([Sentence(("Ada", "Lovelace", "!"), (Entity(0, 2, "PER"),))] * 12, f"{name}.jsonl")
    Path("links").write_text("".join(f"{line}\n" for line in links))
    files = ("en.jsonl", "de.jsonl", "out.jsonl", "--alignments", "links")
    notes = [
        line
        for line in call("crosslingual", "project", *files, "--first", str(first)).err.splitlines()
        if "note:" in line
    ]
    assert [line.startswith(f"note: {note}") for line in notes] == [True] * bool(note)


def test_names_the_file_of_several_that_seems_to_count_from_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for first in (0, 1):
        (tmp_path / f"{first}.align").write_text(f"{first}-{first}\n" * 12)
    source, target = [Sentence(("Ada", "lives"))] * 12, [Sentence(("Ada", "lebt"))] * 12
    project(source, target, tmp_path / "0.align", also=[(source, tmp_path / "1.align")])
    assert "no link in 1.align points to word 0" in capsys.readouterr().err.replace(f"{tmp_path}/", "")


@pytest.mark.parametrize("folder", ["", "tasks"])
def test_unannotated_tasks_can_be_aligned_but_not_projected(tmp_path: Path, folder: str) -> None:
    label = {"start": 0, "end": 3, "labels": ["PER"], "text": "Ada"}
    result = {"from_name": "label", "to_name": "text", "type": "labels", "value": label}
    annotations: list[list[object]] = [[{"result": [result]}], []]
    tasks = [{"id": id, "data": {"text": "Ada ran"}, "annotations": found} for id, found in enumerate(annotations)]
    path = tmp_path / folder
    path.mkdir(exist_ok=True)
    (path / "tasks.json").write_text(json.dumps(tasks), "utf-8")
    source = path if folder else path / "tasks.json"
    assert len([*open_side(source, ReadOptions())]) == 2
    with pytest.raises(DataError, match="nobody has annotated this task"):
        project(source, [Sentence(("Ada", "lief"), id=str(id)) for id in range(2)], [(), ()])
