"""Fake word aligners: they have the same interface, and link words at the same position."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

COMMON = """
import pathlib, sys
def option(name): return sys.argv[sys.argv.index(name) + 1]
def lines(name): return pathlib.Path(name).read_text().splitlines()
def diagonal(source, target): return " ".join(f"{n}-{n}" for n in range(min(len(source.split()), len(target.split()))))
pathlib.Path(CALLS).open("a").write(repr(sys.argv[1:]) + chr(10))
"""
FAST_ALIGN = """
for line in lines(option("-i")):
    print(diagonal(*line.split(" ||| ")))
"""
EFLOMAL = """
found = "".join(diagonal(*pair) + chr(10) for pair in zip(lines(option("-s")), lines(option("-t")), strict=True))
pathlib.Path(option("-f")).write_text(found)
pathlib.Path(option("-r")).write_text(found)
"""
MKCLS = """
name = next(argument[2:] for argument in sys.argv if argument.startswith("-V"))
pathlib.Path(name).write_text("")
"""
GIZA = """
names = {line.split()[0]: line.split()[1] for side in "-S -T".split() for line in lines(option(side))}
words = [{line.split()[0] for line in lines(option(side))} for side in "-S -T".split()]
snt = lines(option("-C"))
cooc = {tuple(line.split()) for line in lines(option("-CoocurrenceFile"))}
answer = []
for number, (source, target) in enumerate(zip(snt[1::3], snt[2::3], strict=True), start=1):
    source, target = source.split(), target.split()
    assert {*source} <= words[0] and {*target} <= words[1]
    assert all((left, right) in cooc for left in ["0", *source] for right in target)
    answer.append(f"# Sentence pair ({number}) source length {len(source)} target length {len(target)} score : 1e-05")
    answer.append(" ".join(target))
    spots = ["{ %s}" % (f"{n + 1} " if n < len(target) else "") for n in range(len(source))]
    rest = "".join(f"{n + 1} " for n in range(len(source), len(target)))
    answer.append("NULL ({ %s}) " % rest + " ".join(f"{word} ({spot})" for word, spot in zip(source, spots)))
table = sorted({(left, right) for left, right in cooc if left != "0"})
pathlib.Path(option("-outputpath"), option("-o") + ".t3.final").write_text(
    "".join(f"{left} {right} {0.9 if left == right else 0.1}" + chr(10) for left, right in table))
half = len(answer) // 6 * 3
for part, some in enumerate([answer[half:], answer[:half]]):
    name = f"{option('-outputpath')}{option('-o')}.A3.final.part00{part}"
    pathlib.Path(name).write_text("".join(line + chr(10) for line in some))
"""
SCRIPTS = {"fast_align": FAST_ALIGN, "eflomal-align": EFLOMAL, "mkcls": MKCLS, "mgiza": GIZA, "GIZA++": GIZA}


def put_on_path(patch: pytest.MonkeyPatch, folder: Path, *names: str, script: str | None = None) -> Path:
    """Write such programs, make their folder the PATH, and return the file that records their calls."""
    calls = folder / "calls"
    for name in names:
        path = folder / name
        body = COMMON.replace("CALLS", repr(str(calls))) + (SCRIPTS[name] if script is None else script)
        path.write_text(f"#!{sys.executable} -S\n{body}")
        path.chmod(0o755)
    patch.setenv("PATH", str(folder))
    return calls
