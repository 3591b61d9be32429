"""Wrong arguments of the library: each raises an error of nersery that names what was expected."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas
import pytest
import spacy

import nersery
from nersery.annotate.base import Annotator
from nersery.annotate.qa_prompting import QaPrompting
from nersery.augment.base import Augmenter
from nersery.augment.label_wise_token_replacement import LabelWiseTokenReplacement
from nersery.augment.melm import MELM
from nersery.core.errors import DataError, NerseryError, SettingsError
from nersery.core.sentence import Sentence
from nersery.core.training_context import Training
from nersery.crosslingual.aligners.statistical import Statistical
from nersery.taggers.bilstm_crf import BiLSTMCRF
from tests.standins import sentences

GOLD = nersery.Corpus(sentences(24))
NO_SEEDS = [-1, 2**32, 2**70, "a", "1", 1.5, True, None]
CALLS: dict[str, Callable[[Any], Any]] = {
    "augment": lambda seed: nersery.augment(GOLD, "mention_replacement", seed=seed),
    "annotate": lambda seed: nersery.annotate(GOLD, "tagger_labels", GOLD, seed=seed),
    "select": lambda seed: nersery.select(GOLD, "duplicates", GOLD, seed=seed),
    "align": lambda seed: nersery.align(GOLD, GOLD, seed=seed),
    "train": lambda seed: nersery.train(GOLD, seed=seed),
    "next_sentences": lambda seed: nersery.next_sentences(GOLD, "no-such-tagger", seed=seed),
}
NO_CORPORA: list[Any] = [None, nersery.Corpus, b"ab", ["a"], [GOLD], {"a": 1}, np.array([1, 2])]
READERS: dict[str, Callable[[Any], Any]] = {
    "Corpus": nersery.Corpus,
    "write": lambda corpus: nersery.write(corpus, "never-written.jsonl"),
    "augment": lambda corpus: nersery.augment(corpus, "mention_replacement"),
    "select": lambda corpus: nersery.select(corpus, "duplicates", GOLD),
    "select gold": lambda corpus: nersery.select(GOLD, "duplicates", corpus),
    "select held out": lambda corpus: nersery.select(GOLD, "duplicates", GOLD, held_out=corpus),
    "align": lambda corpus: nersery.align(corpus, GOLD),
    "project": lambda corpus: nersery.project(corpus, GOLD, [[]] * len(GOLD)),
    "train": nersery.train,
    "evaluate": lambda corpus: nersery.evaluate(corpus, GOLD),
    "evaluate predicted": lambda corpus: nersery.evaluate(GOLD, corpus),
    "next_sentences": lambda corpus: nersery.next_sentences(corpus, "no-such-tagger"),
}


OPTIONAL = ("select gold", "select held out")


@pytest.mark.parametrize("seed", NO_SEEDS, ids=repr)
@pytest.mark.parametrize("call", CALLS)
def test_refuses_a_wrong_seed(call: str, seed: Any) -> None:
    with pytest.raises(SettingsError, match=rf"^seed is {seed!r}, expected a whole number from 0 to 4294967295"):
        CALLS[call](seed)


def test_accepts_numpy_numbers_as_seeds_and_copies(tmp_path: Path) -> None:
    assert type(Training(seed=np.int64(3)).seed) is int  # PyTorch takes no other
    for number, output in ((3, tmp_path / "a.jsonl"), (np.int64(3), tmp_path / "b.jsonl")):
        nersery.augment(GOLD, "mention_replacement", output=output, copies=number, seed=number, quiet=True)
        nersery.align(GOLD, GOLD, output=output.with_suffix(".align"), seed=number, quiet=True)
    for name in ("jsonl", "align"):
        assert (tmp_path / f"a.{name}").read_bytes() == (tmp_path / f"b.{name}").read_bytes()


@pytest.mark.parametrize("corpus", NO_CORPORA, ids=str)
@pytest.mark.parametrize("call", READERS)
def test_refuses_what_is_not_a_corpus(call: str, corpus: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if call in OPTIONAL and corpus is None:
        pytest.skip("None gives none")
    if call == "select held out" and isinstance(corpus, list) and corpus == ["a"]:
        pytest.skip("a list may name files")
    with pytest.raises(SettingsError, match=r"expected (a Sentence|sentences)"):
        READERS[call](corpus)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("call", "named"), [("select", "the corpus"), ("select gold", "gold"), ("select held out", "held_out")]
)
def test_errors_name_the_argument_of_a_corpus(call: str, named: str) -> None:
    for corpus in (5, [5], iter(GOLD)):
        message = rf"^(item 1 of )?{named} is 5, expected|but {named} is read twice: give a Corpus or a list"
        with pytest.raises(SettingsError, match=message):
            READERS[call](corpus)


def test_errors_name_other_arguments() -> None:
    calls: dict[str, Callable[[Any], Any]] = {
        "dev": lambda corpus: nersery.train(GOLD, dev=corpus),
        "gold": lambda corpus: nersery.evaluate(corpus, GOLD),
        "predicted": lambda corpus: nersery.evaluate(GOLD, corpus),
        "raw": lambda corpus: nersery.next_sentences(corpus, "no-such-tagger"),
        "source": lambda corpus: nersery.align(corpus, GOLD),
        "target": lambda corpus: nersery.project(GOLD, corpus, [[]]),
        "labelled": lambda corpus: nersery.next_sentences(GOLD, "no-such-tagger", labelled=corpus),
    }
    for name, call in calls.items():
        with pytest.raises(SettingsError, match=f"^{name} is 5, expected sentences"):
            call(5)


def test_none_gives_no_sentences() -> None:
    without = nersery.select(GOLD, "duplicates", held_out=None, dev=None, gold=None)
    assert without.corpus == nersery.select(GOLD, "duplicates").corpus
    made = nersery.augment(GOLD, "mention_replacement", gold=None, dev=None)
    assert made.corpus == nersery.augment(GOLD, "mention_replacement").corpus


@pytest.mark.parametrize(
    ("corpus", "converter"),
    [
        (pandas.DataFrame({"word": ["Ada"], "tag": ["O"]}), "Corpus.from_pandas"),
        (datasets.Dataset.from_dict({"tokens": [["Ada"]], "ner_tags": [["O"]]}), "Corpus.from_dataset"),
        ({"train": []}, "Corpus.from_dataset"),
        ([{"tokens": ["Ada"]}], "Corpus.from_dataset"),
        (spacy.blank("en")("Ada wrote"), "Corpus.from_spacy"),
        ([spacy.blank("en")("Ada wrote")], "Corpus.from_spacy"),
        ([["Ada", "wrote"]], "Corpus.from_bio"),
        (["Ada wrote"], "Corpus.from_texts"),
    ],
)
def test_error_about_objects_of_other_libraries_names_the_converter(corpus: Any, converter: str) -> None:
    with pytest.raises(SettingsError, match=rf"item 1 of gold is .*, expected a Sentence\. To make .*{converter}"):
        nersery.train(corpus)


def test_refuses_a_list_of_files_instead_of_one_file(tmp_path: Path) -> None:
    nersery.write(GOLD, tmp_path / "a.conll")
    for path in (tmp_path / "a.conll", str(tmp_path / "a.conll")):
        with pytest.raises(SettingsError, match=r"expected a Sentence\. Name one file, or join several"):
            nersery.train([path])


def test_repeatable_arguments_accept_several_files(tmp_path: Path) -> None:
    halves = [tmp_path / "a.conll", tmp_path / "b.conll"]
    for path, part in zip(halves, (GOLD.sentences[:1], GOLD.sentences[1:2]), strict=True):
        nersery.write(part, path)
    result = nersery.select(GOLD.sentences[:2], "duplicates", held_out=halves)
    assert (result.tally.written, result.tally.rejected) == (0, 2)
    with pytest.raises(DataError, match="all raw sentences are labelled already"):
        nersery.next_sentences(GOLD.sentences[:2], "bundled-ner", labelled=[str(path) for path in halves])


@pytest.mark.parametrize("path", [None, 5, b"a.conll", ["a.conll"], GOLD], ids=str)
def test_refuses_what_is_not_a_path(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls: list[Callable[[], Any]] = [
        lambda: nersery.read(path),
        lambda: nersery.write(GOLD, path),
        lambda: nersery.grow([path], minutes=1),
        lambda: nersery.grow("example:train.conll", raw=path if path is not None else 0, minutes=1),
        lambda: nersery.grow("example:train.conll", output=path),
    ]
    if path is not None:
        calls += [
            lambda: nersery.augment(GOLD, "mention_replacement", output=path),
            lambda: nersery.train(GOLD, output=path),
            lambda: nersery.run("demo", output=path),
        ]
    for call in calls:
        with pytest.raises(SettingsError, match=r"expected the name of a file or folder"):
            call()
    assert not [*tmp_path.iterdir()]


def test_grow_refuses_a_corpus_in_memory(tmp_path: Path) -> None:
    """A resumed job reads it again."""
    result = nersery.augment(GOLD, "mention_replacement")
    for corpus in (GOLD, [*GOLD], result, (sentence for sentence in GOLD)):
        with pytest.raises(SettingsError, match=r'train is .*nersery\.write\(corpus, "train\.jsonl"\)'):
            nersery.grow(corpus, output=tmp_path / "grow")  # type: ignore[arg-type]
    for name in ("raw", "test"):
        with pytest.raises(SettingsError, match=rf'{name} is .*nersery\.write\(corpus, "{name}\.jsonl"\)'):
            nersery.grow("example:train.conll", **{name: GOLD}, output=tmp_path / "grow")  # type: ignore[arg-type]
    assert not [*tmp_path.iterdir()]


def test_example_names_are_accepted_as_corpora() -> None:
    train = nersery.read("example:train.conll")
    assert train == nersery.read(nersery.example("train.conll"))
    assert nersery.select("example:train.conll", "duplicates", "example:train.conll").tally.read == len(train)
    with pytest.raises(SettingsError, match=r'there is no example file "example:trian.conll"; did you mean'):
        nersery.read("example:trian.conll")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"force": "no"}, "force is 'no': expected true or false"),
        ({"batch_size": 0}, "batch_size is 0, expected 1 or more"),
        ({"batch_size": "8"}, "batch_size is '8', expected a whole number of 1 or more"),
        ({"batch_size": True}, "batch_size is True, expected a whole number of 1 or more"),
        ({"shards": 2.5, "output": "x"}, "shards is 2.5, expected a whole number of 1 or more"),
        ({"shards": 9, "workers": 0, "output": "x"}, r"workers is 0, expected a number in \[1, 1000\]"),
        ({"shards": 9, "engine": "ray", "gpus": -1, "output": "x"}, "gpus is -1, expected 0 or more"),
        ({"shards": 9, "engine": "ray", "gpus": "a", "output": "x"}, "gpus is 'a', expected 0 or more"),
    ],
)
def test_options_of_jobs_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        nersery.augment(GOLD, "mention_replacement", **options)


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(SettingsError, match=r'there is no option "shard"; did you mean "shards"'):
        nersery.predict(GOLD, "no-such-tagger", shard=3)


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf"), "ten", None, True])
def test_refuses_a_wrong_number_of_minutes(minutes: Any) -> None:
    with pytest.raises(SettingsError, match=r"minutes is .*, expected a number above 0"):
        nersery.grow("example:train.conll", minutes=minutes)


@pytest.mark.parametrize(("name", "value"), [("count", "5"), ("count", 2.5), ("max_sentences", None)])
def test_numbers_of_sentences_to_label_are_checked(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"{name} is {value!r}, expected a whole number"):
        nersery.next_sentences(GOLD, "no-such-tagger", **{name: value})


def test_refuses_reading_options_of_a_wrong_type() -> None:
    for name, value in (("language", 5), ("encoding", None), ("word_column", "2"), ("scheme", 3), ("repair", 4)):
        with pytest.raises((SettingsError, DataError), match=f"{name} is {value!r}"):
            nersery.read("example:train.conll", **{name: value})


def test_a_device_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, /dev/full was once replaced by a file."""
    monkeypatch.setattr("nersery.core.system.files.DEVICES", tmp_path)
    device = tmp_path / "full.jsonl"
    os.mkfifo(device)
    link = tmp_path / "stdout.jsonl"
    link.symlink_to(tmp_path.with_name("other"))
    for path in (device, link):
        for call in (
            lambda path: nersery.write(GOLD, path),
            lambda path: nersery.augment(GOLD, "mention_replacement", output=path, quiet=True),
            lambda path: nersery.train(GOLD, output=path),
        ):
            with pytest.raises(SettingsError, match="is a device or a pipe, but results need a file"):
                call(path)
    assert device.is_fifo()
    assert link.is_symlink()


def test_converters_refuse_objects_of_a_wrong_type() -> None:
    for value in (None, 5):
        with pytest.raises(SettingsError, match=f"the dataset is {value}, expected a split"):
            nersery.Corpus.from_dataset(value)  # type: ignore[arg-type]
        with pytest.raises(SettingsError, match=f"the frame is {value}, expected a DataFrame"):
            nersery.Corpus.from_pandas(value)  # type: ignore[arg-type]
        with pytest.raises(SettingsError, match=f"the documents are {value}, expected those of spaCy"):
            nersery.Corpus.from_spacy(value)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="document 1 is 'A', expected a Doc of spaCy"):
        nersery.Corpus.from_spacy("Ada")  # type: ignore[arg-type]


def test_converters_refuse_a_column_a_name_and_a_table() -> None:
    column = datasets.Dataset.from_dict({"tokens": [["Ada"]]})["tokens"]
    with pytest.raises(DataError, match=r"row 1 is \['Ada'\], expected a mapping"):
        nersery.Corpus.from_dataset(column)
    with pytest.raises(SettingsError, match="the dataset is 'conll2003', expected a split"):
        nersery.Corpus.from_dataset("conll2003")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=r"expected a DataFrame of pandas: frame\.to_pandas\(\)"):
        nersery.Corpus.from_pandas(datasets.Dataset.from_dict({"word": ["Ada"]}).data.table)  # of pyarrow


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_list_is_named_by_its_column(missing: Any) -> None:
    for name in ("words", "tags"):
        frame = pandas.DataFrame({"words": [["Ada"], ["Bo"]], "tags": [["O"], ["O"]]}, dtype=object)
        frame.at[1, name] = missing
        with pytest.raises(DataError, match=f'"{name}" is missing'):
            nersery.Corpus.from_pandas(frame)
        assert len(nersery.Corpus.from_pandas(frame, repair="drop-sentence")) == 1


def test_a_frame_of_texts_names_what_reads_texts() -> None:
    with pytest.raises(DataError, match=r"texts without labels are read by Corpus\.from_texts"):
        nersery.Corpus.from_pandas(pandas.DataFrame({"text": ["Ada is here"], "spans": [[]]}))


@pytest.mark.parametrize("recipe", [None, 3, {"data": {}}, ["demo"]])
def test_run_refuses_what_is_not_a_recipe(recipe: Any) -> None:
    with pytest.raises(SettingsError, match=r"^recipe is .*, expected a TOML file, or the name of a shipped recipe$"):
        nersery.run(recipe)


def test_a_method_without_dataclass_is_refused() -> None:
    class Plain(Augmenter):
        def generate(self, sentence: Sentence, rng: random.Random) -> Sentence:
            return sentence

    with pytest.raises(SettingsError, match="method Plain is not a dataclass, expected @dataclass above its class"):
        nersery.augment(GOLD, Plain)


def test_a_method_that_lacks_a_part_is_refused() -> None:
    @dataclass
    class Partial(Annotator):
        rate: float = 0.5

    with pytest.raises(SettingsError, match="annotate method Partial lacks annotate: write what Annotator leaves open"):
        nersery.annotate(GOLD, Partial)


def test_output_in_a_folder_that_was_removed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SettingsError, match="the current folder was removed"):
        nersery.write(GOLD, "o.jsonl")
    with pytest.raises(SettingsError, match="the current folder was removed"):
        nersery.augment(GOLD, "mention_replacement", output="o.jsonl")


def test_a_value_that_is_shortened_says_so() -> None:
    with pytest.raises(SettingsError, match=r"the corpus is Sentence\(.{51} …, expected sentences"):
        nersery.augment(GOLD[0], "mention_replacement")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GOLD[np.array([True, False])], "the position is array"),
        (lambda: GOLD[0].with_types(3), "the names of types are 3, expected"),
        (lambda: GOLD[0].mention(None), "the entity is None, expected an Entity"),
        (lambda: GOLD[0].generated("x", None), "origin is None, expected an Origin"),
    ],
)
def test_wrong_values_for_sentences_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(NerseryError, match=message):
        call()


def test_a_method_that_workers_cannot_import_is_refused(tmp_path: Path) -> None:
    @dataclass
    class Local(Augmenter):
        def generate(self, sentence: Sentence, rng: random.Random) -> Sentence:
            return sentence

    message = r"workers cannot be sent the method: .*at the top level of a module or script, or leave out `shards`$"
    with pytest.raises(SettingsError, match=message):
        nersery.augment(GOLD, Local, output=tmp_path / "a.jsonl", shards=10, quiet=True)


def test_from_pandas_reads_numbers_as_words() -> None:
    frame = pandas.DataFrame({"sentence": [1, 1], "word": [7, 8], "tag": ["O", "B-N"]})
    assert [(one.words, one.labels) for one in nersery.Corpus.from_pandas(frame)] == [(("7", "8"), ((1, 2, "N"),))]


CHOICES: dict[str, Callable[[Any], Any]] = {
    "backend": lambda value: nersery.predict(GOLD, "bundled-ner", backend=value),
    "pair_by": lambda value: nersery.align(GOLD, GOLD, pair_by=value),
    "protocol": lambda value: nersery.sample(GOLD, 5, value),
    "voting": lambda value: nersery.project(GOLD, GOLD, [[]] * len(GOLD), voting=value),
}


@pytest.mark.parametrize("name", CHOICES)
def test_refuses_an_unknown_choice(name: str) -> None:
    for value in (None, 5, ["a"], b"a"):
        with pytest.raises(SettingsError, match=rf"^{name} is {re.escape(repr(value))}, expected one of \w+, "):
            CHOICES[name](value)
    with pytest.raises(SettingsError, match=rf'^{name} is "nothing"; known: '):
        CHOICES[name]("nothing")


def test_an_unknown_backend_is_refused_for_every_tagger(tmp_path: Path) -> None:
    nersery.train(GOLD, "bilstm_crf", output=tmp_path / "tagger", epochs=1, quiet=True)
    with pytest.raises(SettingsError, match='backend is "onxx"; did you mean "onnx"'):
        nersery.predict(GOLD, tmp_path / "tagger", backend="onxx")


@pytest.mark.parametrize("value", [None, 5, ["a"]], ids=str)
def test_refuses_what_is_not_text(value: Any, tmp_path: Path) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "format": lambda: nersery.write(GOLD, tmp_path / "never", format=value),
        "model": lambda: nersery.grow("example:train.conll", model=value or 0, output=tmp_path),
        "models": lambda: nersery.run("demo", models=value or 0, output=tmp_path),
    }
    for name, call in calls.items():
        if name != "models" or value:
            with pytest.raises(SettingsError, match=f"{name} is .*, expected text"):
                call()
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("definitions", [5, ["PER"], "PER"], ids=str)
def test_definitions_are_a_dictionary(definitions: Any, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"definitions is .*, expected a text for each type"):
        nersery.grow("example:train.conll", definitions=definitions, output=tmp_path)


@pytest.mark.parametrize("also", [None, 5, ["a"], [(GOLD, [], 1)]], ids=["none", "number", "texts", "triples"])
def test_further_sources_are_pairs(also: Any) -> None:
    with pytest.raises(SettingsError, match=r"also (is|has) .*, expected a list of pairs"):
        nersery.project(GOLD, GOLD, [[]] * len(GOLD), also=also)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nersery.augment(GOLD, MELM(model=None)), "melm.model is None: expected a string"),
        (lambda: nersery.augment(GOLD, MELM(descriptions=5)), "descriptions is 5, expected a text for each type"),
        (lambda: nersery.annotate(GOLD, QaPrompting(types=5)), "types is 5, expected a list of types"),
        (lambda: nersery.annotate(GOLD, QaPrompting(types="PER")), "types is 'PER', expected a list of types"),
        (lambda: nersery.train(GOLD, BiLSTMCRF(vectors=5)), "bilstm_crf.vectors is 5: expected a string"),
        (lambda: nersery.align(GOLD, GOLD, Statistical(priors=5)), "statistical.priors is 5: expected a string"),
    ],
    ids=["model", "descriptions", "types", "string", "vectors", "priors"],
)
def test_refuses_method_settings_of_a_wrong_type(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        call()


@pytest.mark.parametrize("value", ["x", None, [], b"x"], ids=repr)
def test_settings_that_are_no_numbers_are_refused_in_our_words(value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"^duplicates.threshold is {re.escape(repr(value))}: expected a number$"):
        nersery.select(GOLD, "duplicates", threshold=value)
    with pytest.raises(
        SettingsError, match=rf"^certainty.passes is {re.escape(repr(value))}: expected a whole number$"
    ):
        nersery.select(GOLD, "certainty", GOLD, passes=value)


def test_methods_of_others_can_have_any_settings(tmp_path: Path) -> None:
    """This includes types unknown to pydantic, and classes that are not dataclasses."""

    class Plain(Augmenter):
        def generate(self, sentence: nersery.Sentence, rng: Any) -> nersery.Sentence:
            return sentence.replace_span(0, 1, ["x"])

    assert nersery.augment(GOLD, Plain()).tally.read == len(GOLD)
    (tmp_path / "stop.txt").write_text("the\n")
    path: Any = tmp_path / "stop.txt"
    assert nersery.augment(GOLD, LabelWiseTokenReplacement(stop_words=path)).tally.read == len(GOLD)


def test_refuses_none_as_training() -> None:
    with pytest.raises(SettingsError, match="training is None, expected a Training"):
        nersery.annotate(GOLD, "tagger_labels", GOLD, training=None)  # type: ignore[call-overload]
    with pytest.raises(SettingsError, match="training is None, expected a Training"):
        nersery.select(GOLD, "duplicates", GOLD, training=None)  # type: ignore[call-overload]


@pytest.mark.parametrize("option", ["force", "quiet"])
def test_options_of_a_training_are_true_or_false(option: str) -> None:
    with pytest.raises(SettingsError, match=f"{option} is 'no': expected true or false"):
        nersery.train(GOLD, "bilstm_crf", **{option: "no"})


def test_refuses_what_cannot_be_a_file_name(tmp_path: Path) -> None:
    calls: list[Callable[[str], Any]] = [
        nersery.read,
        lambda path: nersery.predict(path, "bundled-ner"),
        lambda path: nersery.align(path, GOLD),
        lambda path: nersery.project(GOLD, GOLD, path),
        lambda path: nersery.grow("example:train.conll", raw=path, output=tmp_path),
    ]
    for call in calls:
        with pytest.raises(SettingsError, match=r"is .* expected a name without null characters"):
            call("a\0b")
        with pytest.raises(SettingsError, match=r"is too long for the name of a file. .* Corpus.from_texts"):
            call("Ada lives in Oslo. " * 50)
    with pytest.raises(SettingsError, match="the name of an input is empty"):
        nersery.align("", GOLD)
    for call in (
        lambda: nersery.write(GOLD, ""),
        lambda: nersery.select(GOLD, "duplicates", output=""),
        lambda: nersery.train(GOLD, output=""),
    ):
        with pytest.raises(SettingsError, match="output is an empty string, perhaps because a variable"):
            call()


INTO_INPUTS: dict[str, Callable[[Path], Any]] = {
    "augment": lambda file: nersery.augment(file, "mention_replacement", output=file, force=True),
    "gold": lambda file: nersery.augment(GOLD, "mention_replacement", str(file), output=file, force=True),
    "annotate": lambda file: nersery.annotate(file, "tagger_labels", GOLD, output=file, force=True),
    "select": lambda file: nersery.select(file, "duplicates", output=file, force=True),
    "held_out": lambda file: nersery.select(GOLD, "duplicates", held_out=[file], output=file, force=True),
    "predict": lambda file: nersery.predict(file, "bundled-ner", output=file, force=True),
    "align": lambda file: nersery.align(file, GOLD, output=file, force=True),
    "project": lambda file: nersery.project(GOLD, file, [[]] * len(GOLD), output=file, force=True),
    "also": lambda file: nersery.project(
        GOLD, GOLD, [[]] * len(GOLD), also=[(file, [[]] * len(GOLD))], output=file, force=True
    ),
}


@pytest.mark.parametrize("call", INTO_INPUTS)
def test_no_input_is_overwritten(call: str, tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    nersery.write(GOLD, file)
    with pytest.raises(SettingsError, match=r"gold.jsonl is an input and would be overwritten. Choose another output"):
        INTO_INPUTS[call](file)
    assert nersery.read(file) == GOLD


@pytest.mark.parametrize(
    "call",
    [
        lambda: nersery.augment("mention_replacement", GOLD),  # type: ignore[arg-type, call-overload]
        lambda: nersery.augment(MELM(), GOLD),  # type: ignore[arg-type, call-overload]
        lambda: nersery.annotate("qa_prompting", "raw.txt"),
        lambda: nersery.annotate(QaPrompting, GOLD),  # type: ignore[arg-type, call-overload]
        lambda: nersery.select("duplicates", "more.jsonl", GOLD),
        lambda: nersery.train("bilstm_crf", GOLD),  # type: ignore[arg-type, call-overload]
        lambda: nersery.train(BiLSTMCRF(), GOLD),  # type: ignore[arg-type, call-overload]
    ],
)
def test_swapped_arguments_are_named(call: Callable[[], object]) -> None:
    with pytest.raises(SettingsError, match=r"the first two arguments are swapped: .* is a method, expected the sent"):
        call()


@pytest.mark.parametrize("tagger", ["my-tagger", BiLSTMCRF()])
def test_predict_names_a_tagger_in_place_of_the_sentences(tagger: Any) -> None:
    with pytest.raises(SettingsError, match=r"nersery\.predict takes the sentences first, then the tagger"):
        nersery.predict(tagger, GOLD)  # type: ignore[arg-type, call-overload]


def test_sentences_in_place_of_the_method_of_a_training_are_named(tmp_path: Path) -> None:
    nersery.write(GOLD, tmp_path / "dev.jsonl")
    for dev in (GOLD, [*GOLD], str(tmp_path / "dev.jsonl"), tmp_path / "dev.jsonl"):
        with pytest.raises(SettingsError, match="Give the sentences that choose the best weights as dev=…"):
            nersery.train(GOLD, dev)  # type: ignore[call-overload]


def test_a_tagger_names_texts_in_place_of_sentences() -> None:
    tagger = nersery.train(GOLD, "bilstm_crf", steps=1, quiet=True)
    with pytest.raises(
        SettingsError, match=r"item 1 of the input is 'Oslo', expected a Sentence\..*Corpus\.from_texts"
    ):
        tagger.predict(["Oslo"])  # type: ignore[list-item]
    assert len(tagger.predict(GOLD)) == len(GOLD)


def test_several_files_to_read_are_refused_with_the_way_to_join_them(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text("Oslo B-LOC\n", "utf-8")
    with pytest.raises(SettingsError, match=r"expected the name of a file or folder\. Name one file, or join several"):
        nersery.read([tmp_path / "a.conll"])  # type: ignore[arg-type]


def test_an_encoder_in_place_of_a_tagger_and_a_name_in_capitals_are_recognised() -> None:
    with pytest.raises(SettingsError, match="To name an encoder, use the setting model"):
        nersery.train(GOLD, "bert-base-cased")
    with pytest.raises(SettingsError, match='did you mean "melm"'):
        nersery.augment(GOLD, "MELM")


@pytest.mark.parametrize("overrides", ["tagger.steps=3", {"tagger.steps": 3}])
def test_overrides_that_are_no_list_are_refused_whole(overrides: Any) -> None:
    with pytest.raises(SettingsError, match=r"overrides is .*, expected a list such as \['tagger\.steps=100'"):
        nersery.run("demo", overrides=overrides)


def test_a_list_of_corpora_is_refused_with_the_way_to_join_them() -> None:
    with pytest.raises(SettingsError, match=r"item 1 of held_out is Corpus.*join several: one \+ other"):
        nersery.select(GOLD, "duplicates", GOLD, held_out=[GOLD, GOLD])  # type: ignore[list-item]


def test_predict_names_a_file_in_place_of_the_tagger(tmp_path: Path) -> None:
    nersery.write(GOLD, tmp_path / "gold.jsonl")
    with pytest.raises(SettingsError, match=r"If bundled-ner is the tagger, the first two arguments are swapped"):
        nersery.predict("bundled-ner", tmp_path / "gold.jsonl")
