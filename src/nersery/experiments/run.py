"""`nersery.run`: run a recipe in a folder, with all runs of its sweep if it has one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nersery.core.errors import SettingsError, about_recipe, shown
from nersery.core.system.files import as_path
from nersery.experiments.recipe import Recipe, load
from nersery.experiments.runner import Run
from nersery.experiments.sweep.sweep_runner import Sweep
from nersery.models.pretrained.torch_state import torch_defaults
from nersery.report.model import Report
from nersery.report.sweep_report import SweepReport


@torch_defaults()
@about_recipe()
def run(
    recipe: str | Path,
    *,
    output: str | Path | None = None,
    overrides: Iterable[str] = (),
    models: str = "",
    quiet: bool = False,
    jobs: int = 1,
) -> Report | SweepReport:
    """Run an experiment in a folder, or resume it, and return its report. The report of a sweep covers all runs.

    Args:
        recipe: A TOML file, or the name of a shipped recipe.
        output: The folder; None writes to ``runs/NAME``.
        overrides: Changes to the recipe, ``key=value``.
        models: A set of models for the recipe, see `nersery.experiments.recipe_file.model_sets`.
        jobs: Processes that share the systems and seeds. With several, scripts need ``if __name__ == "__main__":``.
    """
    if not isinstance(recipe, str | Path):
        raise SettingsError(f"recipe is {shown(recipe)}, expected a TOML file, or the name of a shipped recipe")
    named_folder = None if output in (None, "") else as_path(output, "output")
    loaded = load(str(recipe), overrides, models)
    return run_or_sweep(loaded, named_folder or Path("runs") / loaded.name, jobs, quiet=quiet).execute()


def run_or_sweep(recipe: Recipe, folder: Path, jobs: int, *, quiet: bool) -> Run | Sweep:
    """The run of a recipe, or the sweep if it has one."""
    return (Sweep if recipe.sweep else Run)(recipe, folder, quiet, jobs)
