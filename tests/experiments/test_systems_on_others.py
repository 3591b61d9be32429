"""Systems that build on others."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from nersery import io
from nersery.augment.shuffle_within_segments import ShuffleWithinSegments
from nersery.core.errors import SettingsError
from nersery.experiments.recipe import load
from nersery.experiments.runner import Run
from nersery.io.jsonl import rejects_of
from nersery.select.duplicates import Duplicates
from tests.experiments.run_helpers import (
    Trainings,
    append_system,
    each_or_some,
    execute,
    ids,
    killing,
    system,
    trained_on,
)
from tests.killing import KilledError
from tests.standins import files


@pytest.mark.usefixtures("folder", "without_pages")
class TestBase:
    """Systems with another system as base."""

    @pytest.fixture(autouse=True)
    def _systems(self, folder: Path) -> None:
        """The system "more" has the base "one"."""
        append_system('name = "more"\nbase = "one"\nmethod = "shuffle_within_segments"\ncopies = 2')

    def test_sentences_kept_by_the_base_are_used_like_gold(self, memory: Trainings, monkeypatch: pytest.MonkeyPatch):
        learnt: list[list[str]] = []
        compared: list[list[str]] = []
        monkeypatch.setattr(ShuffleWithinSegments, "fit", lambda _, gold, training: learnt.append(ids(gold)))
        original = Duplicates.fit

        def fit(selector: Duplicates, gold: Any, *given: Any, **known: Any) -> None:
            compared.append(ids(gold))
            original(selector, gold, *given, **known)

        monkeypatch.setattr(Duplicates, "fit", fit)
        report = execute('systems.more.select=["duplicates", "agreement"]', "systems.more.gold_copies=2")
        gold, kept = ids("run/seed-0/sample/train.jsonl"), ids("run/seed-0/one/1-duplicates.jsonl")
        assert kept
        assert learnt == [[*gold, *kept]]
        assert compared == [gold, [*gold, *kept]]
        path = Path("run/seed-0/more/generated.jsonl")
        made = [*io.read(path), *(reject.sentence for reject in io.read_rejects(rejects_of(path)) if reject.sentence)]
        assert {s.origin.parents[0] for s in made if s.origin} == {*gold, *kept}
        assert system(report, "more")["generation"]["read"] == 2 * (16 + len(kept)) == len(made)
        own = ids("run/seed-0/more/2-agreement.jsonl")
        assert own
        assert ids("run/seed-0/more/train.jsonl") == [*gold, *kept, *own]
        assert len({*gold, *kept, *own}) == len(gold) + len(kept) + len(own)
        assert system(report, "more")["train_sentences"] == [2 * 16 + len(kept) + len(own)]
        assert memory == [(0, 16), *[(0, n) for n in trained_on(report)[1:]]]

    def test_the_report_shows_bases_and_parents(self):
        append_system('name = "most"\nbase = "more"\nmethod = "label_wise_token_replacement"')
        report = execute()
        assert "base" not in system(report, "one")["settings"]
        assert [system(report, name)["settings"]["base"] for name in ("more", "most")] == ["one", "more"]
        parents = [example["parent"]["id"] for example in system(report, "most")["examples"]]
        assert any("shuffle" in id for id in parents)
        assert any("mention_replacement-1~shuffle" in id for id in ids("run/seed-0/most/train.jsonl"))
        assert report["notes"] == []

    def test_systems_with_the_same_base_share_generated_sentences(self):
        twin = '\nmethod = "shuffle_within_segments"\ncopies = 2\nselect = ["duplicates"]'
        append_system(f'name = "same"\nbase = "one"{twin}')
        append_system(f'name = "other"\nbase = "both"{twin}')
        append_system(f'name = "of gold alone"{twin}')
        report = execute()
        made = {
            name
            for name in ("more", "same", "other", "of gold alone")
            if Path(f"run/seed-0/{name}/generated.jsonl").exists()
        }
        assert made == {"more", "other", "of gold alone"}
        assert system(report, "same")["generation"] == system(report, "more")["generation"]
        assert system(report, "of gold alone")["generation"]["read"] == 32
        assert system(report, "other")["generation"]["read"] == 2 * trained_on(report)[1]

    def test_a_system_that_keeps_nothing_trains_on_the_sentences_of_its_base(self, capsys: pytest.CaptureFixture[str]):
        append_system('name = "idle"\nbase = "more"\nmethod = "label_wise_token_replacement"\nrate = 0.0')
        report = Run(load("recipe.toml", ["systems.idle.gold_copies=2"]), Path("run")).execute().as_dict()
        assert "note: idle, seed 0: no sentence was kept, so it trains on those of more" in capsys.readouterr().err
        assert report["notes"] == ["idle: no sentence was kept, so it trains on those of more (seed 0)"]
        assert trained_on(report)[-1] == trained_on(report)[-2] + 16

    def test_a_base_may_keep_nothing(self):
        report = execute("systems.one.rate=0.0", "systems.both.rate=0.0")
        assert report["notes"] == [
            f"{name}: no sentence was kept, so it trains on those of gold only (seed 0)" for name in ("both", "one")
        ]
        assert trained_on(report)[3] > 16

    def test_a_system_added_later_keeps_finished_results(self, memory: Trainings):
        append_system('name = "most"\nbase = "more"\nmethod = "label_wise_token_replacement"')
        execute(out="whole")
        text = Path("recipe.toml").read_text("utf-8")
        Path("recipe.toml").write_text(text[: text.rindex("[[systems]]")], "utf-8")
        execute()
        memory.clear()
        Path("recipe.toml").write_text(text, "utf-8")
        report = execute()
        assert [count for _, count in memory] == [trained_on(report)[4]]
        assert files(Path("run/seed-0")) == files(Path("whole/seed-0"))

    def test_refuses_another_base_in_the_same_folder(self):
        execute()
        with pytest.raises(SettingsError, match=r"  recipe\.systems\.more\.base: was 'one', now 'both'"):
            execute("systems.more.base=both")

    @each_or_some
    def test_a_kill_at_any_move_of_a_file_leaves_no_trace(self, each: int, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("nersery.experiments.runner.write_report", lambda report, folder: None)
        overrides = ['systems.more.select=["duplicates"]']
        execute(*overrides)
        expected = files(Path("run"))
        shutil.rmtree("run/seed-0/more")
        shutil.copytree("run", "begun")
        with killing(0) as moves:
            execute(*overrides)
        assert files(Path("run")) == expected
        assert moves() > 8
        for at in range(1, moves() + 1, each):
            shutil.rmtree("run")
            shutil.copytree("begun", "run")
            with pytest.raises(KilledError), killing(at):
                execute(*overrides)
            execute(*overrides)
            assert files(Path("run")) == expected, f"killed at move {at}"
