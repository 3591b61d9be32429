"""Methods that make new labelled sentences, one per file; what a family shares is in a folder.

Imports from `taggers`, `crosslingual`, `evaluate` and below. Methods do not import each other.
"""
