"""How long the systems of a run take, in ``run_time.json``; the times of a resumed run add up."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nersery.core.files import write_json
from nersery.core.sentence import Corpus
from nersery.experiments.recipe import Recipe
from nersery.experiments.run_time import estimates
from nersery.report.model import RunTimeReport
from nersery.report.number_format import in_minutes

RUN_TIME_FILE = "run_time.json"


@dataclass(frozen=True)
class Clock:
    """Measures the systems of a run in its folder.

    The record is the only file of a run that differs between equal runs. A process that is killed loses its time; the
    record notes that.
    """

    folder: Path

    @property
    def path(self) -> Path:
        """The record."""
        return self.folder / RUN_TIME_FILE

    def record(self) -> dict[str, Any]:
        """Estimates by system, and seconds by system and seed; a damaged record counts as none."""
        try:
            found = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            found = {}
        return {"estimates": {}, "systems": {}} | (found if isinstance(found, dict) else {})

    def estimated(self, recipe: Recipe, corpora: Mapping[str, Corpus]) -> str:
        """Estimate what each system will take for a seed, once, and note that; the sum in words.

        Args:
            corpora: By split, as a run reads them.
        """
        record = self.record()
        is_new = not record["estimates"] and not record["systems"]
        if is_new and any(sentence.entities for sentence in corpora["train"]):
            record["estimates"] = estimates(recipe, corpora)
            write_json(self.path, record)
        seconds = len(recipe.seeds) * sum(record["estimates"].values())
        return f"estimated run time in all: {in_minutes(seconds)}" if seconds else "the run time was not estimated"

    def resume(self) -> None:
        """Note which systems a kill stopped, if there is a record."""
        if self.path.exists():
            record = self.record()
            for entry in (entry for of in record["systems"].values() for entry in of.values()):
                entry |= {"killed": entry["killed"] or entry["is_running"], "is_running": False}
            write_json(self.path, record)

    @contextmanager
    def running(self, system: str, seed: int) -> Iterator[None]:
        """Measure a system with a seed; what fails or is interrupted counts too."""
        record = self.record()
        none = {"seconds": 0.0, "killed": False}
        entry = record["systems"].setdefault(system, {}).setdefault(str(seed), none)
        entry["is_running"] = True
        write_json(self.path, record)
        began = time.monotonic()
        try:
            yield
        finally:
            entry |= {"is_running": False, "seconds": round(entry["seconds"] + time.monotonic() - began, 1)}
            write_json(self.path, record)

    def report(self, recipe: Recipe) -> dict[str, RunTimeReport]:
        """The times of a recipe's systems, in its order; empty if there is no record."""
        record = self.record()
        reports = {}
        for system in recipe.systems:
            entries = [record["systems"].get(system.name, {}).get(str(seed), {}) for seed in recipe.seeds]
            if any(entries):
                reports[system.name] = RunTimeReport(
                    estimate=record["estimates"].get(system.name),
                    seconds=[entry.get("seconds") for entry in entries],
                    killed=any(entry.get("killed", False) for entry in entries),
                )
        return reports
