"""The arguments of the scripts that trained the bundled models; no script trains here."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from nersery.models.bundled_heads import TOKEN_CLASSIFICATION

MODELS = Path(__file__).parents[2] / "models"
SCRIPTS = {
    "denoising/train.py": ["--data", "HERE", "--work", "out"],
    "masked_lm/train.py": ["--text", "HERE", "--work", "out"],
    "multilingual_masked_lm/train.py": ["--data", "HERE", "--work", "out"],
    "ner/average.py": ["lost", "out"],
    "ner/train.py": ["--data", "HERE", "--texts", "HERE", "--work", "out"],
    "qa_head/train.py": ["--data", "HERE", "--work", "out"],
    "qa_head/average.py": ["lost", "lost", "out"],
    "qa_head/fingerprints.py": ["--data", "HERE"],
}


def run(name: str, arguments: list[str], patch: pytest.MonkeyPatch) -> int:
    """The exit code of a script that ends while it reads its arguments."""
    patch.syspath_prepend(MODELS / Path(name).parent)
    patch.setattr(sys, "argv", [name, *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(MODELS / name), run_name="__main__")
    return int(ended.value.code or 0)


def test_each_script_is_tried() -> None:
    assert {
        str(path.relative_to(MODELS)) for path in MODELS.glob("*/*.py") if "ArgumentParser(" in path.read_text()
    } == {*SCRIPTS}


@pytest.mark.parametrize("name", SCRIPTS)
def test_missing_data_is_named(
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


def test_text_in_other_languages_is_needed_unless_english_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text/en").mkdir(parents=True)
    arguments = ["--data", str(tmp_path), "--work", str(tmp_path / "out")]
    assert run("multilingual_masked_lm/train.py", arguments, monkeypatch) == 2
    assert "has not both bitext and qa" in capsys.readouterr().err


def test_the_mean_of_equal_taggers_is_each_of_them_and_other_encoders_are_refused(
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
