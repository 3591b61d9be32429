"""How long the systems of a run take, in ``run_time.json``; the times of a resumed run add up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nersery.core.sentence import Corpus
from nersery.core.system.files import write_json
from nersery.core.system.job_records import removed_folder_error
from nersery.experiments.execution.run_time import estimates
from nersery.experiments.recipe import Recipe
from nersery.report.model import RunTimeReport


@dataclass(frozen=True)
class Clock:
    """Measures the systems of a run in its folder.

    The record is the only file of a run that differs between equal runs. The time of a killed process is lost; the
    record notes that.
    """

    folder: Path

    @property
    def path(self) -> Path:
        """The record."""
        return self.folder / "run_time.json"

    def record(self) -> dict[str, Any]:
        """Estimates by system, and seconds by system and seed; a damaged record counts as none."""
        try:
            content = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            content = {}
        return {"estimates": {}, "systems": {}} | (content if isinstance(content, dict) else {})

    def estimates(
        self, recipe: Recipe, corpora: Mapping[str, Corpus], threads: int | None, say: Callable[[str], None]
    ) -> dict[str, float]:
        """The result of `run_time.estimates`, which also describes the arguments. The first call notes it."""
        record = self.record()
        is_new = not record["estimates"] and not record["systems"]
        if is_new and any(sentence.entities for sentence in corpora["train"]):
            record["estimates"] = estimates(recipe, corpora, threads, say=say)
            write_json(self.path, record)
        return record["estimates"]

    def resume(self) -> None:
        """Note in the record, if there is one, which systems a kill stopped."""
        if self.path.exists():
            record = self.record()
            for by_seed in record["systems"].values():
                for entry in by_seed.values():
                    entry |= {"killed": entry["killed"] or entry["is_running"], "is_running": False}
            write_json(self.path, record)

    @contextmanager
    def running(self, system: str, seed: int) -> Iterator[None]:
        """Measure the time of a system with a seed. Failed and interrupted work counts, too.

        Raises:
            DiskError: If somebody has removed the folder in the meantime.
        """
        record = self.record()
        new_entry = {"seconds": 0.0, "killed": False}
        entry = record["systems"].setdefault(system, {}).setdefault(str(seed), new_entry)
        entry["is_running"] = True
        write_json(self.path, record)
        began, seconds_before = time.monotonic(), entry["seconds"]
        try:
            yield
        finally:
            record = self.record()  # others may have begun or ended in the meantime
            if (entry := record["systems"].get(system, {}).get(str(seed))) is None:
                raise removed_folder_error(self.path.parent)
            entry |= {"is_running": False, "seconds": round(seconds_before + time.monotonic() - began, 1)}
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
