"""Notes on scores that are low because the types of two files do not match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nersery.core.text.text_forms import folded

RENAME = "rename them: nersery dataset convert --type OLD=NEW"
"""The advice for types that have different names in the two files."""
FEW = 5
"""Fewer predictions of a type that gold lacks are probably errors of the tagger, not a different set of types."""


def note_of_scores(scores: Mapping[str, Any], gold: str = "gold", predicted: str = "predicted") -> str:
    """A note if a file has no entity, or if it has types that the other lacks or names differently; else empty.

    There is no note if the predictions only lack some types of gold.

    Args:
        scores: See `nersery.evaluate.scores.Scores.as_dict`.
        gold: The name of the first file.
        predicted: The name of the second file.
    """
    rows = scores["per_type"]
    empty = [name for name, side in ((gold, "gold"), (predicted, "predicted")) if not scores["micro"][side]]
    if len(empty) == 2:
        return f"neither {gold} nor {predicted} has an entity, so there is nothing to score"
    if empty:
        return f"no sentence of {empty[0]} has an entity, so F1 is 0: expected labels in both files"
    missed, spurious = ([type_ for type_, row in rows.items() if not row[side]] for side in ("predicted", "gold"))
    if len(missed) + len(spurious) == len(rows):
        return f"no type is in both {gold} and {predicted}; if two mean the same, {RENAME}"
    beginnings = {folded(type_)[:3] for type_ in missed}
    if all(rows[type_]["predicted"] < FEW and folded(type_)[:3] not in beginnings for type_ in spurious):
        return ""
    listed = [f"{type_} ({rows[type_]['gold']}) in {gold}" for type_ in missed]
    listed += [f"{type_} ({rows[type_]['predicted']}) in {predicted}" for type_ in spurious]
    return (
        f"types that only one file has count as errors: {', '.join(listed)}; if two mean the same, "
        f"{RENAME} (an empty NEW leaves one out)"
    )
