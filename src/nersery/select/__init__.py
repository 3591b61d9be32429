"""Methods that say how good a sentence is, one a file."""

HELPERS = ("course", "near")
"""Modules in this folder that are no methods."""
