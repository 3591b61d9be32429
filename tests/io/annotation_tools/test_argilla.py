"""Records of Argilla: submitted responses are read, suggestions of models are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nersery.core.errors import DataError
from nersery.io import open_text, read

TEXT = "Ada Lovelace lived in London."
LABELS = ((0, 2, "PER"), (4, 5, "LOC"))
SPANS = [{"start": 0, "end": 12, "label": "PER"}, {"start": 22, "end": 28, "label": "LOC"}]
WRONG = [{"start": 13, "end": 18, "label": "WRONG"}]
SUGGESTION = {"ner.suggestion": WRONG, "ner.suggestion.score": None, "ner.suggestion.agent": "model"}


def columns(*responses: tuple[str, Any], **more: Any) -> dict[str, Any]:
    """A record as the dataset of Argilla 2 has it."""
    names = ("ner.responses.status", "ner.responses", "ner.responses.users")
    answers: list[Any] = [[status for status, _ in responses], [answer for _, answer in responses], ["u"] * 2]
    return {"id": "r", "status": "completed", "text": TEXT, **dict(zip(names, answers, strict=True)), **more}


def record(*answers: Any, status: str | None = "completed", **more: Any) -> dict[str, Any]:
    """A record as `to_json` of Argilla 2 writes it, without a status of each response."""
    given = {name: [{"value": a, "user_id": "u"} for a in each] for name, each in {"ner": answers, **more}.items()}
    return {"id": "r", "fields": {"body": TEXT}, "suggestions": {}, "responses": given, "vectors": {}, "status": status}


def of_argilla_1(annotation: Any, status: str = "Validated") -> dict[str, Any]:
    words = {"text": TEXT, "tokens": TEXT.split(), "metadata": {}, "status": status, "id": "r"}
    guess = {"prediction": [["WRONG", 13, 18, 0.9]], "prediction_agent": "model"}
    return {**words, **guess, "annotation": annotation, "annotation_agent": "argilla"}


def save(path: Path, value: dict[str, Any]) -> Path:
    path.write_text(json.dumps([value]) if path.suffix == ".json" else json.dumps(value), "utf-8")
    return path


@pytest.mark.parametrize("extension", [".json", ".jsonl"])
@pytest.mark.parametrize(
    "value",
    [
        columns(("submitted", SPANS)),
        columns(("submitted", SPANS), **SUGGESTION),
        columns(("draft", WRONG), ("submitted", SPANS)),
        columns(("submitted", SPANS), ("submitted", SPANS[::-1])),
        columns(("submitted", SPANS), **{"mood.responses": [["sad"]], "mood.responses.status": ["submitted"]}),
        record(SPANS),
        record(SPANS, status=None),
        record(SPANS, SPANS[::-1], mood=["sad"]),
        of_argilla_1([["PER", 0, 12], ["LOC", 22, 28]]),
    ],
)
def test_submitted_responses_are_the_labels(tmp_path: Path, value: dict[str, Any], extension: str) -> None:
    [sentence] = read(save(tmp_path / f"a{extension}", value))
    assert (sentence.id, sentence.text, sentence.labels) == ("r", TEXT.replace(".", " ."), LABELS)


@pytest.mark.parametrize("value", [columns(("submitted", [])), record([]), of_argilla_1([])])
def test_reads_a_response_without_labels_as_no_entities(tmp_path: Path, value: dict[str, Any]) -> None:
    [sentence] = read(save(tmp_path / "a.jsonl", value))
    assert not sentence.labels


@pytest.mark.parametrize(
    "value",
    [
        {"text": TEXT, **SUGGESTION},
        columns(("draft", SPANS)),
        columns(**SUGGESTION),
        {**columns(**SUGGESTION), "ner.responses": None},
        {**record(), "responses": {}},
        record(SPANS, status="pending"),
        of_argilla_1(None),
        of_argilla_1([["PER", 0, 12]], "Discarded"),
    ],
)
def test_refuses_records_without_submitted_labels(tmp_path: Path, value: dict[str, Any]) -> None:
    path = save(tmp_path / "a.jsonl", value)
    with pytest.raises(DataError, match="nobody has submitted labels for this Argilla record"):
        read(path)
    [sentence] = open_text(path)
    assert not sentence.labels


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (columns(("submitted", SPANS), ("submitted", WRONG)), "2 responses in Argilla that differ, expected one"),
        (record(SPANS, x=[WRONG]), "answers to ner and x in Argilla"),
        ({**record(SPANS), "fields": 5}, '"fields" is 5, expected an object with the text'),
        ({**record(SPANS), "fields": "text"}, "\"fields\" is 'text', expected an object with the text"),
        ({**columns(("submitted", SPANS)), "ner.responses.status": 5}, 'status" is 5, expected a list with the status'),
        ({**columns(("submitted", SPANS)), "ner.responses.status": []}, r'status" is \[\], expected a list'),
        (record([*SPANS, {"label": "PER"}]), "a label is {'label': 'PER'}, expected"),
        ({"text": TEXT, "ner-suggestion": WRONG}, '"ner-suggestion" has .*, which seems to be a label'),
        ({"text": TEXT, "answers": [SPANS]}, '"answers" has .*, which seems to be a label'),
    ],
)
def test_unclear_labels_are_an_error(tmp_path: Path, value: dict[str, Any], expected: str) -> None:
    with pytest.raises(DataError, match=expected):
        read(save(tmp_path / "a.jsonl", value))
