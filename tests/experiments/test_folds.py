"""Cross-validation, and systems with a tagger of their own."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from nersery import io
from nersery.core.errors import DataError, OutOfTimeError, SettingsError
from nersery.core.progress import Progress, time_limit
from nersery.experiments.recipe import load
from nersery.experiments.run_state.run_folder import RunFolder
from tests.experiments.trying import append_system, execute, ids, system

FOLDS = "[sample]\nfolds = 3"


def cross_validated() -> None:
    text = Path("recipe.toml").read_text("utf-8")
    text = text.replace('test = "test.conll"\n', "").replace("[sample]\nsize = 16", FOLDS)
    Path("recipe.toml").write_text(text.replace("seeds = [0]", "seeds = [0, 1, 2]"), "utf-8")


def test_every_sentence_is_held_out_once(folder: Path) -> None:
    cross_validated()
    report = execute()
    everything = ids(io.read("train.conll"))
    held_out = [id for seed in range(3) for id in ids(f"run/seed-{seed}/gold/predicted.jsonl")]
    assert sorted(held_out) == sorted(everything)
    for seed in range(3):
        learnt, scored = ids(f"run/seed-{seed}/gold/train.jsonl"), ids(f"run/seed-{seed}/gold/predicted.jsonl")
        assert sorted([*learnt, *scored]) == sorted(everything)
    assert system(report, "one")["against_gold"]["sentences"] == len(everything)
    assert "test" not in report["data"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("data.test=test.conll", "leave out data.test"),
        ("sample.size=4", "leave out sample.size"),
        ("seeds=[3]", "folds have the numbers 0 to 2"),
        ("sample.folds=1", "2 or more"),
    ],
)
def test_conflicts_with_folds(folder: Path, override: str, message: str) -> None:
    cross_validated()
    with pytest.raises(SettingsError, match=message):
        load("recipe.toml", [override])


def test_more_folds_than_sentences(folder: Path) -> None:
    cross_validated()
    with pytest.raises(DataError, match=r"sample\.folds is 30, but train has 24 sentences"):
        execute("sample.folds=30", "seeds=[29]")


def test_a_system_trains_another_tagger(folder: Path) -> None:
    append_system('name = "short names"\ntagger_settings = { longest = 1 }')
    report = execute()
    assert system(report, "short names")["kept_sentences"] == [0]
    assert system(report, "short names")["settings"]["tagger_settings"] == {"longest": 1}
    assert not any("no sentence was kept" in note for note in report["notes"])
    assert system(report, "short names")["f1"] != system(report, "gold")["f1"]


def test_wrong_settings_of_its_tagger_are_named(folder: Path) -> None:
    append_system('name = "wrong"\ntagger_settings = { longer = 1 }')
    with pytest.raises(SettingsError, match=r'system "wrong": tagger_settings: .*no setting "longer"'):
        load("recipe.toml")


def test_a_job_stops_when_its_time_is_up() -> None:
    progress = Progress("steps", quiet=True)
    with time_limit(0.01):
        time.sleep(0.02)
        with pytest.raises(OutOfTimeError):
            progress.advance()
    progress.advance()


def test_a_part_of_a_folder_finds_generated_sentences_that_systems_share(folder: Path) -> None:
    append_system('name = "again"\nmethod = "mention_replacement"\ntagger_settings = { longest = 1 }')
    append_system('name = "and again"\nmethod = "mention_replacement"\ntagger_settings = { longest = 2 }')
    recipe = load("recipe.toml")
    whole = RunFolder(recipe, Path("run"))
    first, second = (system for system in recipe.systems if system.name in ("again", "and again"))
    assert whole.generated(0, second) == whole.generated(0, first) == whole.path(0, first, "generated.jsonl")
    assert whole.part([0], [second]).generated(0, second) == whole.generated(0, first)
