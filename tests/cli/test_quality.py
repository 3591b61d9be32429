"""What `nersery inspect quality` shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nersery import Entity, Origin, Sentence, io
from nersery.cli import inspect_measures as _measures  # noqa: F401 - it adds the command
from nersery.models.likelihoods.fluency import likelihood, open_scorer
from nersery.models.pretrained.loading import ModelSource
from tests.cli.calls import call

GOLD = [
    Sentence(("Ada", "Lovelace", "wrote"), (Entity(0, 2, "PER"),), id="a"),
    Sentence(("Oslo", "greets", "Ada"), (Entity(0, 1, "LOC"), Entity(2, 3, "PER")), id="b"),
]


def made(id: str, parent: str, words: str, *entities: Entity) -> Sentence:
    return Sentence(tuple(words.split()), entities, id=id, origin=Origin("m", (parent,), 1))


NEAR = [made("1", "a", "Ada Hopper wrote it", Entity(0, 2, "PER"))]
FAR = [
    made("2", "b", "Lima waves at Grace", Entity(0, 1, "LOC"), Entity(3, 4, "PER")),
    made("3", "z", "nobody came"),
    made("4", "a", "nobody came"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_masked_lm: str) -> None:
    """The current folder, with gold and generated sentences and a model."""
    monkeypatch.chdir(tmp_path)
    for name, sentences in (("gold", GOLD), ("near", NEAR), ("far", FAR)):
        io.write(sentences, f"{name}.jsonl")
    Path("lm").symlink_to(tiny_masked_lm, target_is_directory=True)


def measured(*args: str) -> Any:
    """Return the result of the command, read from JSON."""
    result = call("inspect", "quality", *args, "--gold", "gold.jsonl", "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_json_has_no_perplexity_without_a_model():
    assert measured("near.jsonl", "far.jsonl", "--no-perplexity") == {
        "gold": "gold.jsonl",
        "model": None,
        "kind": None,
        "files": [
            {"file": "near.jsonl", "sentences": 1, "orphans": 0, "new_entities": 1,
             "diversity": {"entity": 0.5, "non_entity": 0.5, "length": 1.0}},
            {"file": "far.jsonl", "sentences": 3, "orphans": 1, "new_entities": 2,
             "diversity": {"entity": 1.0, "non_entity": 1.0, "length": 1.0}},
        ],
    }  # fmt: skip


def test_a_model_without_perplexity_is_refused():
    result = call("inspect", "quality", "near.jsonl", "--gold", "gold.jsonl", "--no-perplexity", "--model", "./lm")
    assert result.code == 2
    assert "--model is for perplexity, which --no-perplexity leaves out" in result.err


def test_perplexity_is_computed_for_gold_and_each_file():
    found = measured("near.jsonl", "far.jsonl", "--model", "./lm")
    model = open_scorer(ModelSource("./lm"))
    assert (found["model"], found["kind"]) == ("./lm", "pseudo-perplexity")
    assert [row["file"] for row in found["files"]] == ["gold.jsonl", "near.jsonl", "far.jsonl"]
    for row, sentences in zip(found["files"], (GOLD, NEAR, FAR), strict=True):
        expected = likelihood(model, sentences)
        assert row["perplexity"] == expected.perplexity > 1
        assert row["subwords"] == expected.subwords
        assert row["sentences"] == len(sentences)
    assert found["files"][1:] == [
        {**row, "perplexity": one["perplexity"], "subwords": one["subwords"]}
        for row, one in zip(
            measured("near.jsonl", "far.jsonl", "--no-perplexity")["files"], found["files"][1:], strict=True
        )
    ]


def test_the_table_shows_quality_and_perplexity():
    found = measured("near.jsonl", "far.jsonl", "--model", "./lm")["files"]
    result = call("inspect", "quality", "near.jsonl", "far.jsonl", "--gold", "gold.jsonl", "--model", "./lm")
    head, _, *rows = result.out.splitlines()
    assert head.split() == [
        "file", "sentences", "without", "parent", "Diversity-E", "Diversity-N", "Diversity-L", "new", "entities",
        "pseudo-perplexity",
    ]  # fmt: skip
    values = [f"{row['perplexity']:,.1f}" for row in found]
    assert [row.split() for row in rows] == [
        ["gold.jsonl", "2", *"-----", values[0]],
        ["near.jsonl", "1", "0", "50.0", "%", "50.0", "%", "1.00", "1", values[1]],
        ["far.jsonl", "3", "1", "100.0", "%", "100.0", "%", "1.00", "2", values[2]],
    ]
    assert "note: 1 of 3 sentences of far.jsonl name no parent, or one that is not in gold.jsonl" in result.err
    assert "near.jsonl name no parent" not in result.err
    assert "pseudo-perplexity: by the model ./lm" in result.err


def test_the_table_leaves_out_orphans_and_perplexity_if_there_are_none():
    result = call("inspect", "quality", "near.jsonl", "--gold", "gold.jsonl", "--no-perplexity", "--quiet")
    assert result.err == ""
    assert result.out.splitlines()[0].split() == [
        "file", "sentences", "Diversity-E", "Diversity-N", "Diversity-L", "new", "entities",
    ]  # fmt: skip
    assert len(result.out.splitlines()) == 3


def test_diversity_needs_a_format_that_keeps_parents():
    io.write(NEAR, "near.conll")
    result = call("inspect", "quality", "near.conll", "--gold", "gold.jsonl", "--no-perplexity")
    assert result.out.splitlines()[-1].split() == ["near.conll", "1", "1", "-", "-", "-", "1"]
    assert "Expected JSONL" in result.err


def test_an_empty_file_has_no_perplexity():
    io.write([], "none.jsonl")
    (_, row) = measured("none.jsonl", "--model", "./lm")["files"]
    assert (row["sentences"], row["perplexity"], row["subwords"]) == (0, None, 0)
    assert call("inspect", "quality", "none.jsonl", "--gold", "gold.jsonl", "--model", "./lm").out.split()[-1] == "-"


def test_refuses_a_broken_file():
    Path("broken.conll").write_text("Ada\tB-PER\nBo\tI-LOC\n")
    result = call("inspect", "quality", "near.jsonl", "broken.conll", "--gold", "gold.jsonl")
    assert (result.code, result.out) == (3, "")
    assert "broken.conll:2" in result.err


def test_refuses_a_missing_model():
    result = call("inspect", "quality", "near.jsonl", "--gold", "gold.jsonl", "--model", "./none")
    assert (result.code, result.out) == (4, "")
