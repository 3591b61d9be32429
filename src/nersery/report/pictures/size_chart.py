"""F1 against the size of the training data: a panel for each system, with gold only behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from markupsafe import Markup

from nersery.report.parts import SweepCell
from nersery.report.pictures.charts import LEFT, PANEL_WIDTH, RIGHT, Point, Scale, panel, placed, scale_around

GOLD = "gold"
Curves = dict[str, dict[int, list[float]]]
"""F1 in percent points by system and size, one for each seed and language."""


def size_panels(cells: Iterable[SweepCell]) -> list[tuple[str, Markup]]:
    """The label and the panel of each system; empty unless several sizes have scores."""
    curves: Curves = {}
    for cell in cells:
        if cell.size is not None and cell.f1 is not None:
            curves.setdefault(cell.system, {}).setdefault(cell.size, []).append(100 * cell.f1)
    sizes = sorted({size for curve in curves.values() for size in curve})
    if len(sizes) < 2:
        return []
    up = scale_around((value for curve in curves.values() for values in curve.values() for value in values), 10.0)
    scales = Scale(math.log(sizes[0]), math.log(sizes[-1])), Scale(max(0.0, up.low), min(100.0, up.high))
    labels = {name: "gold only" if name == GOLD else name for name in curves}
    return [
        (labels[name], _panel(number, labels[name], curve, curves.get(GOLD) if name != GOLD else None, scales, sizes))
        for number, (name, curve) in enumerate(curves.items(), start=1)
    ]


def _panel(
    number: int,
    label: str,
    curve: Mapping[int, Sequence[float]],
    behind: Mapping[int, Sequence[float]] | None,
    scales: tuple[Scale, Scale],
    sizes: Sequence[int],
) -> Markup:
    dots = [
        ((math.log(size), value), f"{size}: {value:.1f}") for size, values in sorted(curve.items()) for value in values
    ]
    summary = "; ".join(f"{size}: {fmean(values):.1f}" for size, values in sorted(curve.items()))
    title, ghosts = f"F1 by training sentences: {label}", [_means(behind)] if behind else []
    line = _means(curve), dots
    return panel(("size", number), title, summary, scales, _ticks(sizes, scales), ghosts, [line], radius=2.5)


def _means(curve: Mapping[int, Sequence[float]]) -> list[Point]:
    return [(math.log(size), fmean(values)) for size, values in sorted(curve.items())]


def _ticks(sizes: Sequence[int], scales: tuple[Scale, Scale]) -> list[tuple[float, str]]:
    """The sizes below the panel; those that would run into the one before are left out."""
    ticks, last = [], -math.inf
    for size in sizes:
        x, _ = placed((math.log(size), 0.0), scales)
        if x - last >= 34:
            ticks.append((min(max(x, LEFT), PANEL_WIDTH - RIGHT - 8), f"{size:,}"))
            last = x
    return ticks
