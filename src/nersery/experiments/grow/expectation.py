"""What a system can be expected to gain: what such systems usually gain, corrected by what it gained on the folds.

Folds of a few dozen sentences say little: their standard error is often larger than any difference between systems.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nersery.evaluate.significance import Comparison
from nersery.experiments.systems import System
from nersery.experiments.text_profile import TextProfile
from nersery.models.bundled import ENCODERS, ENGLISH, MULTILINGUAL

Gain = tuple[float, float]
"""F1 over gold only, mean and standard deviation over data sets."""

USUAL = {
    "questions": (0.05, 0.03),
    "questions again": (0.06, 0.03),
    "self-training": (0.025, 0.02),
    "melm": (0.01, 0.02),
    "aclm": (0.01, 0.02),
    "mention_replacement": (-0.005, 0.015),
    "start": (0.075, 0.03),
}
"""The `Gain` of systems with the encoder of gold only; see docs/results.md."""
TWO_ENCODERS = {ENGLISH: (0.015, 0.015), MULTILINGUAL: (0.005, 0.015)}
"""What labels usually gain more if taggers on two encoders relabel them by turns: by the encoder of the last
tagger; see docs/results.md."""
LEFT = 0.5
"""What is left of a method's usual gain where its tagger starts from the bundled one."""
CASED: Gain = (0.065, 0.05)
"""What the multilingual encoder usually gains over the English one, which reads lower case only, where English has
capitals."""
UNUSUAL = (0.0, 0.15)
"""The `Gain` of a method that does not suit the data, or of an unknown encoder."""
SUITS = 0.9
"""The probability that a method suits the data."""
LEAST_ERROR = 0.2
"""Standard error of a difference on one sentence, at least: few sentences may agree by chance."""
RETRAINING = 0.014
"""Standard deviation of a difference between two taggers if both are trained again with another seed."""


def expected_gain(usual: Gain | None, compared: Comparison, folds: int) -> float:
    """F1 over gold only that is expected on other sentences.

    The gain is taken to come from one of two normal distributions, the usual one or `UNUSUAL`, and the folds to show
    it with normal noise: the result is the mean of what it may be then (of the posterior distribution).

    Args:
        usual: What such systems usually gain; None if nothing is known.
        compared: The system and gold only on the folds.
        folds: How many taggers of each were compared.
    """
    standard_error = max((compared.high - compared.low) / (2 * 1.96), LEAST_ERROR / math.sqrt(compared.sentences))
    noise_variance = standard_error**2 + RETRAINING**2 / folds
    priors = [(SUITS, *usual), (1 - SUITS, *UNUSUAL)] if usual else [(1.0, *UNUSUAL)]
    posteriors = [
        (
            prior * _density(compared.difference - mean, deviation**2 + noise_variance),
            (mean * noise_variance + compared.difference * deviation**2) / (deviation**2 + noise_variance),
        )
        for prior, mean, deviation in priors
    ]
    return sum(weight * gain for weight, gain in posteriors) / sum(weight for weight, _ in posteriors)


def _density(distance: float, variance: float) -> float:
    return math.exp(-(distance**2) / (2 * variance)) / math.sqrt(variance)


def better_encoders(text: TextProfile, encoder: str) -> dict[str, Gain]:
    """The encoders that usually gain more than any method does, by what is known of the text.

    Args:
        encoder: Of gold only.
    """
    return {MULTILINGUAL: CASED} if encoder == ENGLISH and text.is_english and text.cased else {}


def usual_gain(chain: Sequence[System], encoder: str, better: Mapping[str, Gain]) -> Gain | None:
    """What the last of some systems, each of which goes on from the one before, usually gains; None if unknown.

    Args:
        encoder: Of gold only.
        better: Of `better_encoders`; nothing is known of others.
    """
    system, methods = chain[-1], [s.method.method for s in chain if s.method is not None]
    models = [str(s.tagger_settings.get("model", encoder)) for s in chain]
    encoders = [ENCODERS.get(model, model) for model in models]
    if encoders[0] != encoder and encoders[0] not in better:
        return None
    starts_from_tagger = models[-1] not in (encoder, encoders[-1])
    gains = [better[encoders[0]]] if encoders[0] != encoder else []
    if system.method is not None:
        mean, spread = USUAL[_kind(system, methods)]
        left = LEFT if starts_from_tagger else 1.0
        gains.append((left * mean, left * spread))
    if len({*encoders}) > 1:
        gains.append(TWO_ENCODERS[encoders[-1]])
    if starts_from_tagger:
        gains.append(USUAL["start"])
    return sum(mean for mean, _ in gains), math.hypot(*(spread for _, spread in gains))


def _kind(system: System, methods: Sequence[str]) -> str:
    """The key of `USUAL` of a system that makes sentences, after those methods."""
    if methods[0] == "qa_prompting":
        return "questions again" if len(methods) > 1 else "questions"
    return "self-training" if system.labels_raw_text else methods[-1]
