"""The headline of a report: whether a method beats gold only, and how certain that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nersery.core.counting import plural
from nersery.evaluate.significance import FEW, caution
from nersery.report.model import Report, SystemReport
from nersery.report.number_format import p_text, percent, signed

LEVEL = 0.05
"""Significance level: a difference with a smaller p-value counts as more than chance."""

MAX_NAMED = 8
"""The most methods that a sentence names."""

Tone = Literal["better", "worse", "unclear"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The headline of a report.

    Args:
        tone: Whether the best method is significantly better or worse than gold only.
        sentence: The headline.
        details: Further sentences: the other methods, and what weakens the verdict.
    """

    tone: Tone
    sentence: str
    details: tuple[str, ...] = ()


def verdict(report: Report) -> Verdict:
    """Write the headline over all systems."""
    seeds = len(report.seeds)
    scored = [system for system in report.systems if system.f1.mean is not None]
    reference = next((system for system in scored if system.is_baseline), None)
    tried = [system for system in scored if system is not reference]
    one_seed = ("One seed: the spread is unknown, and another seed may change the order.",) if seeds == 1 else ()
    if not scored:
        return Verdict("unclear", "Nothing was scored.")
    if not any(system.f1.mean for system in scored):
        text = "Every F1 is 0: no tagger found a correct entity, so nothing can be compared."
        return Verdict("unclear", text, ("Check the learning curves; training may have been too short.",))
    if reference is None:
        best = max(tried, key=lambda system: system.f1.mean or 0.0)
        text = f"{_score(best)}. Gold only was not run, so whether augmentation helped is unknown."
        return Verdict("unclear", text, one_seed)
    if not tried:
        return Verdict("unclear", f"{_score(reference)}; no augmentation was tried.", one_seed)
    best = report.best or tried[0]
    others = _others([system for system in tried if system is not best], reference)
    sentences = best.tested.sentences
    few = caution(FEW if sentences is None else sentences)
    details = (*_corrected(best, tried), *_over_seeds(best, seeds), *others, *one_seed, *filter(None, [few]))
    loss = "No method helped. The best is " if len(tried) > 1 else "Augmentation did not help. "
    return Verdict(_tone(best), _sentence(best, reference, "" if report.search else loss), details)


def _score(system: SystemReport) -> str:
    return f"{system.label}: {percent(system.f1.mean)} F1"


def _tone(system: SystemReport) -> Tone:
    p = system.tested.corrected_p
    if p is None or p >= LEVEL or not system.tested.difference:
        return "unclear"
    return "better" if system.tested.difference > 0 else "worse"


def _sentence(best: SystemReport, reference: SystemReport, loss: str) -> str:
    """The headline; it begins with ``loss`` if F1 did not rise."""
    gap = best.difference(reference) or 0.0
    side = "above" if gap > 0 else "below"
    position = "level with" if signed(gap) == "0.0" else f"{percent(abs(gap))} {side}"
    if best.tested.p is None:
        evidence, chance = "(not tested)", ""
    else:
        evidence = f"(95\u00a0% interval {best.tested.interval}, {p_text(best.tested.p)})"
        chance = ", which may be chance" if _tone(best) == "unclear" and signed(gap) != "0.0" else ""
    return f"{loss * (gap <= 0)}{_score(best)}, {position} {reference.label}{chance} {evidence}."


def _others(systems: Sequence[SystemReport], reference: SystemReport) -> tuple[str, ...]:
    """The remaining methods, grouped by result."""
    openings: dict[Tone, str] = {
        "better": f"Also better than {reference.label}",
        "worse": f"Worse than {reference.label}",
        "unclear": f"No clear difference from {reference.label}",
    }
    ranked = sorted(systems, key=lambda s: -(s.difference(reference) or 0.0)) if len(systems) > MAX_NAMED else systems
    groups = {
        opening: [f"{s.label} ({signed(s.difference(reference))})" for s in ranked if _tone(s) == tone]
        for tone, opening in openings.items()
    }
    return tuple(f"{opening}: {_listed(group)}." for opening, group in groups.items() if group)


def _listed(names: Sequence[str]) -> str:
    """The names as a list; only the first of many are named.

    >>> _listed(["a", "b"]), _listed(list("abcdefghij"))
    ('a, b', 'a, b, c, d, e, f, g, h and 2 more')
    """
    rest = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _corrected(best: SystemReport, tried: Sequence[SystemReport]) -> tuple[str, ...]:
    """A sentence on the best method's p-value, corrected for all comparisons; empty if it adds nothing."""
    count = sum(system.tested.p is not None for system in tried)
    corrected = best.tested.corrected_p
    if count < 2 or corrected is None or best.tested.p is None or best.tested.p >= LEVEL:
        return ()
    weakened = ", so the difference may be chance" if corrected >= LEVEL else ""
    return (f"Corrected for {plural(count, 'comparison')} (Holm): {p_text(corrected)}{weakened}.",)


def _over_seeds(best: SystemReport, seeds: int) -> tuple[str, ...]:
    """A sentence on whether the best method's difference is consistent over the seeds; empty if not tested."""
    p = best.tested.p_over_seeds
    if p is None:
        return ()
    min_p = 2 / 2**seeds
    limit = f"; with {seeds} seeds it cannot be below {min_p:.2g}" if min_p >= LEVEL else ""
    disagree = p >= LEVEL and p > min_p * 1.001 and _tone(best) != "unclear"
    weakened = ": the seeds disagree, and more seeds may change the result" if disagree else ""
    return (f"Over the seeds alone (sign-flip test): {p_text(p)}{limit}{weakened}.",)
