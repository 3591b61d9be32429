"""Taggers, one per file; the folders hold what they share.

Modules may import torch and transformers at the top, and `models` and the layers below it.
"""
