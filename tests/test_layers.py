"""Data flows one way: what a module imports lies below it, and no method knows another."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import nersery
from nersery import registry

ROOT = Path(nersery.__file__).parent
LAYERS = [
    {"errors", "rng"},
    {"disk", "faults"},
    {"data", "links"},
    {"progress", "tags", "repairs", "registry", "definitions"},
    {"loop", "sampling", "training", "voting"},
    {"io"},
    {"lm"},
    {"align"},
    {"augment", "annotate", "select", "project", "tagger", "evaluate", "review"},
    {"engine"},
    {"publish"},
    {"places"},
    {"splits"},
    {"overrides"},
    {"arms"},
    {"grid"},
    {"recipe"},
    {"inputs", "identity", "prerequisites"},
    {"results"},
    {"runs"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
HEAVY = {"torch", "transformers", "safetensors", "tokenizers"}
MAY_BE_HEAVY = {"lm", "tagger", "align"}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imports(path: Path) -> list[tuple[str, bool]]:
    """Imported modules, and whether at the top of the file; imports for types alone do not count."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    top = {id(node) for node in tree.body}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) in top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "nersery":
            found += [(f"nersery.{alias.name}", id(node) in top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.module or "", id(node) in top))
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    package, *rest = path.relative_to(ROOT).with_suffix("").parts
    for name, at_top in imports(path):
        parts = name.split(".")
        if parts[0] in HEAVY:
            assert package in MAY_BE_HEAVY or not at_top, f"{name} would make every command slow"
        if parts[0] != "nersery" or len(parts) < 2 or parts[1].startswith("__"):
            continue
        assert RANK[parts[1]] <= RANK[package], f"{package} lies below {parts[1]}"
        if package in registry.KINDS and rest[0] in registry.names(package) and parts[1] in registry.KINDS:
            assert parts[2] not in registry.names(parts[1]), f"the method {rest[0]} imports the method {name}"


def test_the_documents_show_the_same_layers() -> None:
    page = (ROOT.parents[1] / "docs" / "architecture.md").read_text("utf-8")
    table = page.partition("| layer | what it does |")[2].partition("\n\n")[0]
    shown = [set(re.findall(r"`(\w+)`", line.split("|")[1])) for line in table.splitlines()[2:]]
    assert shown == [layer for layer in reversed(LAYERS) if layer != {"__main__"}]


def test_every_package_has_a_layer() -> None:
    packages = {path.relative_to(ROOT).with_suffix("").parts[0] for path in MODULES}
    assert packages <= set(RANK)
