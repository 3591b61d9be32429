"""Taggers, one a file."""

HELPERS = ("attention", "crf", "gold", "tagset")
