"""The report of a run, compared with its files."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nersery import Entity, io
from nersery.core.system.files import content_hash
from nersery.evaluate.diversity import diversity
from nersery.evaluate.error_analysis import find_errors
from nersery.experiments.recipe import load
from nersery.experiments.runner import Run
from tests.experiments.run_helpers import Trainings, append_system, execute, lines, system
from tests.standins import Memory, files, sentences


@pytest.mark.usefixtures("folder")
class TestReport:
    def test_scores_match_the_written_predictions(self):
        report = execute("seeds=[0, 3]")
        gold = {(s.id, *label) for s in io.read("test.conll") for label in s.labels}
        for described in report["systems"]:
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
                gain = mean - report["systems"][0]["f1"]["mean"]
                assert described["against_gold"]["difference"] == pytest.approx(gain)

    def test_hashes_are_those_of_the_files_as_read(self, monkeypatch: pytest.MonkeyPatch):
        expected = {split: content_hash(f"{split}.conll") for split in ("train", "dev", "test")}
        predict = Memory.predict

        def predict_late(*args: Any, **options: Any) -> Any:
            io.write(sentences(3), "test.conll")
            return predict(*args, **options)

        monkeypatch.setattr(Memory, "predict", predict_late)
        data = execute()["data"]
        assert {split: of["sha256"] for split, of in data.items()} == expected

    def test_counts_match_the_files(self):
        report = execute("seeds=[0, 3]")
        for name in ("both", "one"):
            described = system(report, name)
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

    def test_new_entities_match_the_files(self):
        append_system('name = "parts"\nmethod = "label_wise_token_replacement"\nrate = 0.5')
        report = execute("seeds=[0, 3]")
        assert system(report, "gold")["new_entities"] == system(report, "one")["new_entities"] == [0, 0]
        for seed, number in zip((0, 3), system(report, "parts")["new_entities"], strict=True):
            gold, train = (
                {(s.mention(entity), entity.type) for s in io.read(f"run/seed-{seed}/{path}") for entity in s.entities}
                for path in ("sample/train.jsonl", "parts/train.jsonl")
            )
            assert number == len(train - gold) > 0

    def test_diversity_compares_kept_sentences_with_their_parents(self):
        append_system('name = "parts"\nmethod = "label_wise_token_replacement"\nrate = 0.5')
        append_system('name = "more"\nmethod = "mention_replacement"\nbase = "parts"')
        report = execute("seeds=[0, 3]")
        nothing = {"entity": None, "non_entity": None, "length": None}
        assert system(report, "gold")["diversity"] == nothing
        for name in ("parts", "more"):
            expected = []
            for seed in (0, 3):
                train = io.read(f"run/seed-{seed}/{name}/train.jsonl")
                made = [s for s in train if s.origin]
                assert name == "parts" or any(train.by_id[s.origin.parents[0]].origin for s in made if s.origin)
                found = diversity(made, train)
                assert (found.sentences, found.orphans) == (len(made), 0)
                expected.append(found.as_dict())
            for measure, described in system(report, name)["diversity"].items():
                assert described["values"] == [found[measure] for found in expected]
            assert system(report, name)["diversity"]["entity"]["mean"] > 0
        assert system(report, "parts")["diversity"]["length"]["mean"] == 0

    def test_errors_match_the_predictions(self):
        report = execute("seeds=[0, 3]")
        test = io.read("test.conll")
        for described in report["systems"]:
            name, counts = described["name"], described["errors"]["per_type"]
            found = [find_errors(test, io.read(f"run/seed-{seed}/{name}/predicted.jsonl")) for seed in (0, 3)]
            for type_, row in counts.items():
                assert row == {kind: sum(e.per_type.get(type_, {}).get(kind, 0) for e in found) for kind in row}
                assert sum(row.values()) - row["spurious"] == 2 * report["data"]["test"]["types"].get(type_, 0)
            assert described["errors"]["examples"] == found[0].as_dict(3)["examples"]
        assert any(described["errors"]["examples"] for described in report["systems"])

    def test_the_report_has_systems_data_and_examples(self):
        report = execute()
        assert report == json.loads(Path("run/report.json").read_text("utf-8"))
        assert [described["name"] for described in report["systems"]] == ["gold", "both", "one"]
        assert report["systems"][0]["train_sentences"] == [16]
        assert report["systems"][0]["against_gold"] is None
        assert report["data"]["train"]["sentences"] == 24
        assert report["data"]["test"]["types"] == {"LOC": 9, "PER": 6}
        assert report["notes"] == []
        names = {"run.json", "run.json.bak", "run_time.json", "report.json", "report.md", "report.html", "tables"}
        assert {*names, "seed-0"} == set(os.listdir("run"))
        for example in system(report, "one")["examples"]:
            assert example["child"]["id"].startswith(example["parent"]["id"])

    def test_the_command_in_the_report_can_be_copied(self):
        report = execute("name=it's", "systems.one.copies=3", out="the run")
        command = "nersery run recipe.toml --out 'the run' --set 'name=it'\"'\"'s' --set systems.one.copies=3"
        assert report["command"] == command

    def test_systems_that_differ_only_in_selectors_share_generated_sentences(self):
        report = execute()
        assert system(report, "both")["generation"] == system(report, "one")["generation"]
        assert Path("run/seed-0/both/generated.jsonl").exists()
        assert not Path("run/seed-0/one/generated.jsonl").exists()

    def test_systems_that_differ_in_more_share_no_generated_sentences(self):
        report = execute("systems.one.copies=3")
        assert system(report, "one")["generation"]["read"] == 48
        assert lines("run/seed-0/one/generated.jsonl") > lines("run/seed-0/both/generated.jsonl")

    def test_gold_copies_are_trained_on_but_not_written(self, memory: Trainings):
        report = execute("systems.one.gold_copies=3")
        kept = lines("run/seed-0/one/1-duplicates.jsonl")
        assert system(report, "one")["train_sentences"] == [3 * 16 + kept]
        assert (0, 3 * 16 + kept) in memory
        assert lines("run/seed-0/one/train.jsonl") == 16 + kept

    def test_the_baseline_runs_without_any_system(self):
        text = Path("recipe.toml").read_text().split("[[systems]]")[0]
        Path("recipe.toml").write_text(text)
        assert [described["name"] for described in execute()["systems"]] == ["gold"]

    def test_a_method_whose_sentences_are_all_rejected_equals_gold_only(self, capsys: pytest.CaptureFixture[str]):
        report = Run(load("recipe.toml", ["systems.one.rate=0.0"]), Path("run")).execute().as_dict()
        assert "note: one, seed 0: no sentence was kept" in capsys.readouterr().err
        assert report["notes"] == ["one: no sentence was kept, so it trains on those of gold only (seed 0)"]
        assert system(report, "one")["generation"]["written"] == 0
        assert files(Path("run/seed-0/one/tagger")) == files(Path("run/seed-0/gold/tagger"))
        assert Path("run/seed-0/one/train.jsonl").read_bytes() == Path("run/seed-0/gold/train.jsonl").read_bytes()
        assert system(report, "one")["f1"] == system(report, "gold")["f1"]

    def test_the_sample_and_its_ids_are_written(self):
        execute("sample.dev_size=4")
        for split, size in (("train", 16), ("dev", 4)):
            ids = Path(f"run/seed-0/sample/{split}.ids.txt").read_text().splitlines()
            drawn = io.read(f"run/seed-0/sample/{split}.jsonl")
            assert ids == [sentence.id for sentence in drawn]
            assert len(ids) == size
            assert set(drawn) <= set(io.read(f"{split}.conll"))

    @pytest.mark.parametrize("ids", [["a/b", "..", "x" * 5000, "two\nlines", '"', "\u2028", "नमस्ते", " "]])
    def test_unusual_ids_are_written_unambiguously(self, ids: list[str]):
        from dataclasses import replace

        made = [replace(s, id=id) for s, id in zip(sentences(24), [*ids, *map(str, range(16))], strict=True)]
        io.write(made, "train.jsonl")
        execute("data.train=train.jsonl", "sample.size=24")
        listed = Path("run/seed-0/sample/train.ids.txt").read_text("utf-8").split("\n")[:-1]
        assert [json.loads(id) if id.startswith('"') else id for id in listed] == [s.id for s in made]

    def test_accepts_types_in_any_script_and_names_of_any_kind(self):
        typed = [s.with_entities(Entity(e.start, e.end, "जगह का नाम") for e in s.entities) for s in sentences(24)]
        io.write(typed, "données\n🚀.jsonl")
        append_system('name = "👩‍🔬 it\'s <b>"\nmethod = "shuffle_within_segments"')
        report = execute(*(f"data.{split}=données\n🚀.jsonl" for split in ("train", "dev", "test")))
        assert set(system(report, "👩‍🔬 it's <b>")["per_type"]) == {"जगह का नाम"}
        assert "<b>" not in Path("run/report.html").read_text("utf-8").replace("&lt;b&gt;", "")
