"""Numbers only: scores, significance, errors by kind, diversity, novelty, agreement, alignment error rate.

Imports from `pipeline` and below; draws nothing.
"""
