"""Methods that say how good a sentence is, one a file."""

HELPERS = ("near",)
"""Modules in this folder that are no methods."""
