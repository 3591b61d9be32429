"""The words that mentions of gold begin and end with, which tell whether punctuation belongs to a predicted mention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from nersery.core.sentence import Entity, Sentence
from nersery.core.text.text_forms import BRACKETS, QUOTATION_MARKS, is_punctuation

PAIRS = (*BRACKETS, *QUOTATION_MARKS)


@dataclass(frozen=True)
class OuterWords:
    """The words that mentions of gold begin and end with.

    They decide which punctuation, emoji and other symbols at the ends of a predicted mention are part of it.
    """

    first: frozenset[str]
    last: frozenset[str]

    @classmethod
    def of(cls, gold: Iterable[Sentence]) -> OuterWords:
        """The first and last words of all mentions in sentences."""
        mentions = [sentence.mention(entity) for sentence in gold for entity in sentence.entities]
        return cls(frozenset(words[0] for words in mentions), frozenset(words[-1] for words in mentions))

    def without_outer_punctuation(self, sentence: Sentence) -> Sentence:
        """The sentence without punctuation at the ends of mentions where no mention of gold has it.

        Punctuation stays if it belongs to some inside, as in *U . N .* or *Dune ( film )*. The full stop of an
        abbreviation stays too. A mention that only consists of removed punctuation is left out.
        """
        entities: list[Entity] = []
        changed: set[int] = set()
        for entity in sentence.entities:
            mention = self._trimmed(sentence, entity)
            if mention is not None:
                entities.append(mention)
            if mention != entity:
                changed |= {*entity.positions} - {*(mention.positions[1:] if mention else ())}
        certain = tuple(label for label in sentence.soft_labels if label.word not in changed)
        return replace(sentence, entities=tuple(entities), soft_labels=certain)

    def _trimmed(self, sentence: Sentence, entity: Entity) -> Entity | None:
        start, end, words = entity.start, entity.end, sentence.words
        without_punctuation = [position for position in entity.positions if not is_punctuation(words[position])]
        inner = words[without_punctuation[0] : without_punctuation[-1] + 1] if without_punctuation else ()
        while start < end and words[start] not in self.first and _is_loose(words[start], inner):
            start += 1
        while start < end and words[end - 1] not in self.last and _is_loose(words[end - 1], inner):
            if words[end - 1] == "." and not all(map(is_punctuation, words[end:])):
                break
            end -= 1
        return replace(entity, start=start, end=end) if start < end else None


def _is_loose(word: str, inner: Sequence[str]) -> bool:
    """Whether a word is punctuation that has neither an equal nor a partner, as brackets have, among other words."""
    return is_punctuation(word) and not any(
        other == word or any(word in pair and other in pair for pair in PAIRS) for other in inner
    )
