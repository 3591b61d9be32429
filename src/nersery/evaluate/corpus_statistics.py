"""Counts of sentences, words and entities in a corpus."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any
from unicodedata import is_normalized

from nersery import io
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.core.text.text_forms import composed
from nersery.io.base import digest_of
from nersery.io.jsonl import rejects_of
from nersery.io.temporary_tables.ids import SeenIds

SEPARATORS = dict.fromkeys(map(ord, " -_"))


def corpus_statistics(source: io.Source, name: str, normalizable: set[str]) -> dict[str, Any]:
    """Count the contents of a corpus, and what was dropped when it was written.

    Args:
        name: The name of the file in the result.
        normalizable: Gets the words that Unicode can encode in several ways, for `in_several_forms`.
    """
    sentences = words = entity_words = without = longest = 0
    types: Counter[str] = Counter()
    origins: Counter[str] = Counter()
    labellings = _Labellings()
    for sentence in source:
        labellings.add(sentence)
        sentences += 1
        words += len(sentence)
        normalizable.update(filter(_is_normalizable, sentence.words))
        longest = max(longest, len(sentence))
        without += not sentence.entities
        types.update(entity.type for entity in sentence.entities)
        entity_words += sum(entity.end - entity.start for entity in sentence.entities)
        if sentence.origin is not None:
            origins[sentence.origin.method] += 1
    dropped = io.read_rejects(rejects_of(source.file.path))
    return {
        "file": name,
        "format": source.description,
        "sentences": sentences,
        "words": words,
        "longest_sentence": longest,
        "entities": types.total(),
        "entity_words": entity_words,
        "sentences_without_entities": without,
        "types": dict(sorted(types.items())),
        "similar_types": _similar_types(types),
        "texts_with_different_labels": labellings.different,
        "generated_by": dict(sorted(origins.items())),
        "repaired": dict(sorted(source.repaired.items())),
        "rejected": len(source.rejects),
        "reasons": _count_reasons(source.rejects),
        "dropped": _count_reasons(dropped),  # by the job that wrote the file
    }


class _Labellings:
    """Counts texts that occur several times with different labels, as in exports with the labels of two people."""

    def __init__(self) -> None:
        self._texts, self._labelled, self._counted = SeenIds(), SeenIds(), SeenIds()
        self.different = 0

    def add(self, sentence: Sentence) -> None:
        text = digest_of([sentence.words])
        is_known = self._texts.add(text, 0) is not None
        is_new = self._labelled.add(digest_of([sentence.words, sentence.labels]), 0) is None
        self.different += is_known and is_new and self._counted.add(text, 0) is None


def _is_normalizable(word: str) -> bool:
    """Whether a word changes in NFC or in NFD."""
    return not (word.isascii() or (is_normalized("NFC", word) and is_normalized("NFD", word)))


def in_several_forms(words: Iterable[str]) -> list[str]:
    """The texts, sorted and in NFC, that occur in several Unicode forms among distinct words.

    >>> in_several_forms({"Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}", "Zoe\N{COMBINING DIAERESIS}", "caf\xe9"})
    ['Zoë']
    """
    return sorted(text for text, count in Counter(map(composed, words)).items() if count > 1)


def _similar_types(types: Counter[str]) -> list[list[str]]:
    """Groups of types that differ only in case, separators or Unicode form, such as PER and Per.

    The most frequent type of a group is first.
    """
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for type_ in sorted(types, key=lambda name: (-types[name], name)):
        groups[composed(type_.casefold().translate(SEPARATORS))].append(type_)
    return [group for group in groups.values() if len(group) > 1]


def _count_reasons(rejects: Iterable[Reject]) -> dict[str, int]:
    """How often each reason occurs, the most frequent first."""
    counts = Counter(reject.reason for reject in rejects)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
