"""The profile of a corpus: its language, case and types, and whether raw text resembles the labelled sentences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from nersery.core.errors import DataError, Issue
from nersery.core.registry import BUNDLED
from nersery.core.sentence import Sentence
from nersery.core.text.english import ENOUGH, doubt_of_english, looks_english
from nersery.core.text.languages import primary
from nersery.core.text.scripts import main_script, script_name
from nersery.models.bundled_models.bundled import ENGLISH_NER, MULTILINGUAL, MULTILINGUAL_NER
from nersery.models.bundled_models.known_languages import is_trained_in, knows, knows_script

READ = 2000
"""Maximum number of sentences that are inspected."""
CASED = 0.02
"""Minimum share of capitalized words for text to count as cased."""

PARTS = "it misses names, and labels parts of others"
OWN_TAGGER = "train a tagger on a model of its language (`nersery train --set model=NAME`)"


@dataclass(frozen=True)
class TextProfile:
    """The script, language and case of sentences.

    Args:
        script: The script of most letters, e.g. ``LATIN`` or ``DEVANAGARI``.
        language: ``en``, another language that the user or the file names, or empty if it is unknown.
        cased: Whether capital letters occur.
    """

    script: str
    language: str
    cased: bool

    @property
    def is_english(self) -> bool:
        """Whether the bundled English models suit the text."""
        return primary(self.language) == "en"

    @property
    def remedy(self) -> str:
        """The end of a message: what to do if the text is English nevertheless; empty if it surely is not."""
        return "" if self.language or self.script != "LATIN" else "; if it is English, give --language en"

    def __str__(self) -> str:
        name = "English" if self.is_english else self.language or f"not English ({script_name(self.script)} script)"
        return f"{name}, {'upper and lower case' if self.cased else 'one case'}"


def profile(sentences: Iterable[Sentence], language: str = "") -> TextProfile:
    """Profile a corpus by its first sentences.

    Args:
        language: The language that the user names; empty to detect it.
    """
    sample = list(islice(sentences, READ))
    words = [word for sentence in sample for word in sentence.words]
    script = main_script(words)
    languages = Counter(sentence.language for sentence in sample).most_common(1)
    named_language = language or (languages[0][0] if languages else "")
    detected = "en" if looks_english(words) else ""
    cased = sum(word[:1].isupper() for word in words) / max(1, len(words)) >= CASED
    return TextProfile(script, named_language or detected, cased)


def note_of_language(label: str, sentences: Iterable[Sentence]) -> str:
    """A note if sentences that are marked as English do not look English; else empty."""
    words_by_language: dict[str, list[str]] = defaultdict(list)
    for sentence in islice(sentences, READ):
        words_by_language[sentence.language] += sentence.words
    for language, words in words_by_language.items():
        if primary(language) == "en" and len(words) >= ENOUGH and looks_english(words) is False:
            script = script_name(main_script(words))
            return f"the language of {label} is {language}, but the text looks like another ({script} script)"
    return ""


def note_of_tagger(tagger: str, sentences: Iterable[Sentence]) -> str:
    """A note if a bundled tagger is to label sentences in a language or script that it does not know; else empty."""
    if tagger not in (ENGLISH_NER, MULTILINGUAL_NER):
        return ""
    sample = list(islice(sentences, READ))
    text = profile(sample)
    is_readable = knows_script(text.script)
    if tagger == MULTILINGUAL_NER:
        script = f"the {script_name(text.script)} script"
        if not is_readable:
            return f"{tagger} knows no word in {script}, so it finds hardly any name: {OWN_TAGGER}"
        if not is_trained_in(text.script):
            return (
                f"{tagger} was trained on names in 36 languages, but on no text in {script}, so {PARTS}: {OWN_TAGGER}"
            )
        return ""
    if text.is_english:
        return ""
    words = [word for sentence in sample for word in sentence.words]
    seen = f"is in {text.language}" if text.language else doubt_of_english(words)
    may_suit = is_readable and knows(text.language, MULTILINGUAL)
    advice = f"{MULTILINGUAL_NER} (extra multilingual) may suit it" if may_suit else OWN_TAGGER
    return f"{tagger} covers only English, but the text {seen}: {advice}" if seen else ""


def note_of_encoder(model: str, text: TextProfile, fix: str) -> str:
    """A note if a bundled encoder knows no word in the script of its tagger's training text; else empty."""
    if model not in BUNDLED or knows_script(text.script, model):
        return ""
    return (
        f"{model} knows no word in the {script_name(text.script)} script, so its tagger learns hardly anything: {fix}"
    )


def refuse_other_language(train: TextProfile, raw: TextProfile, files: str = "") -> None:
    """Refuse raw text in another language or script than the labelled sentences.

    Args:
        files: Their names, for the message.

    Raises:
        DataError: If the languages or scripts differ.
    """
    if train.language and primary(train.language) == primary(raw.language):
        return
    if train.script != raw.script or train.is_english != raw.is_english:
        message = f"the labelled sentences are {train}, and the raw text is {raw}: expected the same language"
        raise DataError(
            Issue(message, files),
            fix="give raw text in the language of the sentences; or, if both are the same, name it (--language)",
        )


def data_notes(gold: Sequence[Sentence]) -> list[str]:
    """Notes on what makes the result uncertain."""
    counts = Counter(entity.type for sentence in gold for entity in sentence.entities)
    notes = []
    if len(gold) < 50:
        notes.append(f"only {len(gold)} labelled sentences: every figure is uncertain")
    if rare := sorted(type_ for type_, count in counts.items() if count < 5):
        listed = ", ".join(f"{type_} ({counts[type_]})" for type_ in rare)
        notes.append(f"types with fewer than five mentions, which can hardly be learnt: {listed}")
    return notes
