"""Taggers, one a file."""

HELPERS = ("attention", "crf", "tagset")
