"""Measures the size of the code, for docs/architecture.md: ``python docs/measure.py``."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "nersery"
LONG_FUNCTION = 50


def functions(tree: ast.Module) -> Iterator[int]:
    """The length of each function in lines, without its docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node, clean=False)
            yield (node.end_lineno or node.lineno) - node.lineno + 1 - (docstring.count("\n") + 1 if docstring else 0)


def lines(path: Path) -> int:
    """The number of lines of a file."""
    return path.read_text("utf-8").count("\n")


def code_lines(path: Path) -> int:
    """The number of lines that are not empty, not a comment and not part of a docstring."""
    text = path.read_text("utf-8")
    left = {number for number, line in enumerate(text.split("\n"), 1) if line.strip() and line.strip()[0] != "#"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            left -= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return len(left)


def words() -> int:
    """The words of README and docs; the bars of tables do not count."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    return sum(any(map(str.isalnum, word)) for page in pages for word in page.read_text("utf-8").split())


def measure() -> dict[str, str]:
    """Each measure and its value, as shown in the documentation."""
    files = sorted(SOURCE.rglob("*.py"))
    sizes = [lines(path) for path in files]
    lengths = [length for path in files for length in functions(ast.parse(path.read_text("utf-8")))]
    long = sum(length > LONG_FUNCTION for length in lengths)
    names = [path for path in SOURCE.iterdir() if not path.name.startswith(("_", "py.typed"))]
    tests = sum(map(lines, (ROOT / "tests").rglob("*.py")))
    return {
        "lines of Python in `src`": f"{sum(sizes):,}",
        "of code among them": f"{sum(map(code_lines, files)):,}",
        "lines of tests": f"{tests:,}",
        "files, median and longest": f"{len(files)}, {statistics.median(sizes):.0f} and {max(sizes)} lines",
        "functions above 50 lines": f"{long} of {len(lengths):,} ({100 * long / len(lengths):.1f} %)",
        "names directly under `src/nersery`": str(len(names)),
        "words in README and docs": f"{words():,}",
    }


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"| {name} | {value} |")
