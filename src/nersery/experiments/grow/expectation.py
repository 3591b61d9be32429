"""What a system can be expected to gain: what such systems usually gain, corrected by what it gained on the folds.

Folds of a few dozen sentences say little: their standard error is often larger than any difference between systems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nersery.evaluate.significance import Comparison
from nersery.experiments.systems import System
from nersery.models.bundled import ENCODERS

USUAL = {
    "questions": (0.05, 0.03),
    "questions again": (0.06, 0.03),
    "self-training": (0.025, 0.02),
    "melm": (0.015, 0.02),
    "aclm": (0.015, 0.02),
    "mention_replacement": (0.01, 0.015),
    "start": (0.05, 0.04),
}
"""F1 over gold only, mean and standard deviation over data sets; see docs/results.md."""
FROM_START = " from start"
STARTED = (0.03, 0.03)
"""What a method usually gains more where its tagger starts from the bundled one."""
UNUSUAL = (0.0, 0.15)
"""The same where a method does not suit the data at all, or an encoder of which nothing is known."""
SUITS = 0.9
"""The probability that a method suits the data."""
LEAST_ERROR = 0.2
"""Standard error of a difference on one sentence, at least: few sentences may agree by chance."""
RETRAINING = 0.014
"""Standard deviation of a difference between two taggers if both are trained again with another seed."""


def expected_gain(kind: str, compared: Comparison, folds: int) -> float:
    """F1 over gold only that is expected on other sentences.

    The gain is taken to come from one of two normal distributions, `USUAL` or `UNUSUAL`, and the folds to show it
    with normal noise: the result is the mean of what it may be then (of the posterior distribution).

    Args:
        kind: A key of `USUAL`, with " from start" behind it if the tagger starts from a bundled one; any other means
            that nothing is known in advance.
        compared: The system and gold only on the folds.
        folds: How many taggers of each were compared.
    """
    error = max((compared.high - compared.low) / (2 * 1.96), LEAST_ERROR / math.sqrt(compared.sentences))
    noise = error**2 + RETRAINING**2 / folds
    usual = _usual(kind)
    priors = [(SUITS, *usual), (1 - SUITS, *UNUSUAL)] if usual else [(1.0, *UNUSUAL)]
    weighted = [
        (
            share * _density(compared.difference - mean, spread**2 + noise),
            (mean * noise + compared.difference * spread**2) / (spread**2 + noise),
        )
        for share, mean, spread in priors
    ]
    return sum(weight * gain for weight, gain in weighted) / sum(weight for weight, _ in weighted)


def _usual(kind: str) -> tuple[float, float] | None:
    """Mean and standard deviation of what such systems gain; None if nothing is known."""
    usual = USUAL.get(kind.removesuffix(FROM_START))
    if usual is None or not kind.endswith(FROM_START):
        return usual
    return usual[0] + STARTED[0], math.hypot(usual[1], STARTED[1])


def _density(distance: float, variance: float) -> float:
    return math.exp(-(distance**2) / (2 * variance)) / math.sqrt(variance)


def usual_kind(chain: Sequence[System], encoder: str) -> str:
    """The key of `USUAL` of the last of some systems, each of which goes on from the one before.

    Args:
        encoder: Of gold only.
    """
    system, methods = chain[-1], [one.method.method for one in chain if one.method is not None]
    model = system.tagger_settings.get("model", encoder)
    if ENCODERS.get(model, model) != encoder:  # another encoder may outweigh any method
        return ""
    if system.method is None:
        return "start" if model != encoder else ""
    if methods[0] == "qa_prompting":
        kind = "questions again" if len(methods) > 1 else "questions"
    else:
        kind = "self-training" if system.labels_raw_text else methods[-1]
    return f"{kind}{FROM_START}" if model != encoder else kind
