"""Systems that label raw text, merge others, or repeat gold sentences, from the recipe to the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nersery import Entity, Sentence, io
from nersery.annotate.base import Annotator
from nersery.annotate.tagger_labels import TaggerLabels
from nersery.core.errors import DataError, SettingsError
from nersery.core.outcome import Reject
from nersery.experiments.recipe import load
from nersery.experiments.runner import Run
from nersery.experiments.sweep.sweep_runner import Sweep
from nersery.report.rendering import report_files
from nersery.select.duplicates import Duplicates
from tests.standins import register, sentences, write_recipe

JOINED = """
[[systems]]
name = "teacher"
method = "tagger_labels"
select = []
[[systems]]
name = "all"
merge = ["one", "teacher"]
select = [{ method = "self_training", strategy = "easy_first", per_step = 4, steps = 2 }]
[[systems]]
name = "zero-shot"
method = "tagger_labels"
gold_copies = 0
[[systems]]
name = "finished"
merge = ["teacher"]
second_stage = { steps = 7 }
[[systems]]
name = "balanced"
merge = ["teacher"]
upsampling = 0.75
"""


@dataclass
class Capitals(Annotator):
    """Every word with a capital is a person."""

    def annotate(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        return [
            s.with_entities(Entity(at, at + 1, "PER") for at, word in enumerate(s.words) if word[0].isupper())
            for s in sentences
        ]


def prepare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = write_recipe(folder)
    io.write([s.with_entities(()) for s in sentences(30, start=300)], folder / "wild.txt")
    text = path.read_text("utf-8").replace("[sample]", 'raw = "wild.txt"\n[sample]')
    path.write_text(text + JOINED, "utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: list[tuple[int, int]]) -> Path:
    return prepare(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def ended_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of a run of this file's recipe, for the fixture ``ended``."""
    with pytest.MonkeyPatch.context() as patch:
        register(patch)
        folder = prepare(tmp_path_factory.mktemp("ended"), patch)
        execute()
    return folder / "run"


@pytest.fixture
def capitals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers the annotator of this file."""
    register(monkeypatch, "annotate", "capitals", f"{__name__}:Capitals")


def execute(*overrides: str) -> dict[str, dict[str, Any]]:
    Run(load("recipe.toml", overrides), Path("run"), quiet=True).execute()
    return reported()


def reported() -> dict[str, dict[str, Any]]:
    """The systems in the report by name."""
    report = json.loads(Path("run/report.json").read_text("utf-8"))
    return {system["name"]: system for system in report["systems"]}


def kept(name: str, file: str = "train.jsonl") -> list[Sentence]:
    return list(io.read(f"run/seed-0/{name}/{file}"))


@pytest.mark.usefixtures("folder", "without_pages")
class TestRuns:
    @pytest.mark.usefixtures("ended")
    def test_raw_text_is_labelled_and_added_to_gold(self) -> None:
        systems = reported()
        labelled = [s for s in kept("teacher") if s.id.startswith("wild:")]
        assert [s.text for s in labelled] == [s.text for s in sentences(30, start=300)]
        assert any(s.entities for s in labelled)
        assert all(s.origin and s.origin.method == "tagger_labels" for s in labelled)
        assert systems["teacher"]["train_sentences"] == [16 + 30]
        assert systems["teacher"]["method"] == "tagger_labels"
        assert systems["teacher"]["generation"]["read"] == 30

    @pytest.mark.usefixtures("ended")
    def test_labels_of_the_raw_file_are_ignored(self) -> None:
        plain = kept("teacher")
        io.write(sentences(30, start=300), "wild.jsonl")
        Run(load("recipe.toml", ["data.raw=wild.jsonl"]), Path("other"), quiet=True).execute()
        other = io.read("other/seed-0/teacher/train.jsonl")
        assert [s.labels for s in other] == [s.labels for s in plain]

    @pytest.mark.usefixtures("ended")
    def test_selectors_see_the_sentences_of_all_merged_systems(self) -> None:
        systems = reported()
        pool = {s.id for s in kept("all", "generated.jsonl")}
        assert pool == {s.id for name in ("one", "teacher") for s in kept(name)} - {s.id for s in kept("gold")}
        assert systems["all"]["method"] == "merge"
        assert systems["all"]["settings"]["merge"] == ["one", "teacher"]
        assert systems["all"]["generation"]["read"] == systems["all"]["selection"][0]["read"] == len(pool)
        history = json.loads(Path("run/seed-0/all/1-self_training.history.json").read_text())
        assert history["steps"][0]["sentences"] == 16

    @pytest.mark.usefixtures("capitals", "ended")
    def test_relabelled_raw_text_has_the_later_labels(self) -> None:
        recipe = Path("recipe.toml")
        again = '[[systems]]\nname = "student"\nbase = "teacher"\nmethod = "capitals"\n'
        recipe.write_text(recipe.read_text("utf-8") + again, "utf-8")
        systems = execute()
        assert systems["student"]["train_sentences"] == [16 + 30]
        assert {s.origin.method for s in kept("student") if s.origin} == {"capitals"}

    @pytest.mark.usefixtures("ended")
    def test_one_annotator_may_relabel_raw_text(self) -> None:
        """As in manual self-training; ids of raw text do not contain the method, so they do not clash."""
        recipe = Path("recipe.toml")
        again = '[[systems]]\nname = "student"\nbase = "teacher"\nmethod = "tagger_labels"\n'
        recipe.write_text(recipe.read_text("utf-8") + again, "utf-8")
        systems = execute()
        assert systems["student"]["train_sentences"] == [16 + 30]
        assert [s.id for s in kept("student")] == [s.id for s in kept("teacher")]

    @pytest.mark.usefixtures("capitals", "ended")
    def test_systems_vote_on_raw_text(self) -> None:
        """The majority of three decides; new sentences of only one system are unchanged."""
        recipe = Path("recipe.toml")
        again = (
            '[[systems]]\nname = "capitals"\nmethod = "capitals"\n'
            '[[systems]]\nname = "capitals too"\nmethod = "capitals"\n'
            '[[systems]]\nname = "vote"\nmerge = ["capitals", "capitals too", "teacher", "one"]\nvote = true\n'
        )
        recipe.write_text(recipe.read_text("utf-8") + again, "utf-8")
        systems = execute()
        assert systems["vote"]["settings"]["vote"] is True
        pool = {s.id: s for s in kept("vote", "generated.jsonl")}
        raw, new = kept("capitals", "generated.jsonl"), [s for s in kept("one") if s.origin]
        assert {s.id: s.labels for s in raw} == {s.id: pool[s.id].labels for s in raw}
        assert all(s.origin and s.origin.method == "vote" for s in (pool[s.id] for s in raw))
        assert [pool[s.id] for s in new] == new != []

    @pytest.mark.usefixtures("ended")
    def test_a_system_votes_only_with_its_own_labels(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Labels taken over from the base are one vote, not three."""
        recipe = Path("recipe.toml")
        none = 'types = { PER = "PER" }'
        there = TaggerLabels.annotate
        monkeypatch.setattr(
            TaggerLabels,
            "annotate",
            lambda self, sentences: [Reject("no")] * len(sentences) if self.types else there(self, sentences),
        )
        mine = '[[systems]]\nname = "{}"\nbase = "{}"\nmethod = "tagger_labels"\n{}\n'
        first = mine.replace('base = "{}"\n', "")
        text = first.format("first", "select = []") + mine.format("second", "first", none)
        text += mine.format("third", "second", none)
        text += '[[systems]]\nname = "vote"\nmerge = ["first", "second", "third"]\nvote = true\nselect = []\n'
        recipe.write_text(recipe.read_text("utf-8") + text, "utf-8")
        systems = execute()
        assert systems["second"]["kept_sentences"] == [0]
        assert {s.origin.method for s in kept("vote") if s.origin} == {"tagger_labels"}
        assert kept("vote") == kept("first")

    @pytest.mark.usefixtures("ended")
    def test_relabelled_sentences_are_not_duplicates_of_gold(self) -> None:
        recipe = Path("recipe.toml")
        again = '[[systems]]\nname = "again"\nbase = "teacher"\nmethod = "tagger_labels"\nselect = ["duplicates"]\n'
        recipe.write_text(recipe.read_text("utf-8") + again, "utf-8")
        assert execute()["again"]["kept_sentences"] == [30]

    def test_raw_text_may_be_added_to_a_finished_run(self) -> None:
        recipe = Path("recipe.toml")
        text = recipe.read_text("utf-8")
        recipe.write_text(text[: text.index(JOINED)].replace('raw = "wild.txt"\n', ""), "utf-8")
        before = execute()
        recipe.write_text(text, "utf-8")
        after = execute()
        assert "teacher" not in before
        assert after["teacher"]["train_sentences"] == [16 + 30]

    @pytest.mark.usefixtures("ended")
    def test_refuses_raw_text_with_ids_that_a_method_would_assign(self) -> None:
        raw = sentences(16, start=300)
        made = [replace(s, id=f"{g.id}~mention_replacement-1") for g, s in zip(kept("gold"), raw, strict=True)]
        io.write(made, "wild.jsonl")
        with pytest.raises(DataError, match="was made by mention_replacement"):
            Run(load("recipe.toml", ["data.raw=wild.jsonl"]), Path("other"), quiet=True).execute()

    def test_a_system_without_anything_to_learn_does_not_stop_the_run(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Neither if nothing was kept nor if no sentence has an entity."""
        recipe = Path("recipe.toml")
        io.write([Sentence(("no", "name")), Sentence(("none",))], "wild.txt", format="text")
        text = "".join(
            f'[[systems]]\nname = "{name}"\nmethod = "tagger_labels"\ngold_copies = 0\nselect = {select}\n'
            for name, select in (("plain", "[]"), ("kept none", '[{ method = "certainty", passes = 1 }]'))
        )
        recipe.write_text(recipe.read_text("utf-8") + text, "utf-8")
        Path("run").mkdir()
        report = Run(load("recipe.toml"), Path("run"), quiet=False).execute()
        systems = reported()
        assert systems["plain"]["f1"]["values"] == systems["kept none"]["f1"]["values"] == [0.0]
        assert systems["plain"]["train_sentences"] == [2]
        assert any("plain: no training sentence has an entity" in note for note in report.notes)
        assert "note: plain, seed 0: no training sentence has an entity" in capsys.readouterr().err
        assert "plain" in report_files(report)["report.html"]
        recipe.write_text(
            recipe.read_text("utf-8") + '[[systems]]\nname = "student"\nbase = "plain"\nmethod = "tagger_labels"\n',
            "utf-8",
        )
        with pytest.raises(DataError, match='"student" needs the tagger of "plain", which trained none with seed 0'):
            execute()

    @pytest.mark.usefixtures("ended")
    def test_parents_are_found_even_without_training_on_gold(self) -> None:
        recipe = Path("recipe.toml")
        text = '[[systems]]\nname = "alone"\nmethod = "mention_replacement"\ngold_copies = 0\n'
        recipe.write_text(recipe.read_text("utf-8") + text, "utf-8")
        systems = execute()
        assert all(found is not None for found in systems["alone"]["diversity"].values())
        assert all(example["parent"] for example in systems["alone"]["examples"])

    def test_labels_that_depend_on_no_seed_are_made_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[int] = []

        def annotate(self: TaggerLabels, sentences: Sequence[Sentence]) -> list[Sentence]:
            calls.append(len(sentences))
            return [s.with_entities([Entity(0, 1, "PER")]) for s in sentences]

        monkeypatch.setattr(TaggerLabels, "annotate", annotate)
        first, *systems = Path("recipe.toml").read_text("utf-8").split("[[systems]]")
        labelling = [system for system in systems if 'method = "tagger_labels"' in system]
        Path("recipe.toml").write_text("[[systems]]".join([first, *labelling]), "utf-8")
        execute("seeds=[0, 1]")
        assert len(calls) == 2, "once for each seed, for systems with the same method share it"
        monkeypatch.setattr(TaggerLabels, "learns", False)
        calls.clear()
        Run(load("recipe.toml", ["seeds=[0, 1]"]), Path("other"), quiet=True).execute()
        assert len(calls) == 1
        assert (
            Path("other/seed-1/teacher/generated.jsonl").read_bytes()
            == Path("other/seed-0/teacher/generated.jsonl").read_bytes()
        )
        calls.clear()
        Sweep(load("recipe.toml", ["sweep.sizes=[8, 16]"]), Path("sweep"), quiet=True).execute()
        assert len(calls) == 1, "sizes share them, too"

    @pytest.mark.usefixtures("ended")
    def test_a_system_may_train_without_gold(self) -> None:
        systems = reported()
        assert systems["zero-shot"]["train_sentences"] == [30]
        assert {s.id.split(":")[0] for s in kept("zero-shot")} == {"wild"}

    @pytest.mark.usefixtures("ended")
    def test_upsampling_repeats_gold_to_its_share(self) -> None:
        systems = reported()
        assert systems["balanced"]["train_sentences"] == [16 * 6 + 30]
        assert len(kept("balanced")) == 16 + 30, "the corpus has each sentence once"

    @pytest.mark.usefixtures("ended")
    def test_resumes_with_the_same_results_after_a_kill(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = reported()
        before = {path: path.read_bytes() for path in Path("run").rglob("*.jsonl")}
        for name in (
            "report.json",
            "seed-0/all/result.json",
            "seed-0/all/1-self_training.jsonl",
            "seed-0/all/1-self_training.jsonl.rejects.jsonl",
        ):
            Path("run", name).unlink()
        assert execute() == whole
        assert {path: path.read_bytes() for path in Path("run").rglob("*.jsonl")} == before

    def test_refuses_raw_ids_that_occur_in_train(self) -> None:
        io.write([sentences(1)[0].with_entities(())], "train.txt")
        with pytest.raises(DataError, match=r"1 ids also occur in train, .*'train:1'"):
            execute("data.raw=train.txt")

    def test_no_second_training_without_new_sentences(self) -> None:
        io.write(
            [s.with_entities(()) for s in sentences(3, start=200)], "wild.txt"
        )  # test sentences, which are duplicates
        execute('systems.finished.select=["duplicates"]')
        training = json.loads(Path("run/seed-0/finished/result.json").read_text("utf-8"))["training"]
        assert (training["sentences"], "second_stage" in training) == (16, False), "gold only, as the note says"

    def test_types_missing_in_the_first_training_are_reported_before_it(self, memory: list[tuple[int, int]]) -> None:
        with pytest.raises(SettingsError, match=r"first training has no LOC, .*gold_copies = 1"):
            execute("systems.finished.gold_copies=0", 'systems.teacher.types={ LOC = "" }')
        assert memory.count((0, 30)) == 1, "that of zero-shot; this one was not begun"

    def test_keeps_the_selector_history_if_generated_sentences_are_shared(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Duplicates, "history", {"looked": 1})
        (stage,) = execute('systems.zero-shot.select=["duplicates"]')["zero-shot"]["selection"]
        assert stage["history"] == {"0": {"looked": 1}}
        assert not Path("run/seed-0/zero-shot/generated.jsonl").exists(), "those of teacher serve"
        assert Path("run/seed-0/zero-shot/1-duplicates.history.json").exists()

    def test_a_second_training_on_gold_continues_from_the_first(self, memory: list[tuple[int, int]]) -> None:
        systems = execute()
        gold, labelled = len(list(io.read("run/seed-0/sample/train.jsonl"))), len(kept("finished"))
        assert ((0, labelled), (0, gold)) in pairwise(memory)
        training = json.loads(Path("run/seed-0/finished/result.json").read_text("utf-8"))["training"]
        assert (training["sentences"], training["steps"]) == (labelled, 1)
        assert (training["second_stage"]["sentences"], training["second_stage"]["steps"]) == (gold, 7)
        assert systems["finished"]["settings"]["second_stage"] == {"steps": 7}
        assert systems["finished"]["training"][0]["best_step"] == 2, "the best of the second, behind all of the first"

    def test_notes_raw_sentences_that_occur_in_test(self) -> None:
        io.write([s.with_entities(()) for s in sentences(3, start=200)], "wild.txt")
        run = Run(load("recipe.toml"), Path("run"), quiet=True)
        run.check()
        assert any(note.startswith("3 of 3 raw sentences also occur in test, word for word") for note in run.notes)


@pytest.mark.usefixtures("folder")
class TestWrongRecipes:
    @pytest.mark.parametrize(
        ("overrides", "message"),
        [
            (['data.raw=""'], 'system "teacher": its method labels raw text: name a file of raw text as raw in [data]'),
            (["systems.teacher.copies=2"], "copies is for methods that change gold sentences"),
            (["systems.all.merge=[]"], "merge is []: expected names of systems above it"),
            (["systems.all.merge=one"], "merge is 'one': expected a list"),
            (['systems.all.merge=["on"]'], "merge is 'on', expected a system above it; did you mean \"one\""),
            (['systems.all.merge=["one", "both"]'], '"one" and "both" have the same method, mention_replacement'),
            (['systems.all.merge=["one", "one"]'], "merge is ['one', 'one']: expected each name once"),
            (["systems.all.base=one"], "merge takes the sentences that other systems kept: leave out base"),
            (["systems.all.rate=0.3"], "merge takes the sentences that other systems kept: leave out rate"),
            (["systems.all.vote=1"], "vote is 1: expected true or false"),
            (
                ['systems.all.merge=["one", "teacher"]', "systems.all.vote=true"],
                "two or more systems that labelled raw",
            ),
            (["systems.teacher.vote=true"], "vote is for systems that labelled raw text: name them in merge"),
            (["systems.balanced.upsampling=1"], "upsampling is 1: expected less than 1"),
            (["systems.balanced.gold_copies=0"], "upsampling is above 0, but gold_copies is 0"),
            (
                ["systems.finished.second_stage=3"],
                "second_stage: 3 is not a table of settings, expected e.g. { steps = 100",
            ),
            (["systems.finished.second_stage.longest=3"], 'second_stage: "longest" cannot differ in a second training'),
            (["systems.finished.second_stage.steps=many"], "second_stage: memory.steps is 'many'"),
            (["systems.teacher.gold_copies=-1"], "gold_copies is -1: expected 0 or more"),
        ],
    )
    def test_refuses_wrong_settings_of_systems(self, overrides: list[str], message: str) -> None:
        with pytest.raises(SettingsError) as caught:
            load("recipe.toml", overrides)
        assert message in str(caught.value)
