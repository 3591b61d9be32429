"""Sentences with tag tokens among their words, and the way back."""
