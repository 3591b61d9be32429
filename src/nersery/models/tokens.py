"""Words that are tokens of a model instead of text. They begin with a character that no corpus can contain."""

from __future__ import annotations

TOKEN_PREFIX = "\t"
"""The beginning of a word that names a token of a model, such as a tag token."""
GAP = TOKEN_PREFIX + "gap"
"""Stands for words to be written, in the source of an encoder-decoder."""
UNKNOWN = TOKEN_PREFIX + "unknown"
"""A word for which the vocabulary has no subword."""
BROKEN = TOKEN_PREFIX + "broken"
"""A word that contains half a character."""

Token = str | tuple[int, ...]
"""A word as models read it: a text, the name of a token, which begins with `TOKEN_PREFIX`, or the ids of subwords."""
