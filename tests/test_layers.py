"""Imports go down or sideways, without cycles."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import nersery
from nersery.core import registry

ROOT = Path(nersery.__file__).parent
LAYERS = [
    {"core"},
    {"io"},
    {"models"},
    {"pipeline"},
    {"crosslingual", "evaluate", "taggers"},
    {"annotate", "augment", "select"},
    {"publish", "report", "review"},
    {"experiments"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
HEAVY = {"torch", "transformers", "safetensors", "tokenizers"}
MAY_BE_HEAVY = {"models", "taggers", "crosslingual"}
MODULES = {
    ".".join(("nersery", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}
INSIDE = {name: path for name, path in MODULES.items() if name not in ("nersery", "nersery.__main__")}


@cache
def imports(module: str) -> list[tuple[str, bool]]:
    """Imported modules, including those for types, and whether each import runs when the module is loaded."""
    tree = ast.parse(MODULES[module].read_text("utf-8"))
    top = {id(node) for node in tree.body}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) in top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [(name if name in MODULES else node.module or "", id(node) in top) for name in inner]
    return found


@pytest.mark.parametrize("module", INSIDE)
def test_imports_go_down(module: str) -> None:
    package = module.split(".")[1]
    for name, at_top in imports(module):
        parts = name.split(".")
        if parts[0] in HEAVY:
            assert package in MAY_BE_HEAVY or not at_top, f"{name} would make every command slow"
        if parts[0] == "nersery":
            assert len(parts) > 1, f"{module} imports from nersery, which stands above all; name the module"
            assert RANK[parts[1]] <= RANK[package], f"{package} lies below {parts[1]}"


def methods() -> dict[str, str]:
    """The module of each method, and its kind."""
    return {f"{registry.package_of(kind)}.{name}": kind for kind in registry.KINDS for name in registry.names(kind)}


@pytest.mark.parametrize("module", methods())
def test_methods_do_not_import_each_other(module: str) -> None:
    assert not {name for name, _ in imports(module)} & methods().keys()


def test_there_are_no_import_cycles() -> None:
    graph = {module: {name for name, _ in imports(module) if name in INSIDE} - {module} for module in INSIDE}
    while leaves := {module for module, names in graph.items() if not names}:
        graph = {module: names - leaves for module, names in graph.items() if module not in leaves}
    assert not graph, f"of these some import each other: {sorted(graph)}"


def test_the_documents_show_the_same_layers() -> None:
    page = (ROOT.parents[1] / "docs" / "architecture.md").read_text("utf-8")
    table = page.partition("| layer | what it does |")[2].partition("\n\n")[0]
    shown = [set(re.findall(r"`(\w+)`", line.split("|")[1])) for line in table.splitlines()[2:]]
    assert shown == [*reversed(LAYERS)]


def test_every_package_has_a_layer_and_there_are_few() -> None:
    packages = {module.split(".")[1] for module in INSIDE}
    assert packages == set(RANK)
    shown = [path for path in ROOT.iterdir() if not path.name.startswith("_") and path.name != "py.typed"]
    assert len(shown) <= 16


def test_module_names_are_unique() -> None:
    files = [path.stem for path in INSIDE.values()]
    names = [name for name in files if name not in ("__init__", "base")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_class_names_are_unique() -> None:
    trees = [ast.parse(path.read_text("utf-8")) for path in INSIDE.values()]
    names = [node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    assert sorted({name for name in names if names.count(name) > 1}) == []
