"""Labels of data sets and tools that use a JSON form of their own."""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from nersery.core.errors import DataError
from nersery.io import open_corpus, open_text, read
from nersery.io.annotation_tools.json_forms import texts_in

TEXT = "Ada Lovelace lived in London."
LABELS = ((0, 2, "PER"), (4, 5, "LOC"))
LABEL = [[0, 12, "PER"], [22, 28, "LOC"]]
PAIR = [TEXT, {"entities": LABEL}]
FORMS: dict[str, Any] = {
    "Snips": {
        "data": [
            {"text": "Ada Lovelace", "entity": "PER"},
            {"text": " lived in "},
            {"text": "London", "entity": "LOC", "slot_name": "place"},
            {"text": "."},
        ]
    },
    "Dialogflow": {
        "id": "860619cb",
        "data": [
            {"text": "Ada Lovelace", "alias": "PER", "meta": "@person", "userDefined": False},
            {"text": " lived in", "userDefined": False},
            {"text": " London", "alias": "LOC", "meta": "@place", "userDefined": False},
            {"text": ".", "userDefined": False},
        ],
        "isTemplate": False,
    },
    "Flair": {"id": 7, "data": TEXT, "label": LABEL},
    "PubAnnotation": {
        "text": TEXT,
        "denotations": [
            {"id": "T1", "span": {"begin": 0, "end": 12}, "obj": "PER"},
            {"id": "T2", "span": {"begin": 22, "end": 28}, "obj": "LOC"},
        ],
        "relations": [{"id": "R1", "pred": "in", "subj": "T1", "obj": "T2"}],
    },
    "Stockmark": {
        "curid": "1",
        "text": TEXT,
        "entities": [
            {"name": "Ada Lovelace", "span": [0, 12], "type": "PER"},
            {"name": "London", "span": [22, 28], "type": "LOC"},
        ],
    },
    "UniversalNER": {
        "sentence": TEXT,
        "entities": [
            {"name": "Ada Lovelace", "type": "PER", "pos": [0, 12]},
            {"name": "London", "type": "LOC", "pos": [22, 28]},
        ],
    },
    "Dataturks": {
        "content": TEXT,
        "annotation": [
            {"label": ["PER"], "points": [{"start": 0, "end": 11, "text": "Ada Lovelace"}]},
            {"label": ["LOC"], "points": [{"start": 22, "end": 27, "text": "London"}]},
        ],
        "extras": None,
    },
    "CLUENER": {"text": TEXT, "label": {"PER": {"Ada Lovelace": [[0, 11]]}, "LOC": {"London": [[22, 27]]}}},
    "Rasa": {
        "text": TEXT,
        "intent": "inform",
        "entities": [
            {"start": 0, "end": 12, "value": "Ada King", "entity": "PER"},
            {"start": 22, "end": 28, "value": "London", "entity": "LOC"},
        ],
    },
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("in_array", [False, True])
def test_reads_every_form_alike(tmp_path: Path, form: str, indent: int | None, *, in_array: bool) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([FORMS[form]] if in_array else FORMS[form], indent=indent), "utf-8")
    [sentence] = read(path)
    assert sentence.text.replace(" .", ".") == TEXT
    assert sentence.labels == LABELS


@pytest.mark.parametrize("form", ["Dataturks", "CLUENER", "Stockmark", "UniversalNER"])
def test_a_label_must_cover_the_text_it_repeats(tmp_path: Path, form: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(FORMS[form]).replace("London.", "in London."), "utf-8")
    with pytest.raises(DataError, match="but should cover 'London'"):
        read(path)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "value",
    [
        {"classes": ["PER", "LOC"], "annotations": [PAIR, PAIR]},
        {"rasa_nlu_data": {"entity_synonyms": [], "common_examples": [FORMS["Rasa"]] * 2}},
        {"intents": {"go": {"utterances": [FORMS["Snips"]] * 2}}, "language": "en"},
        {"lang": "en", "data": [{"text": TEXT, "annotation_spans": FORMS["Stockmark"]["entities"]}] * 2, "n": 2},
        [PAIR, PAIR],
    ],
)
def test_a_list_of_texts_in_one_object(tmp_path: Path, value: Any, indent: int | None) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value, indent=indent), "utf-8")
    assert open_corpus(path).description.startswith("spans of text")
    assert [(s.id, s.labels) for s in read(path)] == [("a:1", LABELS), ("a:2", LABELS)]


def test_reports_a_label_in_a_nested_list_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"classes": [], "annotations": [PAIR, ["x", {"entities": [[0, 9, "Y"]]}]]}, indent=0))
    with pytest.raises(DataError, match=r"a\.json:21 \(sentence a:2\): Y \[0, 9\) does not lie within"):
        read(path)


DOCCANO = {"text": TEXT, "label": LABEL}
TWO = [DOCCANO, DOCCANO]


@pytest.mark.parametrize("key", ["sentences", "paragraphs", "data", "content"])
@pytest.mark.parametrize("extension", [".jsonl", ".json", ""])
def test_each_line_may_be_a_document_with_a_list_of_texts(tmp_path: Path, key: str, extension: str) -> None:
    path = tmp_path / f"a{extension}"
    broken = {"doc_id": 2, key: [DOCCANO, {"label": []}]}
    path.write_text("\n".join(json.dumps(one) for one in ({"doc_id": 1, key: TWO}, {key: TWO}, DOCCANO)), "utf-8")
    assert [(s.id, s.labels) for s in read(path)] == [(f"a:{number}", LABELS) for number in range(1, 6)]
    path.write_text(f"{json.dumps({key: TWO})}\n{json.dumps(broken)}\n", "utf-8")
    with pytest.raises(DataError, match=r":2 \(sentence a:4\): no \"text\" beside 'label'"):
        read(path)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("value", "count"),
    [
        ({"train": TWO, "dev": [DOCCANO]}, 3),
        ({"doc1": TWO, "meta": {"doc2": [DOCCANO, *TWO]}}, 5),
        ({"project": {"name": "x", "items": []}, "items": TWO}, 2),
        ({"first": DOCCANO, "others": TWO}, 3),
    ],
)
def test_no_list_of_texts_is_overlooked(tmp_path: Path, value: Any, count: int, indent: int | None) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value, indent=indent), "utf-8")
    assert [s.labels for s in read(path)] == [LABELS] * count


@pytest.mark.parametrize(
    "value",
    [
        {"documents": [{"id": "d1", "sentences": TWO}], "more": TWO},
        {"body": TEXT, "entities": [{"text": "Ada Lovelace", "start": 0, "end": 12, "label": "PER"}]},
        {"data": {"talk": TWO}, "annotations": [{"result": []}]},
        {"text": "Ada", "denotations": [{"span": [{"begin": 0, "end": 1}, {"begin": 2, "end": 3}], "obj": "PER"}]},
        {"text": "Ada", "denotations": [{"info": {"type": "PER"}, "locations": [{"offset": 0, "length": 3}]}]},
        {"text": "Ada", "denotations": [{"kind": "PER", "range": [0, 3]}]},
        {"text": "Ada", "denotations": [{"label": ["PER"], "points": [{"from": 0, "to": 3}]}]},
    ],
)
def test_texts_at_another_depth_and_unknown_labels_are_refused(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value), "utf-8")
    with pytest.raises(DataError, match="expected"):
        read(path)


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("annotations", {"entities": [[0, 3, "PER"]]}),
        ("ner", {"annotations": {"entities": [{"label": "PER", "startOffset": 0, "endOffset": 3}]}}),
        ("ner", {"PER": [[0, 3]], "LOC": [[7, 11]]}),
        ("mentions", {"T1": {"start": 0, "end": 3, "type": "PER"}}),
        ("annotations", [{"type": "PER", "spans": [[0, 3]]}]),
        ("ner", ["B-PER", "O", "B-LOC"]),
        ("sentences", [{"tokens": [{"id": 1, "text": "Ada", "span": [0, 3], "ner": "S-PER"}], "dspan": [0, 11]}]),
        ("sentences", [{"start": 0, "end": 11, "entities": [{"start": 0, "end": 3, "label": "PER"}]}]),
    ],
)
def test_refuses_labels_deeper_in_an_object(tmp_path: Path, key: str, content: Any) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "Ada in Oslo", key: content}), "utf-8")
    with pytest.raises(DataError, match=f'"{key}" has .*, which seems to be a label'):
        read(path)


@pytest.mark.parametrize(
    "content", [{"start": 0, "end": 9}, {"input_ids": [1, 2], "offset_mapping": [[0, 3]]}, ["B-52"]]
)
def test_does_not_read_other_objects_as_labels(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "Ada in Oslo", "more": content}), "utf-8")
    assert read(path)[0].labels == ()


@pytest.mark.parametrize(("key", "classes"), [("label", 2), ("label", "news"), ("labels", ["news", "sport"])])
def test_open_text_ignores_classes_of_a_text(tmp_path: Path, key: str, classes: Any) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "Ada in Oslo", key: classes}), "utf-8")
    assert [sentence.text for sentence in open_text(path)] == ["Ada in Oslo"]
    with pytest.raises(DataError, match="expected"):
        read(path)


@pytest.mark.parametrize("key", ["text", "body"])
def test_reads_escaped_line_ends_in_label_studio_labels(tmp_path: Path, key: str) -> None:
    text = "In Oslo\nand \\nabla Rome"
    labels = [{"start": 3, "end": 8, "text": r"Oslo\n"}, {"start": 12, "end": 18, "text": r"\nabla"}]
    results = [{"type": "labels", "value": {**label, "labels": ["LOC"]}} for label in labels]
    task = {"data": {key: text, "title": "a"}, "annotations": [{"result": results}]}
    path = tmp_path / "a.json"
    path.write_text(json.dumps([task]), "utf-8")
    assert [s.mention(e) for s in read(path, split="spaces") for e in s.entities] == [("Oslo",), (r"\nabla",)]


def test_json_min_distinguishes_unannotated_tasks_from_empty_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    tasks = [{"text": "Ada", "id": n, "annotator": n, "annotation_id": id} for n, id in enumerate((7, None))]
    path.write_text(json.dumps(tasks), "utf-8")
    assert [sentence.labels for sentence in open_text(path)] == [(), ()]
    with pytest.raises(DataError, match=r"\(sentence 1\): nobody has annotated this task"):
        read(path)


def test_reads_the_text_of_a_task_that_contains_the_labels(tmp_path: Path) -> None:
    value = {"start": 4, "end": 10, "text": "London", "labels": ["LOC"]}
    data = {"title": "London today", "body": "In, London.", "date": "1843"}
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"data": data, "annotations": [{"result": [{"value": value}]}]}]), "utf-8")
    [sentence] = read(path)
    assert (sentence.words, sentence.labels) == (("In", ",", "London", "."), ((2, 3, "LOC"),))


@pytest.mark.parametrize("keys", [("start", "end"), ("start_idx", "end_idx"), ("start_pos", "end_pos")])
def test_inclusive_ends_are_detected_by_the_repeated_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keys: tuple[str, str]
) -> None:
    """Chinese has no spaces at which a label that is one character short would be noticed."""
    start, end = keys
    labels = [{start: 4, end: 6, "type": "DIS", "entity": "低血糖"}, {start: 0, end: 0, "type": "NUM", "entity": "6"}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"text": "6.发生低血糖时", "entities": labels}]), "utf-8")
    [sentence] = read(path)
    assert sentence.labels == ((0, 1, "NUM"), (4, 7, "DIS"))
    assert "last character, as the texts of the labels show: 1" in capsys.readouterr().err
    path.write_text(json.dumps([{"text": "6.发生低血糖时", "entities": [labels[0] | {end: 7, "synonym": "低血糖时"}]}]))
    assert [sentence.labels for sentence in read(path)] == [((4, 7, "DIS"),)]
    assert "last character" not in capsys.readouterr().err


@pytest.mark.parametrize("more", [{"end": 3, "name": "Ada "}, {"end": 2, "label": "Ada"}])
def test_trailing_blank_or_type_like_the_text_moves_no_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: dict[str, Any]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "Ada met Bo", "spans": [{"label": "PER", "start": 0, **more}]}))
    read(path, repair="whole-words")
    assert "last character" not in capsys.readouterr().err


def test_luis_counts_the_last_character_and_azure_the_length(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    luis = [{"entity": "LOC", "role": "to", "startPos": 3, "endPos": 6, "children": []}]
    utterances = [{"text": "in Oslo", "intent": "go", "entities": luis}]
    path.write_text(json.dumps({"luis_schema_version": "7.0.0", "entities": [], "utterances": utterances}, indent=2))
    assert [sentence.labels for sentence in read(path)] == [((1, 2, "LOC"),)]
    azure = [{"text": "Oslo", "category": "LOC", "offset": 3, "length": 4, "confidenceScore": 1.0}]
    path.write_text(json.dumps([{"text": "in Oslo", "entities": azure}]))
    assert [sentence.labels for sentence in read(path)] == [((1, 2, "LOC"),)]


@pytest.mark.parametrize("more", [[""], [0], [1, "rgb(114, 4, 161)"], [None]])
def test_ignores_values_after_the_type_of_a_label(tmp_path: Path, more: list[Any]) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"content": "in Oslo", "entities": [[3, 7, "LOC", *more]]}]))
    assert [sentence.labels for sentence in read(path)] == [((1, 2, "LOC"),)]
    path.write_text(json.dumps([{"content": "in Oslo", "entities": [[3, 7, "Oslo", "LOC"]]}]))
    with pytest.raises(DataError, match="a label is"):
        read(path)


def test_leaves_out_labels_marked_as_wrong_in_lighttag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = {"PER": True, "LOC": False, "TIME": None}
    places = {"PER": (0, 12), "LOC": (13, 18), "TIME": (22, 28)}
    labels = [
        {"start": start, "end": end, "tag": tag, "value": TEXT[start:end], "correct": verdicts[tag]}
        for tag, (start, end) in places.items()
    ]
    path = tmp_path / "lighttag.json"
    path.write_text(json.dumps({"examples": [{"content": TEXT, "annotations": labels}]}), "utf-8")
    assert read(path)[0].labels == ((0, 2, "PER"), (4, 5, "TIME"))
    assert 'marked them as wrong ("correct": false): 1' in capsys.readouterr().err


def test_many_texts_in_one_object_take_linear_time() -> None:
    labelled = {"text": "Ada ran. " * 60, "entities": [[0, 3, "PER"]] * 8}
    text = json.dumps({f"{number}": labelled for number in range(3000)}, indent=1)
    began = process_time()
    assert [line for line, _ in texts_in(text)] == [2 + 45 * number for number in range(3000)]
    assert process_time() - began < 2, "the lines before each were counted, which took 12 s"
