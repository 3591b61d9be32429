"""Computes numbers: scores, significance, errors by kind, diversity, novelty, agreement, alignment error rate.

Imports from `pipeline` and below. Draws nothing.
"""

from nersery.core.callable_package import make_callable

make_callable(__name__, "scores")
