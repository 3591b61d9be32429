"""Documents, recipes, help and messages have no phrases that readers stumbled over."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from measure import words

ROOT = Path(__file__).parent.parent
PHRASES = (
    r"anew\b",
    r"none of\b",
    r"so many\b",
    r"comes? along\b",
    r"(?:it is|are) told\b",
    r"as many as\b",
    r"goes on where\b",
    r"who labels\b",
    r"has the last word\b",
    r"slip of the pen\b",
    r"where there is little of it\b",
    r"when you have little of it\b",
    r"What it kept\b",
    r"in its stead\b",
    r"labelled by hand it is\b",
    r"tells? of\b",
    r"at hand\b",
    r"had time for\b",
    r"no rival\b",
    r"who holds\b",
    r"so that the more\b",
    r"of today\b",
    r"(?:was|were) asked\b",
    r"(?:is|was|were|been|be) told\b",
    r"(?:is|was|has|had|It) said\b",
    r"says what\b",
    r"to go on\b",
    r", for (?:it|they|he|there|its|no)\b",
)
FORBIDDEN = re.compile(r"\b(?:" + "|".join(phrase.removeprefix(", ") for phrase in PHRASES[:-1]) + r")|" + PHRASES[-1])
PAGES = sorted(
    [*ROOT.glob("C*.md"), ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *ROOT.glob("models/*/README.md")]
)
RECIPES = sorted([*(ROOT / "src" / "nersery" / "recipes").glob("*.toml"), *(ROOT / "benchmarks").glob("*.toml")])
ADVICE = ROOT / "src" / "nersery" / "io" / "input_files" / "foreign.toml"
MODULES = sorted((ROOT / "src" / "nersery").rglob("*.py"))


@pytest.mark.parametrize("path", [*PAGES, *RECIPES, ADVICE], ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_and_recipes_read_well(path: Path) -> None:
    text = " ".join(path.read_text("utf-8").split())
    assert FORBIDDEN.findall(text) == []


def test_documents_are_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120
    assert words() <= 25_000


def test_messages_and_docstrings_read_well() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {phrase}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for phrase in FORBIDDEN.findall(" ".join(node.value.split()))
    ]
    assert found == []
