"""The arguments of the scripts that trained the bundled models; nothing is trained here."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from nersery import io
from nersery.core.sentence import Entity, Sentence
from nersery.models.bundled_models.bundled_heads import TOKEN_CLASSIFICATION

MODELS = Path(__file__).parents[2] / "models"
SCRIPTS = {
    "denoising/train.py": ["--data", "HERE", "--work", "out"],
    "masked_lm/train.py": ["--text", "HERE", "--work", "out"],
    "multilingual_masked_lm/train.py": ["--data", "HERE", "--work", "out"],
    "ner/average.py": ["lost", "out"],
    "ner/kinds.py": ["lost", "out"],
    "ner/train.py": ["--texts", "HERE", "--work", "out"],
    "qa_head/train.py": ["--data", "HERE", "--work", "out"],
    "qa_head/average.py": ["lost", "lost", "out"],
    "qa_head/fingerprints.py": ["--data", "HERE"],
}


def run(name: str, arguments: list[str], patch: pytest.MonkeyPatch) -> int:
    """The exit code of a script that exits while it parses its arguments."""
    patch.syspath_prepend(MODELS / Path(name).parent)
    patch.setattr(sys, "argv", [name, *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(MODELS / name), run_name="__main__")
    return int(ended.value.code or 0)


def test_each_script_is_tested() -> None:
    assert {
        str(path.relative_to(MODELS)) for path in MODELS.glob("*/*.py") if "ArgumentParser(" in path.read_text()
    } == {*SCRIPTS}


@pytest.mark.parametrize("name", SCRIPTS)
def test_missing_data_is_reported(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("lost", "."):
        arguments = [folder if one == "HERE" else one for one in SCRIPTS[name]]
        assert run(name, arguments, monkeypatch) == 2
        assert "error: argument" in (printed := capsys.readouterr().err)
        assert "there is no " in printed
    assert not [*tmp_path.iterdir()], "nothing is written before"
    assert run(name, ["--help"], monkeypatch) == 0
    assert "usage:" in capsys.readouterr().out


def test_requires_text_in_other_languages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text/en").mkdir(parents=True)
    arguments = ["--data", str(tmp_path), "--work", str(tmp_path / "out")]
    assert run("multilingual_masked_lm/train.py", arguments, monkeypatch) == 2
    assert "does not contain both bitext and qa" in capsys.readouterr().err


def test_averages_taggers_and_refuses_those_of_other_encoders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    english, multilingual = (str(path) for path in TOKEN_CLASSIFICATION.values())
    assert run("ner/average.py", [english, multilingual, str(tmp_path / "out")], monkeypatch) == 2
    assert f"{multilingual} has other weights than {english}" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]
    average = runpy.run_path(str(MODELS / "ner/average.py"))
    tagger = load_file(english)
    mean = average["mean"]([tagger, tagger])
    name = next(name.removesuffix(".up") for name in tagger if name.endswith(".up"))
    expected = average["added"](tagger, name)
    assert torch.allclose(average["added"](mean, name), expected, atol=0.02 * float(expected.abs().max()))


def test_names_get_the_kind_of_the_best_answer_and_new_ones_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(MODELS / "ner")
    refined = runpy.run_path(str(MODELS / "ner/kinds.py"))["refined"]
    sentence = Sentence("Arup & Co in Leeds sold cheap red tea to Leeds United".split(), id="a:1").with_entities(
        [Entity(0, 3, "ORG"), Entity(4, 5, "LOC"), Entity(10, 12, "ORG")]
    )
    answers = [
        Entity(0, 1, "BAND", score=0.9),  # a third of the name
        Entity(0, 2, "COMPANY", score=0.5),
        Entity(4, 5, "PER", score=0.9),  # not a kind of place
        Entity(6, 9, "FOOD", score=0.7),
        Entity(8, 9, "DRUG", score=0.9),  # only the best of overlapping answers
        Entity(5, 6, "DEVICE", score=0.5),  # not certain
        Entity(10, 11, "CITY", score=0.9),
    ]
    assert [(e.start, e.end, e.type) for e in refined(sentence, answers).entities] == [
        (0, 3, "COMPANY"),
        (4, 5, "LOC"),
        (8, 9, "DRUG"),
        (10, 12, "ORG"),
    ]


def test_keeps_certain_sentences_and_a_quarter_of_those_without_names(monkeypatch: pytest.MonkeyPatch) -> None:
    certain = runpy.run_path(str(MODELS / "ner/certain.py"))["certain"]
    sure, unsure, place = (
        Entity(0, 1, type_, score=score) for type_, score in (("ORG", 0.7), ("ORG", 0.6), ("LOC", 1.0))
    )
    with_names = [
        Sentence(("Acme", "sold", "it"), entities, id=f"a:{number}")
        for number, entities in enumerate([(sure,), (unsure,), (place,)])
    ]
    without = [Sentence(("it", "rained"), id=f"b:{number}") for number in range(400)]
    long = Sentence(("A" * 201,), (sure,), id="c:1")
    kept = [sentence.id for sentence in certain([*with_names, *without, long], ())]
    assert kept[:2] == ["a:0", "a:2"]
    assert 60 < len(kept) - 2 < 140
    assert [sentence.id for sentence in certain([*with_names, *without, long], ("ORG", "MISC"))] == ["a:0"]


def test_projected_names_have_four_types_and_capitals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = [Entity(0, 2, "BAND", 0.9), Entity(3, 5, "FOOD", 0.9)]
    io.write([Sentence("Red Tide like red tea".split(), tuple(labels), id="a")], tmp_path / "kinds.jsonl")
    monkeypatch.syspath_prepend(MODELS / "ner")
    monkeypatch.setattr(sys, "argv", ["", "--translated", str(tmp_path / "kinds.jsonl"), str(tmp_path)])
    runpy.run_path(str(MODELS / "ner/from_base.py"), run_name="__main__")
    kinds, names = (io.read(tmp_path / part / "translated/eng.jsonl")[0] for part in ("kinds", "names"))
    assert kinds.labels == ((0, 2, "BAND"), (3, 5, "FOOD"))
    assert names.labels == ((0, 2, "ORG"),)
    assert [one.id for one in io.read(tmp_path / "agreed.jsonl")] == ["a"]
