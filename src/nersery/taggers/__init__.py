"""Taggers, one per file; shared code is in `components`.

Modules may import torch and transformers at the top, and `models` and the layers below it.
"""
