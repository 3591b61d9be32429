"""Everything that a recipe names but that is missing is reported at once, before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nersery import Entity, Sentence, io
from nersery.core.errors import DataError, MissingResourceError, SettingsError
from nersery.experiments.recipe import load
from nersery.experiments.run_state import prerequisites
from nersery.experiments.run_state.prerequisites import check_prerequisites
from tests.experiments.run_helpers import append_system, execute

pytestmark = pytest.mark.usefixtures("folder")


def test_reports_everything_missing_at_once_with_its_place() -> None:
    append_system('name = "new names"\nmethod = "melm"\nadapt = "nothing.txt"')
    append_system(
        'name = "filtered"\nmethod = "melm"\nselect = [{ method = "perplexity", model = "no/model" }, '
        '{ method = "agreement", tagger = "./no-tagger" }, { method = "certainty", tagger = "./no-tagger" }, '
        '{ method = "self_training", tagger = { method = "transformer", model = "./no-encoder" } }]'
    )
    with pytest.raises(MissingResourceError) as raised:
        execute()
    message = str(raised.value)
    assert message.startswith("5 things that the recipe needs")
    for place in (
        'system "new names": there is no file',
        'system "filtered", select "perplexity": ',
        'system "filtered", select "agreement": there is no folder ./no-tagger',
        'system "filtered", select "certainty": there is no folder ./no-tagger',
        'system "filtered", select "self_training": ',
    ):
        assert place in message
    assert not Path("run").exists()


def test_reports_a_missing_model_of_the_tagger() -> None:
    with pytest.raises(MissingResourceError, match=r"^tagger: "):
        check_prerequisites(load("recipe.toml", ["tagger.method=transformer", "tagger.model=./no-encoder"]))


def test_an_unsuitable_value_is_a_wrong_setting() -> None:
    append_system('name = "a"\nmethod = "daga"\ndevice = "abacus"')
    with pytest.raises(SettingsError, match=r'system "a": .*abacus'):
        check_prerequisites(load("recipe.toml"))


def test_settings_of_a_second_training_must_suit_the_run_s_tagger() -> None:
    select = 'select = [{ method = "self_training", second_stage = { head_learning_rate = 1e-3 } }]'
    append_system(f'name = "a"\nmethod = "mention_replacement"\n{select}')
    with pytest.raises(
        SettingsError, match=r'"self_training": second_stage: bilstm_crf has no setting "head_learning_rate"'
    ):
        check_prerequisites(load("recipe.toml", ["tagger.method=bilstm_crf"]))
    check_prerequisites(load("recipe.toml", ["tagger.method=transformer", "tagger.model=bundled"]))


def test_shared_methods_are_checked_once_and_reported_for_each_system(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []

    def check(method: Any, *_: object) -> None:
        checked.append(method.method)
        if method.method == "duplicates":
            raise SettingsError("does not suit")

    monkeypatch.setattr(prerequisites, "_check", check)
    for name in ("a", "b"):
        append_system(f'name = "{name}"\nmethod = "eda"\nselect = ["duplicates"]')
    with pytest.raises(
        SettingsError, match=r'(?s)system "a", select "duplicates": .*system "b", select "duplicates": '
    ):
        check_prerequisites(load("recipe.toml"))
    assert checked.count("eda") == checked.count("duplicates") == 1


def test_notes_of_methods_are_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("wordnet").mkdir()  # empty
    monkeypatch.setattr("nersery.augment.eda.WORDNET", "wordnet")
    append_system('name = "a"\nmethod = "eda"\nwordnet = "wordnet"')
    note = 'system "a": eda has no synonyms, so it only uses these operations: shuffle'
    for _ in range(2):
        assert [one[: len(note)] for one in execute()["notes"]] == [note]


def test_refuses_translations_of_other_text_before_anything_runs() -> None:
    Path("raw.txt").write_text("eins\nzwei\ndrei\n")
    io.write([Sentence(("one",), (Entity(0, 1, "PER"),))] * 2, "en.jsonl")
    append_system('name = "a"\nmethod = "projected_labels"\nsource = "en.jsonl"')
    with pytest.raises(DataError, match="2 sentences here, but 3 in the text that they translate"):
        execute("data.raw=raw.txt")
    assert not Path("run").exists()
    Path("raw.txt").write_text("eins\nzwei\n")
    check_prerequisites(load("recipe.toml", ["data.raw=raw.txt"]), raw=io.read("raw.txt"))
