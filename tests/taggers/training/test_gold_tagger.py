from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nersery import Entity, Sentence
from nersery.core import registry
from nersery.core.errors import SettingsError
from nersery.core.training_context import Training
from nersery.core.warnings import collected_notes
from nersery.models.bundled_models import known_languages
from nersery.taggers.base import Tagger
from nersery.taggers.training.gold_tagger import gold_tagger, warn_of_unknown_labels
from tests.standins import Memory, sentences
from tests.taggers.small_taggers import small

GOLD = sentences(8)


def trained() -> Memory:
    tagger = Memory()
    tagger.fit(GOLD)
    return tagger


def test_a_named_folder_takes_precedence_over_the_caller_s_tagger(
    memory: list[tuple[int, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained().save(tmp_path)
    found = gold_tagger("certainty", str(tmp_path), GOLD, Training(tagger=lambda: pytest.fail("not asked for")))
    assert isinstance(found, Memory)
    assert len(memory) == 1, "nothing was trained anew"
    assert "first trains a tagger" not in capsys.readouterr().err


def test_the_caller_s_tagger_takes_precedence_over_a_new_one() -> None:
    mine = trained()
    assert gold_tagger("certainty", None, GOLD, Training(tagger=lambda: mine)) is mine


def test_trains_a_new_tagger_with_the_given_seed_otherwise(memory: list[tuple[int, int]], monkeypatch) -> None:
    made: list[Tagger] = []

    def create(kind: str, name: str) -> Tagger:
        assert (kind, name) == ("tagger", "transformer")
        made.append(registry.create("tagger", "memory"))
        return made[-1]

    monkeypatch.setattr("nersery.taggers.training.gold_tagger.create", create)
    with collected_notes() as notes:
        assert gold_tagger("certainty", None, GOLD, Training(seed=5)) is made[0]
    assert memory == [(5, len(GOLD))]
    assert [note for note in notes if "certainty first trains a tagger" in note and "300 steps or more" in note]


def test_note_on_the_model_says_how_to_use_another_tagger(tiny_model: str, monkeypatch, capsys) -> None:
    monkeypatch.setattr(known_languages, "BUNDLED", (tiny_model,))
    monkeypatch.setattr("nersery.taggers.training.gold_tagger.create", lambda *_: small(tiny_model, steps=1))
    gold_tagger("flipda", None, [replace(sentence, language="de") for sentence in GOLD], Training())
    note = capsys.readouterr().err
    assert "there is text in de. Train a tagger on a model of its language, e.g. bundled-multilingual" in note
    assert note.endswith("(`nersery.train(…, model=NAME)`), and name its folder as tagger\n")


def test_error_without_tagger_and_gold_names_both_remedies() -> None:
    with pytest.raises(
        SettingsError, match=r"certainty has no tagger\. Name one as tagger .* sentences as gold, to"
    ) as caught:
        gold_tagger("certainty", None, [], Training())
    assert "--" not in str(caught.value)


def test_notes_once_the_labels_that_the_tagger_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    warned: set[str] = set()
    film = Sentence(("Heat",), (Entity(0, 1, "FILM"),), id="f")
    for _ in range(2):
        warn_of_unknown_labels(["LOC", "PER"], [film, *GOLD], warned)
    assert capsys.readouterr().err.count("does not know FILM") == 1
    warn_of_unknown_labels(["FILM"], [film], set())
    assert capsys.readouterr().err == ""
