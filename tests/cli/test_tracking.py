"""Trackers get the figures of the report, and are imported only on request."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nersery.cli import tracking
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.report.model import Report, SystemReport
from nersery.report.parts import Measure

REPORT = Report(name="mine", recipe={"tagger": {"steps": 3}, "seeds": [0, 1]}, systems=[SystemReport(name="gold only")])


class Recorder(ModuleType):
    """A tracker that records its calls."""

    def __init__(self) -> None:
        super().__init__("tracker")
        self.calls: list[tuple[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("start_run", "init"):
            return self._opened
        return lambda *values, **named: self.calls.append((name, values or named))

    @contextlib.contextmanager
    def _opened(self, **named: Any) -> Iterator[Any]:
        self.calls.append(("open", named))
        yield self


@pytest.mark.parametrize("name", tracking.TRACKERS)
def test_recipe_scores_and_report_are_logged(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setitem(sys.modules, name, recorder)
    (tmp_path / "report.json").write_text("{}", "utf-8")
    REPORT.systems[0].f1.mean = 0.5
    tracking.log_run(name, REPORT, tmp_path)
    calls = str(recorder.calls)
    assert "'tagger.steps': 3" in calls
    assert "0.5" in calls
    assert "report.json" in calls
    assert "report.html" not in calls


def test_mlflow_gets_valid_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setitem(sys.modules, "mlflow", recorder)
    names = ("melm + agreement", "melm = agreement", "first, v1.5", "हिन्दी")
    systems = [SystemReport(name=name, f1=Measure(mean=0.5)) for name in names]
    tracking.log_run("mlflow", REPORT.model_copy(update={"systems": systems}), tmp_path)
    [metrics] = next(values for name, values in recorder.calls if name == "log_metrics")
    assert len(metrics) == len(names)
    assert all(re.fullmatch(r"[/\w.\- :]*", name) for name in metrics)  # the rule of mlflow 3


def test_wrong_and_missing_trackers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match='did you mean "mlflow"'):
        tracking.check_tracker("mlflw")
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(MissingResourceError, match="pip install wandb"):
        tracking.check_tracker("wandb")
