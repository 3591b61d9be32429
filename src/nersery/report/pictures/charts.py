"""The layout of the report's charts. `templates/charts.html.j2` draws them as inline SVG without scripts.

Colours come from the page's style sheet. The template escapes all text.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean
from typing import Any
from unicodedata import category, east_asian_width

from markupsafe import Markup

from nersery.core.text.text_forms import UNSEEN
from nersery.report.model import SystemReport
from nersery.report.parts import AgainstGold, SweepCell, TrainingReport
from nersery.report.system_names import GOLD, label_of
from nersery.report.templating import html_template

Systems = list[SystemReport]

ROW = 54
"""Height of a system's row in the chart of F1, in pixels."""
MAX_ROWS = 12
"""The most systems in the first chart; the others are in a collapsed section below it."""
MIN_SPAN = 10.0
"""The smallest span of the F1 axis in percent points, so that a small difference looks small."""
NAME_LENGTH, WIDE_NAME_LENGTH = 30, 80
"""Characters of a name on a narrow screen, such as a phone's, and on a wide one."""
PANEL_WIDTH, PANEL_HEIGHT = 240, 150
LEFT, RIGHT, TOP, BOTTOM = 30, 8, 8, 20
"""Margins of a panel of learning curves, in pixels."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values from ``[low, high]`` to ``[0, 1]``."""

    low: float
    high: float

    def __call__(self, value: float) -> float:
        """The position of a value; outside [0, 1] if the value is outside the scale."""
        return (value - self.low) / (self.high - self.low)

    def at(self, value: float) -> str:
        """The position of a value as an SVG length."""
        return f"{100 * self(value):.2f}%"

    def ticks(self, count: int = 5) -> list[float]:
        """About ``count`` round values within the scale.

        >>> Scale(42.3, 51.8).ticks()
        [44.0, 46.0, 48.0, 50.0]
        """
        rough = (self.high - self.low) / count
        power = 10.0 ** math.floor(math.log10(rough))
        # The tolerance is needed because a rounded power of ten may be slightly below the step that fits exactly.
        step = next(multiple * power for multiple in (1, 2, 5, 10) if multiple * power >= rough * (1 - 1e-9))
        return [number * step for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def scale_around(values: Iterable[float], min_span: float = 2.0) -> Scale:
    """A scale for percent points with room at both ends, at least ``min_span`` points wide."""
    values = list(values) or [0.0]
    low, high = min(values), max(values)
    room = max(0.08 * (high - low), (min_span - (high - low)) / 2)
    return Scale(low - room, high + room)


def f1_scale(systems: Sequence[SystemReport]) -> Scale:
    """A scale for F1 by seed, its mean and its interval, in percent points, within [0, 100]."""
    scale = scale_around((100 * value for system in systems for value in _extent(system)), MIN_SPAN)
    return Scale(max(0.0, scale.low), min(100.0, scale.high))


def leading(systems: Sequence[SystemReport], reference: SystemReport | None) -> tuple[Systems, Systems]:
    """The `MAX_ROWS` leading systems (the baseline and the best others), then the rest, both in their given order."""
    ranked = sorted(systems, key=lambda s: (s is not reference, -(s.f1.mean or 0.0)))[:MAX_ROWS]
    chosen = {id(s) for s in ranked}
    return [s for s in systems if id(s) in chosen], [s for s in systems if id(s) not in chosen]


def drawn(chart: str, **values: Any) -> Markup:
    """Draw a chart of `templates/charts.html.j2`."""
    return getattr(html_template("charts.html.j2").module, chart)(**values)


def f1_chart(
    systems: Sequence[SystemReport],
    reference: SystemReport | None,
    seeds: Sequence[int] = (),
    scale: Scale | None = None,
    name: str = "f1",
    repetition: str = "seed",
) -> Markup:
    """Draw F1 by system: a dot for each seed or fold, a line at the mean, a bar over its interval.

    Horizontal lengths are relative to the width, so text keeps its size on a narrow screen.

    Args:
        name: Must be distinct for each chart of a page.
    """
    systems = [system for system in systems if system.f1.mean is not None]
    rows = [
        (system, ROW * index, shortened(system.label, WIDE_NAME_LENGTH), shortened(system.label))
        for index, system in enumerate(systems)
    ]
    bottom = ROW * len(systems) + 6
    scale = scale or f1_scale(systems)
    return drawn(
        "f1", rows=rows, reference=reference, seeds=seeds, repetition=repetition, scale=scale, name=name, bottom=bottom
    )


def _extent(system: SystemReport) -> list[float]:
    interval = system.f1_interval
    ends = [interval.low, interval.high] if interval else []
    return [value for value in (*system.f1.values, system.f1.mean, *ends) if value is not None]


def shortened(name: str, max_length: int = NAME_LENGTH) -> str:
    """The name, cut so that it does not overlap its value on a narrow screen; wide characters count twice."""
    widths = [*accumulate(map(width_of, name))]
    return name if not name or widths[-1] <= max_length else name[: bisect_right(widths, max_length - 1)] + "…"


def width_of(text: str) -> int:
    """The width of a text in narrow characters.

    >>> width_of("Oslo"), width_of("北京"), width_of("ปู่")
    (4, 4, 1)
    """
    seen = (character for character in text if category(character) not in UNSEEN)
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in seen)


def difference_scale(systems: Sequence[SystemReport]) -> Scale:
    """One scale for the intervals of all systems, in percent points. It includes zero."""
    ends = (end for system in systems for end in (system.tested.low, system.tested.high))
    return scale_around([0.0, *(100 * end for end in ends if end is not None)])


def difference_bar(comparison: AgainstGold, scale: Scale) -> Markup:
    """Draw the interval of a difference from gold only, with a line at zero; empty if the interval is unknown."""
    if comparison.low is None or comparison.high is None:
        return Markup("")
    low, high = 100 * comparison.low, 100 * comparison.high
    estimate = (low + high) / 2 if comparison.difference is None else 100 * comparison.difference
    side = "above" if low > 0 else "below" if high < 0 else "unclear"
    zero, *places = (scale.at(value) for value in (0.0, low, high, estimate))
    return drawn("difference", side=side, text=comparison.interval, zero=zero, places=places)


Point = tuple[float, float]
Line = tuple[Sequence[Point], Sequence[tuple[Point, str]]]
"""A curve, and the points of it that are drawn as dots, each with a text that may be empty."""


def curves(trainings: Iterable[TrainingReport]) -> list[list[Point]]:
    """The points (step, score on dev in percent points) of each training."""
    return [
        [(e.step, 100 * e.score) for e in training.evaluations if e.step is not None and e.score is not None]
        for training in trainings
    ]


def curve_scales(panels: Iterable[Iterable[TrainingReport]]) -> tuple[Scale, Scale] | None:
    """The scales of steps and scores that all panels share; None if nothing was recorded."""
    points = [point for trainings in panels for curve in curves(trainings) for point in curve]
    if not points:
        return None
    scores = scale_around([score for _, score in points])
    return Scale(0.0, max(1.0, *(step for step, _ in points))), Scale(max(0.0, scores.low), scores.high)


def learning_curves(
    label: str,
    trainings: Sequence[TrainingReport],
    behind: Sequence[TrainingReport],
    scales: tuple[Scale, Scale],
    number: int,
    repetition: str = "seed",
) -> Markup:
    """Draw one panel: a system's score on dev by step, with a line for each seed or fold.

    Args:
        label: The name of the system for readers.
        behind: Trainings drawn in grey for comparison.
        number: Must be distinct for each panel of a page, because ids of elements contain it.
        repetition: What a line represents, see `nersery.report.model.Report.repetition`.
    """
    lines: list[Line] = []
    summary = []
    for training, curve in zip(trainings, curves(trainings), strict=True):
        best = [point for point in curve if point[0] == training.best_step]
        lines.append((curve, [(point, "") for point in best]))
        summary += [f"{repetition} {training.seed}: best {score:.1f} at step {step:g}" for step, score in best]
    ticks = [(placed((value, 0), scales)[0], f"{value:g}") for value in scales[0].ticks(4)]
    title = f"F1 on dev during training: {label}"
    described = "; ".join(summary) or "best step unknown"
    return panel(("curve", number), title, described, scales, ticks, curves(behind), lines)


def panel(
    id: tuple[str, int],
    title: str,
    summary: str,
    scales: tuple[Scale, Scale],
    ticks: Sequence[tuple[float, str]],
    references: Iterable[Sequence[Point]],
    lines: Iterable[Line],
    radius: float = 3.5,
) -> Markup:
    """Draw a panel of curves.

    Args:
        id: The prefix of its elements' ids, and its number.
        summary: The curves in words, for readers who cannot see them.
        ticks: The ticks of the horizontal axis: positions in pixels, and labels.
        references: Curves drawn in grey.
        radius: The radius of the dots, in pixels.
    """
    heights = [(placed((0, value), scales)[1], f"{value:g}") for value in scales[1].ticks(4)]
    behind = [_path(curve, scales) for curve in references]
    front = [(_path(curve, scales), [(*placed(at, scales), text) for at, text in dots]) for curve, dots in lines]
    return drawn(
        "panel", id=id, title=title, summary=summary, heights=heights, ticks=ticks, references=behind, lines=front,
        radius=radius, width=PANEL_WIDTH, height=PANEL_HEIGHT, left=LEFT, right=PANEL_WIDTH - RIGHT,
    )  # fmt: skip


def placed(point: Point, scales: tuple[Scale, Scale]) -> Point:
    """The position of a point in a panel, in pixels."""
    across, up = scales
    x = LEFT + across(point[0]) * (PANEL_WIDTH - LEFT - RIGHT)
    y = PANEL_HEIGHT - BOTTOM - up(point[1]) * (PANEL_HEIGHT - TOP - BOTTOM)
    return x, y


def _path(curve: Sequence[Point], scales: tuple[Scale, Scale]) -> str:
    """The points of a line as SVG coordinates; empty if there are none."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in (placed(point, scales) for point in curve))


Curves = dict[str, dict[int, list[float]]]
"""F1 in percent points by system and size: one value for each seed and language."""


def size_panels(cells: Iterable[SweepCell]) -> list[tuple[str, Markup]]:
    """The label and the panel of each system. Empty unless at least two sizes have scores."""
    curves: Curves = {}
    for cell in cells:
        if cell.size is not None and cell.f1 is not None:
            curves.setdefault(cell.system, {}).setdefault(cell.size, []).append(100 * cell.f1)
    sizes = sorted({size for curve in curves.values() for size in curve})
    if len(sizes) < 2:
        return []
    up = scale_around((value for curve in curves.values() for values in curve.values() for value in values), 10.0)
    scales = Scale(math.log(sizes[0]), math.log(sizes[-1])), Scale(max(0.0, up.low), min(100.0, up.high))
    return [
        (label_of(name), _size_panel(number, name, curve, curves.get(GOLD) if name != GOLD else None, scales, sizes))
        for number, (name, curve) in enumerate(curves.items(), start=1)
    ]


def _size_panel(
    number: int,
    system: str,
    curve: Mapping[int, Sequence[float]],
    behind: Mapping[int, Sequence[float]] | None,
    scales: tuple[Scale, Scale],
    sizes: Sequence[int],
) -> Markup:
    dots = [
        ((math.log(size), value), f"{size}: {value:.1f}") for size, values in sorted(curve.items()) for value in values
    ]
    summary = "; ".join(f"{size}: {fmean(values):.1f}" for size, values in sorted(curve.items()))
    title, references = f"F1 by training sentences: {label_of(system)}", [_means(behind)] if behind else []
    line = _means(curve), dots
    return panel(("size", number), title, summary, scales, _size_ticks(sizes, scales), references, [line], radius=2.5)


def _means(curve: Mapping[int, Sequence[float]]) -> list[Point]:
    return [(math.log(size), fmean(values)) for size, values in sorted(curve.items())]


def _size_ticks(sizes: Sequence[int], scales: tuple[Scale, Scale]) -> list[tuple[float, str]]:
    """The sizes below the panel. A size that would overlap the one before is left out."""
    ticks, last = [], -math.inf
    for size in sizes:
        x, _ = placed((math.log(size), 0.0), scales)
        if x - last >= 34:
            ticks.append((min(max(x, LEFT), PANEL_WIDTH - RIGHT - 8), f"{size:,}"))
            last = x
    return ticks
