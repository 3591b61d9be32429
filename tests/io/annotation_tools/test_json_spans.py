"""JSON exports of annotation tools become sentences; words and labels stay in step."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nersery
from nersery import Entity, Sentence
from nersery.core.errors import DataError, shown
from nersery.core.outcome import Reject
from nersery.io import ReadOptions, open_corpus, open_text, read, write
from nersery.io.annotation_tools.label_studio import from_task
from tests.standins import Memory

PERSON = {"start": 0, "end": 12, "text": "Ada Lovelace"}
DOCCANO = {"id": 5, "text": "Ada Lovelace lived in London.", "label": [[0, 12, "PER"], [22, 28, "LOC"]]}
WORDS = ("Ada", "Lovelace", "lived", "in", "London", ".")
LABELS = ((0, 2, "PER"), (4, 5, "LOC"))
RESULT = [
    {"value": {**PERSON, "labels": ["PER"]}, "from_name": "label", "to_name": "text", "type": "labels"},
    {"value": {"start": 22, "end": 28, "text": "London", "labels": ["LOC"]}, "type": "labels"},
    {"value": {"choices": ["sure"]}, "type": "choices"},
]
TASK = {"id": 5, "data": {"text": DOCCANO["text"], "n": 1}, "annotations": [{"result": RESULT}], "predictions": []}


def save(path: Path, *values: Any) -> Path:
    path.write_text("".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values), "utf-8")
    return path


def issues(path: Path, *repair: str) -> list[str]:
    with pytest.raises(DataError) as error:
        read(path, repair=repair)
    return [str(issue) for issue in error.value.issues]


@pytest.mark.parametrize("entities", [[], [{"start": 0, "end": 3, "label": "PER"}]])
def test_parts_of_speech_of_spacys_tokens_are_no_labels(tmp_path: Path, entities: list[Any]) -> None:
    """Of ``Doc.to_json`` after a tagger: such tokens look like labels."""
    tagged = (("Ada", 0, "NNP"), ("met", 4, "VBD"))
    tokens = [
        {"id": n, "start": start, "end": start + 3, "tag": tag, "pos": "X"} for n, (_, start, tag) in enumerate(tagged)
    ]
    doc = {"text": "Ada met ", "ents": entities, "tokens": tokens}
    read_ = read(save(tmp_path / "doc.jsonl", doc, {**doc, "text": "Eve met "}))
    assert [sentence.labels for sentence in read_] == [((0, 1, "PER"),) if entities else ()] * 2


@pytest.mark.parametrize(
    "value",
    [
        DOCCANO,
        {"id": 5, "text": DOCCANO["text"], "labels": DOCCANO["label"], "meta": {}},
        {
            "id": 5,
            "text": DOCCANO["text"],
            "entities": [
                {"id": 1, "label": "PER", "start_offset": 0, "end_offset": 12},
                {"id": 2, "label": "LOC", "start_offset": 21, "end_offset": 28},  # with the space before it
            ],
            "relations": [],
        },
        {"id": "5", "text": DOCCANO["text"], "label": [{**PERSON, "labels": ["PER"]}, [22, 28, "LOC"]]},
        TASK,
        {
            **TASK,
            "data": {"body": DOCCANO["text"]},
            "annotations": [{"result": [], "was_cancelled": True}, {"result": RESULT}],
        },
        {
            "id": 5,
            "text": DOCCANO["text"],
            "spans": [{"start": 0, "end": 12, "label": "PER"}, {"start": 22, "end": 28, "label": "LOC"}],
            "answer": "accept",
        },
        {"id": 5, "text": DOCCANO["text"], "ner": [{**PERSON, "labels": ["PER"]}, [22, 28, "LOC"]]},
        {
            "id": 5,
            "text": DOCCANO["text"],
            "annotations": [{"begin": 0, "end": 12, "type": "PER"}, {"begin": 22, "end": 28, "type": "LOC"}],
        },
        {
            "id": 5,
            "text": DOCCANO["text"],
            "entities": [
                {"start_char": 0, "end_char": 12, "tag": "PER"},
                {"startOffset": 22, "endOffset": 28, "category": "LOC"},
            ],
        },
        {**TASK, "data": {"body": DOCCANO["text"], "source": "b.pdf", "meta": {}}},
        {**TASK, "annotations": [{"result": []}, {"result": RESULT, "ground_truth": True}]},
    ],
)  # fmt: skip
def test_reads_labels_of_every_tool_alike(tmp_path: Path, value: dict[str, Any]) -> None:
    [sentence] = read(save(tmp_path / "a.jsonl", value))
    assert (sentence.id, sentence.words, sentence.labels) == ("5", WORDS, LABELS)


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("annotations", {"start": 0, "end": 3, "kind": "PER"}),
        ("mentions", [0, 3, "PER", "Q7259"]),
        ("annotation", ["PER", 0, 3]),
        ("Entities", {"BeginOffset": 0, "EndOffset": 3, "Type": "PERSON"}),
        ("predictions", {"entity_group": "PER", "score": 0.9, "word": "ada", "start": 0, "end": 3}),
    ],
)
def test_refuses_labels_of_an_unknown_form(tmp_path: Path, key: str, label: Any) -> None:
    path = save(tmp_path / "a.jsonl", {"text": "Bo"}, {"text": "Ada in Oslo", key: [label]})
    with pytest.raises(DataError) as caught:
        read(path)
    [issue] = map(str, caught.value.issues)
    assert issue.startswith(
        f'{path}:2 (sentence a:2): "{key}" has {shown(label)}, which seems to be a label, expected '
    )
    assert f'if "{key}" has no labels, remove it' in caught.value.fix


@pytest.mark.parametrize(
    "more",
    [
        {"sents": [{"start": 0, "end": 11}]},
        {"tokens": [{"start": 0, "end": 3}, {"start": 4, "end": 6}, {"start": 7, "end": 11}], "relations": []},
        {"offset_mapping": [[0, 3], [4, 6], [7, 11]], "meta": {"start": 0, "end": 11}},
        {"spans": [], "predictions": [{"entity_group": "PER", "start": 0, "end": 3}]},
    ],
)
def test_does_not_read_spans_without_types_as_labels(tmp_path: Path, more: dict[str, Any]) -> None:
    [sentence] = read(save(tmp_path / "a.jsonl", {"text": "Ada in Oslo", **more}))
    assert (sentence.words, sentence.entities) == (("Ada", "in", "Oslo"), ())


def test_an_array_is_read_as_lines_are(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    pair = [DOCCANO["text"], {"entities": DOCCANO["label"]}]
    for indent in (None, 2):
        path.write_text(json.dumps([TASK, pair], indent=indent), "utf-8")
        assert [(s.id, s.labels) for s in read(path)] == [("5", LABELS), ("a:2", LABELS)]
    path.write_text("[]", "utf-8")
    assert open_corpus(path).description == "spans of text, empty"


@pytest.mark.parametrize("rest", ["", ",", ', {"text": ', "] x", ' {"text": "b"}]', "}]"])
def test_reports_a_broken_array_with_its_line(tmp_path: Path, rest: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(f"[\n{json.dumps(DOCCANO)}\n{rest}", "utf-8")
    with pytest.raises(DataError, match=r"a\.json:[23]: not JSON"):
        read(path)


def test_prodigys_tokens_are_the_words(tmp_path: Path) -> None:
    tokens = [
        {"text": "Oslo-", "start": 0, "end": 5},
        {"text": "\n", "start": 5, "end": 6},
        {"text": "a.b", "start": 6, "end": 9},
    ]
    value = {"text": "Oslo-\na.b", "tokens": tokens, "spans": [{"start": 6, "end": 9, "label": "X"}]}
    first, second = read(save(tmp_path / "a.jsonl", value))
    assert (first.words, second.words, second.labels) == (("Oslo-",), ("a.b",), ((0, 1, "X"),))
    for broken in (tokens[::-1], tokens[:2], [{**tokens[0], "end": 5.0}, tokens[2]], [{"text": "Oslo-"}], "Oslo-"):
        assert '"tokens" are' in issues(save(tmp_path / "a.jsonl", {**value, "tokens": broken}))[0]


def test_reports_a_token_that_the_text_does_not_have(tmp_path: Path) -> None:
    tokens = [{"text": "Oslo", "start": 0, "end": 4}, {"text": "is", "start": 4, "end": 6}]
    [issue] = issues(save(tmp_path / "a.jsonl", {"text": "Oslo is", "tokens": tokens, "spans": []}))
    assert issue.endswith("in order, e.g. {'text': 'is', 'start': 4, 'end': 6}, where the text has ' i'")


def test_a_blank_prodigy_token_may_have_wrong_offsets(tmp_path: Path) -> None:
    """Scripts that make tasks search the text for each token, and find earlier white space."""
    words = [{"text": "Oslo", "start": 0, "end": 4}, {"text": "a.b", "start": 6, "end": 9}]
    value = {"text": "Oslo\n\ta.b", "tokens": [words[0], {"text": "\n\t", "start": 0, "end": 2}, words[1]], "spans": []}
    assert [sentence.words for sentence in read(save(tmp_path / "a.jsonl", value))] == [("Oslo",), ("a.b",)]
    value["tokens"] = [words[0], {"text": " "}, {**words[1], "end": 8}]
    [issue] = issues(save(tmp_path / "a.jsonl", value))
    assert issue.endswith("in order, e.g. {'text': 'a.b', 'start': 6, 'end': 8}, where the text has 'a.'")
    value["tokens"] = [{**words[0], "text": " "}, words[1]]
    [issue] = issues(save(tmp_path / "a.jsonl", value))
    assert issue.endswith("in order, e.g. {'text': ' ', 'start': 0, 'end': 4}, where the text has 'Oslo'")


def test_does_not_compare_the_labels_of_a_task_with_each_other() -> None:
    """A long text may have thousands."""

    class Label(dict[str, Any]):
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise AssertionError

    labels = [Label(value={"start": at, "end": at + 1, "labels": ["X"]}) for at in range(3)]
    task = {"data": {"text": "abc"}, "annotations": [{"result": labels}]}
    assert len(from_task(task, 1, labelled=True)["spans"]) == 3


def test_each_line_of_a_text_is_a_sentence(tmp_path: Path) -> None:
    value = {"id": "x", "text": "\nAda\r\n\n  Oslo, Rome ", "label": [[1, 4, "PER"], [9, 13, "LOC"], [15, 20, "LOC"]]}
    found = read(save(tmp_path / "a.jsonl", value))
    assert [(s.id, s.words, s.labels) for s in found] == [
        ("x:2", ("Ada",), ((0, 1, "PER"),)),
        ("x:4", ("Oslo", ",", "Rome"), ((0, 1, "LOC"), (2, 3, "LOC"))),
    ]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a"])
@pytest.mark.parametrize("value", [DOCCANO, [DOCCANO], [[DOCCANO["text"], {"entities": DOCCANO["label"]}]]])
def test_json_may_be_indented_whatever_the_extension(tmp_path: Path, name: str, value: Any) -> None:
    """Standard input has none: its lines were read as text."""
    (tmp_path / name).write_text(json.dumps(value, indent=1), "utf-8")
    assert [sentence.labels for sentence in read(tmp_path / name)] == [LABELS]


@pytest.mark.parametrize("first", [{"version": 1}, None, "x", ["x", 1]])
def test_only_a_first_line_without_text_is_broken(tmp_path: Path, first: Any) -> None:
    path = save(tmp_path / "a.jsonl", first, DOCCANO)
    [issue] = issues(path)
    assert "a.jsonl:1" in issue
    assert len(read(path, repair="drop-sentence")) == 1


def test_reports_the_line_of_broken_json_in_an_object_on_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    broken = json.dumps(DOCCANO, indent=1).replace("12", "1:2")
    for text in (broken, broken.replace("\n", "\r\n")):
        path.write_bytes(text.encode())
        [issue] = issues(path)
        assert issue.endswith("a.jsonl:7 (sentence a:1): not JSON: Expecting ',' delimiter in column 5")
    path.write_text(f"{json.dumps(DOCCANO, indent=1)}\n" * 2, "utf-8")
    with pytest.raises(DataError, match=r"a\.jsonl:17 .*not JSON: Extra data in column 1\n.*jq -c \. old > new"):
        read(path)


def test_text_alone_has_no_labels(tmp_path: Path) -> None:
    corpus = open_corpus(save(tmp_path / "a.jsonl", {"text": "raw text"}), ReadOptions(language="en"))
    assert [(s.words, s.labels, s.language) for s in corpus] == [(("raw", "text"), (), "en")]
    assert corpus.description == "spans of text"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"text": 5, "label": []}, '"text" is 5'),
        ({"tokenized_text": ["a"], "ner": []}, "no \"text\" beside 'tokenized_text', 'ner'"),
        ([1], 'expected a "text" with "label"'),
        ({"text": "a", "label": "X"}, '''"label" is 'X', expected a list'''),
        ({"text": "a", "label": [[0, 1]]}, "a label is [0, 1], expected [start, end, type]"),
        ({"text": "a", "label": [[0, "1", "X"]]}, "a label is [0, '1', 'X']"),
        ({"text": "a", "label": [{"start": 0, "end": 1, "labels": []}]}, "a label is {'start': 0"),
        ({"text": "a", "label": [{"start": True, "end": 1, "label": "X"}]}, "a label is {'start': True"),
        ({"text": "a", "label": [[0, 1, "X"]], "spans": [[0, 1, "Y"]]}, "labels are under label and spans"),
        ({"text": "a b", "label": [[0, 4, "X"]]}, "X [0, 4) does not lie within the 3 characters"),
        ({"text": "a b", "label": [[-1, 1, "X"]]}, "X [-1, 1) does not lie within"),
        ({"text": "a b", "label": [[2, 1, "X"]]}, "X [2, 1) ends before it begins"),
        ({"text": "a b", "label": [[1, 2, "X"]]}, "X [1, 2) covers no word"),
        ({"text": "a\nb", "label": [[0, 3, "X"]]}, "X [0, 3) continues past the end of its line"),
        ({"text": "Oslo-based", "label": [[0, 4, "X"]]}, "X [0, 4) covers 'Oslo', a part of 'Oslo-based'"),
        ({"text": "a b", "label": [[0, 1, "X"], [0, 3, "Y"]]}, "Y [0, 3) 'a b' overlaps X [0, 1)"),
        ({"text": "a b", "label": [[0, 1, "X"], [0, 1, "Y"]]}, "Y [0, 1) 'a' overlaps X [0, 1)"),
        ({"text": "a", "label": [["0", "1", "X"]]}, "start and end are whole numbers"),
        ({"text": "a b", "label": [{"start": 0, "end": 1, "label": "X", "text": "b"}]}, "covers 'a', but should cover"),
        ({"text": "  "}, "at least one word"),
        ({"text": "a", "language": 1}, '"language" is 1'),
        ({**TASK, "annotations": []}, "nobody has annotated this task"),
        ({**TASK, "annotations": [], "predictions": [{"result": RESULT}]}, "this task: it has only predictions"),
        ({**TASK, "annotations": [{"result": RESULT}, {"result": RESULT[:1]}]}, "2 annotations that differ"),
        ({**TASK, "data": {"a": "x", "b": "y"}}, '"data" has a, b'),
        ({**TASK, "data": {"text": ["x"]}}, """"text" is ['x']"""),
        ({**TASK, "annotations": [{"result": 1.5}]}, '"result" is 1.5, expected a list'),
        ({**TASK, "annotations": [{"result": [{"id": ["a"], "value": {"start": 1, "end": 2}}]}]}, "of the kind"),
        ({**TASK, "annotations": [{"id": 3}]}, 'the annotation has no "result", expected a list of labels'),
        ({**TASK, "annotations": [{"result": [RESULT]}]}, "\"result\" is [[{'value': {"),
        ({**TASK, "annotations": [{"result": [{**RESULT[0], "value": []}]}]}, "has no start, end, labels: []"),
        ({**TASK, "annotations": [{"result": [{"type": "labels"}]}]}, """a label has no "value": {'type': 'labels'}"""),
        ({**TASK, "annotations": [{"result": [{"value": {"end": 2, "labels": ["X"]}}]}]}, "has no start: {'end'"),
        ({**TASK, "data": {"id": "x", "talk": [{}]}, "annotations": [{"result": []}]}, '"data" has id, talk'),
        ({**TASK, "annotations": [{"result": [{**RESULT[0], "to_name": "head"}, RESULT[0]]}]}, "belong to 2 texts"),
        (
            {**TASK, "annotations": [{"result": [{"type": "hypertextlabels", "value": {"start": "/p", "end": "/p"}}]}]},
            'of the kind "hypertextlabels"',
        ),
        ({"text": "a", "annotations": [{"label": 3, "start_offset": 0, "end_offset": 1}]}, "a label is {'label': 3"),
        ({"text": "Ada met Bob", "spans": [[0, 3, "PER"]], "_is_binary": True}, "is about a single label"),
        ({"text": "a b", "label": [[0, 1, "X\nY"]]}, "a type is a name without"),
        ({"text": "a\rb"}, "carriage return"),
    ],
)  # fmt: skip
def test_reports_issues_or_rejects_the_text(tmp_path: Path, value: Any, expected: str) -> None:
    path = save(tmp_path / "a.jsonl", {"text": "first"}, value, {"text": "last"})
    for issue in issues(path):
        assert expected in issue
        assert "a.jsonl:2 (sentence " in issue
    corpus = open_corpus(path, ReadOptions(repair=("drop-sentence",)))
    assert [s.text for s in corpus] == ["first", "last"]
    for reject in corpus.rejects:
        assert isinstance(reject, Reject)
        assert reject.sentence is not None
        assert expected in reject.sentence.comments[-1]


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("labels", {"start": 0, "end": 3}, "give each marked text a type in Label Studio"),
        ("labels", {"start": 0, "end": 3, "labels": []}, "give each marked text a type in Label Studio"),
        ("textarea", {"start": 0, "end": 3, "text": ["x"]}, "give each marked text a type in Label Studio"),
        ("hypertextlabels", {"start": "/p", "end": "/p", "hypertextlabels": ["X"]}, "label the text under <Text>"),
        ("labels", {"start": "/p", "end": "/p", "labels": ["X"]}, "label the text under <Text>"),
    ],
)
def test_says_how_to_correct_labels_in_label_studio(tmp_path: Path, type_: str, value: Any, expected: str) -> None:
    path = save(tmp_path / "a.jsonl", {**TASK, "annotations": [{"result": [{"type": type_, "value": value}]}]})
    with pytest.raises(DataError, match=f"Fix: (.*){expected}"):
        read(path)


def test_reads_objects_with_words_as_jsonl(tmp_path: Path) -> None:
    both = {"text": "Ada lives", "tokens": ["Ada", "lives"], "ner_tags": ["B-PER", "O"]}
    assert open_corpus(save(tmp_path / "a.jsonl", both)).description.startswith("jsonl, IOB2")
    save(tmp_path / "a.jsonl", {**both, "ner_tags": [1, 0]})
    assert "numbers must be turned into tags first" in issues(tmp_path / "a.jsonl")[0]


def test_refuses_an_array_with_labels_in_tokens(tmp_path: Path) -> None:
    """As UBIAI exports it; a line for each object would not help."""
    tokens = [{"text": "Ada", "start": 0, "end": 3, "entityLabel": "PER"}]
    (tmp_path / "a.json").write_text(json.dumps([{"document": "Ada met Bob", "tokens": tokens, "relations": []}]))
    with pytest.raises(DataError, match="no \"text\" beside 'document', 'tokens', 'relations', expected a \"text\""):
        read(tmp_path / "a.json")


def test_the_first_line_that_can_be_read_tells_the_format(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{{broken\n{json.dumps(DOCCANO)}\n", "utf-8")
    assert len(issues(path)) == 1
    save(path, [DOCCANO["text"], {"entities": DOCCANO["label"]}], ["b", {"entities": []}])
    assert [s.labels for s in read(path)] == [LABELS, ()]


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_on_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indent: int | None) -> None:
    (tmp_path / "a").write_text(json.dumps([TASK], indent=indent), "utf-8")
    with (tmp_path / "a").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert [s.labels for s in open_corpus("-")] == [LABELS]


def test_reports_a_long_line_at_once(tmp_path: Path) -> None:
    label = [[place, place + 1, "X"] for place in range(0, 200_000, 50)]
    [issue] = issues(save(tmp_path / "a.jsonl", {"text": "a " * 100_001, "label": label}))
    assert "more than 100,000 characters" in issue


@pytest.mark.parametrize("format", ["spans", "prodigy"])
@pytest.mark.parametrize("word", ["\u3000", "a\xa0"])
def test_refuses_to_write_words_that_could_not_be_read_back(tmp_path: Path, word: str, format: str) -> None:
    with pytest.raises(DataError, match=r"sentence a: the word .* begins or ends with white space"):
        write([Sentence(("b", word), id="a")], tmp_path / "a.jsonl", format=format)


def test_refuses_duplicate_ids_of_lines_within_texts(tmp_path: Path) -> None:
    path = save(tmp_path / "a.jsonl", {"id": "x", "text": "a\nb"}, {"id": "x:2", "text": "c"})
    assert issues(path) == [f'{path}:2 (sentence x:2): the id "x:2" is already used in line 1; expected another']


def test_merges_duplicate_labels(tmp_path: Path) -> None:
    [sentence] = read(save(tmp_path / "a.jsonl", {"text": "a b", "label": [[0, 1, "X"], [0, 2, "X"]]}))
    assert sentence.labels == ((0, 1, "X"),)


def test_cut_words_repair_splits_words_at_labels(tmp_path: Path) -> None:
    path = save(tmp_path / "a.jsonl", {"text": "the Oslo-based 北京人 firm", "label": [[4, 8, "LOC"], [15, 17, "LOC"]]})
    corpus = open_corpus(path, ReadOptions(repair=("cut-words",)))
    [sentence] = corpus
    assert sentence.words == ("the", "Oslo", "-based", "北京", "人", "firm")
    assert sentence.labels == ((1, 2, "LOC"), (3, 4, "LOC"))
    assert corpus.repaired == {"cut-words": 2}


@pytest.mark.parametrize("text", ["Ade\u0301bayo\u0323", "हिन्दी", "👩\u200d👩", "👍🏽", "🇳🇬"])
def test_never_splits_a_letter_from_its_marks(tmp_path: Path, text: str) -> None:
    path = save(tmp_path / "a.jsonl", {"text": text, "label": [[0, len(text) - 1, "X"]]})
    assert f"a part of {text!r}" in issues(path, "cut-words")[0]
    [sentence] = read(path, repair=("whole-words",))
    assert (sentence.words, sentence.labels) == ((text,), ((0, 1, "X"),))


def test_whole_words_repair_extends_labels(tmp_path: Path) -> None:
    near = [[1, 12, "PER"], [13, 17, "X"], [22, 27, "LOC"]]
    path = save(tmp_path / "a.jsonl", {**DOCCANO, "label": near}, {"text": "a b", "label": [[2, 3, "X"]]})
    with pytest.raises(DataError, match='repair="whole-words"'):
        read(path)
    corpus = open_corpus(path, ReadOptions(repair=("whole-words",)))
    assert [s.labels for s in corpus] == [((0, 2, "PER"), (2, 3, "X"), (4, 5, "LOC")), ((1, 2, "X"),)]
    assert corpus.repaired == {"whole-words": 3}
    save(path, {"text": "Oslo-based", "label": [[0, 4, "X"], [5, 10, "Y"]]})
    assert "Y [0, 10) 'Oslo-based' overlaps X [0, 10)" in issues(path, "whole-words")[0]


def test_text_without_spaces_is_cut_into_characters(tmp_path: Path) -> None:
    short = {"text": "王来了", "label": []}
    path = save(tmp_path / "a.jsonl", {"text": "王小明在北京工作", "label": [[0, 3, "PER"], [4, 6, "LOC"]]}, short)
    sentence, other = read(path)
    assert (len(sentence), sentence.labels, len(other)) == (8, ((0, 3, "PER"), (4, 6, "LOC")), 3)
    with pytest.raises(DataError, match='split="characters"'):
        read(path, split="punctuation")


def test_keeps_words_of_segmented_chinese(tmp_path: Path) -> None:
    segmented = {"text": "王小明 在 北京 工作 。", "label": [[0, 3, "PER"], [6, 8, "LOC"]]}
    [sentence] = read(save(tmp_path / "a.jsonl", segmented))
    assert sentence.words == ("王小明", "在", "北京", "工作", "。")


@pytest.mark.parametrize("words", [("王小明", "在", "北京工作"), ("王", "小", "明"), ("王",), ("Ada", "来", "了")])
def test_words_of_text_without_spaces_survive_a_round_trip(tmp_path: Path, words: tuple[str, ...]) -> None:
    sentence = Sentence(words, (Entity(0, 1, "PER"),), id="a")
    nersery.write([sentence], tmp_path / "a.jsonl", format="spans")
    assert read(tmp_path / "a.jsonl")[0].words == words


def test_utf16_offsets_repair_moves_labels_counted_by_javascript(tmp_path: Path) -> None:
    text = "👩🏽‍🔬 Ada 😀"
    as_javascript = [[8, 11, "PER"], [12, 14, "X"]]
    path = save(tmp_path / "a.jsonl", {"text": text, "label": as_javascript}, {"text": "Ada", "label": [[0, 3, "PER"]]})
    assert len(issues(path)) == 2
    corpus = open_corpus(path, ReadOptions(repair=("utf16-offsets",)))
    assert [[s.mention(e) for e in s.entities] for s in corpus] == [[("Ada",), ("😀",)], [("Ada",)]]
    assert corpus.repaired == {"utf16-offsets": 2}
    task = {
        "text": text,
        "label": [{"start": text.index("Ada"), "end": text.index("Ada") + 3, "label": "PER", "text": "Ada"}],
    }
    [sentence] = read(save(tmp_path / "a.jsonl", task), repair=("utf16-offsets",))
    assert sentence.labels == ((1, 2, "PER"),), "what it says that it covers decides"
    half = save(tmp_path / "a.jsonl", {"text": text, "label": [[1, 11, "PER"]]})
    assert (
        "PER [1, 11) does not fit the characters of its text with --repair utf16-offsets"
        in issues(half, "utf16-offsets")[0]
    )


NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=4).filter(
    lambda word: word.split() == [word]
)


@given(
    st.lists(NAMES | st.just("Dr.") | st.just("New York"), min_size=1, max_size=8),
    st.sampled_from(["", "de", "fr", "zh"]),
    st.data(),
)  # fmt: skip
def test_sentences_survive_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], language: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    sentence = Sentence(tuple(words), (Entity(start, end, "X"),), id="a", language=language)
    path = tmp_path_factory.mktemp("spans") / "a.jsonl"
    write([sentence], path, format="spans")
    assert [replace(back, document="", offsets=()) for back in read(path)] == [sentence]


@given(st.text(st.sampled_from("ab. -'\u0301\u200d\n北👩"), max_size=15), st.integers(0, 15), st.integers(0, 15))
def test_a_label_covers_its_characters_or_there_is_an_issue(
    tmp_path_factory: pytest.TempPathFactory, text: str, start: int, end: int
) -> None:
    path = save(tmp_path_factory.mktemp("spans") / "a.jsonl", {"text": text, "label": [[start, end, "X"]]})
    corpus = open_corpus(path, ReadOptions(repair=("cut-words", "drop-sentence")))
    found = [sentence.mention(entity) for sentence in corpus for entity in sentence.entities]
    assert ["".join(mention) for mention in found] == ["".join(text[start:end].split())] * (not corpus.rejects)
    kept = [s.words for s in corpus] + [r.sentence.words for r in corpus.rejects if r.sentence and text.strip()]
    assert sorted("".join(map("".join, kept))) == sorted("".join(text.split())), "no character is lost"


@pytest.mark.parametrize("answer", ["reject", "ignore"])
def test_examples_that_were_rejected_in_prodigy_are_skipped_and_counted(tmp_path: Path, answer: str) -> None:
    path = save(tmp_path / "a.jsonl", {"text": "Ada"}, {"text": "no use", "answer": answer, "id": 7}, {"text": "Bo"})
    source = open_corpus(path)
    assert [sentence.text for sentence in source] == ["Ada", "Bo"]
    assert source.skipped == {f"answered {answer}": 1}
    assert source.rejects == [Reject(f"answered {answer}", Sentence(("no", "use"), id="7"))]
    assert len(list(source.outcomes())) == 3


@pytest.mark.parametrize(
    ("spans", "comments"),
    [
        ([{"start": 0, "end": 3, "label": "PER"}, {"start": 4, "end": 7, "label": "X"}], ("PER [0, 3)", "X [4, 7)")),
        ([{"start": "0"}], ()),
        ("none", ()),
    ],
)
def test_the_labels_of_rejected_examples_are_kept_as_comments(
    spans: Any, comments: tuple[str, ...], tmp_path: Path
) -> None:
    path = save(tmp_path / "a.jsonl", {"text": "Ada"}, {"text": "Bob ran", "spans": spans, "answer": "reject"})
    source = open_corpus(path)
    assert len([*source]) == 1
    (reject,) = source.rejects
    assert reject.sentence is not None
    assert reject.sentence.comments == tuple(f"# label: {comment}" for comment in comments)


def test_open_text_reads_unannotated_tasks(tmp_path: Path) -> None:
    unlabelled = {"id": 6, "data": {"text": "Bo kam ."}, "predictions": [{"result": RESULT}]}
    (tmp_path / "in").mkdir()
    path = save(tmp_path / "in" / "a.jsonl", TASK, unlabelled, {**unlabelled, "id": 7, "annotations": []})
    with pytest.raises(DataError, match="nobody has annotated"):
        read(path)
    for source in (open_text(path), open_text(tmp_path / "in")):
        assert [(one.words[0], one.labels) for one in source] == [("Ada", LABELS), ("Bo", ()), ("Bo", ())]
    tagger = Memory()
    tagger.fit([Sentence(WORDS, (Entity(0, 2, "PER"),))])
    assert [one.id for one in nersery.predict(path, tagger).corpus] == ["5", "6", "7"]


@pytest.mark.parametrize(
    ("value", "left_out"),
    [
        ({"text": "Ada in Oslo", "label": [], "note_id": "N7", "id": 1, "Comments": [], "_hash": 3}, "note_id"),
        ({"sentence": "Ada in Oslo", "note_id": "N7", "year": 2020}, "note_id, year"),
        ({"id": 1, "project": 3, "data": {"ref_id": "R1", "text": "Ada"}, "annotations": []}, "data.ref_id"),
        ({"id": 1, "data": {"ref_id": 2, "title": "a", "body": "Ada"}, "annotations": []}, ""),
    ],
)
def test_values_that_are_left_out_are_named(tmp_path: Path, value: dict[str, Any], left_out: str) -> None:
    expected = f"spans of text, left out: {left_out}" if left_out else "spans of text"
    assert open_corpus(save(tmp_path / "a.jsonl", value)).description == expected
