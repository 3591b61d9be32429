"""The cells of runs, each a system with a seed: which cells wait for others, and in which order jobs take them."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nersery.experiments.recipe import Recipe
from nersery.experiments.run_state.sharing import are_labels_shared, with_more_copies
from nersery.experiments.systems import System
from nersery.report.system_names import GOLD


@dataclass(frozen=True, order=True)
class Cell:
    """A system of a run with a seed.

    Args:
        run: The number of the run; a sweep has several.
    """

    run: int
    seed: int
    system: str

    def __str__(self) -> str:
        return f"{self.system}, seed {self.seed}"


def cells(recipe: Recipe, number: int = 0) -> dict[Cell, set[Cell]]:
    """The cells of a recipe in its order, each with the cells whose files it reads."""
    dependencies = {}
    for seed in recipe.seeds:
        for system in recipe.systems:
            names = _needed_systems(recipe, system)
            dependencies[Cell(number, seed, system.name)] = {Cell(number, seed, name) for name in names}
            if seed != recipe.seeds[0] and (recipe.grid or are_labels_shared(system)):  # the first makes it for all
                dependencies[Cell(number, seed, system.name)].add(Cell(number, recipe.seeds[0], system.name))
    return dependencies


def _needed_systems(recipe: Recipe, system: System) -> set[str]:
    """The systems whose sentences or taggers a system reads, with the same seed."""
    names = {*system.references}
    if system.asks_for_tagger:
        names.add(system.base or GOLD)
    if system.makes_sentences:
        names.add(next(other.name for other in recipe.systems if other.makes_the_same_as(system)))
        if system.select:
            names.add(next(other.name for other in recipe.systems if other.selects_the_same_as(system, 1)))
        if larger := with_more_copies(recipe, system):
            names.add(larger.name)
    return names - {system.name}


class CellQueue:
    """Hands out the cells of recipes in order, each when the files that it needs exist. Failed cells count as finished.

    Cells that wait for a failed cell then make its files themselves, or fail for the same reason.
    """

    def __init__(self, recipes: Sequence[Recipe]) -> None:
        self._needs = {cell: needs for n, recipe in enumerate(recipes) for cell, needs in cells(recipe, n).items()}
        self._waiting, self._finished = [*self._needs], set[Cell]()

    def take(self) -> Cell | None:
        """The next cell that may start, or None if all others wait."""
        cell = next((cell for cell in self._waiting if self._needs[cell] <= self._finished), None)
        if cell is not None:
            self._waiting.remove(cell)
        return cell

    def finish(self, cell: Cell) -> None:
        """Mark a cell as finished."""
        self._finished.add(cell)

    def drop(self, run: int) -> None:
        """Forget the cells of a run that have not started."""
        self._waiting = [cell for cell in self._waiting if cell.run != run]


def makespan(recipe: Recipe, seconds: Mapping[str, float], jobs: int) -> float:
    """The seconds that a recipe takes with a number of jobs.

    Args:
        seconds: Seconds of each system for a seed.
    """
    queue, now, running = CellQueue([recipe]), 0.0, list[tuple[float, Cell]]()
    while True:
        while len(running) < jobs and (cell := queue.take()) is not None:
            heapq.heappush(running, (now + seconds.get(cell.system, 0.0), cell))
        if not running:
            return now
        now, cell = heapq.heappop(running)
        queue.finish(cell)
