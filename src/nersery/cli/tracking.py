"""Log the results of a run to MLflow or Weights & Biases, which are imported only if requested."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nersery.core.errors import SettingsError, did_you_mean
from nersery.core.extras import required
from nersery.report.model import Report

TRACKERS = ("mlflow", "wandb")


def check_tracker(name: str) -> None:
    """Check, before any work, that a tracker can be used.

    Raises:
        SettingsError: If there is no such tracker.
        MissingResourceError: If the tracker is not installed.
    """
    if name not in TRACKERS:
        raise SettingsError(f'--log is "{name}"; {did_you_mean(name, TRACKERS)}')
    required(name)


def log_run(name: str, report: Report, folder: Path) -> None:
    """Log recipe, scores and report as one run of a tracker, at the destination in the tracker's own settings."""
    settings = dict(_flat(report.recipe))
    scores = {f"{system.name}/f1": system.f1.mean for system in report.systems if system.f1.mean is not None}
    files = [path for path in (folder / "report.json", folder / "report.html") if path.exists()]
    tracker = required(name)
    if name == "wandb":
        with tracker.init(project="nersery", name=report.name, config=settings) as run:
            run.log(scores)
            for path in files:
                run.save(str(path), base_path=str(folder), policy="now")
        return
    tracker.set_experiment("nersery")
    with tracker.start_run(run_name=report.name):
        tracker.log_params(settings)
        tracker.log_metrics(_named_as_allowed(scores))
        for path in files:
            tracker.log_artifact(str(path))


def _named_as_allowed(scores: Mapping[str, float]) -> dict[str, float]:
    """The scores under distinct names that MLflow accepts.

    >>> _named_as_allowed({"a + b/f1": 0.5, "a = b/f1": 0.6})
    {'a _ b.f1': 0.5, 'a _ b.f1_': 0.6}
    """
    named: dict[str, float] = {}
    for key, score in scores.items():
        name = re.sub(r"[^\w.\- ]", "_", key.replace("/", "."))
        while name in named:
            name += "_"
        named[name] = score
    return named


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as a flat mapping with dotted names; lists become text.

    >>> _flat({"tagger": {"steps": 3}, "seeds": [0, 1]})
    {'tagger.steps': 3, 'seeds': '[0, 1]'}
    """
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value if isinstance(value, str | int | float) else str(value)
    return flat
