"""Methods that say which words of a sentence and of its translation belong together, one a file."""

HELPERS = (
    "extraction",
    "fine_tuning",
    "hmm",
    "kept",
    "learning",
    "lexicon",
    "likeness",
    "matching",
    "programs",
    "stems",
    "symmetrize",
)
"""Modules in this folder that are no methods."""
