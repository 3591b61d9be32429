"""Unannotated texts are not read as texts without entities if their tool distinguishes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nersery.core.errors import DataError
from nersery.core.warnings import collected_notes
from nersery.io import open_text, read
from tests.io.annotation_tools.test_json_spans import save

HASHES = {"_input_hash": 5, "_task_hash": -7}
LABEL = {"start": 0, "end": 3, "label": "PER"}


@pytest.mark.parametrize("more", [{}, {"answer": None}, {"spans": []}, {"spans": [LABEL]}], ids=str)
def test_a_prodigy_task_without_an_answer_is_not_gold(tmp_path: Path, more: dict[str, Any]) -> None:
    """A model may have suggested its labels. Texts that are to be labelled need none."""
    path = save(tmp_path / "a.jsonl", {"text": "Ada ran", **HASHES, "spans": [LABEL], "answer": "accept"})
    save(tmp_path / "b.jsonl", {"text": "Bo ran", **HASHES, **more})
    path.write_text(path.read_text() + (tmp_path / "b.jsonl").read_text())
    with pytest.raises(DataError, match=r":2 \(sentence a:2\): nobody has answered this task.*\n.*answer them"):
        read(path)
    assert [sentence.id for sentence in read(path, repair="drop-sentence")] == ["a:1"]
    assert len(list(open_text(path))) == 2


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ([{"text": "Bo ran", **HASHES, "answer": "accept"}], ""),
        ([{"text": "Bo ran", "spans": []}], ""),
        ([{"text": "Bo ran", "label": [], "meta": {}}], ""),
        (["Bo ran", {"entities": []}], ""),
        ([{"id": 1, "data": {"text": "Bo ran"}, "annotations": [{"result": []}]}], ""),
        ([{"text": "Bo ran", "annotation_id": 4}], ""),
        ([{"text": "Bo ran", "ner.responses": [[]], "ner.responses.status": ["submitted"]}], ""),
        ([{"id": 1, "text": "Bo ran", "label": [], "Comments": []}], "a.jsonl: texts of doccano without labels: 1."),
        ([{"text": "Bo ran", "labels": [], "annotation_approver": "admin"}], ""),
        (
            [{"text": "Bo ran", "labels": [], "annotation_approver": None}],
            "a.jsonl: texts of doccano without labels: 1.",
        ),
        ([{"id": 1, "text": "Ada ran", "label": [[0, 3, "PER"]], "Comments": []}], ""),
        ([{"text": "Bo ran", "meta": {"source": "x"}}], "a.jsonl: texts with neither labels nor a key for them: 1."),
    ],
)
def test_notes_texts_without_labels_unless_marked_as_annotated(tmp_path: Path, values: list[Any], note: str) -> None:
    path = save(tmp_path / "a.jsonl", *([values] if isinstance(values[0], str) else values))
    with collected_notes() as notes:
        assert len(read(path)) == 1
    assert [text for text in notes if note in text] == notes
    assert len(notes) == bool(note)
    with collected_notes() as notes:
        assert len(list(open_text(path))) == 1
    assert notes == []
