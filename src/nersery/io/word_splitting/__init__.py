"""Splits text into words, also in scripts without spaces."""
