"""Characters as words, joined for a tagger that learnt from text with longer words."""

from __future__ import annotations

from dataclasses import replace

from nersery.core.sentence import Sentence
from nersery.crosslingual.characters import Spans, Tokenize, spans
from nersery.io.tokenization import is_character


def joined(sentence: Sentence, tokenize: Tokenize) -> tuple[Sentence, Spans]:
    """The sentence in words of a vocabulary, without labels, and the words that each of them is made of."""
    if not any(map(is_character, sentence.words)):
        return sentence, ()
    groups = spans(sentence.words, tokenize)
    words = ("".join(sentence.words[place] for place in group) for group in groups)
    return Sentence(tuple(words), id=sentence.id, language=sentence.language), groups


def taken_apart(sentence: Sentence, labelled: Sentence, groups: Spans) -> Sentence:
    """The sentence with the labels of its joined form."""
    if not groups:
        return labelled
    return sentence.with_entities(
        replace(entity, start=groups[entity.start][0], end=groups[entity.end - 1][-1] + 1)
        for entity in labelled.entities
    )
