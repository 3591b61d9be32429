"""Recognises sentences of the corpora that the bundled question-answering heads were trained on.

The package contains truncated hashes, not text: ``weights/question_text.bin`` holds them sorted, `WIDTH` bytes each.
The chance of a wrong match is 1 in 10^7. ``models/qa_head/fingerprints.py`` writes the file.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path

WIDTH = 5
MIN_WORDS = 5
"""Shorter sentences, such as "thank you so much", are likely to occur in other text too."""
FILE = Path(__file__).parents[1] / "weights" / "question_text.bin"
CORPORA = "Wikigold, Broad Twitter Corpus or AnEM"


def fingerprint(words: Sequence[str]) -> bytes:
    """The hash of a sentence, independent of case, tokenization and punctuation; empty if the sentence is too short.

    >>> fingerprint("He lived in New York .".split()) == fingerprint("he lived in new york".split())
    True
    """
    text = unicodedata.normalize("NFKC", " ".join(words)).casefold()
    letters = "".join(character for character in text if character.isalnum())
    return blake2b(letters.encode(), digest_size=WIDTH).digest() if len(words) >= MIN_WORDS and letters else b""


def count_known(sentences: Iterable[Sequence[str]]) -> int:
    """The number of sentences, given as words, that are in the corpora."""
    known = _known()
    return sum(fingerprint(words) in known for words in sentences)


@cache
def _known() -> frozenset[bytes]:
    content = FILE.read_bytes()
    return frozenset(content[start : start + WIDTH] for start in range(0, len(content), WIDTH))
