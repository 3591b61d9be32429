"""Aligners: methods that say which words of a sentence and of its translation belong together, one a file."""
