"""English: its function words, and whether text looks English."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

from nersery.core.text.scripts import main_script, script_name
from nersery.core.text.text_forms import composed

FUNCTION_WORDS = frozenset(Path(__file__).with_name("function_words.txt").read_text("utf-8").split())
"""English articles, pronouns, quantifiers, prepositions, conjunctions and auxiliaries."""
ENGLISH = 0.05
"""Minimum share of these words, among words with a letter, for text in Latin script to count as English: 0.3 to 0.6 in
sentences, 0.1 in titles of products and in error messages.
"""
MIN_WORDS = 5
"""Number of different words of another language that show it. Names in English text have fewer."""
LISTED, ACCENTED = 0.06, 0.25
"""Minimum share of the words of another language: those on the list of its stop words, and those with a letter that
English lacks, which show languages without a list.
"""
ENOUGH = 100
"""Number of words below which text raises no doubt if it looks neither English nor like another language."""


def looks_english(words: Iterable[str]) -> bool | None:
    """Whether the words of a text look English; None if they look neither English nor like another language.

    Text is in another language if that has more of the words than English has, by its list of stop words. Titles, names
    and code have few words of any language. Words of other languages count in lower case only, because names have many:
    *Los Angeles*, *El Paso*.

    >>> looks_english("the cat sat on the mat".split()), looks_english("die Katze und der Hund sind nicht da".split())
    (True, False)
    >>> looks_english("sony xperia z5".split()) is None
    True
    """
    counts = Counter(composed(word) for word in words if any(map(str.isalpha, word)))
    script = main_script(counts.elements())
    if script != "LATIN":
        return None if script == "UNKNOWN" else False
    total = counts.total()
    english = sum(count for word, count in counts.items() if word.lower() in FUNCTION_WORDS)
    lower = {word for word in counts if word.islower()}
    accented = {word for word in lower if any(letter.isalpha() and not letter.isascii() for letter in word)}
    own = [(words & lower, LISTED) for words in _lists()] + [(accented, ACCENTED)]
    if any(
        len(found) >= MIN_WORDS and sum(counts[word] for word in found) > max(english, share * total)
        for found, share in own
    ):
        return False
    return True if english >= ENGLISH * total else None


def doubt_of_english(words: Collection[str]) -> str:
    """What raises doubt that text is in English, as the end of "the text …"; empty if nothing does."""
    found, script = looks_english(words), main_script(words)
    if found is False:
        remedy = "; if it is, give --language en" if script == "LATIN" else ""
        return f"does not look like English ({script_name(script)} script{remedy})"
    is_doubtful = found is None and len(words) >= ENOUGH
    return "has hardly any English function word (if it is English, give --language en)" if is_doubtful else ""


@cache
def _lists() -> tuple[frozenset[str], ...]:
    """The stop words of each language except English, without letters and words that English has, too."""
    from stopwordsiso import langs, stopwords

    codes = sorted(langs() - {"en"})
    return tuple(frozenset(word for word in stopwords(code) if len(word) > 1) - FUNCTION_WORDS for code in codes)
