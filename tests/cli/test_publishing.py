"""What `nersery dataset publish` does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nersery import io
from nersery.cli import datasets as _datasets  # noqa: F401 - it adds the command
from nersery.core.sentence import Origin, Sentence
from tests.cli.calls import call
from tests.standins import files, sentences


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, with three files, of which two share a sentence."""
    monkeypatch.chdir(tmp_path)
    io.write(sentences(40), "all.conll")
    io.write(sentences(40), "train.conll")
    io.write(sentences(5, 100), "dev.conll")
    io.write([*sentences(5, 200), sentences(1)[0]], "test.conll")


def test_one_file_is_divided():
    result = call("dataset", "publish", "all.conll", "data", "--no-parquet", "--similarity", "1", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out) == {
        "folder": "data", "splits": {"train": 32, "validation": 4, "test": 4}, "dropped": 0,
    }  # fmt: skip
    assert sum(len(io.read(path)) for path in Path("data/spans").glob("*.jsonl")) == 40


def test_divided_documents_and_generated_sentences_are_counted():
    gold = [replace(s, document=f"d{n % 3}", id=f"s{n}") for n, s in enumerate(sentences(20))]
    made = [replace(s, id=f"{s.id}~m-1", origin=Origin("m", (s.id,), 1)) for s in gold]
    io.write([*gold, *made], "all.jsonl")
    result = call("dataset", "publish", "all.jsonl", "data", "--no-parquet", "--similarity", "1")
    assert not result.code, result.err
    assert result.out == "data: train 32, validation 2, test 2 sentences\n"
    left_out = "4 generated sentences left out, because validation or test has their parent or a similar sentence"
    assert f"note: {left_out}\n" in result.err
    assert "note: the sentences of 2 of 3 documents are in several splits\n" in result.err
    card = Path("data/README.md").read_text("utf-8")
    assert left_out in card
    assert "The sentences of 2 of 3 documents are in several splits." in card
    assert len(json.loads(Path("data/nersery.json").read_text("utf-8"))["dropped"]) == 4
    io.write([replace(s, document=f"d{n}") for n, s in enumerate(sentences(40))], "all.jsonl")
    call("dataset", "publish", "all.jsonl", "data", "--no-parquet", "--force", "--similarity", "1")
    assert "those of one document or made from one parent, are in one split" in Path("data/README.md").read_text(
        "utf-8"
    )


def test_leaks_between_given_splits_are_refused_dropped_or_kept():
    named = ("train=train.conll", "dev=dev.conll", "test=test.conll", "data", "--no-parquet", "--similarity", "1")
    before = set(files(Path()))
    refused = call("dataset", "publish", *named)
    assert refused.code == 3
    assert "sentence train:1): train has this sentence" in refused.err or "sentence train:1: train" in refused.err
    assert set(files(Path())) == before
    dropped = call("dataset", "publish", *named, "--leaks", "drop")
    assert dropped.code == 0, dropped.err
    assert dropped.out == "data: train 39, validation 5, test 6 sentences\n"
    assert (
        "note: 1 sentence left out of train, because test has similar ones or others made from the same parent"
        in dropped.err
    )
    kept = call("dataset", "publish", *named, "--leaks", "keep", "--force")
    assert kept.out == "data: train 40, validation 5, test 6 sentences\n"


def test_the_card_contains_the_details_of_the_about_file():
    Path("about.toml").write_text('name = "Mine"\nlicense = "cc0-1.0"\n[[sources]]\nname = "there"\n')
    assert call("dataset", "publish", "all.conll", "data", "--no-parquet", "--about", "about.toml").code == 0
    card = Path("data/README.md").read_text("utf-8")
    assert "# Mine\n" in card
    assert "Licence of the whole: cc0-1.0." in card
    assert "- there\n" in card


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["all.conll"], "name at least one corpus and, last, the folder"),
        (["all.conll", "data", "--leaks", "dorp"], "expected 'refuse', 'drop' or 'keep'"),
        (["all.conll", "data", "--dev-share", "1"], "leave something for train"),
        (["all.conll", "all.conll", "--force"], "all.conll is a file"),
        (["trian=all.conll", "data"], 'trian=all.conll: there is no split "trian"; did you mean "train"?'),
        (["train=all.conll", ".", "--force"], "all.conll is an input in ., the folder to write"),
        ([".", ".", "--force"], ". is an input in ., the folder to write"),
    ],
)
def test_wrong_usage_is_refused_before_anything_is_written(args: list[str], message: str):
    before = set(files(Path()))
    result = call("dataset", "publish", *args, "--no-parquet")
    assert result.code == 2
    assert message in result.err
    assert set(files(Path())) == before


def test_nothing_is_overwritten_without_force():
    assert call("dataset", "publish", "all.conll", "data", "--no-parquet").code == 0
    again = call("dataset", "publish", "all.conll", "data", "--no-parquet")
    assert again.code == 2
    assert "data exists already" in again.err
    assert call("dataset", "publish", "all.conll", "data", "--no-parquet", "--force").code == 0
    assert sorted(path.name for path in Path().iterdir() if path.is_dir()) == ["data"]


def test_a_dataset_is_not_its_own_input():
    """If it were divided again, sentences of test would be in train."""
    assert call("dataset", "publish", "all.conll", "data", "--no-parquet").code == 0
    Path("link").symlink_to("data", target_is_directory=True)
    for name in ("./data", "link"):
        assert "Choose another folder" in call("dataset", "publish", name, "data", "--no-parquet", "--force").err


def test_refuses_a_dataset_without_labels():
    io.write([sentence.with_entities(()) for sentence in sentences(9)], "raw.jsonl")
    result = call("dataset", "publish", "raw.jsonl", "data", "--no-parquet")
    assert (result.code, "no sentence has an entity, so there are no labels to publish" in result.err) == (3, True)
    assert not Path("data").exists()


def test_notes_empty_splits():
    io.write(sentences(1), "one.jsonl")
    result = call("dataset", "publish", "one.jsonl", "data", "--no-parquet")
    assert result.code == 0
    assert "note: no sentence for validation and test" in result.err
    given = call("dataset", "publish", "train=train.conll", "other", "--no-parquet")
    assert "note:" not in given.err


def test_notes_a_test_set_that_no_person_labelled():
    made = [replace(sentence, origin=Origin("project", (f"en:{n}",))) for n, sentence in enumerate(sentences(9, 300))]
    io.write(made, "projected.jsonl")
    result = call("dataset", "publish", "test=projected.jsonl", "data", "--no-parquet")
    assert "note: all labels of test were made by project: unless people have reviewed them" in result.err


def test_the_error_on_a_repeated_id_names_the_second_file():
    io.write([Sentence(("Ada",), id="0")], "a.jsonl")
    io.write([Sentence(("Bob",), id="0")], "b.jsonl")
    result = call("dataset", "publish", "train=a.jsonl", "test=b.jsonl", "data", "--no-parquet")
    assert (result.code, "b.jsonl (sentence 0): another sentence has the same id" in result.err) == (3, True)


def test_a_sentence_with_the_same_id_in_two_splits_is_a_leak():
    io.write(sentences(40), "train.jsonl")
    io.write(sentences(2), "test.jsonl")
    named = ("train=train.jsonl", "dev=test.jsonl", "test=test.jsonl", "data", "--no-parquet", "--similarity", "1")
    refused = call("dataset", "publish", *named)
    assert (refused.code, "--leaks drop" in refused.err) == (3, True)
    emptied = call("dataset", "publish", *named, "--leaks", "drop")
    assert (emptied.code, "validation would be empty" in emptied.err) == (3, True)
    dropped = call("dataset", "publish", named[0], *named[2:], "--leaks", "drop")
    assert dropped.out == "data: train 38, test 2 sentences\n", dropped.err
    assert "note: 2 sentences left out of train, because test has similar ones" in dropped.err
    assert len(json.loads(Path("data/nersery.json").read_text("utf-8"))["dropped"]) == 2


def test_a_file_without_labels_among_labelled_ones_is_noted():
    Path("raw.txt").write_text("Ada went to Oslo\n", "utf-8")
    result = call("dataset", "publish", "all.conll", "train=raw.txt", "data", "--no-parquet", "--similarity", "1")
    assert not result.code, result.err
    assert result.err.count("has an entity") == 1
    assert "note: no sentence of raw.txt has an entity, so all words there count as outside entities: " in result.err
