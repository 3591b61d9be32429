"""Input files that are refused, noted or unusual."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from nersery import Corpus, Entity, Sentence, io
from nersery.core.errors import DataError
from nersery.experiments.recipe import load
from nersery.experiments.run_state.inputs import read_inputs
from tests.experiments.run_helpers import PRODUCTS, Trainings, execute, system
from tests.standins import sentences


@pytest.mark.usefixtures("folder", "without_pages")
class TestInputs:
    @pytest.mark.parametrize(
        ("split", "made", "message"),
        [
            ("train", [], "train.conll: the train file has no sentence"),
            ("dev", [], "dev.conll: the dev file has no sentence"),
            ("test", [], "test.conll: the test file has no sentence"),
            ("train", sentences(1, 3), "train.conll: no sentence of the train file has an entity"),
            ("dev", sentences(1, 3), "dev.conll: no sentence of the dev file has an entity"),
            ("test", sentences(1, 3), "test.conll: no sentence of the test file has an entity"),
            ("test", PRODUCTS, "test.conll: test has the types PROD, train has LOC, PER: no common type"),
            ("train", sentences(15), "sample.size is 16, but train has 15 sentences"),
        ],
    )
    def test_refuses_unusable_files(self, memory: Trainings, split: str, made: list[Sentence], message: str):
        io.write(made, f"{split}.conll")
        with pytest.raises(DataError) as caught:
            execute()
        assert message in str(caught.value)
        assert not memory
        assert not Path("run").exists()

    @pytest.mark.parametrize(("size", "dev"), [(7, "dev.conll"), (1, "")])
    def test_refuses_a_dev_size_larger_than_dev(self, size: int, dev: str):
        with pytest.raises(DataError, match=f"sample.dev_size is {size}, but dev has {6 if dev else 0} sentences"):
            execute(f"sample.dev_size={size}", f"data.dev={dev}")

    @pytest.mark.parametrize(
        ("systems", "users"),
        [
            ('method = "qa_prompting"', "qa_prompting"),
            ('method = "qa_prompting"\n[[systems]]\nbase = "qa_prompting"\nmethod = "eda"', "qa_prompting, eda"),
            ('method = "qa_prompting"\nmodel = "deepset/roberta-base-squad2"', ""),
            ('method = "eda"', ""),
        ],
    )  # fmt: skip
    def test_notes_test_sentences_that_bundled_models_were_trained_on(self, systems: str, users: str):
        known = Sentence(tuple("Frederick H. Collier was the first colonel .".split()), (Entity(0, 3, "PER"),), id="w")
        io.write([*sentences(6), known], "test.conll")
        Path("raw.txt").write_text("Ada went to Oslo by train\n", "utf-8")
        text = (
            Path("recipe.toml").read_text("utf-8").split("[[systems]]")[0].replace("[data]", '[data]\nraw = "raw.txt"')
        )
        Path("recipe.toml").write_text(f"{text}[[systems]]\n{systems}\n", "utf-8")
        notes = [note for note in read_inputs(load("recipe.toml"), print)[1] if "bundled models" in note]
        assert notes == (
            [
                "1 of 7 test sentences are from Wikigold, Broad Twitter Corpus or AnEM, on which bundled models were "
                f"trained: the scores of {users} may be too high"
            ]
            if users
            else []
        )

    @pytest.mark.parametrize(
        ("word", "model"), [("ལྷ་ས་", "bundled-multilingual"), ("Осло", "bundled"), ("Oslo", "bundled")]
    )
    def test_notes_a_script_that_the_encoder_does_not_cover(self, word: str, model: str):
        labelled = [Sentence((word, word, str(n)), (Entity(0, 1, "LOC"),), id=str(n)) for n in range(20)]
        io.write(labelled, "train.conll")
        _, notes = read_inputs(load("recipe.toml", ["tagger.method=transformer", f"tagger.model={model}"]), print)
        found = [note for note in notes if note.startswith(f"train: {model} knows no word in the ")]
        assert len(found) == (word != "Oslo")

    def test_reports_all_issues_of_all_files(self):
        Path("train.conll").write_text("Ada\tB-PER\nBo\tB_PER\n")
        Path("dev.conll").unlink()
        Path("test.conll").write_text("Ada\tB-PER\nx\n")
        with pytest.raises(DataError) as caught:
            execute()
        message = str(caught.value)
        assert message.startswith("3 issues:")
        for part in ("train.conll:2", "dev.conll: there is no such file", "test.conll:2"):
            assert part in message
        assert 'in a recipe, set them in [data], e.g. repair = ["NAME"]' in message

    def test_repairs_are_noted(self):
        Path("train.conll").write_text(Path("train.conll").read_text().replace("B-PER", "B_PER"))
        with pytest.raises(DataError, match='repair="underscore"'):
            execute()
        assert execute('data.repair=["underscore"]')["notes"] == ["train was repaired as requested: underscore 12"]

    def test_sentences_that_a_repair_rejects_are_noted(self):
        Path("dev.conll").write_text(Path("dev.conll").read_text() + "\nAda\tB_PER\n")
        notes = execute('data.repair=["drop-sentence"]')["notes"]
        assert "dev: 1 sentence rejected by the repair drop-sentence" in notes

    def test_notes_types_that_train_lacks(self):
        for split in ("dev", "test"):
            io.write([*sentences(6, 100), *PRODUCTS], f"{split}.conll")
        report = execute()
        for split in ("dev", "test"):
            missed = "so all their mentions count as missed: PROD (3 mentions)"
            expected = f"{split} has types that do not occur in train, {missed}"
            assert expected in report["notes"]
        assert system(report, "gold")["per_type"]["PROD"]["recall"]["mean"] == 0

    def test_notes_test_sentences_that_occur_in_train(self):
        io.write([*sentences(2), *sentences(6, 200)], "test.conll")
        assert execute()["notes"] == ["2 of 8 test sentences also occur in train, word for word"]

    def test_notes_dev_sentences_that_occur_in_test(self):
        io.write([*sentences(2, 200), *sentences(6, 100)], "dev.conll")
        expected = (
            "2 of 8 dev sentences also occur in test, word for word: "
            "the best weights are chosen on them, so F1 on test will be too high"
        )
        assert execute()["notes"] == [expected]

    def test_runs_without_dev(self):
        report = execute("data.dev=")
        assert set(report["data"]) == {"train", "test"}

    def test_raw_text_may_have_any_extension(self):
        Path("raw.de").write_text("Ada schrieb .\nBo kam .\n")
        text = Path("recipe.toml").read_text("utf-8").replace("[data]", '[data]\nraw = "raw.de"')
        Path("with-raw.toml").write_text(text, "utf-8")
        raw = read_inputs(load("with-raw.toml"), print)[0]["raw"]
        assert [sentence.words[0] for sentence in raw] == ["Ada", "Bo"]
        with pytest.raises(DataError, match=r'extension "\.de"'):
            execute("data.dev=raw.de")

    def test_refuses_a_pipe(self):
        os.mkfifo("pipe.conll")
        with pytest.raises(DataError, match=r"pipe\.conll: this is a pipe"):
            execute("data.train=pipe.conll")

    def test_refuses_sentences_that_the_method_already_generated(self, memory: Trainings):
        execute()
        memory.clear()
        shutil.copy("run/seed-0/one/train.jsonl", "made.jsonl")
        with pytest.raises(DataError, match="was made by mention_replacement"):
            execute("data.train=made.jsonl", out="second")
        assert not memory
        io.write(Corpus(io.read("made.jsonl")), "made.conll")
        execute("data.train=made.conll", out="second")


@pytest.mark.usefixtures("folder")
def test_notes_a_dev_file_larger_than_the_sample() -> None:
    assert any(
        "dev keeps all its 6 sentences, but train is a sample of 2" in note
        for note in execute("sample.size=2")["notes"]
    )
    report = execute("sample.size=2", "sample.dev_size=6", out="wanted")
    assert not any("keeps all" in note for note in report["notes"])
