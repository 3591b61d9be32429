"""Methods that make new labelled sentences, one a file."""

HELPERS = ("linearization", "masking", "pools", "thesaurus", "word_replacement", "wordlists")
"""Modules in this folder that are no methods."""
