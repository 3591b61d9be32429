"""Corpora of an experiment: samples and folds of them, what kind of text they are, and notes on what is suspicious."""
