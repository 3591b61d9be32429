"""Taggers, one a file."""

HELPERS = ("attention", "crf", "finishing", "fitting", "gold", "labelling", "recurrent", "tagset", "words")
