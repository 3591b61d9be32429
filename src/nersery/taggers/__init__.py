"""Taggers, one per file; code that they share is in `components`.

May import torch and transformers at the top, and `models` and the layers below.
"""
