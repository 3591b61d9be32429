"""F1 against the size of the training data: a panel for each system, with gold only behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from markupsafe import Markup

from nersery.report.charts import (
    BOTTOM,
    LEFT,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    RIGHT,
    Point,
    Scale,
    curve_line,
    height_ticks,
    padded,
    placed,
)

GOLD = "gold"
Curves = dict[str, dict[int, list[float]]]
"""F1 in percent points by system and size, one for each seed and language."""


def size_panels(cells: Iterable[Mapping[str, Any]]) -> list[tuple[str, Markup]]:
    """The label and the panel of each system; empty unless several sizes have scores.

    Args:
        cells: With ``size``, ``system`` and ``f1``, which is null where nothing is finished.
    """
    curves: Curves = {}
    for cell in cells:
        if cell["size"] is not None and cell["f1"] is not None:
            curves.setdefault(cell["system"], {}).setdefault(cell["size"], []).append(100 * cell["f1"])
    sizes = sorted({size for curve in curves.values() for size in curve})
    if len(sizes) < 2:
        return []
    up = padded((value for curve in curves.values() for values in curve.values() for value in values), 10.0)
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
    parts = [height_ticks(scales), _sizes(sizes, scales)]
    if behind:
        parts.append(curve_line(_means(behind), scales, "ghost"))
    parts.append(curve_line(_means(curve), scales, "curve"))
    for size, values in sorted(curve.items()):
        for value in values:
            x, y = placed((math.log(size), value), scales)
            dot = Markup('<circle class="best" cx="{:.1f}" cy="{:.1f}" r="2.5"><title>{}: {:.1f}</title></circle>')
            parts.append(dot.format(x, y, size, value))
    summary = "; ".join(f"{size}: {fmean(values):.1f}" for size, values in sorted(curve.items()))
    return Markup(
        '<svg class="chart panel" role="img" aria-labelledby="size-title-{0} size-desc-{0}" viewBox="0 0 {1} {2}">'
        '<title id="size-title-{0}">F1 by training sentences: {3}</title>'
        '<desc id="size-desc-{0}">{4}</desc>{5}</svg>'
    ).format(number, PANEL_WIDTH, PANEL_HEIGHT, label, summary, Markup("").join(parts))


def _means(curve: Mapping[int, Sequence[float]]) -> list[Point]:
    return [(math.log(size), fmean(values)) for size, values in sorted(curve.items())]


def _sizes(sizes: Sequence[int], scales: tuple[Scale, Scale]) -> Markup:
    """The sizes below the panel; those that would run into the one before are left out."""
    parts, last = [], -math.inf
    for size in sizes:
        x, _ = placed((math.log(size), 0.0), scales)
        if x - last >= 34:
            tick = Markup('<text class="tick" x="{:.1f}" y="{}">{:,}</text>')
            parts.append(tick.format(min(max(x, LEFT), PANEL_WIDTH - RIGHT - 8), PANEL_HEIGHT - BOTTOM + 15, size))
            last = x
    return Markup("").join(parts)
