"""`nersery.run`: a recipe is run in a folder, with all runs of its sweep if it has one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nersery.core.files import as_path
from nersery.experiments.recipe import Recipe, load
from nersery.experiments.runner import Run
from nersery.experiments.sweep_runner import Sweep
from nersery.models.torch_state import torch_defaults
from nersery.report.model import Report
from nersery.report.sweep_report import SweepReport


@torch_defaults()
def run(
    recipe: str | Path,
    *,
    output: str | Path | None = None,
    overrides: Iterable[str] = (),
    models: str = "",
    quiet: bool = False,
    jobs: int = 1,
) -> Report | SweepReport:
    """Run an experiment in a folder, or resume it, and return its report; with a sweep, that of all runs.

    Args:
        recipe: A TOML file, or the name of a shipped recipe.
        output: The folder; None writes to ``runs/NAME``.
        overrides: Changes of the recipe, ``key=value``.
        models: Replaces all models, see `nersery.experiments.recipe_file.model_sets`.
        jobs: Processes that share the systems and seeds; a script with several needs ``if __name__ == "__main__":``.
    """
    named_folder = None if output in (None, "") else as_path(output, "output")
    loaded = load(str(recipe), overrides, models)
    return job_of(loaded, named_folder or Path("runs") / loaded.name, jobs, quiet=quiet).execute()


def job_of(recipe: Recipe, folder: Path, jobs: int, *, quiet: bool) -> Run | Sweep:
    """The run of a recipe, or its sweep."""
    return (Sweep if recipe.sweep else Run)(recipe, folder, quiet, jobs)
