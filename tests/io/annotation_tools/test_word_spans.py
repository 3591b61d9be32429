"""Training data of GLiNER, DyGIE (SciERC), SpERT, OneIE and W2NER, whose entities are ranges of words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nersery.core.errors import DataError
from nersery.io import ReadOptions, open_corpus, read, write

WORDS = ["Ada", "Lovelace", "saw", "Oslo"]
LABELS = ((0, 2, "PER"), (3, 4, "LOC"))
GLINER = {"tokenized_text": WORDS, "ner": [[0, 1, "PER"], [3, 3, "LOC"]], "label": ["PER"]}
DYGIE = {
    "doc_key": "d",
    "clusters": [],
    "sentences": [WORDS, ["In", "Rome", "."]],
    "ner": [[[0, 1, "PER"], [3, 3, "LOC"]], [[5, 5, "LOC"]]],
    "relations": [[], []],
}
SPERT = {
    "tokens": WORDS,
    "entities": [{"type": "PER", "start": 0, "end": 2}, {"type": "LOC", "start": 3, "end": 4}],
    "relations": [{"type": "At", "head": 0, "tail": 1}],
    "orig_id": 7,
}
ONEIE = {
    "sent_id": "x-1",
    "entity_mentions": [
        {"id": "x-E1", "start": 3, "end": 4, "entity_type": "LOC", "mention_type": "NAM", "text": "Oslo"},
        {"id": "x-E0", "start": 0, "end": 2, "entity_type": "PER", "mention_type": "NAM", "text": "Ada Lovelace"},
    ],
    "relation_mentions": [],
    "tokens": WORDS,
    "sentence": "Ada Lovelace saw Oslo",
}
W2NER = {"sentence": WORDS, "ner": [{"index": [0, 1], "type": "PER"}, {"index": [3], "type": "LOC"}], "word": []}

FORM = r'expected an object such as {"tokenized_text": \["Ada", .* "ner": \[\[0, 0, "PER"\]'


def save(path: Path, *values: Any, as_array: bool = False, indent: int | None = None) -> Path:
    lines = [json.dumps(value) for value in values]
    path.write_text(json.dumps(values, indent=indent) if as_array else "\n".join(lines), "utf-8")
    return path


@pytest.mark.parametrize(
    "value", [{**GLINER, "sentence": "Ada"}, {**DYGIE, "tokens": WORDS}, {**SPERT, "sentences": [WORDS]}]
)
def test_an_object_may_have_a_key_of_another_form(tmp_path: Path, value: Any) -> None:
    assert next(iter(read(save(tmp_path / "a.jsonl", value)))).labels == LABELS


@pytest.mark.parametrize("value", [GLINER, DYGIE, SPERT, ONEIE, W2NER], ids=["GLiNER", "DyGIE", "SpERT", "OneIE", "W2"])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
@pytest.mark.parametrize("as_array", [True, False])
def test_reads_every_form_alike(tmp_path: Path, name: str, value: Any, *, as_array: bool) -> None:
    path = save(tmp_path / name, value, as_array=as_array)
    assert open_corpus(path).description == "entities by words"
    first, *rest = read(path)
    assert (first.id, list(first.words), first.labels) == ("a:1", WORDS, LABELS)
    if value is DYGIE:
        assert first.document == "d"
        assert [(s.id, s.words, s.labels) for s in rest] == [("a:2", ("In", "Rome", "."), ((1, 2, "LOC"),))]


@pytest.mark.parametrize("value", [GLINER, DYGIE, SPERT, ONEIE, W2NER, [GLINER], [DYGIE], [SPERT], [W2NER]])
def test_json_may_be_indented(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value, indent=1), "utf-8")
    assert next(iter(read(path))).labels == LABELS


def test_gliner_data_survives_a_round_trip(tmp_path: Path) -> None:
    save(tmp_path / "a.json", GLINER, as_array=True, indent=1)
    write(read(tmp_path / "a.json"), tmp_path / "b.json", format="gliner")
    assert [s.labels for s in read(tmp_path / "b.json")] == [LABELS]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({**GLINER, "ner": [[0, 4, "PER"]]}, "does not lie within the 4 words"),
        ({**W2NER, "ner": [{"index": [2, 3, 4], "type": "PER"}]}, "does not lie within the 4 words"),
        ({**W2NER, "ner": [{"index": [0, 2], "type": "PER"}]}, "expected an object such as"),
        ({**GLINER, "ner": [[0, 1, "PER"], [1, 1, "X"]]}, "overlap"),
        ({**GLINER, "ner": [[0, 0, "X"], [0, "0", "X"]]}, rf"sentence a:2\): \[0, '0', 'X'\], {FORM}"),
        ({"tokenized_text": "Ada", "ner": []}, rf"{{'tokenized_text': 'Ada', 'ner': \[\]}}, {FORM}"),
        ({"tokenized_text": ["Ada"], "entities": []}, rf"{{'tokenized_text': .*'entities': \[\]}}, {FORM}"),
        ({**GLINER, "ner": None}, FORM),
        (5, rf"5, {FORM}"),
        ({"sentences": 5, "ner": 3}, rf"{{'sentences': 5, 'ner': 3}}, {FORM}"),
        ({**DYGIE, "ner": [[]]}, rf"{{'doc_key': .*{FORM}"),
        ({**DYGIE, "ner": [[[0, "PER"]], []]}, rf"'ner': \[\[\[0, 'PER'\]\]\]}}, {FORM}"),
        ({**DYGIE, "ner": [[], [[3, 3, "X"]]]}, "does not lie within|expected"),
        ({**SPERT, "entities": [{"type": "PER", "start": 0}]}, FORM),
    ],
)
def test_reports_issues_with_their_line_or_rejects_the_object(tmp_path: Path, value: Any, message: str) -> None:
    path = save(tmp_path / "a.jsonl", GLINER, value, GLINER)
    with pytest.raises(DataError, match=rf"a\.jsonl:2 .*({message})"):
        read(path)
    corpus = open_corpus(path, ReadOptions(repair=("drop-sentence",)))
    assert [s.labels for s in corpus][:1] == [LABELS]
    assert corpus.rejects


@pytest.mark.parametrize(
    ("number", "message"), [("1e999", "the number 1e999 is too large"), ("9" * 5000, "a number has too many digits")]
)
@pytest.mark.parametrize(
    "value", ['{"tokenized_text": ["a"], "ner": [[0, N, "X"]]}', '{"text": "Ada", "label": [[0, N, "X"]]}']
)
@pytest.mark.parametrize("form", ["{}", "[{}]"])
def test_reports_numbers_that_are_too_large(tmp_path: Path, number: str, message: str, value: str, form: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(form.format(value.replace("N", number)), "utf-8")
    with pytest.raises(DataError, match=rf"a\.json:1.*: {message}\n"):
        read(path, format="gliner" if "ner" in value else "spans")


def test_reports_a_line_that_is_not_json_and_reads_an_empty_array(tmp_path: Path) -> None:
    path = save(tmp_path / "a.jsonl", GLINER)
    path.write_text(path.read_text("utf-8") + "\n{broken\n", "utf-8")
    with pytest.raises(DataError, match=r"a\.jsonl:2 .*not JSON"):
        read(path)
    assert open_corpus(save(tmp_path / "b.json", as_array=True), ReadOptions(format="gliner")).description.endswith(
        "empty"
    )
