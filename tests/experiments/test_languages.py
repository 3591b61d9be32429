"""A run on several languages."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

from nersery import Corpus, Entity, Sentence, io
from nersery.core.errors import DataError, SettingsError
from nersery.experiments.recipe import load
from nersery.experiments.run_state.inputs import read_inputs
from nersery.experiments.runner import Run
from tests.experiments.run_helpers import (
    NAMES,
    PRODUCTS,
    TRAIN_BY_LANGUAGE,
    Trainings,
    execute,
    hindi,
    of_language,
    system,
)
from tests.standins import files, sentences


@pytest.mark.usefixtures("languages")
class TestLanguages:
    def test_samples_the_same_number_from_each_language(self, memory: Trainings):
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
        assert report["systems"][0]["train_sentences"] == [32]
        assert {sentence.language for sentence in io.read("run/seed-0/one/1-duplicates.jsonl")} == {"en", "hi"}

    def test_the_sample_of_a_language_does_not_depend_on_the_others(self):
        execute()
        execute('data.train={ en = "en/train.conll" }', out="alone")
        both = of_language("run/seed-0/sample/train.jsonl", "en")
        assert both == list(io.read("alone/seed-0/sample/train.jsonl"))
        numbers = {s.id.partition("/")[2] for s in of_language("run/seed-0/sample/train.jsonl", "hi")}
        assert numbers != {sentence.id.partition("/")[2] for sentence in both}

    def test_the_order_of_languages_in_the_recipe_does_not_matter(self, memory: Trainings):
        execute()
        memory.clear()
        turned = 'train = { en = "en/train.conll", hi = "hi/train.conll" }'
        text = Path("recipe.toml").read_text("utf-8").replace(TRAIN_BY_LANGUAGE, turned)
        Path("recipe.toml").write_text(text, "utf-8")
        execute()
        assert not memory
        execute(out="turned")
        assert files(Path("turned/seed-0")) == files(Path("run/seed-0"))

    def test_scores_by_language_match_the_written_predictions(self):
        report = execute("seeds=[0, 3]")
        gold = {f"{language}/{s.id}": s for language in ("en", "hi") for s in io.read(f"{language}/test.conll")}
        for described in report["systems"]:
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
        scores = [system(report, "gold")["per_language"][language]["f1"]["mean"] for language in ("en", "hi")]
        assert scores[0] != scores[1]
        assert "## F1 by language" in Path("run/report.md").read_text("utf-8")
        assert "By language" in Path("run/report.html").read_text("utf-8")

    def test_the_report_lists_the_files_of_each_language(self):
        train = execute()["data"]["train"]
        assert train["sentences"] == 24 + 28
        assert {language: own["sentences"] for language, own in train["languages"].items()} == {"en": 24, "hi": 28}
        assert train["languages"]["hi"]["path"] == "hi/train.conll"
        assert "path" not in train
        for name in ("run/report.md", "run/report.html"):
            text = Path(name).read_text("utf-8")
            assert "train (hi, 28 sentences)" in text
            assert train["languages"]["hi"]["sha256"] in text
            assert "From train, a sample of 16 sentences of each language was used" in text

    def test_languages_in_one_file_are_sampled_together_and_scored_separately(self):
        for split, count in (("train", 24), ("test", 12)):
            made = [*sentences(count), *hindi(count)]
            named = [dataclasses.replace(s, language="en" if n < count else "hi") for n, s in enumerate(made)]
            io.write(Corpus(named), f"{split}.jsonl")
        report = execute("data.train=train.jsonl", "data.test=test.jsonl", "data.dev=")
        assert report["systems"][0]["train_sentences"] == [16]
        assert set(report["systems"][0]["per_language"]) == {"en", "hi"}
        assert report["data"]["train"]["path"].endswith("train.jsonl")
        assert "of each language was used" not in Path("run/report.md").read_text("utf-8")

    def test_a_single_language_has_no_separate_score(self):
        report = execute('data.test={ en = "en/test.conll" }')
        assert all(described["per_language"] == {} for described in report["systems"])
        assert "per_language" not in json.loads(Path("run/seed-0/gold/result.json").read_text())["scores"]
        assert "language" not in Path("run/report.md").read_text("utf-8").split("## Data")[0]

    def test_a_language_may_be_only_in_test(self):
        report = execute('data.train={ en = "en/train.conll" }', 'data.dev={ en = "en/dev.conll" }')
        assert set(system(report, "gold")["per_language"]) == {"en", "hi"}

    def test_accepts_a_moved_file_and_refuses_a_changed_one(self, memory: Trainings):
        execute()
        memory.clear()
        os.rename("hi/train.conll", "हिंदी.conll")
        execute("data.train.hi=हिंदी.conll")
        assert not memory
        io.write(hindi(29), "हिंदी.conll")
        with pytest.raises(SettingsError, match=r"\n  inputs\.train\.hi: the content has changed\nChoose"):
            execute("data.train.hi=हिंदी.conll")

    def test_refuses_another_language_for_the_same_file(self):
        execute()
        with pytest.raises(SettingsError, match=r"inputs\.train\.mr: was nothing"):
            execute('data.train={ en = "en/train.conll", mr = "hi/train.conll" }')
        with pytest.raises(SettingsError, match=r"inputs\.train: was \{"):
            execute("data.train=en/train.conll")

    @pytest.mark.parametrize(
        ("split", "made", "message"),
        [
            ("train", [], "hi/train.conll: the train (hi) file has no sentence"),
            ("dev", [], "hi/dev.conll: the dev (hi) file has no sentence"),
            ("train", sentences(1, 3), "hi/train.conll: no sentence of the train (hi) file has an entity"),
            ("test", PRODUCTS, "hi/test.conll: test (hi) has the types PROD, train has LOC, PER: no common type"),
            ("train", hindi(15), "sample.size is 16, but train (hi) has 15 sentences"),
        ],
    )
    def test_refuses_unusable_files(self, split: str, made: list[Sentence], message: str):
        io.write(made, f"hi/{split}.conll")
        with pytest.raises(DataError) as caught:
            execute()
        assert message in str(caught.value)
        assert not Path("run").exists()

    def test_reports_all_issues_of_all_files(self):
        Path("en/train.conll").write_text("Ada\tB-PER\nBo\tB_PER\n")
        Path("hi/train.conll").unlink()
        Path("hi/test.conll").write_text("Ada\tB-PER\nx\n")
        with pytest.raises(DataError) as caught:
            execute()
        message = str(caught.value)
        assert message.startswith("3 issues:")
        for part in ("en/train.conll:2", "hi/train.conll: there is no such file", "hi/test.conll:2"):
            assert part in message

    def test_raw_text_is_split_like_the_labelled_sentences_of_its_language(self):
        raw = {"en": "Ada , Bob and Eve", "hi": "अदा, ओस्लो में"}
        for language, line in raw.items():
            words = tuple(line.split())
            labelled = [Sentence(words, (Entity(0, 1, "PER"),), id=str(number)) for number in range(24)]
            io.write(labelled, f"{language}/train.conll")
            Path(f"{language}.txt").write_text(f"{line}\n" * 20, "utf-8")
        Path("attached.txt").write_text("Ada, Bob and Eve\n" * 20, "utf-8")
        for english in ("en.txt", "attached.txt"):
            parts, notes = read_inputs(load("recipe.toml", [f'data.raw={{ en = "{english}", hi = "hi.txt" }}']), print)
            words = {sentence.language: sentence.words for sentence in parts["raw"]}
            assert words == {"en": tuple(raw["en"].split()), "hi": tuple(raw["hi"].split())}
            assert not any("punctuation" in note for note in notes)
        settings = ['data.raw={ en = "attached.txt", hi = "hi.txt" }', 'data.split="spaces"']
        _, notes = read_inputs(load("recipe.toml", settings), print)
        notes = [note.partition(",")[0] for note in notes if "punctuation" in note]
        assert notes == ["raw (en): punctuation is part of the words in raw text"]

    def test_notes_name_the_language(self):
        text = Path("hi/train.conll").read_text("utf-8").replace("B-PER", "B_PER")
        Path("hi/train.conll").write_text(text, "utf-8")
        io.write([*hindi(2), *hindi(6, 200), *PRODUCTS], "hi/test.conll")
        notes = execute('data.repair=["underscore"]')["notes"]
        assert any(note.startswith("train (hi) was repaired as requested: underscore") for note in notes)
        assert (
            "test (hi) has types that do not occur in train, so all their mentions count as missed: PROD (3 mentions)"
            in notes
        )
        assert "2 of 11 test (hi) sentences also occur in train, word for word" in notes

    def test_another_code_of_the_same_language_is_accepted(self):
        io.write(Corpus(dataclasses.replace(s, language="hin-Deva") for s in hindi(20, 50)), "hi.jsonl")
        execute("data.train.hi=hi.jsonl")
        assert {s.language for s in of_language("run/seed-0/one/train.jsonl", "hi")} == {"hi"}

    def test_refuses_a_sentence_of_another_language(self):
        named = [dataclasses.replace(s, language=language) for s, language in zip(hindi(2), ["", "mr"], strict=True)]
        io.write(Corpus([*hindi(20, 50), *named]), "hi.jsonl")
        with pytest.raises(DataError) as caught:
            execute("data.train.hi=hi.jsonl")
        expected = "hi.jsonl (sentence 22): 1 of 22 sentences are in a language other than hi, this one in mr"
        assert expected in str(caught.value)
        assert "give each language its own file" in str(caught.value)

    def test_previously_generated_sentences_keep_their_parents(self, memory: Trainings):
        execute()
        made = of_language("run/seed-0/one/train.jsonl", "hi")
        io.write(made, "made.jsonl")
        with pytest.raises(DataError, match=r"made\.jsonl: 'hi/hi/.* was made by mention_replacement"):
            execute("data.train.hi=made.jsonl", out="second")
        text = Path("recipe.toml").read_text("utf-8").replace("mention_replacement", "shuffle_within_segments")
        Path("recipe.toml").write_text(text, "utf-8")
        run = Run(load("recipe.toml", ["data.train.hi=made.jsonl"]), Path("second"), quiet=True)
        run.read_corpora()
        parents = {parent for s in run.corpora["train"] if s.origin for parent in s.origin.parents}
        assert parents
        assert parents <= set(run.corpora["train"].by_id)

    def test_a_sample_too_small_for_its_protocol_names_the_language(self):
        io.write([*sentences(24), *PRODUCTS], "en/train.conll")
        with pytest.raises(DataError, match=r"train \(en\), seed 0: no sample of 1 with a mention of each of 3 types"):
            execute("sample.size=1", "sample.protocol=every_type")

    def test_the_shipped_recipe_requires_own_files(self):
        with pytest.raises(DataError, match="6 issues") as caught:
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
            *(f"systems.{name}.model={tiny_masked_lm}" for name in ("melm", "melm on code_mixing ess")),
            *(f"systems.{name}.epochs=1" for name in ("melm", "melm on code_mixing ess")),
            f"systems.code_mixing ess.model={tiny_model}",
            'tagger={ method = "memory" }',
            "seeds=[0]",
            "sample.size=16",
            "sample.dev_size=4",
            "evaluate.bootstrap_samples=100",
            'select=["duplicates"]',
        ]
        report = Run(load("code_mixing", overrides), Path("run"), quiet=True).execute().as_dict()
        names = ["gold", "code_mixing random", "code_mixing ess", "melm", "melm on code_mixing ess"]
        assert [described["name"] for described in report["systems"]] == names
        assert report["notes"] == []
        gold, _, mixed, melm_gold, both = (described["train_sentences"][0] for described in report["systems"])
        assert gold == 32
        assert system(report, names[4])["generation"]["read"] == 3 * mixed
        assert both > mixed > gold < melm_gold
        english = of_language("run/seed-0/code_mixing ess/1-duplicates.jsonl", "en")
        mentions = {" ".join(s.mention(entity)) for s in english for entity in s.entities}
        assert mentions <= {name for names in NAMES.values() for name in names}
