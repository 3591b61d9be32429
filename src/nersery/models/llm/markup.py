"""Marks that language models add to words without being asked: Markdown, quotation marks, names of types."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", re.DOTALL)
_QUOTED = re.compile(r"""\s*(?:"([^"]+)"|“([^“”]+)”|`([^`]+)`)\s*""")
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"))


def without_bold(text: str) -> str:
    """A text without Markdown's stars for bold words.

    >>> without_bold("**Ada Lovelace** met 2 ** 3 people")
    'Ada Lovelace met 2 ** 3 people'
    """
    return _BOLD.sub(r"\1", text)


def bare_mention(text: str) -> str:
    """A mention without quotation marks or stars around the whole of it.

    >>> bare_mention('"**Dune**"'), bare_mention('"Dune" and "Alien"')
    ('Dune', '"Dune" and "Alien"')
    """
    quoted = _QUOTED.fullmatch(text)
    return without_bold(next(filter(None, quoted.groups())) if quoted else text)


def names_a_type(words: Sequence[str], types: Collection[str]) -> bool:
    """Whether words contain a type in brackets, as a language model may mark a mention.

    >>> names_a_type(["Ada", "(", "per", ")"], {"PER"}), names_a_type(["Ada", "[PER]"], {"PER"})
    (True, True)
    >>> names_a_type(["Ada", "(", "Paris", ")"], {"PER"})
    False
    """
    text = " ".join(words).casefold().replace(" ", "")
    return any(
        f"{left}{type_.casefold().replace(' ', '')}{right}" in text for left, right in _BRACKETS for type_ in types
    )
