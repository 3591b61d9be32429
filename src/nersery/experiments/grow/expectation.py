"""The expected gain of a system: the usual gain of similar systems, corrected by the system's gain on the folds.

Folds of a few dozen sentences mean little: their standard error is often larger than any difference between systems.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nersery.evaluate.significance import Comparison
from nersery.experiments.data.text_profile import TextProfile
from nersery.experiments.systems import System
from nersery.models.bundled_models.bundled import ENCODERS, ENGLISH, MULTILINGUAL

Gain = tuple[float, float]
"""F1 over gold only, mean and standard deviation over data sets."""

USUAL = {
    "questions": (0.05, 0.03),
    "questions again": (0.06, 0.03),
    "names": (0.05, 0.05),
    "names again": (0.06, 0.05),
    "self-training": (0.025, 0.02),
    "melm": (0.01, 0.02),
    "aclm": (0.01, 0.02),
    "mention_replacement": (-0.005, 0.015),
    "start": (0.075, 0.03),
}
"""The `Gain` of systems with the encoder of gold only; see docs/results.md."""
OTHER_KIND: Gain = (-0.03, 0.05)
"""The usual gain of labels on raw text about other subjects (see `note_of_kind`); four measurements: -0.09, -0.02,
-0.01 and +0.01."""
TWO_ENCODERS = {ENGLISH: (0.015, 0.015), MULTILINGUAL: (0.005, 0.015)}
"""The usual additional gain of labels if taggers on two encoders relabel them in turns, by the encoder of the last
tagger; see docs/results.md."""
LEFT = 0.5
"""The share of a method's usual gain that is left if its tagger starts from the bundled one."""
CASED: Gain = (0.065, 0.05)
"""The usual gain of the multilingual encoder over the English one, which reads lower case only, on English text with
capitals."""
UNUSUAL = (0.0, 0.15)
"""The `Gain` of a method that does not suit the data, or of an unknown encoder."""
SUITS = 0.9
"""The probability that a method suits the data."""
MIN_STANDARD_ERROR = 0.2
"""Minimum standard error of a difference on one sentence: few sentences may agree by chance."""
RETRAINING = 0.014
"""Standard deviation of a difference between two taggers if both are trained again with another seed."""
SHORT_TRAINING = 0.1
"""Standard deviation of the error of a difference in short trainings. Systems with a second stage train for longer than
gold only, which then matters most: in seven `grow` jobs of seven to nine minutes, gains on test were 0.04 to 0.36 below
those on folds."""


def expected_gain(usual: Gain | None, compared: Comparison, folds: int, *, is_short: bool = False) -> float:
    """The gain in F1 over gold only that is expected on other sentences.

    The gain is assumed to come from one of two normal distributions, the usual one or `UNUSUAL`. The folds are assumed
    to show it with normal noise. The result is the mean of the posterior distribution.

    Args:
        usual: The usual gain of such systems; None if nothing is known.
        compared: The comparison of the system with gold only on the folds.
        folds: Number of taggers of each that were compared.
        is_short: Whether their trainings were short; see `Schedule.is_short`.
    """
    standard_error = max(
        (compared.high - compared.low) / (2 * 1.96), MIN_STANDARD_ERROR / math.sqrt(compared.sentences)
    )
    noise_variance = standard_error**2 + RETRAINING**2 / folds + (SHORT_TRAINING**2 if is_short else 0.0)
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
    """The encoders that usually gain more on such text than any method does, with their gains.

    Args:
        encoder: The encoder of gold only.
    """
    return {MULTILINGUAL: CASED} if encoder == ENGLISH and text.is_english and text.cased else {}


def usual_gain(
    chain: Sequence[System], encoder: str, better: Mapping[str, Gain], *, raw_suits: bool = True
) -> Gain | None:
    """The usual gain of the last system of a chain, in which each is the base of the next; None if unknown.

    Args:
        encoder: The encoder of gold only.
        better: The result of `better_encoders`. Nothing is known about other encoders.
        raw_suits: Whether raw text is of the same kind as the labelled sentences. If not, only taggers for names and
            lists of names label it well.
    """
    system, methods = chain[-1], [s.method.method for s in chain if s.method is not None]
    models = [str(s.tagger_settings.get("model", encoder)) for s in chain]
    encoders = [ENCODERS.get(model, model) for model in models]
    if encoders[0] != encoder and encoders[0] not in better:
        return None
    starts_from_tagger = models[-1] not in (encoder, encoders[-1])
    gains = [better[encoders[0]]] if encoders[0] != encoder else []
    if system.method is not None:
        kind = _kind(system, methods)
        is_misled = not raw_suits and system.labels_raw_text and not starts_from_tagger and not kind.startswith("names")
        mean, spread = OTHER_KIND if is_misled else USUAL[kind]
        left = LEFT if starts_from_tagger else 1.0
        gains.append((left * mean, left * spread))
    if len({*encoders}) > 1:
        gains.append(TWO_ENCODERS[encoders[-1]])
    if starts_from_tagger:
        gains.append(USUAL["start"])
    return sum(mean for mean, _ in gains), math.hypot(*(spread for _, spread in gains))


def _kind(system: System, methods: Sequence[str]) -> str:
    """The key in `USUAL` of a system that makes sentences, by the methods of its chain."""
    if kind := {"qa_prompting": "questions", "gazetteer_labels": "names"}.get(methods[0]):
        return f"{kind} again" if len(methods) > 1 else kind
    return "self-training" if system.labels_raw_text else methods[-1]
