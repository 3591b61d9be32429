"""Methods that label raw text, one a file."""

HELPERS: tuple[str, ...] = ()
"""Modules in this folder that are no methods."""
