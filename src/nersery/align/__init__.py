"""Methods that say which words of a sentence and of its translation belong together, one a file."""

HELPERS: tuple[str, ...] = ()
"""Modules in this folder that are no methods."""
