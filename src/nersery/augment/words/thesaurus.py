"""Synonyms of single words: from WordNet's files, or from a table of the user's own."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from nersery.core.errors import DataError, Issue, MissingResourceError
from nersery.core.registry import Method
from nersery.core.sentence import Sentence
from nersery.core.sentence_validation import edit_issue
from nersery.core.settings.typed_settings import FileName, hidden
from nersery.core.text.english import FUNCTION_WORDS
from nersery.core.text.languages import primary
from nersery.core.text.text_forms import DOTTED_I, DOTTED_I_LANGUAGES, capitalized, composed, lower_case, upper_case
from nersery.core.text.word_lists import check_file, read_lines, read_words
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import warn
from nersery.io.word_splitting.scripts_without_spaces import in_characters

Synonyms = Mapping[str, tuple[str, ...]]
"""The sorted synonyms of each word in its `lookup_form`. A synonym may be several words with single spaces."""

WORDNET = "/usr/share/wordnet"
PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
MIN_LEMMA_LENGTH = 3

_SYNSET = re.compile(r"\d{8} \d\d [nvasr] ([0-9a-f]{2}) ")


@dataclass(frozen=True, slots=True)
class Thesaurus:
    """The synonyms of words that have some. Case does not matter.

    Args:
        stop_words: Words in their `lookup_form` that neither have synonyms nor are synonyms, even if listed as such.
    """

    synonyms: Synonyms
    stop_words: frozenset[str] = frozenset()

    def of(self, word: str, language: str = "") -> tuple[str, ...]:
        """The synonyms of a word; how its accents are encoded does not matter. In Turkish *I* is *ı*, elsewhere *i*
        unless only *ı* is known.
        """
        forms = [lookup_form(word), lookup_form(word.replace("I", "ı"))]
        if primary(language) in DOTTED_I_LANGUAGES:
            forms.reverse()
        form = next((form for form in forms if form in self.synonyms), "")
        synonyms = () if form in self.stop_words else self.synonyms.get(form, ())
        return tuple(s for s in synonyms if lookup_form(s) not in self.stop_words) if self.stop_words else synonyms

    def draw_like(self, word: str, rng: random.Random, sentence: Sentence, *, is_inserted: bool = False) -> list[str]:
        """Draw one of a word's synonyms, all equally likely, and return its words; empty if there is none.

        They have the capitals of the word, but no capitals in a sentence that has none.

        Args:
            is_inserted: The synonym is inserted elsewhere, and does not take the capitals of the word.
        """
        synonyms = self.of(word, sentence.language)
        if not synonyms:
            return []
        words = synonyms[int(rng.random() * len(synonyms))].split(" ")
        if sentence.text.islower():
            return [lower_case(synonym, sentence.language) for synonym in words]
        return words if is_inserted else _with_case_of(words, word, sentence.language)


def _with_case_of(words: list[str], word: str, language: str) -> list[str]:
    """Words with the capitals of another one, but *United States* for *US*. In Turkish, the capital of *i* is *İ*."""
    if word.isupper() and sum(map(str.isalpha, word)) > 1 and all(synonym == synonym.lower() for synonym in words):
        return [upper_case(synonym, language) for synonym in words]
    return [capitalized(words[0], language), *words[1:]] if word[0].isupper() else words


@dataclass
class SynonymSettings(Method):
    """Settings of methods that draw synonyms.

    Args:
        wordnet: Folder of WordNet's `data.*` files (Debian: `wordnet-base`). Entries of one or two characters, or
            spelled like a function word, are skipped.
        table: File with lines of ``word<TAB>synonym[<TAB>synonym …]``, used instead of WordNet.
        stop_words: File of words that are neither replaced nor inserted, one per line.
    """

    _: KW_ONLY
    wordnet: FileName = WORDNET
    table: FileName = ""
    stop_words: FileName = ""
    _thesaurus: Thesaurus | None = hidden(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_file(self.stop_words)
        check_file(self.table)

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Read the synonyms, and warn if gold is in languages that WordNet does not cover, or the table does not fit.

        Raises:
            DataError: If a file is broken.
            MissingResourceError: If there is neither WordNet nor a table.
        """
        from nersery.models.bundled_models.known_languages import knows

        stop_words = frozenset(map(lookup_form, read_words(self.stop_words))) if self.stop_words else frozenset()
        self._thesaurus = Thesaurus(read_table(self.table) if self.table else read_wordnet(self.wordnet), stop_words)
        sentences = list(gold)
        words = {word: sentence.language for sentence in sentences for word in sentence.words}
        if self.table and words and not any(map(self._thesaurus.of, words, words.values())):
            is_split = ", because each is one character or syllable: split gold into whole words"
            cause = is_split if in_characters(words) else ": name a table of its language"
            warn(f'no word of gold has a synonym in the table "{self.table}"{cause}')
        foreign = sorted({sentence.language for sentence in sentences if not knows(sentence.language)})
        if foreign and not self.table:
            warn(
                f"WordNet covers only English, but there is text in {', '.join(foreign)}: it has no synonyms for most "
                "words there, and wrong ones for some. Give a table of the language (the setting table)"
            )


def lookup_form(word: str) -> str:
    """The form by which a word is looked up: without case, in NFC."""
    return composed(word.lower().replace(DOTTED_I, "i"))


def read_wordnet(folder: str | Path) -> Synonyms:
    """Synonyms of all single words in WordNet, over all senses.

    Entries of one or two characters (mostly symbols: ``in`` is indium) or spelled like `FUNCTION_WORDS` are skipped.
    The latter mostly mean something else: ``who`` is the World Health Organization, ``may`` the hawthorn.

    Args:
        folder: Folder of ``data.noun``, ``data.verb``, ``data.adj`` and ``data.adv``.

    Raises:
        DataError: If a file is malformed; names file and line.
        MissingResourceError: If a file does not exist.
    """
    synonyms: dict[str, set[str]] = {}
    for path in check_wordnet(folder):
        for synset in _synsets(path):
            lemmas = [
                lemma for lemma in synset if len(lemma) >= MIN_LEMMA_LENGTH and lemma.lower() not in FUNCTION_WORDS
            ]
            for lemma in lemmas:
                if len(lemmas) > 1 and " " not in lemma:
                    synonyms.setdefault(lemma.lower(), set()).update(lemmas)
    return _without_own_word(synonyms)


def check_wordnet(folder: str | Path) -> list[Path]:
    """WordNet's files in a folder. Raises `MissingResourceError` if one is missing."""
    paths = [Path(folder) / f"data.{part}" for part in PARTS_OF_SPEECH]
    for path in paths:
        if not path.is_file():
            raise MissingResourceError(
                f"WordNet is not in {folder}: there is no {path.name}. For English text, install it (apt-get install "
                "wordnet-base) or name its folder (the setting wordnet); for any language, give a table of your own "
                "(the setting table), a file with lines of word<TAB>synonym[<TAB>synonym …]"
            )
    return paths


def _synsets(path: Path) -> Iterator[list[str]]:
    """The lemmas of each synset of a data file; the format is described in the manual page ``wndb(5WN)``."""
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, start=1):
            if raw.startswith(b"  "):  # the licence at the head of the file
                continue
            line = raw.decode("ascii", "replace")
            head = _SYNSET.match(line) if raw.isascii() else None
            count = int(head[1], 16) if head else 0
            fields = line[head.end() :].split(" ", 2 * count) if head else []
            if not count or len(fields) <= 2 * count or not fields[2 * count][:3].isdecimal():
                issue = Issue("this is not a line of a WordNet data file", file=str(path), line=number)
                raise DataError(issue, fix="install WordNet again, or name the folder of a complete one")
            # An adjective may end with a marker of its position in the sentence, as in "galore(ip)".
            yield [lemma.partition("(")[0].replace("_", " ") for lemma in fields[: 2 * count : 2]]


def read_table(path: str | Path) -> Synonyms:
    """The synonyms of a user's table: UTF-8 lines of ``word<TAB>synonym[<TAB>synonym …]``.

    A synonym may be several words with single spaces between. A word on several lines has all their synonyms.

    Raises:
        DataError: With every line that is broken.
        MissingResourceError: If the file is missing.
    """
    listed: dict[str, set[str]] = {}
    issues = []
    for number, line in read_lines(path):
        word, *synonyms = line.split("\t")
        if issue := _line_issue(word, synonyms):
            issues.append(Issue(issue, file=str(path), line=number))
        listed.setdefault(lookup_form(word), set()).update(synonyms)
    if issues:
        raise DataError(issues, fix="write each line as word<TAB>synonym[<TAB>synonym …]")
    table = _without_own_word(listed)
    if not table:
        message = "no word has another word as a synonym" if listed else "the table of synonyms is empty"
        raise DataError(Issue(message, file=str(path)), fix="give it lines of word<TAB>synonym[<TAB>synonym …]")
    return table


def _line_issue(word: str, synonyms: list[str]) -> str | None:
    if not synonyms:
        return f"{word!r} has no synonym, expected a tab and a synonym"
    for text in (word, *synonyms):
        if edit_issue(tuple(text.split(" ")), ()):
            return f"{text!r} is neither a word nor words with single spaces between"
    return f"{word!r} is several words, but only single words are looked up" if " " in word else None


def _without_own_word(listed: Mapping[str, set[str]]) -> Synonyms:
    """Sorted synonyms, without the word itself. Words that have no other synonyms are left out."""
    ordered = {word: sorted(s for s in synonyms if lookup_form(s) != word) for word, synonyms in listed.items()}
    return {word: tuple(synonyms) for word, synonyms in ordered.items() if synonyms}
