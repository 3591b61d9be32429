"""Commands for the contents of nersery: list, copy."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from nersery.cli import options, tables
from nersery.cli.app import Command, app
from nersery.core import registry
from nersery.core.errors import SettingsError, did_you_mean, printable
from nersery.core.settings import descriptions
from nersery.core.system.files import write_output
from nersery.core.text import definitions
from nersery.core.warnings import note
from nersery.experiments.data import sampling
from nersery.experiments.recipe_file.table_methods import presets
from nersery.io import repairs
from nersery.io.input_files.same_file import refuse_same_file
from nersery.io.input_files.shipped import EXAMPLE_PREFIX, examples


@app.command(
    name="list", cls=Command, epilog="Examples:\n\n  nersery list augment\n\n  nersery list mention_replacement"
)
def list_(
    what: Annotated[
        str | None,
        Argument(
            help="augment, annotate, align, select, tagger, recipes, presets, protocols, repairs, types, examples, or "
            "a method.",
            metavar="WHAT",
        ),
    ] = None,
    json: options.AsJson = False,
) -> None:
    """List methods with their settings, recipes, presets, types and examples."""
    listings = _listings()
    if what is None or what in listings:
        chosen = {what: listings[what]()} if what else {key: make() for key, make in listings.items()}
        if what is None and not json:
            chosen["types"] = {"…": f"what {len(chosen['types'])} types mean: nersery list types"}
        if json:
            options.print_json(chosen)
        else:
            _print_listings(chosen)
        return
    methods = {kind: registry.names(kind) for kind in registry.KINDS}
    kind = next((kind for kind, names in methods.items() if what in names), None)
    if kind is None:
        known = [*listings, *chain.from_iterable(methods.values())]
        raise SettingsError(f'there is nothing called "{what}"; {did_you_mean(what, known)}')
    description = descriptions.describe(kind, what)
    if json:
        options.print_json(description)
    else:
        _print_method(description)


def _listings() -> dict[str, Any]:
    from nersery.experiments import recipe

    def summary(kind: str, name: str) -> str:
        try:
            return descriptions.summary(kind, name)
        except SettingsError as error:  # a broken package must not hide the other methods
            return f"error: {error}"

    def methods(kind: str) -> dict[str, str]:
        return {name: summary(kind, name) for name in registry.names(kind)}

    return {
        **{kind: partial(methods, kind) for kind in registry.KINDS},
        "recipes": lambda: {name: text for paper in recipe.PAPERS for name, text in recipe.recipes_of(paper).items()},
        "presets": lambda: {name: preset["description"] for name, preset in presets().items()},
        "protocols": lambda: {
            name: (protocol.__doc__ or "").split("\n")[0] for name, protocol in sampling.PROTOCOLS.items()
        },
        "repairs": lambda: {name: repair.summary for name, repair in repairs.REPAIRS.items()},
        "types": definitions.known,
        "examples": lambda: {name: f"{path.stat().st_size:,} bytes" for name, path in examples().items()},
    }


def _print_listings(listings: Mapping[str, Mapping[str, str]]) -> None:
    """Print each listing below its title; recipes are grouped by the paper with the experiment."""
    for title, entries in listings.items():
        groups = {title: entries}
        if title == "recipes":
            from nersery.experiments.recipe import PAPERS, recipes_of

            groups = {f"{title}: {name}" if paper else title: recipes_of(paper) for paper, name in PAPERS.items()}
        for heading, group in groups.items():
            print(heading)
            for name, text in zip(tables.padded(group), group.values(), strict=True):
                print(f"  {name}  {text}")


def _print_method(description: dict[str, Any]) -> None:
    print(
        f"{description['kind']} {description['name']}\n\n{description['documentation']}\n\nSettings and their defaults:"
    )
    for name, setting in description["settings"].items():
        print(f"  {name} = {setting['default']!r}   ({setting['type']})")


@app.command(
    cls=Command,
    epilog="Examples:\n\n  nersery copy demo my-recipe.toml\n\n  nersery copy example:train.conll train.conll",
)
def copy(
    name: Annotated[str, Argument(help="A shipped recipe, or an example file.", metavar="NAME")],
    target: Annotated[Path, Argument(help="Where to write it.", metavar="OUTPUT")],
    force: options.Force = False,
) -> None:
    """Copy a shipped recipe or example file so that you can edit it."""
    from nersery.experiments import recipe

    known = {**recipe.shipped_recipes(), **examples()}
    path = Path(name) if Path(name).is_file() else known.get(name) or known.get(f"{EXAMPLE_PREFIX}{name}")
    if path is None:
        raise SettingsError(f'there is no recipe or example file "{name}"; {did_you_mean(name, known)}')
    if target.is_dir():
        target = target / path.name
    refuse_same_file(target, str(path))
    options.refuse_existing(target, force=force)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_output(target, path.read_text("utf-8"))
    print(printable(str(target)))
    if target.suffix == ".toml":
        command = shlex.join(["nersery", "run", str(target), "--out", f"runs/{target.stem}"])
        note(f"set the files in [data]; then run it with: {command}")
