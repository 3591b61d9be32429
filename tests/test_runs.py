from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence, io
from nersery.augment.shuffle_within_segments import ShuffleWithinSegments
from nersery.disk import locked
from nersery.errors import DataError, SettingsError
from nersery.evaluate.diversity import diversity
from nersery.evaluate.errors import find_errors
from nersery.loop import rejects_of
from nersery.recipe import load
from nersery.runs import Run
from nersery.select.duplicates import Duplicates
from nersery.tagger.transformer import TransformerTagger
from tests.forks import Server
from tests.standins import files, sentences, tiny, write_recipe

Trainings = list[tuple[int, int]]
PRODUCTS = [Sentence(("Rex", "is", "a", "phone", str(n)), (Entity(0, 1, "PROD"),)) for n in range(3)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: Trainings) -> Path:
    """Where the user is: data files, and a recipe with a quick tagger."""
    write_recipe(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def execute(*overrides: str, out: str = "run") -> dict[str, Any]:
    return Run(load("recipe.toml", overrides), Path(out), quiet=True).execute()


def arm(report: dict[str, Any], name: str) -> dict[str, Any]:
    return next(arm for arm in report["arms"] if arm["name"] == name)


def lines(path: str | Path) -> int:
    return Path(path).read_text("utf-8").count("\n") if Path(path).exists() else 0


def ids(source: str | Iterable[Sentence]) -> list[str]:
    """Of sentences, or of those in a file."""
    return [sentence.id for sentence in (io.read(source) if isinstance(source, str) else source)]


def trained_on(report: dict[str, Any]) -> list[int]:
    """How many sentences each arm was trained on, with the first seed."""
    return [described["train_sentences"][0] for described in report["arms"]]


def append_arm(text: str) -> None:
    with Path("recipe.toml").open("a", encoding="utf-8") as stream:
        stream.write(f"[[augment]]\n{text}\n")


@pytest.mark.usefixtures("folder")
class TestReport:
    def test_scores_against_the_predictions_in_the_folder(self):
        report = execute("seeds=[0, 3]")
        gold = {(s.id, *label) for s in io.read("test.conll") for label in s.labels}
        for described in report["arms"]:
            for seed, f1, precision in zip(
                (0, 3), described["f1"]["values"], described["precision"]["values"], strict=True
            ):
                predicted = io.read(f"run/seed-{seed}/{described['name']}/predicted.jsonl")
                found = {(s.id, *label) for s in predicted for label in s.labels}
                assert f1 == pytest.approx(2 * len(gold & found) / (len(gold) + len(found)))
                assert precision == pytest.approx(len(gold & found) / len(found))
            mean = sum(described["f1"]["values"]) / 2
            assert described["f1"]["mean"] == pytest.approx(mean)
            assert 0 < mean < 1
            if described["name"] != "gold":
                gain = mean - report["arms"][0]["f1"]["mean"]
                assert described["against_gold"]["difference"] == pytest.approx(gain)

    def test_counts_against_the_files(self):
        report = execute("seeds=[0, 3]")
        for name in ("both", "one"):
            described = arm(report, name)
            stages = [described["generation"], *described["selection"]]
            assert stages[0]["read"] == 2 * 2 * 16
            for stage in stages:
                assert stage["read"] == stage["written"] + stage["rejected"] > 0
                assert stage["rejected"] == sum(stage["reasons"].values())
            for before, after in pairwise(stages):
                assert before["written"] == after["read"]
            stems = ["generated", "1-duplicates", "2-agreement"][: len(stages)]
            for stem, stage in zip(stems, stages, strict=True):
                owner = "both" if stem == "generated" else name
                paths = [f"run/seed-{seed}/{owner}/{stem}.jsonl" for seed in (0, 3)]
                assert stage["written"] == sum(map(lines, paths))
                assert stage["rejected"] == sum(lines(f"{path}.rejects.jsonl") for path in paths)
            for seed, count in zip((0, 3), described["train_sentences"], strict=True):
                assert count == 16 + lines(f"run/seed-{seed}/{name}/{stems[-1]}.jsonl")
                assert count == len(io.read(f"run/seed-{seed}/{name}/train.jsonl"))

    def test_new_entities_against_the_files(self):
        append_arm('name = "parts"\nmethod = "label_wise_token_replacement"\nrate = 0.5')
        report = execute("seeds=[0, 3]")
        assert arm(report, "gold")["new_entities"] == arm(report, "one")["new_entities"] == [0, 0]
        for seed, number in zip((0, 3), arm(report, "parts")["new_entities"], strict=True):
            gold, train = (
                {(s.mention(entity), entity.type) for s in io.read(f"run/seed-{seed}/{path}") for entity in s.entities}
                for path in ("sample/train.jsonl", "parts/train.jsonl")
            )
            assert number == len(train - gold) > 0

    def test_diversity_is_that_of_the_kept_sentences_against_their_parents(self):
        append_arm('name = "parts"\nmethod = "label_wise_token_replacement"\nrate = 0.5')
        append_arm('name = "more"\nmethod = "mention_replacement"\non = "parts"')
        report = execute("seeds=[0, 3]")
        nothing = {"entity": None, "non_entity": None, "length": None}
        assert arm(report, "gold")["diversity"] == nothing
        for name in ("parts", "more"):
            expected = []
            for seed in (0, 3):
                train = io.read(f"run/seed-{seed}/{name}/train.jsonl")
                made = [s for s in train if s.origin]
                assert name == "parts" or any(train.by_id[s.origin.parents[0]].origin for s in made if s.origin)
                found = diversity(made, train)
                assert (found.sentences, found.orphans) == (len(made), 0)
                expected.append(found.as_dict())
            for measure, described in arm(report, name)["diversity"].items():
                assert described["values"] == [found[measure] for found in expected]
            assert arm(report, name)["diversity"]["entity"]["mean"] > 0
        assert arm(report, "parts")["diversity"]["length"]["mean"] == 0

    def test_errors_are_those_of_the_predictions(self):
        report = execute("seeds=[0, 3]")
        test = io.read("test.conll")
        for described in report["arms"]:
            name, counts = described["name"], described["errors"]["per_type"]
            found = [find_errors(test, io.read(f"run/seed-{seed}/{name}/predicted.jsonl")) for seed in (0, 3)]
            for type_, row in counts.items():
                assert row == {kind: sum(e.per_type.get(type_, {}).get(kind, 0) for e in found) for kind in row}
                assert sum(row.values()) - row["spurious"] == 2 * report["data"]["test"]["types"].get(type_, 0)
            assert described["errors"]["examples"] == found[0].as_dict(3)["examples"]
        assert any(described["errors"]["examples"] for described in report["arms"])

    def test_what_else_it_says(self):
        report = execute()
        assert report == json.loads(Path("run/report.json").read_text("utf-8"))
        assert [described["name"] for described in report["arms"]] == ["gold", "both", "one"]
        assert report["arms"][0]["train_sentences"] == [16]
        assert report["arms"][0]["against_gold"] is None
        assert report["data"]["train"]["sentences"] == 24
        assert report["data"]["test"]["types"] == {"LOC": 9, "PER": 6}
        assert report["notes"] == []
        assert {"run.json", "report.json", "report.md", "report.html", "seed-0"} == set(os.listdir("run"))
        for example in arm(report, "one")["examples"]:
            assert example["child"]["id"].startswith(example["parent"]["id"])

    def test_the_command_in_it_is_one_to_copy(self):
        report = execute("name=it's", "augment.one.copies=3", out="the run")
        command = "nersery run recipe.toml --out 'the run' --set 'name=it'\"'\"'s' --set augment.one.copies=3"
        assert report["command"] == command

    def test_arms_that_differ_in_their_selectors_share_what_is_generated(self):
        report = execute()
        assert arm(report, "both")["generation"] == arm(report, "one")["generation"]
        assert Path("run/seed-0/both/generated.jsonl").exists()
        assert not Path("run/seed-0/one/generated.jsonl").exists()

    def test_arms_that_differ_in_more_do_not(self):
        report = execute("augment.one.copies=3")
        assert arm(report, "one")["generation"]["read"] == 48
        assert lines("run/seed-0/one/generated.jsonl") > lines("run/seed-0/both/generated.jsonl")

    def test_gold_copies_are_trained_on_but_not_written(self, memory: Trainings):
        report = execute("augment.one.gold_copies=3")
        kept = lines("run/seed-0/one/1-duplicates.jsonl")
        assert arm(report, "one")["train_sentences"] == [3 * 16 + kept]
        assert (0, 3 * 16 + kept) in memory
        assert lines("run/seed-0/one/train.jsonl") == 16 + kept

    def test_the_baseline_is_there_without_any_arm(self):
        text = Path("recipe.toml").read_text().split("[[augment]]")[0]
        Path("recipe.toml").write_text(text)
        assert [described["name"] for described in execute()["arms"]] == ["gold"]

    def test_a_method_whose_sentences_are_all_rejected(self, capsys: pytest.CaptureFixture[str]):
        report = Run(load("recipe.toml", ["augment.one.rate=0.0"]), Path("run")).execute()
        assert "note: one, seed 0: nothing was kept" in capsys.readouterr().err
        assert report["notes"] == ["one: nothing was kept, so this is gold only (seed 0)"]
        assert arm(report, "one")["generation"]["written"] == 0
        assert files(Path("run/seed-0/one/tagger")) == files(Path("run/seed-0/gold/tagger"))
        assert Path("run/seed-0/one/train.jsonl").read_bytes() == Path("run/seed-0/gold/train.jsonl").read_bytes()
        assert arm(report, "one")["f1"] == arm(report, "gold")["f1"]

    def test_the_sample_is_written_down(self):
        execute("sample.dev_size=4")
        for split, size in (("train", 16), ("dev", 4)):
            ids = Path(f"run/seed-0/sample/{split}.ids.txt").read_text().splitlines()
            drawn = io.read(f"run/seed-0/sample/{split}.jsonl")
            assert ids == [sentence.id for sentence in drawn]
            assert len(ids) == size
            assert set(drawn) <= set(io.read(f"{split}.conll"))

    @pytest.mark.parametrize("ids", [["a/b", "..", "x" * 5000, "two\nlines", '"', "\u2028", "नमस्ते", " "]])
    def test_odd_ids(self, ids: list[str]):
        from dataclasses import replace

        made = [replace(s, id=id) for s, id in zip(sentences(24), [*ids, *map(str, range(16))], strict=True)]
        io.write(made, "train.jsonl")
        execute("data.train=train.jsonl", "sample.size=24")
        listed = Path("run/seed-0/sample/train.ids.txt").read_text("utf-8").split("\n")[:-1]
        assert [json.loads(id) if id.startswith('"') else id for id in listed] == [s.id for s in made]

    def test_types_in_any_script_and_names_of_any_kind(self):
        typed = [s.with_entities(Entity(e.start, e.end, "जगह का नाम") for e in s.entities) for s in sentences(24)]
        io.write(typed, "données\n🚀.jsonl")
        append_arm('name = "👩‍🔬 it\'s <b>"\nmethod = "shuffle_within_segments"')
        report = execute(*(f"data.{split}=données\n🚀.jsonl" for split in ("train", "dev", "test")))
        assert set(arm(report, "👩‍🔬 it's <b>")["per_type"]) == {"जगह का नाम"}
        assert "<b>" not in Path("run/report.html").read_text("utf-8").replace("&lt;b&gt;", "")


@pytest.mark.usefixtures("folder")
class TestAgain:
    def test_the_same_command_changes_nothing(self, memory: Trainings):
        execute()
        before, trained = files(Path("run")), list(memory)
        times = {path: path.stat().st_mtime_ns for path in Path("run/seed-0").rglob("*")}
        execute()
        assert files(Path("run")) == before
        assert memory == trained
        assert {path: path.stat().st_mtime_ns for path in Path("run/seed-0").rglob("*")} == times

    def test_a_new_seed_and_the_rest_stays(self, memory: Trainings):
        execute()
        before = files(Path("run/seed-0"))
        memory.clear()
        report = execute("seeds=[1, 0]")
        assert {seed for seed, _ in memory} == {1}
        assert files(Path("run/seed-0")) == before
        assert len(report["arms"][0]["f1"]["values"]) == 2
        execute("seeds=[0, 1]", out="both")
        assert files(Path("both/seed-1")) == files(Path("run/seed-1"))

    def test_a_new_arm_and_the_rest_stays(self, memory: Trainings):
        execute()
        before = files(Path("run/seed-0"))
        memory.clear()
        append_arm('method = "shuffle_within_segments"')
        report = execute("description=more")
        assert len(memory) == 1
        assert before.items() <= files(Path("run/seed-0")).items()
        assert [described["name"] for described in report["arms"]][3:] == ["shuffle_within_segments"]

    def test_other_words_about_it_and_other_ends(self, memory: Trainings):
        execute()
        memory.clear()
        report = execute("description=other", "evaluate.bootstrap_samples=200", "keep_taggers=false")
        assert report["arms"][1]["against_gold"]["samples"] == 200
        assert not memory
        assert not list(Path("run").rglob("tagger"))

    def test_a_moved_file_is_the_same_file(self, memory: Trainings):
        execute()
        memory.clear()
        os.rename("train.conll", "moved.conll")
        execute("data.train=moved.conll")
        assert not memory

    @pytest.mark.parametrize(
        ("overrides", "difference"),
        [
            (["tagger.longest=2"], "  recipe.tagger.settings.longest: there 9, asked for 2"),
            (["augment.one.copies=3"], "  recipe.arms.one.copies: there 2, asked for 3"),
            (["augment.both.rate=0.9"], "  recipe.arms.both.method.settings.rate: there 0.3, asked for 0.9"),
            (["sample.size=15"], "  recipe.sample.size: there 16, asked for 15"),
            (["seeds=[1]"], "  recipe.seeds: there [0], asked for [1]"),
            (["augment.one.name=two"], "asked for nothing"),
            (["name=other"], "  recipe.name: there 'small', asked for 'other'"),
        ],
    )
    def test_other_settings_are_refused_and_shown(self, overrides: list[str], difference: str):
        execute()
        before = files(Path("run"))
        with pytest.raises(SettingsError, match="holds a run with other settings") as caught:
            execute(*overrides)
        assert difference in str(caught.value)
        assert str(caught.value).count("\n") == 2
        assert files(Path("run")) == before

    def test_a_changed_file_is_refused(self):
        execute()
        io.write(sentences(25), "train.conll")
        with pytest.raises(SettingsError, match=r"inputs\.train: there '\w{64}', asked for '\w{64}'"):
            execute()

    def test_a_changed_file_that_a_setting_names_is_refused(self):
        Path("words.tsv").write_text("lives\tdwells\n")
        append_arm('method = "synonym_replacement"\ntable = "words.tsv"')
        execute()
        execute()
        Path("words.tsv").write_text("lives\tsits\n")
        with pytest.raises(SettingsError, match=r"settings\.table: there 'a file with the SHA-256 \w{64}', asked for"):
            execute()

    def test_files_that_settings_name_are_the_same_from_elsewhere(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, memory: Trainings
    ):
        Path("words.tsv").write_text("lives\tdwells\n")
        append_arm('method = "synonym_replacement"\ntable = "words.tsv"')
        execute()
        trained = list(memory)
        monkeypatch.chdir(folder.parent)
        Run(load(str(folder / "recipe.toml")), folder / "run", quiet=True).execute()
        assert memory == trained

    @pytest.mark.parametrize("content", ["", "x", "[]", "{}", '{"recipe": 3}'])
    def test_a_record_that_is_none(self, content: str):
        execute()
        Path("run/run.json").write_text(content)
        with pytest.raises(SettingsError, match=r"run\.json was not written by this version"):
            execute()

    def test_a_folder_of_something_else(self, memory: Trainings):
        Path("thesis").mkdir()
        Path("thesis/thesis.tex").write_text("precious")
        with pytest.raises(SettingsError, match="thesis is not empty and holds no run"):
            execute(out="thesis")
        with pytest.raises(SettingsError, match=r"thesis\.tex is a file"):
            execute(out="thesis/thesis.tex")
        assert files(Path("thesis")) == {"thesis.tex": b"precious"}
        assert not memory

    def test_an_empty_folder_and_a_folder_in_folders(self):
        Path("empty").mkdir()
        execute(out="empty")
        execute(out="a/b/c")

    def test_two_at_once(self):
        execute()
        with locked(Path("run")), pytest.raises(SettingsError, match="another process is writing run"):
            execute()


@pytest.mark.usefixtures("folder")
class TestWithoutTaggers:
    def test_none_is_left_and_the_results_are_the_same(self, memory: Trainings):
        kept = execute(out="kept")
        memory.clear()
        report = execute("keep_taggers=false")
        assert len(memory) == 3
        assert report["arms"] == kept["arms"]
        left = {name: content for name, content in files(Path("kept/seed-0")).items() if "/tagger/" not in name}
        assert files(Path("run/seed-0")) == left

    def test_a_new_arm_that_needs_the_baseline_s(self, memory: Trainings):
        execute("keep_taggers=false")
        memory.clear()
        append_arm('name = "new"\nmethod = "shuffle_within_segments"\nselect = ["agreement"]')
        execute("keep_taggers=false")
        assert memory[0] == (0, 16)
        assert len(memory) == 2
        assert not list(Path("run").rglob("tagger*"))


@pytest.mark.usefixtures("folder")
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
            ("test", PRODUCTS, "test.conll: test has the types PROD, train has LOC, PER: none of them"),
            ("train", sentences(15), "sample.size is 16, but train has 15 sentences"),
        ],
    )
    def test_files_that_cannot_be_used(self, memory: Trainings, split: str, made: list[Sentence], message: str):
        io.write(made, f"{split}.conll")
        with pytest.raises(DataError) as caught:
            execute()
        assert message in str(caught.value)
        assert not memory
        assert not Path("run").exists()

    @pytest.mark.parametrize(("size", "dev"), [(7, "dev.conll"), (1, "")])
    def test_a_dev_size_larger_than_dev(self, size: int, dev: str):
        with pytest.raises(DataError, match=f"sample.dev_size is {size}, but dev has {6 if dev else 0} sentences"):
            execute(f"sample.dev_size={size}", f"data.dev={dev}")

    def test_all_problems_of_all_files(self):
        Path("train.conll").write_text("Ada\tB-PER\nBo\tB_PER\n")
        Path("dev.conll").unlink()
        Path("test.conll").write_text("Ada\tB-PER\nx\n")
        with pytest.raises(DataError) as caught:
            execute()
        message = str(caught.value)
        assert message.startswith("3 problems:")
        for part in ("train.conll:2", "dev.conll: there is no such file", "test.conll:2"):
            assert part in message
        assert 'in a recipe these options stand in [data], e.g. --repair NAME as repair = ["NAME"]' in message

    def test_repairs_are_noted(self):
        Path("train.conll").write_text(Path("train.conll").read_text().replace("B-PER", "B_PER"))
        with pytest.raises(DataError, match="repair underscore"):
            execute()
        assert execute('data.repair=["underscore"]')["notes"] == ["train was repaired as asked: underscore 12"]

    def test_sentences_that_a_repair_rejects_are_noted(self):
        Path("dev.conll").write_text(Path("dev.conll").read_text() + "\nAda\tB_PER\n")
        notes = execute('data.repair=["drop-sentence"]')["notes"]
        assert "dev: 1 sentences were rejected by the repair drop-sentence" in notes

    def test_types_that_train_lacks(self):
        for split in ("dev", "test"):
            io.write([*sentences(6, 100), *PRODUCTS], f"{split}.conll")
        report = execute()
        for split in ("dev", "test"):
            expected = f"{split} has types that train lacks, so they count as missed: PROD (3 mentions)"
            assert expected in report["notes"]
        assert arm(report, "gold")["per_type"]["PROD"]["recall"]["mean"] == 0

    def test_sentences_of_test_that_stand_in_train(self):
        io.write([*sentences(2), *sentences(6, 200)], "test.conll")
        assert execute()["notes"] == ["2 of 8 test sentences also stand in train, word for word"]

    def test_without_dev(self):
        report = execute("data.dev=")
        assert set(report["data"]) == {"train", "test"}

    def test_a_pipe(self):
        os.mkfifo("pipe.conll")
        with pytest.raises(DataError, match=r"pipe\.conll: this is a pipe"):
            execute("data.train=pipe.conll")

    def test_sentences_that_the_method_made_already(self, memory: Trainings):
        execute()
        memory.clear()
        shutil.copy("run/seed-0/one/train.jsonl", "made.jsonl")
        with pytest.raises(DataError, match="was made by mention_replacement already"):
            execute("data.train=made.jsonl", out="second")
        assert not memory
        io.write(Corpus(io.read("made.jsonl")), "made.conll")
        execute("data.train=made.conll", out="second")


NAMES = {"PER": ["राम", "लता मंगेशकर", "किशोर कुमार"], "LOC": ["दिल्ली", "मुंबई", "नई दिल्ली"]}
TRAIN_BY_LANGUAGE = 'train = { hi = "hi/train.conll", en = "en/train.conll" }'


def hindi(count: int, start: int = 0) -> list[Sentence]:
    """Sentences with other mentions, of the same types."""

    def words(sentence: Sentence, entity: Entity) -> list[str]:
        names = NAMES[entity.type]
        return names[(len(sentence.words[-1]) + sum(map(ord, sentence.text)) + entity.start) % len(names)].split()

    return [
        sentence.replace_spans([(e.start, e.end, words(sentence, e)) for e in sentence.entities])
        for sentence in sentences(count, start)
    ]


@pytest.fixture
def languages(folder: Path) -> Path:
    """The folder with files in two languages, of the same names, and a recipe that has them."""
    for split, count, start in (("train", 24, 0), ("dev", 6, 100), ("test", 12, 200)):
        io.write(sentences(count, start), f"en/{split}.conll")
        io.write(hindi(count + 4, start), f"hi/{split}.conll")
    text = Path("recipe.toml").read_text("utf-8")
    for split in ("train", "dev", "test"):
        table = TRAIN_BY_LANGUAGE.replace("train", split)
        text = text.replace(f'{split} = "{split}.conll"', table)
    Path("recipe.toml").write_text(text, "utf-8")
    return folder


def of_language(path: str, language: str) -> list[Sentence]:
    return [sentence for sentence in io.read(path) if sentence.language == language]


@pytest.mark.usefixtures("languages")
class TestLanguages:
    def test_of_each_the_same_number_is_drawn(self, memory: Trainings):
        report = execute("sample.dev_size=4")
        for split, size in (("train", 16), ("dev", 4)):
            drawn = io.read(f"run/seed-0/sample/{split}.jsonl")
            listed = Path(f"run/seed-0/sample/{split}.ids.txt").read_text("utf-8").splitlines()
            assert listed == [sentence.id for sentence in drawn]
            for language in ("en", "hi"):
                own = of_language(f"run/seed-0/sample/{split}.jsonl", language)
                assert len(own) == size
                words = {sentence.id: sentence.words for sentence in io.read(f"{language}/{split}.conll")}
                assert all(words[s.id.removeprefix(f"{language}/")] == s.words for s in own)
        assert memory[0] == (0, 32)
        assert report["arms"][0]["train_sentences"] == [32]
        assert {sentence.language for sentence in io.read("run/seed-0/one/1-duplicates.jsonl")} == {"en", "hi"}

    def test_the_sample_of_one_does_not_depend_on_the_others(self):
        execute()
        execute('data.train={ en = "en/train.conll" }', out="alone")
        both = of_language("run/seed-0/sample/train.jsonl", "en")
        assert both == list(io.read("alone/seed-0/sample/train.jsonl"))
        numbers = {s.id.partition("/")[2] for s in of_language("run/seed-0/sample/train.jsonl", "hi")}
        assert numbers != {sentence.id.partition("/")[2] for sentence in both}

    def test_their_order_in_the_recipe_changes_nothing(self, memory: Trainings):
        execute()
        memory.clear()
        turned = 'train = { en = "en/train.conll", hi = "hi/train.conll" }'
        text = Path("recipe.toml").read_text("utf-8").replace(TRAIN_BY_LANGUAGE, turned)
        Path("recipe.toml").write_text(text, "utf-8")
        execute()
        assert not memory
        execute(out="turned")
        assert files(Path("turned/seed-0")) == files(Path("run/seed-0"))

    def test_scores_of_each_against_the_predictions_in_the_folder(self):
        report = execute("seeds=[0, 3]")
        gold = {f"{language}/{s.id}": s for language in ("en", "hi") for s in io.read(f"{language}/test.conll")}
        for described in report["arms"]:
            assert set(described["per_language"]) == {"en", "hi"}
            for language, figures in described["per_language"].items():
                true = {(id, *label) for id, s in gold.items() if id.startswith(language) for label in s.labels}
                assert figures["gold"] == len(true)
                for seed, f1 in zip((0, 3), figures["f1"]["values"], strict=True):
                    predicted = of_language(f"run/seed-{seed}/{described['name']}/predicted.jsonl", language)
                    found = {(s.id, *label) for s in predicted for label in s.labels}
                    assert f1 == pytest.approx(2 * len(true & found) / (len(true) + len(found)))
                    stored = json.loads(Path(f"run/seed-{seed}/{described['name']}/result.json").read_text())
                    assert stored["scores"]["per_language"][language]["f1"] == f1
        scores = [arm(report, "gold")["per_language"][language]["f1"]["mean"] for language in ("en", "hi")]
        assert scores[0] != scores[1]
        assert "## F1 by language" in Path("run/report.md").read_text("utf-8")
        assert "By language" in Path("run/report.html").read_text("utf-8")

    def test_the_report_tells_the_files_of_each(self):
        train = execute()["data"]["train"]
        assert train["sentences"] == 24 + 28
        assert {language: own["sentences"] for language, own in train["languages"].items()} == {"en": 24, "hi": 28}
        assert train["languages"]["hi"]["path"] == "hi/train.conll"
        assert "path" not in train
        for name in ("run/report.md", "run/report.html"):
            text = Path(name).read_text("utf-8")
            assert "train (hi, 28 sentences)" in text
            assert train["languages"]["hi"]["sha256"] in text
            assert "Of train a sample of 16 sentences of each language was used" in text

    def test_in_one_file_they_are_drawn_together_and_scored_apart(self):
        for split, count in (("train", 24), ("test", 12)):
            made = [*sentences(count), *hindi(count)]
            named = [dataclasses.replace(s, language="en" if n < count else "hi") for n, s in enumerate(made)]
            io.write(Corpus(named), f"{split}.jsonl")
        report = execute("data.train=train.jsonl", "data.test=test.jsonl", "data.dev=")
        assert report["arms"][0]["train_sentences"] == [16]
        assert set(report["arms"][0]["per_language"]) == {"en", "hi"}
        assert report["data"]["train"]["path"].endswith("train.jsonl")
        assert "of each language was used" not in Path("run/report.md").read_text("utf-8")

    def test_of_a_single_one_there_is_no_score_apart(self):
        report = execute('data.test={ en = "en/test.conll" }')
        assert all(described["per_language"] == {} for described in report["arms"])
        assert "per_language" not in json.loads(Path("run/seed-0/gold/result.json").read_text())["scores"]
        assert "language" not in Path("run/report.md").read_text("utf-8").split("## Data")[0]

    def test_one_for_testing_alone(self):
        report = execute('data.train={ en = "en/train.conll" }', 'data.dev={ en = "en/dev.conll" }')
        assert set(arm(report, "gold")["per_language"]) == {"en", "hi"}

    def test_a_moved_file_is_the_same_and_a_changed_one_is_refused(self, memory: Trainings):
        execute()
        memory.clear()
        os.rename("hi/train.conll", "हिंदी.conll")
        execute("data.train.hi=हिंदी.conll")
        assert not memory
        io.write(hindi(29), "हिंदी.conll")
        with pytest.raises(SettingsError, match=r"\n  inputs\.train\.hi: there '\w{64}', asked for '\w{64}'\nChoose"):
            execute("data.train.hi=हिंदी.conll")

    def test_another_language_of_a_file_is_another_run(self):
        execute()
        with pytest.raises(SettingsError, match=r"inputs\.train\.mr: there nothing"):
            execute('data.train={ en = "en/train.conll", mr = "hi/train.conll" }')
        with pytest.raises(SettingsError, match=r"inputs\.train: there \{"):
            execute("data.train=en/train.conll")

    @pytest.mark.parametrize(
        ("split", "made", "message"),
        [
            ("train", [], "hi/train.conll: the train (hi) file has no sentence"),
            ("dev", [], "hi/dev.conll: the dev (hi) file has no sentence"),
            ("train", sentences(1, 3), "hi/train.conll: no sentence of the train (hi) file has an entity"),
            ("test", PRODUCTS, "hi/test.conll: test (hi) has the types PROD, train has LOC, PER: none of them"),
            ("train", hindi(15), "sample.size is 16, but train (hi) has 15 sentences"),
        ],
    )
    def test_files_that_cannot_be_used(self, split: str, made: list[Sentence], message: str):
        io.write(made, f"hi/{split}.conll")
        with pytest.raises(DataError) as caught:
            execute()
        assert message in str(caught.value)
        assert not Path("run").exists()

    def test_all_problems_of_all_files(self):
        Path("en/train.conll").write_text("Ada\tB-PER\nBo\tB_PER\n")
        Path("hi/train.conll").unlink()
        Path("hi/test.conll").write_text("Ada\tB-PER\nx\n")
        with pytest.raises(DataError) as caught:
            execute()
        message = str(caught.value)
        assert message.startswith("3 problems:")
        for part in ("en/train.conll:2", "hi/train.conll: there is no such file", "hi/test.conll:2"):
            assert part in message

    def test_notes_name_the_language(self):
        text = Path("hi/train.conll").read_text("utf-8").replace("B-PER", "B_PER")
        Path("hi/train.conll").write_text(text, "utf-8")
        io.write([*hindi(2), *hindi(6, 200), *PRODUCTS], "hi/test.conll")
        notes = execute('data.repair=["underscore"]')["notes"]
        assert any(note.startswith("train (hi) was repaired as asked: underscore") for note in notes)
        assert "test (hi) has types that train lacks, so they count as missed: PROD (3 mentions)" in notes
        assert "2 of 11 test (hi) sentences also stand in train, word for word" in notes

    def test_a_sentence_of_another_language(self):
        named = [dataclasses.replace(s, language=language) for s, language in zip(hindi(2), ["", "mr"], strict=True)]
        io.write(Corpus([*hindi(20, 50), *named]), "hi.jsonl")
        with pytest.raises(DataError) as caught:
            execute("data.train.hi=hi.jsonl")
        expected = "hi.jsonl (sentence 22): 1 of 22 sentences are in another language than hi, this one in mr"
        assert expected in str(caught.value)
        assert "give each language a file of its own" in str(caught.value)

    def test_sentences_that_were_generated_before_keep_their_parents(self, memory: Trainings):
        execute()
        made = of_language("run/seed-0/one/train.jsonl", "hi")
        io.write(made, "made.jsonl")
        with pytest.raises(DataError, match=r"made\.jsonl: 'hi/hi/.* was made by mention_replacement already"):
            execute("data.train.hi=made.jsonl", out="second")
        text = Path("recipe.toml").read_text("utf-8").replace("mention_replacement", "shuffle_within_segments")
        Path("recipe.toml").write_text(text, "utf-8")
        run = Run(load("recipe.toml", ["data.train.hi=made.jsonl"]), Path("second"), quiet=True)
        run.read_corpora()
        parents = {parent for s in run.corpora["train"] if s.origin for parent in s.origin.parents}
        assert parents
        assert parents <= set(run.corpora["train"].by_id)

    def test_a_protocol_that_cannot_draw_so_few_names_the_language(self):
        io.write([*sentences(24), *PRODUCTS], "en/train.conll")
        with pytest.raises(SettingsError, match="en: a sample of 1 cannot hold a mention of each of 3 types"):
            execute("sample.size=1", "sample.protocol=every_type")

    def test_the_shipped_recipe_asks_for_files(self):
        with pytest.raises(DataError, match="6 problems") as caught:
            Run(load("code_mixing"), Path("run"), quiet=True).execute()
        assert str(caught.value).endswith(
            "nersery copy code_mixing my-recipe.toml, then put your own files into its [data]"
        )

    def test_the_shipped_recipe_runs(self, tiny_model: str, tiny_masked_lm: str, memory: Trainings):
        splits = [
            f"data.{split}.{lang}={lang}/{split}.conll" for split in ("train", "dev", "test") for lang in ("en", "hi")
        ]
        overrides = [
            *splits,
            *(f"augment.{name}.model={tiny_masked_lm}" for name in ("melm", "melm on code_mixing ess")),
            *(f"augment.{name}.epochs=1" for name in ("melm", "melm on code_mixing ess")),
            f"augment.code_mixing ess.model={tiny_model}",
            'tagger={ method = "memory" }',
            "seeds=[0]",
            "sample.size=16",
            "sample.dev_size=4",
            "evaluate.bootstrap_samples=100",
            'select=["duplicates"]',
        ]
        report = Run(load("code_mixing", overrides), Path("run"), quiet=True).execute()
        names = ["gold", "code_mixing random", "code_mixing ess", "melm", "melm on code_mixing ess"]
        assert [described["name"] for described in report["arms"]] == names
        assert report["notes"] == []
        gold, _, mixed, melm_gold, both = (described["train_sentences"][0] for described in report["arms"])
        assert gold == 32
        assert arm(report, names[4])["generation"]["read"] == 3 * mixed
        assert both > mixed > gold < melm_gold
        english = of_language("run/seed-0/code_mixing ess/1-duplicates.jsonl", "en")
        mentions = {" ".join(s.mention(entity)) for s in english for entity in s.entities}
        assert mentions <= {name for names in NAMES.values() for name in names}


class KilledError(BaseException):
    """What the kill of a process looks like to the code in it."""


@contextlib.contextmanager
def killing(at: int) -> Iterator[Callable[[], int]]:
    """Kill before the so-manieth move of a file, or amid the removal of a folder; counts both."""
    count = 0

    def watched(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *rest: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count != at:
                return original(path, *rest, **options)
            if original is shutil.rmtree:
                next((file for file in Path(path).rglob("*") if file.is_file()), Path("none")).unlink(missing_ok=True)
            raise KilledError

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", watched(os.replace))
        patch.setattr(shutil, "rmtree", watched(shutil.rmtree))
        yield lambda: count


def test_a_kill_at_any_move_of_a_file_leaves_no_trace(folder: Path, monkeypatch: pytest.MonkeyPatch):
    text = Path("recipe.toml").read_text()
    Path("recipe.toml").write_text(text[: text.rindex("[[augment]]")])
    monkeypatch.setattr("nersery.runs.write_report", lambda report, folder: None)  # it takes half of the time
    overrides = ("keep_taggers=false", "sample.dev_size=4")
    with killing(0) as moves:
        execute(*overrides)
    expected = files(Path("run"))
    assert moves() > 30
    for at in range(1, moves() + 1):
        shutil.rmtree("run")
        with pytest.raises(KilledError), killing(at):
            execute(*overrides)
        execute(*overrides)
        assert files(Path("run")) == expected, f"killed at move {at}"


@pytest.mark.usefixtures("folder")
class TestOn:
    """Arms that go on from another arm."""

    @pytest.fixture(autouse=True)
    def _arms(self, folder: Path) -> None:
        """The arm "more" goes on from "one"."""
        append_arm('name = "more"\non = "one"\nmethod = "shuffle_within_segments"\ncopies = 2')

    def test_what_the_other_kept_is_to_it_as_gold(self, memory: Trainings, monkeypatch: pytest.MonkeyPatch):
        learned: list[list[str]] = []
        compared: list[list[str]] = []
        monkeypatch.setattr(ShuffleWithinSegments, "fit", lambda _, gold, training: learned.append(ids(gold)))
        original = Duplicates.fit

        def fit(selector: Duplicates, gold: Any, **known: Any) -> None:
            compared.append(ids(gold))
            original(selector, gold, **known)

        monkeypatch.setattr(Duplicates, "fit", fit)
        report = execute('augment.more.select=["duplicates", "agreement"]', "augment.more.gold_copies=2")
        gold, kept = ids("run/seed-0/sample/train.jsonl"), ids("run/seed-0/one/1-duplicates.jsonl")
        assert kept
        assert learned == [[*gold, *kept]]
        assert compared == [gold, gold, [*gold, *kept]]
        path = Path("run/seed-0/more/generated.jsonl")
        made = [*io.read(path), *(reject.sentence for reject in io.read_rejects(rejects_of(path)) if reject.sentence)]
        assert {s.origin.parents[0] for s in made if s.origin} == {*gold, *kept}
        assert arm(report, "more")["generation"]["read"] == 2 * (16 + len(kept)) == len(made)
        own = ids("run/seed-0/more/2-agreement.jsonl")
        assert own
        assert ids("run/seed-0/more/train.jsonl") == [*gold, *kept, *own]
        assert len({*gold, *kept, *own}) == len(gold) + len(kept) + len(own)
        assert arm(report, "more")["train_sentences"] == [2 * 16 + len(kept) + len(own)]
        assert memory == [(0, 16), *[(0, n) for n in trained_on(report)[1:]]]

    def test_what_the_report_says_of_it(self):
        append_arm('name = "most"\non = "more"\nmethod = "label_wise_token_replacement"')
        report = execute()
        assert "on" not in arm(report, "one")["settings"]
        assert [arm(report, name)["settings"]["on"] for name in ("more", "most")] == ["one", "more"]
        parents = [example["parent"]["id"] for example in arm(report, "most")["examples"]]
        assert any("shuffle" in id for id in parents)
        assert any("mention_replacement-1~shuffle" in id for id in ids("run/seed-0/most/train.jsonl"))
        assert report["notes"] == []

    def test_arms_that_go_on_from_the_same_share_what_is_generated(self):
        twin = '\nmethod = "shuffle_within_segments"\ncopies = 2\nselect = ["duplicates"]'
        append_arm(f'name = "same"\non = "one"{twin}')
        append_arm(f'name = "other"\non = "both"{twin}')
        append_arm(f'name = "gold only"{twin}')
        report = execute()
        made = {
            name
            for name in ("more", "same", "other", "gold only")
            if Path(f"run/seed-0/{name}/generated.jsonl").exists()
        }
        assert made == {"more", "other", "gold only"}
        assert arm(report, "same")["generation"] == arm(report, "more")["generation"]
        assert arm(report, "gold only")["generation"]["read"] == 32
        assert arm(report, "other")["generation"]["read"] == 2 * trained_on(report)[1]

    def test_one_that_keeps_nothing_of_its_own(self, capsys: pytest.CaptureFixture[str]):
        append_arm('name = "idle"\non = "more"\nmethod = "label_wise_token_replacement"\nrate = 0.0')
        report = Run(load("recipe.toml", ["augment.idle.gold_copies=2"]), Path("run")).execute()
        assert "note: idle, seed 0: nothing was kept, so this is more" in capsys.readouterr().err
        assert report["notes"] == ["idle: nothing was kept, so this is more (seed 0)"]
        assert trained_on(report)[-1] == trained_on(report)[-2] + 16

    def test_one_whose_other_keeps_nothing(self):
        report = execute("augment.one.rate=0.0", "augment.both.rate=0.0")
        assert report["notes"] == [
            f"{name}: nothing was kept, so this is gold only (seed 0)" for name in ("both", "one")
        ]
        assert trained_on(report)[3] > 16

    def test_a_new_one_later_and_the_rest_stays(self, memory: Trainings):
        append_arm('name = "most"\non = "more"\nmethod = "label_wise_token_replacement"')
        execute(out="whole")
        text = Path("recipe.toml").read_text("utf-8")
        Path("recipe.toml").write_text(text[: text.rindex("[[augment]]")], "utf-8")
        execute()
        memory.clear()
        Path("recipe.toml").write_text(text, "utf-8")
        report = execute()
        assert [count for _, count in memory] == [trained_on(report)[4]]
        assert files(Path("run/seed-0")) == files(Path("whole/seed-0"))

    def test_going_on_from_another_is_another_run(self):
        execute()
        with pytest.raises(SettingsError, match=r"  recipe\.arms\.more\.on: there 'one', asked for 'both'"):
            execute("augment.more.on=both")

    def test_a_kill_at_any_move_of_a_file_leaves_no_trace(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("nersery.runs.write_report", lambda report, folder: None)
        overrides = ['augment.more.select=["duplicates"]']
        execute(*overrides)
        expected = files(Path("run"))
        shutil.rmtree("run/seed-0/more")
        shutil.copytree("run", "begun")
        with killing(0) as moves:
            execute(*overrides)
        assert files(Path("run")) == expected
        assert moves() > 8
        for at in range(1, moves() + 1):
            shutil.rmtree("run")
            shutil.copytree("begun", "run")
            with pytest.raises(KilledError), killing(at):
                execute(*overrides)
            execute(*overrides)
            assert files(Path("run")) == expected, f"killed at move {at}"


class TestProcesses:
    """The same with real processes and a real model."""

    @pytest.fixture(scope="class")
    def finished(self, tmp_path_factory: pytest.TempPathFactory, tiny_model: str, server: Server) -> Path:
        """A folder with a run that nothing has disturbed."""
        folder = tmp_path_factory.mktemp("finished")
        write_recipe(folder, tiny(tiny_model))
        code, out, err = server.run("run", "recipe.toml", "--out", "run", cwd=folder)
        assert code == 0, err
        assert out.startswith("gold ")
        return folder

    @pytest.fixture
    def started(self, finished: Path, tmp_path: Path) -> Path:
        """A folder of which the same run may start."""
        shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
        shutil.rmtree(tmp_path / "run")
        return tmp_path

    def test_weights_and_all_are_there(self, finished: Path):
        tagger = files(finished / "run" / "seed-0" / "one" / "tagger")
        assert {"model.safetensors", "crf.safetensors", "config.json", "tokenizer.json", "nersery.json"} <= set(tagger)
        report = json.loads((finished / "run" / "report.json").read_text("utf-8"))
        assert report["arms"][0]["training"][0]["steps"] == 4

    def test_killed_at_several_moments_it_ends_with_the_same_bytes(self, finished: Path, started: Path, server: Server):
        chance = random.Random(5)
        moments = [
            "run.json",
            "seed-0/gold/tagger.part",
            "seed-0/gold/tagger",
            "seed-0/both/1-duplicates.jsonl.part",
            "seed-0/both/2-agreement.jsonl",
            "seed-0/both/tagger.part/model.safetensors",
            "seed-0/one/train.jsonl",
            "seed-0/one/predicted.jsonl.part",
            "report.json",
        ]
        codes = []
        for moment in moments:
            process = server.start("run", "recipe.toml", "--out", "run", "-q", cwd=started)
            process.kill_when_there_is(started / "run" / moment, delay=chance.uniform(0, 0.02))
            codes.append(process.wait())
        assert codes.count(-signal.SIGKILL) > 5
        assert set(codes) <= {0, -signal.SIGKILL}
        code, _, err = server.run("run", "recipe.toml", "--out", "run", "-q", cwd=started)
        assert code == 0, err
        assert files(started / "run") == files(finished / "run")

    def test_killed_amid_a_training_it_goes_on_from_there(
        self, tmp_path: Path, tiny_model: str, server: Server, monkeypatch: pytest.MonkeyPatch
    ):
        recipe = write_recipe(tmp_path, tiny(tiny_model, steps=100))
        recipe.write_text(recipe.read_text().split("[[augment]]")[0])
        command = ["run", "recipe.toml", "-q", "--out"]
        assert server.run(*command, "whole", cwd=tmp_path)[0] == 0
        process = server.start(*command, "run", cwd=tmp_path)
        state = tmp_path / "run/seed-0/gold/tagger.training/state.json"
        process.kill_when_there_is(state)
        assert process.wait() == -signal.SIGKILL
        done = json.loads(state.read_text())["facts"]["step"]
        taken = []
        original = TransformerTagger._loss
        monkeypatch.setattr(TransformerTagger, "_loss", lambda *args: (taken.append(1), original(*args))[1])
        monkeypatch.chdir(tmp_path)
        report = execute()
        assert 0 < len(taken) == 100 - done < 100
        assert report["arms"] == json.loads(Path("whole/report.json").read_text())["arms"]
        assert files(Path("run/seed-0")) == files(Path("whole/seed-0"))

    def test_interrupted_it_says_so_and_goes_on(self, finished: Path, started: Path, server: Server):
        process = server.start("run", "recipe.toml", "--out", "run", "-q", cwd=started)
        process.kill_when_there_is(started / "run" / "seed-0" / "gold" / "tagger", signal.SIGINT)
        assert process.wait() == 130
        expected = "error: interrupted. What is finished is kept: the same command goes on from there\n"
        assert process.err.endswith(expected)
        assert "Traceback" not in process.err
        assert process.out == ""
        assert server.run("run", "recipe.toml", "--out", "run", cwd=started)[0] == 0
        assert files(started / "run") == files(finished / "run")

    @pytest.mark.parametrize("largest_file", [600, 4_000, 120_000])
    def test_on_a_full_disk_it_says_so_and_goes_on(
        self, finished: Path, started: Path, server: Server, largest_file: int
    ):
        command = ["run", "recipe.toml", "--out", "run", "-q"]
        code, out, err = server.run(*command, cwd=started, largest_file=largest_file)
        assert (code, out) == (5, "")
        assert err.splitlines()[-1].startswith("error: no space left to write")
        assert "Traceback" not in err
        assert server.run(*command, cwd=started)[0] == 0
        assert files(started / "run") == files(finished / "run")
