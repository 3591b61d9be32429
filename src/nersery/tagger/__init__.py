"""Taggers, one a file."""

HELPERS = ("crf", "tagset")
