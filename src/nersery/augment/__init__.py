"""Methods that make new labelled sentences, one a file."""

HELPERS = (
    "denoising",
    "infilling",
    "linearization",
    "masking",
    "mixner",
    "parsing",
    "pools",
    "segments",
    "stop_words",
    "templates",
    "thesaurus",
    "word_replacement",
    "wordlists",
)
"""Modules in this folder that are no methods."""
