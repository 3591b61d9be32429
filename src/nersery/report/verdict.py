"""What a run says in words: did a method beat gold only, and how sure is that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nersery.evaluate.significance import FEW, caution
from nersery.report.number_format import (
    interval,
    percent,
    plural,
    signed,
    told_p,
)

LEVEL = 0.05
"""The p-value below which a difference counts as more than chance."""

System = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The headline of a report.

    Args:
        tone: Whether the best method is better or worse than gold only, beyond chance.
        sentence: The headline.
        details: Further sentences: the other methods, and what weakens the verdict.
    """

    tone: Literal["better", "worse", "unclear"]
    sentence: str
    details: tuple[str, ...] = ()


def baseline(systems: Sequence[System]) -> System | None:
    """The system without augmentation that the others are compared with: the first one without a method."""
    return next((system for system in systems if system.get("method") is None), None)


def label(system: System) -> str:
    """The name of a system for readers; ``gold`` reads ``gold only``."""
    return "gold only" if system.get("method") is None and system["name"] == "gold" else str(system["name"])


def mean_f1(system: System) -> float | None:
    """The mean F1 over seeds, in [0, 1]."""
    value = (system.get("f1") or {}).get("mean")
    return None if value is None else float(value)


def difference(system: System, reference: System | None) -> float | None:
    """How far the system's F1 lies above the reference's, as a fraction: as tested, else of the means."""
    tested = (system.get("against_gold") or {}).get("difference")
    if tested is not None:
        return float(tested)
    own, other = mean_f1(system), mean_f1(reference) if reference else None
    return None if own is None or other is None else own - other


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values of several comparisons, corrected for their number by Holm's step-down procedure.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = highest
    return corrected


def verdict(systems: Sequence[System], seeds: int) -> Verdict:
    """The headline over all systems.

    Args:
        seeds: How many seeds stand behind each figure; with one there is no spread.
    """
    scored = [system for system in systems if mean_f1(system) is not None]
    reference = baseline(scored)
    tried = [system for system in scored if system is not reference]
    one_seed = ("One seed: no spread is known; another seed may turn the order around.",) if seeds == 1 else ()
    if not scored:
        return Verdict("unclear", "Nothing was scored.")
    if not any(map(mean_f1, scored)):
        text = "Every F1 is 0: no tagger found an entity, so nothing can be compared."
        return Verdict("unclear", text, ("Look at the learning curves; training may have been too short.",))
    if reference is None:
        best = max(tried, key=lambda system: mean_f1(system) or 0.0)
        text = f"{_score(best)}. Gold only was not run, so nothing says whether augmentation helped."
        return Verdict("unclear", text, one_seed)
    if not tried:
        return Verdict("unclear", f"{_score(reference)}; no augmentation was tried.", one_seed)
    best = max(tried, key=lambda system: difference(system, reference) or 0.0)
    others = _others([system for system in tried if system is not best], reference)
    few = caution((best.get("against_gold") or {}).get("sentences", FEW))
    details = (*_corrected(best, tried), *_over_seeds(best, seeds), *others, *one_seed, *filter(None, [few]))
    return Verdict(_tone(best), _sentence(best, reference, len(tried) > 1), details)


def _score(system: System) -> str:
    return f"{label(system)}: {percent(mean_f1(system))} F1"


def _tone(system: System) -> Literal["better", "worse", "unclear"]:
    tested = system.get("against_gold") or {}
    p = tested.get("holm", tested.get("p"))  # corrected, where several methods were compared
    if p is None or p >= LEVEL or not tested.get("difference"):
        return "unclear"
    return "better" if tested["difference"] > 0 else "worse"


def _sentence(best: System, reference: System, several: bool) -> str:
    gap = difference(best, reference) or 0.0
    side = "over" if gap > 0 else "under"
    place = "level with" if signed(gap) == "0.0" else f"{percent(abs(gap))} {side}"
    tested = best.get("against_gold") or {}
    if tested.get("p") is None:
        evidence, chance = "(not tested)", ""
    else:
        evidence = f"(95 % interval {interval(tested)}, {told_p(tested['p'])})"
        chance = ", which may be chance" if _tone(best) == "unclear" and signed(gap) != "0.0" else ""
    opening = "" if gap > 0 else "No method helped. The best is " if several else "Augmentation did not help. "
    return f"{opening}{_score(best)}, {place} {label(reference)}{chance} {evidence}."


def _others(systems: Sequence[System], reference: System) -> tuple[str, ...]:
    """The remaining methods, grouped by what came of them."""
    openings = {
        "better": "Also better than",
        "worse": "Worse than",
        "unclear": "No clear difference to",
    }
    sentences = []
    for tone, opening in openings.items():
        group = [
            f"{label(system)} ({signed(difference(system, reference))})" for system in systems if _tone(system) == tone
        ]
        if group:
            sentences.append(f"{opening} {label(reference)}: {', '.join(group)}.")
    return tuple(sentences)


def _corrected(best: System, tried: Sequence[System]) -> tuple[str, ...]:
    """What is left of the best method's p-value when all comparisons are counted."""
    tested = [system for system in tried if (system.get("against_gold") or {}).get("p") is not None]
    if len(tested) < 2 or best not in tested or best["against_gold"]["p"] >= LEVEL:
        return ()
    corrected = holm([system["against_gold"]["p"] for system in tested])[tested.index(best)]
    weakened = ", so it may be chance after all" if corrected >= LEVEL else ""
    return (f"Corrected for {plural(len(tested), 'comparison')} (Holm): {told_p(corrected)}{weakened}.",)


def _over_seeds(best: System, seeds: int) -> tuple[str, ...]:
    """Whether the best method's difference comes back with each seed."""
    p = (best.get("against_gold") or {}).get("p_over_seeds")
    if p is None:
        return ()
    least = 2 / 2**seeds
    limit = f"; with {seeds} seeds it cannot be below {least:.2g}" if least >= LEVEL else ""
    disagree = p >= LEVEL and p > least * 1.001 and _tone(best) != "unclear"
    weakened = ": seeds disagree, and others may say otherwise" if disagree else ""
    return (f"Over the seeds alone (sign-flip test): {told_p(p)}{limit}{weakened}.",)
