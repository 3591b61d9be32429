"""JSONL: round trips, and issues with their line."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery.core.errors import DataError
from nersery.core.outcome import Reject
from nersery.core.sentence import Entity, Origin, Sentence, SoftLabel
from nersery.io import ReadOptions, Source, open_corpus, read, read_rejects, reject_line, write, writer
from nersery.io.jsonl import FIRST_ROWS
from tests.io.strategies import full_sentences


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


def opened(path: Path, *lines: Any, **options: Any) -> Source:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("\n".join(texts), "utf-8")
    return open_corpus(path, ReadOptions(**options))


def issues(path: Path, *lines: Any, **options: Any) -> list[str]:
    source = opened(path, *lines, **options)
    with pytest.raises(DataError) as caught:
        list(source)
    return [f"{issue.line}: {issue.message}" for issue in caught.value.issues]


@given(st.lists(full_sentences(), max_size=4))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, written: list[Sentence]) -> None:
    written = [replace(sentence, id=f"s {number}\n") for number, sentence in enumerate(written)]
    path = tmp_path_factory.mktemp("round") / "a.jsonl"
    write(written, path)
    back = list(read(path))
    assert back == written
    scores = [[entity.score for entity in sentence.entities] for sentence in back]
    assert scores == [[entity.score for entity in sentence.entities] for sentence in written]
    assert [repr(sentence.scores) for sentence in back] == [repr(dict(s.scores)) for s in written]


def test_the_native_form_is_short_and_readable() -> None:
    sentence = Sentence(("東京", "へ"), (Entity(0, 1, "LOC", 0.1),), "7", origin=Origin("melm", ("3",), 2))
    assert writer("jsonl").encode(sentence) == (
        '{"id": "7", "words": ["東京", "へ"], '
        '"entities": [{"start": 0, "end": 1, "type": "LOC", "score": 0.1}], '
        '"origin": {"method": "melm", "parents": ["3"], "copy": 2}}\n'
    )


def test_tags_are_read_in_place_of_entities(path: Path) -> None:
    lines = [
        {"tokens": ["Ada", "Lovelace"], "ner_tags": ["I-PER", "I-PER"]},
        {"id": "x", "words": ["Oslo"], "tags": ["I-LOC"], "language": "no"},
    ]
    source = opened(path, *lines, language="en")
    assert source.description == "jsonl, IOB1"
    assert list(source) == [
        Sentence(("Ada", "Lovelace"), (Entity(0, 2, "PER"),), "a:1", "en"),
        Sentence(("Oslo",), (Entity(0, 1, "LOC"),), "x", "no"),
    ]


def test_a_line_of_a_dataset_may_have_other_keys(path: Path) -> None:
    """Those of CoNLL-2003 and of WikiANN, as on the Hugging Face hub."""
    row = {"id": "0", "tokens": ["Ada", "saw", "it"], "ner_tags": ["B-PER", "O", "O"]}
    others = {"pos_tags": [22, 38, 28], "langs": ["en", "en", "en"], "spans": ["PER: Ada"], "odd": ["a b", "", 1]}
    source = opened(path, row | others)
    (sentence,) = source
    assert sentence.labels == ((0, 1, "PER"),)
    assert sentence.columns == (("22", "38", "28"), ("en", "en", "en"))
    assert source.description == "jsonl, IOB2, left out: spans, odd"


def test_a_document_id_may_be_a_number(path: Path) -> None:
    (sentence,) = opened(path, {"document": 7, "tokens": ["Ada"], "trailing_whitespace": [False], "labels": ["B-PER"]})
    assert (sentence.document, sentence.labels) == ("7", ((0, 1, "PER"),))


@pytest.mark.parametrize("key", ["ner", "labels", "ner_labels"])
@pytest.mark.parametrize("words", ["words", "tokens"])
def test_tags_may_have_another_name(path: Path, words: str, key: str) -> None:
    """As in the examples of transformers, and in Naamapadam."""
    source = opened(path, {"id": 3, words: ["Ada", "saw"], key: ["B-PER", "O"], "langs": ["en", "en"], "n": 1})
    assert source.description == "jsonl, IOB2, left out: n"
    assert [(s.id, s.labels, s.columns) for s in source] == [("3", ((0, 1, "PER"),), (("en", "en"),))]


@pytest.mark.parametrize(
    ("other", "values"),
    [("tag", ["NN", "VB"]), ("bio", ["B", "O"]), ("entity", [3, 0]), ("tag", ["B-NP", "O"]), ("iob", ["O", "O"])],
)
@pytest.mark.parametrize("key", ["ner", "labels"])
def test_a_rival_of_a_known_key_of_tags_is_a_column(path: Path, key: str, other: str, values: list[Any]) -> None:
    (sentence,) = opened(path, {"tokens": ["Ada", "saw"], other: values, key: ["B-PER", "O"]})
    assert (sentence.labels, sentence.columns) == (((0, 1, "PER"),), (tuple(map(str, values)),))


@pytest.mark.parametrize(
    ("other", "values", "key"),
    [("tag", ["NN", "VB"], "iob"), ("entity", [3, 0], "bio"), ("labels", ["NN", "VB"], "ner")],
)
def test_of_several_keys_the_one_with_tags_is_read(path: Path, other: str, values: list[Any], key: str) -> None:
    (sentence,) = opened(path, {"tokens": ["Ada", "saw"], other: values, key: ["B-PER", "O"]})
    assert (sentence.labels, sentence.columns) == (((0, 1, "PER"),), (tuple(map(str, values)),))


def test_broken_tags_do_not_make_another_key_that_of_the_tags(path: Path) -> None:
    """The tags of chunks would be read for this row."""
    (issue,) = issues(path, {"tokens": ["Ada", "saw"], "tag": ["B-NP", "B-VP"], "ner": ["B-PER", "X-"]})
    assert "'X-' cannot be read" in issue


def test_keys_with_tags_beside_entities_are_columns(path: Path) -> None:
    row = {"words": ["Ada", "saw"], "entities": [{"start": 0, "end": 1, "type": "PER"}], "tag": ["NN", "VB"]}
    (sentence,) = opened(path, row | {"bio": ["B-PER", "O"]})
    assert (sentence.labels, sentence.columns) == (((0, 1, "PER"),), (("NN", "VB"), ("B-PER", "O")))


E_DECOMPOSED = "E\N{COMBINING ACUTE ACCENT}"
E_COMPOSED = "\N{LATIN CAPITAL LETTER E WITH ACUTE}"


@pytest.mark.parametrize("scheme", [None, "IOB2"])
def test_nfc_composes_tags_before_they_are_compared(path: Path, scheme: str | None) -> None:
    row = {"words": ["a", "b", "c"], "tags": [f"B-{E_DECOMPOSED}", f"I-{E_COMPOSED}", f"B-{E_DECOMPOSED}"]}
    source = opened(path, row, scheme=scheme, repair=("nfc",))
    assert [s.labels for s in source] == [((0, 2, E_COMPOSED), (2, 3, E_COMPOSED))]
    assert source.repaired == {"nfc": 2}


def test_other_repairs_compare_types_in_nfc(path: Path) -> None:
    row = {"words": ["a", "b"], "tags": [f"{E_DECOMPOSED}t", f"{E_COMPOSED}t"]}
    source = opened(path, row, repair=("nfc", "bare-type"))
    assert [s.labels for s in source] == [((0, 2, f"{E_COMPOSED}t"),)]
    assert source.repaired == {"nfc": 1, "bare-type": 2}


def test_refuses_two_keys_with_tags(path: Path) -> None:
    found = issues(path, {"words": ["Ada"], "ner": ["B-PER"], "labels": ["O"]}, {"words": ["a"], "ner": [0]})
    assert found[0].endswith(
        '"ner" and "labels" may hold the tags, expected one of them; rename the right one to "tags"'
    )
    assert "no key" not in str(found)
    assert '"ner" has numbers, expected a list of strings such as B-PER' in found[-1]


def test_reports_an_object_of_another_kind_once(path: Path) -> None:
    (issue,) = issues(path, {"id": 7, "document": "x", "mentions": [], "title": "y"})
    assert issue == (
        "1: its keys are 'id', 'document', 'mentions', 'title', expected \"words\" with \"entities\" or \"tags\", or "
        '"text" with "label": [[start, end, type], …]'
    )


def test_explicit_columns_exclude_other_keys_of_a_dataset_line(path: Path) -> None:
    """Other keys are then left out, and named."""
    row = {"tokens": ["a", "b"], "tags": ["O", "O"], "columns": [["x", "y"]], "pos": ["P", "Q"], "odd": 1}
    source = opened(path, row)
    assert [sentence.columns for sentence in source] == [(("x", "y"),)]
    assert source.description == "jsonl, IOB2, left out: pos, odd"


def test_reads_other_keys_beside_entities_as_beside_tags(path: Path) -> None:
    row = {
        "id": 5,
        "words": ["Ada", "met"],
        "langs": ["en", "en"],
        "meta": {"x": 1},
        "comment": "x",
        "document_id": "d",
    }
    for labels in ({"entities": []}, {"tags": ["O", "O"]}):
        source = opened(path, row | labels)
        assert source.description.endswith(", left out: meta, comment, document_id")
        assert [(sentence.id, sentence.columns) for sentence in source] == [("5", (("en", "en"),))]


def test_reports_keys_of_later_lines_after_reading(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{"words": ["Ada"], "entities": []}] * FIRST_ROWS
    source = opened(path, *lines, {"words": ["Ada"], "entities": [], "meta": 1})
    assert source.description == "jsonl"
    assert len(list(source)) == len(list(source)) == FIRST_ROWS + 1
    assert capsys.readouterr().err.count("left out meta, which occur after the first 100 lines") == 1


@pytest.mark.parametrize("labels", [{"entities": []}, {"tags": ["O"]}])
@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [("langauge", "hi", "language"), ("scoers", {"a": 1}, "scores"), ("offset", [[0, 1]], "offsets")],
)
def test_reports_a_key_that_seems_misspelt(
    path: Path, labels: dict[str, Any], key: str, value: Any, meant: str
) -> None:
    (issue,) = issues(path, {"words": ["a"], key: value} | labels)
    assert f'there is no key "{key}"; did you mean "{meant}"?' in issue


@pytest.mark.parametrize("key", ["tags", "ner_tags", "ner", "labels", "ner_labels"])
def test_reports_a_wrong_number_of_tags_under_every_key(path: Path, key: str) -> None:
    for words in ("words", "tokens"):
        (issue,) = issues(path, {words: ["Ada"], key: ["O"]}, {words: ["Ada", "met", "Bo"], key: ["B-PER", "O"]})
        assert issue == f'2: 3 words and 2 "{key}", expected one for each word'


def test_does_not_read_other_lists_as_tags(path: Path) -> None:
    (source, value) = opened(path, {"words": ["a", "b"], "entities": [], "labels": ["news"]}), "news"
    assert source.description == "jsonl, left out: labels"
    assert value not in str(list(source))
    assert 'no key "labels"' in issues(path, {"words": ["a", "b"], "labels": ["news"]})[0]
    (issue,) = issues(path, {"words": ["a"], "entities": [], "labels": ["B-PER"]})
    assert "expected only one of entities, labels" in issue


def test_rejects_stay_refused(path: Path) -> None:
    (issue,) = issues(path, {"words": ["a"], "entities": [], "meta": 1, "reason": "x"})
    assert 'it has a "reason"' in issue


def test_tags_are_repaired_and_counted(path: Path) -> None:
    lines = [{"tokens": ["a", "b"], "tags": ["O", "-X"]}, {"tokens": ["c"], "tags": ["junk"]}]
    source = opened(path, *lines, repair=("lost-prefix", "drop-sentence"))
    assert [sentence.labels for sentence in source] == [((1, 2, "X"),)]
    assert source.repaired == {"lost-prefix": 1, "drop-sentence": 1}
    (reject,) = source.rejects
    assert reject.sentence is not None
    assert (reject.reason, reject.sentence.words, reject.sentence.columns) == ("unknown tag", ("c",), (("junk",),))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"words": ["a"]', "not JSON: the line ends early, expected a whole object"),
        ('{"words": ["a", "b', "not JSON: Unterminated string starting in column 17"),
        ('{"words": ["a"\n', "not JSON: the line ends early"),
        ('{"words": ["a" "b"]}', "not JSON: Expecting ',' delimiter in column 16"),
        ("[1]", '[1], expected an object such as {"words"'),
        ("[" * 100_000, "nested too deeply"),
        ('{"words": ["a"], "scores": {"x": NaN}}', "NaN is not a number in JSON"),
        ('{"words": ["a"], "scores": {"x": 1e999}}', "the number 1e999 is too large"),
        ('{"words": ["a"], "id": 1' + "0" * 5000 + "}", "a number has too many digits"),
        ({"words": ["a"], "scores": {"ts": 1700000000000000001}}, "the score ts is a whole number too large"),
        ({"words": ["a"], "offsets": [[10**25, 10**25 + 1]]}, "the end of the last word is a whole number too large"),
        ({"words": ["a"], "origin": {"method": "m", "copy": 10**30}}, "the copy of an origin is a whole number too"),
        (
            {"words": ["a"], "entities": [{"start": 0, "end": 1, "type": "X", "score": 10**17}]},
            "entity [0, 1) X: its score is a whole number too large",
        ),
        ('{"words": ["\\ud800"]}', "half of a surrogate pair"),
        ('{"words": ["a"], "id": "\\udfff"}', "half of a surrogate pair"),
        ({"words": ["a"], "entites": []}, 'no key "entites"; did you mean "entities"?'),
        ({"words": []}, "at least one word"),
        ({"words": ["a", 1]}, "\"words\" is ['a', 1], expected a list of strings"),
        ({"words": "ab"}, "\"words\" is 'ab', expected a list of strings"),
        ({"words": ["a "]}, "word 0 is 'a '"),
        ({"words": ["a"], "odd": [1]}, 'no key "odd"'),
        ({"tokens": ["a"], "odd": ["x"]}, 'no key "odd"'),
        ({"id": "x"}, 'expected exactly one of "words" and "tokens"'),
        ({"words": ["a"], "tokens": ["a"]}, 'expected exactly one of "words" and "tokens"'),
        ({"words": ["a"], "entities": [], "tags": ["O"]}, "expected only one of entities, tags"),
        ({"words": ["a"], "id": True}, '"id" is True, expected a string'),
        ({"words": ["a"], "entities": [{"start": 0, "end": 2, "type": "X"}]}, "does not lie within the 1 words"),
        ({"words": ["a"], "entities": [{"start": 0, "end": 1, "label": "X"}]}, '"entities" is'),
        ({"words": ["a"], "entities": [{"start": False, "end": 1, "type": "X"}]}, '"entities" is'),
        ({"words": ["a"], "entities": [{"start": 0, "end": 1, "type": "X", "score": ""}]}, '"entities" is'),
        ({"words": ["a"], "origin": {"parents": []}}, '"origin" is'),
        ({"words": ["a"], "columns": [["x", "y"]]}, "an extra column does not have 1 values"),
        ({"words": ["a"], "columns": ["x"]}, '"columns" is'),
        ({"words": ["a"], "comments": "x"}, '"comments" is'),
        (
            {"tokens": ["a"], "ner_tags": [0]},
            "numbers must be turned into tags first, in Python by Corpus.from_dataset(",
        ),
        ({"tokens": ["a"], "labels": [0]}, "numbers must be turned into tags first, in Python by Corpus.from_dataset("),
        ({"tokens": ["a"], "ner_tags": ["O", "O"]}, '1 words and 2 "ner_tags"'),
        ('{"words": ["a"], "words": ["b"]}', "the key 'words' occurs twice in one object"),
        ('{"words": ["a"], "entities": [{"start": 0, "end": 1, "end": 1, "type": "X"}]}', "the key 'end' occurs twice"),
        ('{"words": ["a"], "scores": {"x": 1' + "0" * 400 + "}}", '"scores" is'),
        ({"words": ["a"], "entities": [{"start": 0, "end": 1, "type": "X", "score": 10**400}]}, '"entities" is'),
        ({"words": ["a"], "comments": ["x\ny"]}, "the comment 'x\\ny' has a line break in it"),
        ('{"words": ["a"]}\r{"words": ["b"]}', "there is a carriage return inside the line"),
        ('\ufeff{"words": ["a"]}', "there is a byte order mark (U+FEFF) inside the file, expected none: were files"),
    ],
)
def test_reports_the_issue_of_a_line(path: Path, line: Any, message: str) -> None:
    (issue,) = issues(path, {"words": ["sound"]}, "", line)
    assert issue.startswith("3: ")
    assert message in issue


def entity(**changes: Any) -> dict[str, Any]:
    return {"entities": [{"start": 0, "end": 1, "type": "X", **changes}]}


def soft_label(**changes: Any) -> dict[str, Any]:
    return {"soft_labels": [{"word": 0, "type": "X", "begin": 0.5, "inside": 0, **changes}]}


@pytest.mark.parametrize(
    "part",
    [
        {"language": 7},
        {"document": [7]},
        {"entities": {"start": 0, "end": 1, "type": "X"}},
        {"entities": [[0, 1, "X"]]},
        {"entities": [{"start": 0, "end": 1}]},
        entity(start=0.0),
        entity(end=True),
        entity(type=7),
        entity(score=True),
        entity(score=[1]),
        entity(label="X"),
        {"soft_labels": {}},
        {"soft_labels": [7]},
        {"soft_labels": [*soft_label()["soft_labels"], 7]},
        {"soft_labels": [{"word": 0, "type": "X", "begin": 0.5}]},
        soft_label(word="0"),
        soft_label(word=False),
        soft_label(type=None),
        soft_label(begin="0.5"),
        soft_label(inside=False),
        soft_label(score=1),
        {"offsets": "01"},
        {"offsets": ["01"]},
        {"offsets": [[0]]},
        {"offsets": [[0, 1, 2]]},
        {"offsets": [[0, True]]},
        {"offsets": [[0, 1.0]]},
        {"origin": "m"},
        {"origin": {"method": 7}},
        {"origin": {"method": "m", "parents": "p"}},
        {"origin": {"method": "m", "parents": [7]}},
        {"origin": {"method": "m", "copy": True}},
        {"origin": {"method": "m", "copy": 1, "seed": 1}},
        {"scores": [1]},
        {"scores": {"x": "1"}},
        {"scores": {"x": True}},
        {"columns": "x"},
        {"columns": [["x"], [7]]},
        {"comments": [7]},
    ],
)
def test_reports_a_part_of_the_wrong_shape_and_the_expected_shape(part: dict[str, Any], path: Path) -> None:
    (key,) = part
    (issue,) = issues(path, {"words": ["a"], **part})
    assert issue.startswith(f'1: "{key}" is ')
    assert ", expected a" in issue or ', expected {"method": string' in issue


def test_reads_null_as_absent_except_for_labels(path: Path) -> None:
    nulls = dict.fromkeys(
        ("id", "language", "origin", "columns", "comments", "soft_labels", "document", "offsets", "x")
    )
    labels = entity(score=None)
    [sentence] = opened(path, {"words": ["a"], **labels, **nulls, "scores": {"certainty": 0.5, "perplexity": None}})
    assert (sentence.labels, sentence.scores) == (((0, 1, "X"),), {"certainty": 0.5})
    for key in ("entities", "ner_tags"):
        (issue,) = issues(path, {"words": ["a"], key: None})
        assert f'"{key}" is None, expected a list' in issue


def test_reads_minimal_and_complete_parts(path: Path) -> None:
    lines = [
        {"words": ["a"], "origin": {"method": "m"}, **entity(score=None), **soft_label(begin=1)},
        {"words": ["b"], "origin": {"method": "m", "parents": ["p"], "copy": 2}, **entity(score=1)},
        {"words": ["c"], "offsets": [[3, 4]], "document": "d", "scores": {"x": -1}, "comments": ["# c"]},
    ]
    first, second, third = opened(path, *lines)
    assert (first.origin, first.entities[0].score) == (Origin("m"), None)
    assert first.soft_labels == (SoftLabel(0, "X", 1, 0),)
    assert (second.origin, second.entities[0].score) == (Origin("m", ("p",), 2), 1)
    assert (third.offsets, third.document, third.scores, third.comments) == (((3, 4),), "d", {"x": -1}, ("# c",))


def test_all_issues_come_together(path: Path) -> None:
    lines = [{"id": "a", "words": ["x"]}, "{", {"wrods": 1}, {"id": "a", "words": ["y"]}, {"words": ["z"]}]
    found = issues(path, *lines)
    assert [issue.partition(":")[0] for issue in found] == ["2", "3", "3", "4"]
    assert 'the id "a" is already used in line 1' in found[3]
    assert [sentence.words for sentence in opened(path, *lines, repair=["drop-sentence"])] == [("x",), ("z",)]


def test_an_issue_of_tags_names_the_word(path: Path) -> None:
    (issue,) = issues(path, {"tokens": ["a", "b"], "tags": ["O", "I-X"]}, {"tokens": ["c"], "tags": ["B-X"]})
    assert issue.startswith("1: word 1: 'I-X' continues an entity")


def test_a_dropped_line_that_is_not_json_is_kept_unchanged(path: Path) -> None:
    source = opened(path, '{"words": ["a"', "\u3000", repair=["drop-sentence"])
    assert list(source) == []
    first, second = source.rejects
    assert first.sentence is not None
    assert second.sentence is not None
    assert (first.reason, first.sentence.words) == ("not JSON", ('{"words":', '["a"'))
    assert second.sentence.words == ("_",)


@pytest.mark.parametrize(
    ("lines", "description"),
    [
        ([""], "jsonl, empty"),
        ([{"words": ["a"]}], "jsonl"),
        (["{"], "jsonl"),
        ([{"tokens": ["a"], "tags": ["S-X"]}], "jsonl, BIOES"),
    ],
)
def test_recognises_jsonl_and_its_scheme(path: Path, lines: list[Any], description: str) -> None:
    assert opened(path, *lines).description == description


@pytest.mark.parametrize("first", ['{"tokens": ["x"', {"tokens": ["x"], "tags": ["S-X", "O"]}, {"words": ["x"]}])
def test_the_scheme_comes_from_all_lines_that_can_be_read(path: Path, first: Any) -> None:
    sound = {"tokens": ["a", "b"], "tags": ["B-X", "E-X"]}
    source = opened(path, first, sound, repair="drop-sentence")
    assert source.description == "jsonl, BIOES"
    assert [sentence.labels for sentence in source][-1] == ((0, 2, "X"),)


def test_limits_the_memory_for_tag_detection(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nersery.io.base.MAX_PAIRS", 2)
    source = opened(path, *({"tokens": ["a"], "tags": [tag]} for tag in ("B-X", "B-Y", "S-Z")))
    assert source.description == "jsonl, IOB2"


def test_rejects_lone_surrogates_written_in_utf_7(path: Path) -> None:
    path.write_text('{"words": ["+2AA-"]}\n{"words": ["a"], "id": "+2AA-"}\n{"words": ["b"]}\n{+2AA-\n')
    source = open_corpus(path, ReadOptions(encoding="utf-7", repair=("drop-sentence",)))
    assert [sentence.words for sentence in source] == [("b",)]
    assert [reject.reason for reject in source.rejects] == ["invalid sentence", "invalid sentence", "not JSON"]


def test_line_separators_inside_words_do_not_end_a_line(path: Path) -> None:
    write([Sentence(("a\u2028b", "\u2029"), id="x")], path)
    assert path.read_bytes().count(b"\n") == 1
    assert read(path)[0].words == ("a\u2028b", "\u2029")


def test_refuses_to_write_scores_that_are_not_numbers() -> None:
    with pytest.raises(DataError, match="sentence x: a score is NaN or infinite"):
        writer("jsonl").encode(Sentence(("a",), id="x", scores={"certainty": float("nan")}))


def test_rejects_survive_a_round_trip(path: Path) -> None:
    rejects = [Reject("certainty < 1", Sentence(("a",), (Entity(0, 1, "X"),), id="x")), Reject("nothing came")]
    path.write_text("".join(map(reject_line, rejects)), "utf-8")
    assert list(read_rejects(path)) == rejects
    assert list(read_rejects(path.with_name("none"))) == []
    path.write_text('{"reason": "x", "words": ["a"]}\n')
    assert list(read_rejects(path)) == [Reject("x", Sentence(("a",)))]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[]", 'expected a sentence with a "reason"'),
        ('{"words": ["a"]}', 'expected a sentence with a "reason"'),
        ('{"reason": 7}', 'expected a sentence with a "reason"'),
        ('{"reason": "x", "id": "1"}', 'expected exactly one of "words" and "tokens"'),
        ('{"reason": "x", "words": [""]}', "word 0 is empty"),
    ],
)
def test_reports_a_line_that_is_not_a_reject(path: Path, line: str, message: str) -> None:
    path.write_text(f'{{"reason": "x"}}\n{line}\n')
    with pytest.raises(DataError) as caught:
        list(read_rejects(path))
    (issue,) = caught.value.issues
    assert (issue.file, issue.line) == (str(path), 2)
    assert message in issue.message


def test_a_reject_is_a_sentence_with_a_reason() -> None:
    line = reject_line(Reject("unchanged", Sentence(("a",), id="x~1", origin=Origin("melm", ("x",), 1))))
    value = json.loads(line)
    assert line.endswith("\n")
    assert (value["id"], value["words"], value["reason"]) == ("x~1", ["a"], "unchanged")
    assert json.loads(reject_line(Reject("nothing came"))) == {"reason": "nothing came"}


def test_refuses_a_file_of_rejects_as_a_corpus(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(reject_line(Reject("unchanged", Sentence((word,), id=word))) for word in "ab"), "utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    assert len(caught.value.issues) == 2
    assert all("seems to be a file of rejects, expected a corpus" in one.message for one in caught.value.issues)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a"])
@pytest.mark.parametrize("words", ["words", "tokens", "text", "sentence", "token"])
@pytest.mark.parametrize("tags", ["ner_tags", "labels", "label"])
def test_reads_an_array_of_words_and_tags_like_lines(
    tmp_path: Path, name: str, words: str, tags: str, indent: int | None
) -> None:
    rows = [{words: ["in", "Oslo"], tags: ["O", "B-LOC"]}, {"id": 7, words: ["Ada"], tags: ["B-PER"]}]
    path = tmp_path / name
    path.write_text(json.dumps(rows, indent=indent), "utf-8")
    expected = [("a:1", ("in", "Oslo"), ((1, 2, "LOC"),)), ("7", ("Ada",), ((0, 1, "PER"),))]
    assert [(s.id, s.words, s.labels) for s in read(path)] == expected
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    assert [(s.id, s.words, s.labels) for s in read(path)] == expected


def test_reports_issues_in_an_array_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"tokens": ["Ada"], "ner_tags": ["B-PER"]}, "x", {"tokens": ["Bo"]}, {}], indent=1))
    with pytest.raises(DataError) as caught:
        read(path)
    assert [(issue.line, issue.kind) for issue in caught.value.issues] == [(10, "wrong object"), (16, "wrong object")]


def test_repairs_of_white_space_in_words(path: Path) -> None:
    """Data sets made by splitting text at single spaces have words that are empty, or end with a line break."""
    row = {"tokens": ["Ada", "", "left\n", " "], "ner_tags": ["B-PER", "O", "O", "O"], "pos": ["A", "B", "C", "D"]}
    with pytest.raises(DataError, match=r"word 1 is empty\n.*blank-words"):
        list(opened(path, row))
    with pytest.raises(DataError, match=r"word 1 is 'left\\n'.*\n.*outer-space"):
        list(opened(path, row, repair=("blank-words",)))
    source = opened(path, row, repair=("blank-words", "outer-space"))
    [sentence] = source
    assert (sentence.words, sentence.labels, sentence.columns) == (("Ada", "left"), ((0, 1, "PER"),), (("A", "C"),))
    assert source.repaired == {"blank-words": 2, "outer-space": 1}


def test_keeps_a_blank_word_if_entities_count_words(path: Path) -> None:
    row = {"words": ["", "Ada"], "entities": [{"start": 1, "end": 2, "type": "PER"}]}
    with pytest.raises(DataError, match="word 0 is empty") as caught:
        list(opened(path, row, repair=("blank-words",)))
    assert "blank-words" not in caught.value.fix


def test_reports_tags_that_are_numbers_once_for_all_rows(tmp_path: Path) -> None:
    rows = [{"tokens": ["a"], "ner_tags": [number]} for number in range(30)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(DataError) as caught:
        read(tmp_path / "a.jsonl")
    assert len(caught.value.issues) == 30
    assert str(caught.value).count("numbers must be turned into tags first") == 1


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        ({"body": "Ada met Bob", "marks": []}, """jq -c '.text = .["body"]'"""),
        ({"version": 1, "data": [{"tokens": ["Ada"], "ner_tags": ["B-PER"]}]}, """jq -c '.["data"][]'"""),
        ({"features": [], "rows": [{"n": 0, "row": {"tokens": ["Ada"]}}]}, """jq -c '.["rows"][]["row"]'"""),
        ({"tokens": [["Ada"], ["He"]], "ner_tags": [["B-PER"], ["O"]]}, "import pandas"),
        ({"tokens": {"0": ["Ada"]}, "ner_tags": {"0": ["B-PER"]}}, "import pandas"),
    ],
)
def test_says_how_to_correct_keys(tmp_path: Path, value: dict[str, Any], advice: str) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(value))
    with pytest.raises(DataError) as error:
        read(tmp_path / "rows.jsonl")
    assert advice in error.value.fix


def test_says_how_to_remove_commas_between_objects(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"words": ["Ada"]},\n{"words": ["He"]}, \n{"words": ["She"]}\n')
    with pytest.raises(DataError) as error:
        read(tmp_path / "a.jsonl")
    command = re.search(r"sed -E '.*?'", error.value.fix)
    assert command
    done = subprocess.run(f"{command[0]} a.jsonl > b.jsonl", shell=True, cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert len(read(tmp_path / "b.jsonl")) == 3
