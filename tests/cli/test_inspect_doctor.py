"""What `nersery inspect doctor` finds."""

from __future__ import annotations

import json

import pytest

from nersery.cli import inspect_doctor
from nersery.core.version import __version__
from tests.cli.calls import call


def test_lists_versions_models_machine_and_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    find = inspect_doctor.find_spec
    monkeypatch.setattr(inspect_doctor, "find_spec", lambda name: None if name in ("ray", "mlflow") else find(name))
    found = json.loads(call("inspect", "doctor", "--json").out)
    assert found["versions"]["nersery"] == __version__
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["precision"] in ("bf16", "fp32")
    assert found["machine"]["instructions"]
    assert found["models"]["bundled-ner"] == "installed"
    assert found["extras"]["ray"].endswith('not installed, pip install "nersery[ray]"')
    assert found["extras"]["mlflow"].endswith("not installed, pip install mlflow")
    assert found["extras"]["spacy"].endswith(": installed")


def test_every_extra_is_explained() -> None:
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    declared = project["optional-dependencies"].keys() - {"dev", "all"}
    assert declared <= inspect_doctor.EXTRAS.keys() - {*inspect_doctor.LIBRARIES}
    assert call("inspect", "doctor").out.startswith("versions:\n")
