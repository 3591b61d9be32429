"""Previews of what methods would insert for mentions: their most probable words, judged by an oracle tagger."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from nersery.augment.base import Augmenter, Suggester
from nersery.augment.masked_lm.model_setup import MaskedModelSettings
from nersery.core.errors import DataError, Issue, MissingResourceError, SettingsError, did_you_mean
from nersery.core.registry import create, get, names
from nersery.core.sentence import Corpus, Entity, Sentence
from nersery.io.word_splitting.scripts_without_spaces import has_letter_or_digit
from nersery.taggers.base import Tagger

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import Guess

SHOWN_IDS = 8
"""Number of ids that the message about an unknown id names."""


@dataclass(frozen=True)
class Blank:
    """A mention whose words are all hidden at once, except for words without a letter or digit.

    >>> blank = Blank(Sentence(("Rock", "&", "Roll", "lives"), (Entity(0, 3, "CW"),)), Entity(0, 3, "CW"))
    >>> blank.positions, blank.filled(("Drum", "Bass")).text
    ((0, 2), 'Drum & Bass lives')
    """

    sentence: Sentence
    entity: Entity

    @cached_property
    def positions(self) -> tuple[int, ...]:
        """The positions of the hidden words; empty if no word can be replaced."""
        return tuple(
            position for position in self.entity.positions if has_letter_or_digit(self.sentence.words[position])
        )

    def filled(self, words: Sequence[str]) -> Sentence:
        """The sentence with other words in place of the hidden ones."""
        return self.sentence.replace_spans([(p, p + 1, (word,)) for p, word in zip(self.positions, words, strict=True)])


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A mention as a method would write it.

    Args:
        words: The whole mention, with the words that stayed.
        probabilities: The probability of each hidden word, in [0, 1]; each word is predicted by itself.
    """

    words: tuple[str, ...]
    probabilities: tuple[float, ...]

    @property
    def probability(self) -> float:
        """The probability of the whole mention, in [0, 1]."""
        return math.prod(self.probabilities)


@dataclass(frozen=True)
class SuggestionTable:
    """What several methods suggest for the same blanks.

    Args:
        blanks: The mentions.
        columns: For each method, the suggestions for each blank, best first; a blank without positions has none.
        verdicts: For each resulting sentence and entity, the type that an oracle gives to the words of the mention;
            None if it finds no entity with these borders. Empty without an oracle.
    """

    blanks: tuple[Blank, ...]
    columns: Mapping[str, list[list[Suggestion]]]
    verdicts: Mapping[tuple[tuple[str, ...], Entity], str | None]

    def verdict(self, blank: Blank, mention: Sequence[str]) -> str | None:
        """The type that the oracle gives to a mention that is inserted in a blank."""
        return self.verdicts[_with_mention(blank, mention).words, blank.entity]

    def agreeing(self, method: str) -> tuple[int, int]:
        """The number of a method's suggestions to which the oracle gives the gold type, and the number of all."""
        pairs = [(b, s) for b, column in zip(self.blanks, self.columns[method], strict=True) for s in column]
        return sum(self.verdict(blank, s.words) == blank.entity.type for blank, s in pairs), len(pairs)

    def by_sentence(self) -> list[tuple[Sentence, list[int]]]:
        """Each sentence with the numbers of its blanks, in order."""
        groups = groupby(range(len(self.blanks)), key=lambda number: self.blanks[number].sentence)
        return [(sentence, list(numbers)) for sentence, numbers in groups]

    def as_dict(self) -> dict[str, Any]:
        """The table as values for JSON."""
        return {
            "sentences": [
                {
                    "id": sentence.id,
                    "words": list(sentence.words),
                    "mentions": [self._blank_as_dict(number, self.blanks[number]) for number in numbers],
                }
                for sentence, numbers in self.by_sentence()
            ]
        }

    def _blank_as_dict(self, number: int, blank: Blank) -> dict[str, Any]:
        entity = blank.entity
        return {
            **entity.as_dict(),
            "words": list(blank.sentence.mention(entity)),
            "hidden": list(blank.positions),
            **self._verdict_as_dict(blank, blank.sentence.mention(entity)),
            "suggestions": {
                method: [
                    {
                        "words": list(s.words),
                        "probability": s.probability,
                        "probabilities": list(s.probabilities),
                        **self._verdict_as_dict(blank, s.words),
                    }
                    for s in column[number]
                ]
                for method, column in self.columns.items()
            },
        }

    def _verdict_as_dict(self, blank: Blank, mention: Sequence[str]) -> dict[str, Any]:
        if not self.verdicts:
            return {}
        verdict = self.verdict(blank, mention)
        return {"oracle": verdict, "agrees": verdict == blank.entity.type}


def compare_suggestions(
    blanks: Sequence[Blank], columns: Mapping[str, list[list[Suggestion]]], oracle: Tagger | None = None
) -> SuggestionTable:
    """Suggestions side by side, with the verdicts of an oracle on each of them and on the original mentions."""
    mentions = [(blank, blank.sentence.mention(blank.entity)) for blank in blanks]
    for column in columns.values():
        mentions += [(blank, s.words) for blank, suggested in zip(blanks, column, strict=True) for s in suggested]
    verdicts: dict[tuple[tuple[str, ...], Entity], str | None] = {}
    if oracle is not None:
        filled = [(_with_mention(blank, mention), blank.entity) for blank, mention in mentions]
        distinct = {(sentence.words, entity): sentence for sentence, entity in filled}
        guesses = oracle.predict(list(distinct.values()))
        for (words, entity), guess in zip(distinct, guesses, strict=True):
            types = {(start, end): type_ for start, end, type_ in guess.labels}
            verdicts[words, entity] = types.get((entity.start, entity.end))
    return SuggestionTable(tuple(blanks), columns, verdicts)


def _with_mention(blank: Blank, mention: Sequence[str]) -> Sentence:
    return blank.sentence.replace_span(blank.entity.start, blank.entity.end, mention)


def suggestions(method: Suggester, blanks: Sequence[Blank], top_k: int) -> list[list[Suggestion]]:
    """The suggestions of a fitted method for each blank, best first.

    The first one has the most probable word at each position, the second one the second most probable, and so on.
    """
    masked = [blank for blank in blanks if blank.positions]
    guesses = iter(method.suggest([blank.sentence for blank in masked], [blank.positions for blank in masked], top_k))
    return [_by_rank(blank, next(guesses)) if blank.positions else [] for blank in blanks]


def _by_rank(blank: Blank, guesses: Sequence[Sequence[Guess]]) -> list[Suggestion]:
    suggested = []
    for ranked in zip(*guesses, strict=False):  # a small vocabulary may have fewer words for one position than another
        words, probabilities = zip(*ranked, strict=True)
        suggested.append(Suggestion(blank.filled(words).mention(blank.entity), probabilities))
    return suggested


def blanks_of(sentences: Iterable[Sentence]) -> list[Blank]:
    """Blanks for all mentions of some sentences. Each mention is hidden by itself."""
    return [Blank(sentence, entity) for sentence in sentences for entity in sentence.entities]


def choose_sentences(corpus: Corpus, ids: Sequence[str], count: int, file: str) -> list[Sentence]:
    """The sentences with some ids or, without ids, the first sentences that have an entity.

    Args:
        count: Number of sentences if no id is given.
        file: Where the corpus comes from, for messages.

    Raises:
        DataError: If no sentence has an entity.
        SettingsError: With every id that is unknown, or belongs to a sentence without an entity.
    """
    labelled = [sentence for sentence in corpus if sentence.entities]
    if not labelled:
        message = f"no sentence of {len(corpus)} has an entity whose words could be guessed"
        raise DataError(Issue(message, file=file), fix="check that the tag column is the right one (--tag-column)")
    if not ids:
        return labelled[:count]
    issues = [issue for id_ in ids if (issue := _id_issue(id_, corpus, labelled))]
    if issues:
        raise SettingsError("\n".join(issues))
    return [corpus.by_id[id_] for id_ in dict.fromkeys(ids)]


def _id_issue(id_: str, corpus: Corpus, labelled: Sequence[Sentence]) -> str:
    if id_ not in corpus.by_id:
        known = [sentence.id for sentence in labelled]
        near = difflib.get_close_matches(id_, known, n=SHOWN_IDS, cutoff=0.5) or known[:SHOWN_IDS]
        more = " …" if len(known) > len(near) else ""
        return f'no sentence has the id "{id_}"; {did_you_mean(id_, near)}{more}'
    if not corpus.by_id[id_].entities:
        return f'the sentence "{id_}" has no entity, so there is nothing to guess; e.g. "{labelled[0].id}" has one'
    return ""


def create_suggester(method: str, settings: Mapping[str, Any]) -> Any:
    """An augmentation method that can suggest words, by its name.

    Raises:
        SettingsError: If the method cannot suggest words, or its name or settings are wrong.
    """
    if not issubclass(get("augment", method), Suggester):  # before its settings, which may be many
        raise SettingsError(
            f"{method} cannot suggest words, because it does not predict probabilities. Methods that do: "
            f"{', '.join(suggester_names())}"
        )
    return create("augment", method, settings)


def is_trained_on_gold(method: Augmenter) -> bool:
    """Whether a method is trained on gold sentences; some only open their model."""
    return type(method).fit not in (Augmenter.fit, MaskedModelSettings.fit)


def suggester_names() -> list[str]:
    """The names of all methods that can suggest words."""
    suggesting = []
    for name in names("augment"):
        try:
            method = get("augment", name)
        except (SettingsError, MissingResourceError):  # a broken method of another package
            continue
        if issubclass(method, Suggester):
            suggesting.append(name)
    return suggesting
