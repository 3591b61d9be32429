"""The names of the systems that a run compares, in recipes and for readers. Imports nothing heavy."""

from __future__ import annotations

import re

GOLD = "gold"
"""The name of the baseline that every run trains: the tagger on gold sentences alone."""
BASELINE = "gold only"
"""Its name for readers."""


def label_of(system: str) -> str:
    """The name of a system for readers.

    >>> label_of("gold"), label_of("gold, roberta"), label_of("golden")
    ('gold only', 'gold only, roberta', 'golden')
    """
    return re.sub(f"^{GOLD}(?=,|$)", BASELINE, system)
