"""Methods that label raw text, one per file.

Imports from `taggers`, `crosslingual`, `evaluate` and below.
"""
