"""Methods that make new labelled sentences, one a file."""

HELPERS = ("thesaurus", "wordlists")
"""Modules in this folder that are no methods."""
