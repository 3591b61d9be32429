"""Exports in which several people have labelled the same text, with an object for each of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nersery.core.errors import DataError
from nersery.core.warnings import collected_notes
from nersery.io import open_corpus, read
from nersery.io.annotation_tools.answers import SEVERAL
from nersery.io.base import ReadOptions

TEXT = "Ada Lovelace lived in London.\n\nShe wrote."
PER, LOC = (0, 12, "PER"), (22, 28, "LOC")
Label = tuple[int, int, str]
BOTH = [(0, 2, "PER"), (4, 5, "LOC")]


def of_prodigy(*labels: Label, text: str = TEXT, session: str = "db-anna", answer: str = "accept") -> dict[str, Any]:
    spans = [{"start": start, "end": end, "label": type_} for start, end, type_ in labels]
    return {"text": text, "spans": spans, "_input_hash": 7, "_session_id": session, "answer": answer}


def of_json_min(annotation: int, *labels: Label, task: int = 1, **more: Any) -> dict[str, Any]:
    given = [{"start": s, "end": e, "text": TEXT[s:e], "labels": [type_]} for s, e, type_ in labels]
    task_and_text = {"id": task, "text": TEXT, "annotator": annotation, "annotation_id": annotation}
    return task_and_text | ({"label": given} if given else {}) | more


def notes_of(path: Path, *values: dict[str, Any]) -> list[str]:
    path.write_text("\n".join(map(json.dumps, values)), "utf-8")
    with collected_notes() as notes:
        read(path)
    return notes


def test_counts_texts_that_have_several_answers_in_prodigy(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    other = of_prodigy(text="Ada left.")
    answers = [of_prodigy(PER, LOC), of_prodigy(PER, session="db-bela"), of_prodigy(session="db-cleo"), other, other]
    assert notes_of(path, *answers) == [f"{path}: {SEVERAL.format(2)}"]
    assert len(read(path)) == 3 * 2 + 2


@pytest.mark.parametrize("answer", ["ignore", "reject"])
def test_refused_answers_are_not_among_several(tmp_path: Path, answer: str) -> None:
    refused = of_prodigy(session="db-bela", answer=answer)
    assert notes_of(tmp_path / "a.jsonl", of_prodigy(PER), refused, of_prodigy(text="Ada left.")) == []


@pytest.mark.parametrize("meta", [{}, {"meta": {"id": "train:4", "language": "en"}}])
def test_equal_annotations_of_a_task_are_read_once(tmp_path: Path, meta: dict[str, Any]) -> None:
    path, id = tmp_path / "a.json", "train:4" if meta else "1"
    tasks = [of_json_min(1, PER, LOC, **meta), of_json_min(2, LOC, PER, **meta), of_json_min(3, PER, task=2)]
    path.write_text(json.dumps(tasks), "utf-8")
    first, second, third, last = read(path)
    assert [(first.id, [*first.labels]), (second.id, [*second.labels])] == [(f"{id}:1", BOTH), (f"{id}:3", [])]
    assert (third.id, [*third.labels], last.id) == ("2:1", BOTH[:1], "2:3")


@pytest.mark.parametrize("meta", [{}, {"meta": {"id": "train:4", "language": "en"}}])
def test_annotations_of_a_task_that_differ_are_an_issue(tmp_path: Path, meta: dict[str, Any]) -> None:
    path = tmp_path / "a.json"
    tasks = [of_json_min(1, PER, LOC, **meta), of_json_min(2, PER, **meta), of_json_min(3, PER, task=2)]
    path.write_text(json.dumps(tasks), "utf-8")
    with pytest.raises(DataError, match="labels differ from another annotation of the same task") as error:
        read(path)
    assert len(error.value.issues) == 1
    assert "keep one annotation of each task" in str(error.value)
    assert "nersery inspect agreement" in str(error.value)
    corpus = open_corpus(path, ReadOptions(repair=("drop-sentence",)))
    assert [len(sentence.labels) for sentence in corpus] == [2, 0, 1, 0]
    assert [reject.reason for reject in corpus.rejects] == ["annotations differ"]


def test_an_annotation_without_labels_differs_from_one_with_labels(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([of_json_min(1), of_json_min(2, PER)]), "utf-8")
    with pytest.raises(DataError, match="labels differ from another annotation"):
        read(path)


def test_another_text_with_the_same_number_is_another_task(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([of_json_min(1), of_json_min(2) | {"text": "Ada left."}]), "utf-8")
    assert [sentence.id for sentence in read(path)] == ["1:1", "1:3", "1"]


def test_files_of_two_people_with_the_same_ids_can_be_compared(tmp_path: Path) -> None:
    for name in ("anna", "bela"):
        label = {"id": 1, "text": "Ada left.", "label": [[0, 3, "PER"]], "Comments": []}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(label), "utf-8")
    with pytest.raises(DataError, match="if two files label the same texts, read only one, or compare them"):
        read(tmp_path)
