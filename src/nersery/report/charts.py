"""The report's charts, as inline SVG without scripts; colours come from the page's style sheet.

Text from a report goes in through `Markup.format`, which escapes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from unicodedata import east_asian_width

from markupsafe import Markup

from nersery.report.model import SystemReport
from nersery.report.number_format import percent
from nersery.report.parts import AgainstGold
from nersery.report.training_parts import TrainingReport

Systems = list[SystemReport]

ROW = 54
"""Height of a system's row in the chart of F1, in pixels."""
MOST_ROWS = 12
"""Systems in the first chart; the others are folded below it."""
LEAST_SPAN = 10.0
"""Percent points that the axis of F1 spans at least, so that a small difference looks small."""
NAME_LENGTH = 30
PANEL_WIDTH, PANEL_HEIGHT = 240, 150
LEFT, RIGHT, TOP, BOTTOM = 30, 8, 8, 20
"""Margins of a panel of learning curves, in pixels."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values from ``[low, high]`` to ``[0, 1]``."""

    low: float
    high: float

    def __call__(self, value: float) -> float:
        """The place of a value; outside [0, 1] when the value lies outside."""
        return (value - self.low) / (self.high - self.low)

    def at(self, value: float) -> str:
        """The place of a value as an SVG length."""
        return f"{100 * self(value):.2f}%"

    def ticks(self, count: int = 5) -> list[float]:
        """About ``count`` round values within the scale.

        >>> Scale(42.3, 51.8).ticks()
        [44.0, 46.0, 48.0, 50.0]
        """
        rough = (self.high - self.low) / count
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(multiple * power for multiple in (1, 2, 5, 10) if multiple * power >= rough * (1 - 1e-9))
        return [number * step for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def padded(values: Iterable[float], least: float = 2.0) -> Scale:
    """A scale for percent points with room at both ends, at least ``least`` points wide."""
    values = list(values) or [0.0]
    low, high = min(values), max(values)
    room = max(0.08 * (high - low), (least - (high - low)) / 2)
    return Scale(low - room, high + room)


def f1_scale(systems: Sequence[SystemReport]) -> Scale:
    """A scale for the seeds' F1 and the intervals, in percent points, within [0, 100]."""
    scale = padded((100 * value for system in systems for value in _extent(system)), LEAST_SPAN)
    return Scale(max(0.0, scale.low), min(100.0, scale.high))


def leading(systems: Sequence[SystemReport], reference: SystemReport | None) -> tuple[Systems, Systems]:
    """The baseline with the best systems, and the others if there are more than `MOST_ROWS`; each in its order."""
    ranked = sorted(systems, key=lambda one: (one is not reference, -(one.f1.mean or 0.0)))[:MOST_ROWS]
    chosen = {id(one) for one in ranked}
    return [one for one in systems if id(one) in chosen], [one for one in systems if id(one) not in chosen]


def f1_chart(
    systems: Sequence[SystemReport],
    reference: SystemReport | None,
    seeds: Sequence[int] = (),
    scale: Scale | None = None,
    name: str = "f1",
) -> Markup:
    """F1 by system: a dot for each seed, a line at the mean, a bar over its interval.

    Lengths across are shares of the width, so text keeps its size on a narrow screen.

    Args:
        name: Distinct for each chart of a page.
    """
    systems = [system for system in systems if system.f1.mean is not None]
    scale = scale or f1_scale(systems)
    bottom = ROW * len(systems) + 6
    parts = [_tick(scale, value, bottom) for value in scale.ticks()]
    if reference is not None and (mean := reference.f1.mean) is not None:
        parts.append(_upright("reference", scale.at(100 * mean), 0, bottom))
    parts += [_row(system, scale, ROW * place, system is reference, seeds) for place, system in enumerate(systems)]
    summary = "; ".join(f"{system.label} {system.f1}" for system in systems)
    return Markup(
        '<svg class="chart f1" role="img" aria-labelledby="{0}-title {0}-desc" width="100%" height="{1}">'
        '<title id="{0}-title">F1 by method, in percent points</title><desc id="{0}-desc">{2}</desc>{3}</svg>'
    ).format(name, bottom + 22, summary, Markup("").join(parts))


def _extent(system: SystemReport) -> list[float]:
    interval = system.f1_interval
    ends = [interval.low, interval.high] if interval else []
    return [value for value in (*system.f1.values, system.f1.mean, *ends) if value is not None]


def _tick(scale: Scale, value: float, bottom: float) -> Markup:
    return Markup(
        '<line class="grid" x1="{0}" x2="{0}" y1="0" y2="{1}"/><text class="tick" x="{0}" y="{2}">{3}</text>'
    ).format(scale.at(value), bottom, bottom + 17, f"{value:g}")


def _upright(kind: str, x: str, top: float, bottom: float) -> Markup:
    line = Markup('<line class="{0}" x1="{1}" x2="{1}" y1="{2}" y2="{3}"/>')
    return line.format(kind, x, top, bottom)


def _row(system: SystemReport, scale: Scale, top: int, is_reference: bool, seeds: Sequence[int]) -> Markup:
    middle = top + 34
    texts = Markup(
        '<text class="name" x="0" y="{0}">{1}<title>{2}</title></text>'
        '<text class="value" x="100%" y="{0}">{3}</text>'
        '<line class="track" x1="0" x2="100%" y1="{4}" y2="{4}"/>'
    ).format(top + 19, shortened(system.label), system.label, system.f1, middle)
    kind = "system baseline" if is_reference else "system"
    return Markup('<g class="{}">{}{}</g>').format(kind, texts, _marks(system, scale, middle, seeds))


def _marks(system: SystemReport, scale: Scale, middle: int, seeds: Sequence[int]) -> Markup:
    parts, interval = [], system.f1_interval
    if interval is not None and interval.low is not None and interval.high is not None:
        low, high = 100 * interval.low, 100 * interval.high
        bar = Markup(
            '<rect class="spread" x="{}" width="{:.2f}%" y="{}" height="12" rx="2">'
            "<title>95 % interval: {}</title></rect>"
        )
        parts.append(bar.format(scale.at(low), 100 * (scale(high) - scale(low)), middle - 6, interval.interval))
    parts.append(_upright("mean", scale.at(100 * (system.f1.mean or 0.0)), middle - 9, middle + 9))
    for number, value in enumerate(system.f1.values):
        if value is not None:
            seed = seeds[number] if number < len(seeds) else f"number {number + 1}"
            dot = Markup('<circle class="seed" cx="{}" cy="{}" r="4"><title>seed {}: {}</title></circle>')
            parts.append(dot.format(scale.at(100 * value), middle + _jitter(number), seed, percent(value)))
    return Markup("").join(parts)


def _jitter(number: int) -> int:
    """Shift neighbouring dots up and down a little, so that equal values stay visible."""
    return (0, -3, 3, -6, 6)[number % 5]


def shortened(name: str, most: int = NAME_LENGTH) -> str:
    """The name, cut where it would run into its value on a narrow screen; wide characters count twice."""
    widths = accumulate(map(width_of, name))
    fitting = sum(width <= most for width in widths)
    return name if fitting == len(name) else name[: fitting - 1] + "…"


def width_of(text: str) -> int:
    """How many narrow characters a text is as wide as."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def difference_scale(systems: Sequence[SystemReport]) -> Scale:
    """One scale for the intervals of all systems, in percent points, zero included."""
    ends = (end for system in systems for end in (system.tested.low, system.tested.high))
    return padded([0.0, *(100 * end for end in ends if end is not None)])


def difference_bar(comparison: AgainstGold, scale: Scale) -> Markup:
    """The interval of a difference from gold only, beside a line at zero; empty if the interval is unknown."""
    if comparison.low is None or comparison.high is None:
        return Markup("")
    low, high = 100 * comparison.low, 100 * comparison.high
    estimate = (low + high) / 2 if comparison.difference is None else 100 * comparison.difference
    side = "above" if low > 0 else "below" if high < 0 else "unclear"
    return Markup(
        '<svg class="chart interval {}" role="img" width="100%" height="18"><title>{}</title>'
        '<line class="zero" x1="{}" x2="{}" y1="0" y2="18"/>'
        '<line class="range" x1="{}" x2="{}" y1="9" y2="9"/>'
        '<circle class="estimate" cx="{}" cy="9" r="4"/></svg>'
    ).format(side, comparison.interval, *(scale.at(value) for value in (0.0, 0.0, low, high, estimate)))


Point = tuple[float, float]


def curves(trainings: Iterable[TrainingReport]) -> list[list[Point]]:
    """For each training the points (step, score on dev in percent points)."""
    return [
        [(one.step, 100 * one.score) for one in training.evaluations if one.step is not None and one.score is not None]
        for training in trainings
    ]


def curve_scales(panels: Iterable[Iterable[TrainingReport]]) -> tuple[Scale, Scale] | None:
    """The scales of steps and scores that all panels share; None if nothing was recorded."""
    points = [point for trainings in panels for curve in curves(trainings) for point in curve]
    if not points:
        return None
    scores = padded([score for _, score in points])
    return Scale(0.0, max(1.0, *(step for step, _ in points))), Scale(max(0.0, scores.low), scores.high)


def learning_curves(
    label: str,
    trainings: Sequence[TrainingReport],
    behind: Sequence[TrainingReport],
    scales: tuple[Scale, Scale],
    number: int,
) -> Markup:
    """One panel: a system's score on dev by step, a line for each seed.

    Args:
        label: Of the system.
        behind: Trainings drawn in grey for comparison.
        number: Distinct for each panel of a page, because ids of elements contain it.
    """
    parts = [_panel_axes(*scales), *(curve_line(curve, scales, "ghost") for curve in curves(behind))]
    lines = []
    for training, curve in zip(trainings, curves(trainings), strict=True):
        parts.append(curve_line(curve, scales, "curve"))
        for step, score in curve:
            if step == training.best_step:
                x, y = placed((step, score), scales)
                parts.append(Markup('<circle class="best" cx="{:.1f}" cy="{:.1f}" r="3.5"/>').format(x, y))
                lines.append(f"seed {training.seed}: best {score:.1f} at step {step:g}")
    return Markup(
        '<svg class="chart panel" role="img" aria-labelledby="curve-title-{0} curve-desc-{0}" viewBox="0 0 {1} {2}">'
        '<title id="curve-title-{0}">F1 on dev during training: {3}</title>'
        '<desc id="curve-desc-{0}">{4}</desc>{5}</svg>'
    ).format(number, PANEL_WIDTH, PANEL_HEIGHT, label, "; ".join(lines) or "best step unknown", Markup("").join(parts))


def placed(point: Point, scales: tuple[Scale, Scale]) -> Point:
    """The place of a point in a panel, in pixels."""
    across, up = scales
    x = LEFT + across(point[0]) * (PANEL_WIDTH - LEFT - RIGHT)
    y = PANEL_HEIGHT - BOTTOM - up(point[1]) * (PANEL_HEIGHT - TOP - BOTTOM)
    return x, y


def curve_line(curve: Sequence[Point], scales: tuple[Scale, Scale], kind: str) -> Markup:
    """A line through the points."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (placed(point, scales) for point in curve))
    return Markup('<polyline class="{}" points="{}"/>').format(kind, points) if points else Markup("")


def height_ticks(scales: tuple[Scale, Scale]) -> Markup:
    """The lines and numbers of a panel's vertical axis."""
    parts = []
    for value in scales[1].ticks(4):
        _, y = placed((0, value), scales)
        parts.append(
            Markup(
                '<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/>'
                '<text class="tick side" x="{3}" y="{4:.1f}">{5}</text>'
            ).format(LEFT, PANEL_WIDTH - RIGHT, y, LEFT - 5, y + 3.5, f"{value:g}")
        )
    return Markup("").join(parts)


def _panel_axes(across: Scale, up: Scale) -> Markup:
    parts = [height_ticks((across, up))]
    for value in across.ticks(4):
        x, _ = placed((value, 0), (across, up))
        parts.append(Markup('<text class="tick" x="{:.1f}" y="{}">{}</text>').format(x, PANEL_HEIGHT - 5, f"{value:g}"))
    return Markup("").join(parts)
