"""Taggers, one per file; their building blocks are in `components`.

Imports from `pipeline` and below.
"""
