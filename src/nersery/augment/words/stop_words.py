"""Stop words: words that carry no information about the entities beside them.

Lists come from the package stopwordsiso. The folder ``languages/`` has what it lacks: it has no Tamil or Telugu, most
of its Urdu words are misspelt, and Hindi *and* or the Arabic article are missing. To add words, add a file such as
``te.txt`` with one word per line.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from nersery.core.sentence import Sentence
from nersery.core.text.english import FUNCTION_WORDS
from nersery.core.text.languages import primary
from nersery.core.text.spacing import lacks_spaces
from nersery.core.text.text_forms import DOTTED_I, composed
from nersery.core.text.word_lists import read_words
from nersery.core.warnings import warn

COMMON = 1 / 1000
"""A listed word is a stop word if it makes up at least this share of the text."""
FREQUENT = 1 / 200
"""Without a list, each word that makes up at least this share of the text is a stop word."""
LISTS = Path(__file__).with_name("languages")
MIN_COUNT = 5
"""Minimum count of such a word, for short texts in which a few words are a large share."""
MIN_WORDS = 50
"""Minimum number of words needed to recognize their language."""
MIN_SHARE, MAX_OF_SECOND = 0.12, 0.8
"""Minimum share of a text that is on the list of its language, and maximum share of that on any other list. Of texts of
ten lines of NTREX, in 36 languages, 72 % show their language in this way, and no text shows another language.
"""
CACHED = 1 << 16
"""Number of words whose bare forms are cached; a large corpus has millions of words."""


def stop_words(gold: Sequence[Sentence], file: str | Path = "") -> Mapping[str, frozenset[str]]:
    """The stop words of each language of gold, normalized by `bare`.

    Because the lists of stopwordsiso are too long (1,298 English words, among them *system*, *group* and *test*), only
    words that are common in gold count; English function words always count. Languages without a list use their most
    frequent words, with a warning. Languages missing in gold use their whole list.

    Args:
        gold: Sentences. Those without a language get the one that their words show, if that is certain. Frequencies are
            counted outside entities.
        file: A file with the user's words for all languages, one per line, used instead; empty for no file.

    Raises:
        DataError: If the file is not a list of words.
        MissingResourceError: If it does not exist.
    """
    languages = sorted({sentence.language for sentence in gold})
    if file:
        words = frozenset(map(bare, read_words(file)))
        return defaultdict(lambda: words, dict.fromkeys(languages, words))
    codes = {language: _recognized_language(gold, language) for language in languages}
    for language, code in codes.items():
        if not _stop_list(code):
            _warn_of_missing(language)
    return _StopWords({language: _common_words(gold, language, code) for language, code in codes.items()})


class _StopWords(dict[str, frozenset[str]]):
    """The stop words of each language. A language that gold lacks has its whole list."""

    def __missing__(self, language: str) -> frozenset[str]:
        self[language] = _stop_list(language)
        return self[language]


def function_words(gold: Sequence[Sentence]) -> frozenset[str]:
    """The function words of all languages of gold, normalized by `bare`, except in scripts without spaces.

    These are the listed words or, without a list, the most frequent words. For English, in which names in other
    languages may be, only `FUNCTION_WORDS` are used. A note is given if the language is neither named nor recognized.
    """
    codes = {language: _recognized_language(gold, language) for language in {sentence.language for sentence in gold}}
    own = (
        _stop_list(code) or _common_words(gold, language, code)
        for language, code in codes.items()
        if primary(code) != "en"
    )
    found = FUNCTION_WORDS.union(*own)
    if not codes.get("", "en") and not all(lacks_spaces(word) for s in gold if not s.language for word in s.words):
        warn(
            "the sentences do not name their language, and their words do not show it, so their most frequent words "
            "are used as function words: no other word of a name is replaced with one. Name the language with "
            "--language or, in a recipe, data.language"
        )
    return frozenset(word for word in found if any(map(str.isalpha, word)) and not lacks_spaces(word))


def _recognized_language(gold: Iterable[Sentence], language: str) -> str:
    """The language; if empty, the one whose list fits sentences that name none, or empty if that is uncertain."""
    from stopwordsiso import langs

    if language:
        return language
    counts = Counter(bare(word) for sentence in gold if not sentence.language for word in sentence.words)
    del counts[""]
    codes = sorted({*langs(), *_own_files()})
    listed = {code: sum(counts[word] for word in _stop_list(code) & counts.keys()) for code in codes}
    best, second = sorted(listed, key=listed.__getitem__, reverse=True)[:2]
    is_sure = listed[best] >= MIN_SHARE * counts.total() and listed[second] <= MAX_OF_SECOND * listed[best]
    return best if is_sure and counts.total() >= MIN_WORDS else ""


@cache
def latin_function_words() -> frozenset[str]:
    """The words without accents on the lists of all languages. The only name among them is *microsoft*."""
    from stopwordsiso import langs, stopwords

    return frozenset(word for word in stopwords(sorted(langs())) if word.isascii())


@lru_cache(CACHED)
def bare(word: str) -> str:
    """A word without case and the punctuation around it (Unicode's categories P and S), in NFC; it may be empty.

    >>> bare("«Der»"), bare("है।"), bare("C++"), bare("...")
    ('der', 'है', 'c', '')
    """
    kept = [position for position, character in enumerate(word) if unicodedata.category(character)[0] not in "PS"]
    return composed(word[kept[0] : kept[-1] + 1].casefold().replace(DOTTED_I, "i")) if kept else ""


def _common_words(gold: Iterable[Sentence], language: str, code: str) -> frozenset[str]:
    """The listed words of a code (any words if it has no list) that are common in the sentences of a language."""
    in_language = (sentence for sentence in gold if sentence.language == language)
    counts = Counter(bare(sentence.words[position]) for sentence in in_language for position in sentence.outside)
    total = counts.total()
    del counts[""]
    listed = _stop_list(code)
    if listed:
        always = FUNCTION_WORDS if primary(code) == "en" else frozenset()
        return always | {word for word in listed & counts.keys() if counts[word] >= COMMON * total}
    return frozenset(word for word, count in counts.items() if count >= max(MIN_COUNT, FREQUENT * total))


@cache
def _stop_list(language: str) -> frozenset[str]:
    """The list of a language such as ``en`` or ``en-GB``; empty if there is none."""
    from stopwordsiso import stopwords

    code = primary(language)
    shipped_words = read_words(path) if (path := _own_files().get(code)) else ()
    return frozenset(map(bare, (*stopwords(code), *shipped_words))) - {""}


def _own_files() -> dict[str, Path]:
    return {path.stem: path for path in LISTS.glob("*.txt")}


def _warn_of_missing(language: str) -> None:
    whose = f'the language "{language}"' if language else "sentences that neither name nor show their language"
    advice = "" if language else ", and their language with --language or, in a recipe, data.language"
    warn(
        f"there is no list of stop words for {whose}, so the most frequent words are used instead. Name a file of "
        f"stop words with stop_words{advice}"
    )
