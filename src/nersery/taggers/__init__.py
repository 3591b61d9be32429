"""Taggers, one a file."""
