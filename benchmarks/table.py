"""A Markdown table of several runs, a row for each system: ``python benchmarks/table.py runs/multiconer-en-*``.

F1 is strict and micro, in percent points, mean ± standard deviation over seeds; the difference to gold only has its
95 % interval (paired bootstrap over test sentences) and the two-sided p-value.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def row(run: str, system: dict[str, Any]) -> str:
    """One line of the table."""
    f1, test = system["f1"], system["against_gold"]
    score = f"{100 * f1['mean']:.1f}" + (f" ± {100 * f1['std']:.1f}" if f1["std"] is not None else "")
    sentences = system["train_sentences"]
    size = f"{min(sentences)} to {max(sentences)}" if len(set(sentences)) > 1 else str(sentences[0])
    difference = (
        ""
        if test is None
        else f"{100 * test['difference']:+.1f} ({100 * test['low']:+.1f} to {100 * test['high']:+.1f})"
    )
    p = "" if test is None else ("< 0.001" if test["p"] < 0.001 else f"{test['p']:.3f}")
    return f"| {run} | {system['name']} | {len(f1['values'])} | {size} | {score} | {difference} | {p} |"


def main() -> None:
    """Print the table of the runs named on the command line."""
    print("| run | system | seeds | training sentences | F1 | against gold only (95 % interval) | p |")
    print("|---|---|---|---|---|---|---|")
    for folder in sys.argv[1:]:
        report = json.loads((Path(folder) / "report.json").read_text("utf-8"))
        for system in report["systems"]:
            print(row(report["name"], system))


if __name__ == "__main__":
    main()
