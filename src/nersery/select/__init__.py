"""Methods that score sentences, one per file.

Imports from `taggers`, `crosslingual`, `evaluate` and below.
"""
