"""Notes on links of other words than those to project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nersery import Corpus, Sentence, project
from nersery.core.alignments import Link
from nersery.core.errors import DataError
from nersery.crosslingual.parallel_corpus.sides import open_side
from nersery.io.base import ReadOptions


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
