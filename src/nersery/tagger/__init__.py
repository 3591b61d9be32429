"""Taggers, one a file."""

HELPERS = ("attention", "crf", "fitting", "gold", "labelling", "recurrent", "tagset", "words")
