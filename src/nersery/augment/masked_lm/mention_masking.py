"""What `masked_entity` and `melm` share: they mask words of mentions, and replace them with predictions."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from nersery.augment.base import NO_ENTITIES, NO_WORD
from nersery.augment.masked_lm.model_setup import MaskedModelSettings
from nersery.augment.words.stop_words import bare
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.core.settings.ranges import Count, Rate
from nersery.models.masked.masked_inputs import Drawing, MaskedInput, replaceable_positions

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import Guess, MaskedLM

MAX_REDRAWS = 1000


@dataclass
class MentionPredictions(MaskedModelSettings):
    """Settings and generation of methods that replace words of mentions with predictions of a masked language model.

    Args:
        mean_rate: Mean share of a mention's words to replace, in [0, 1] (the papers' μ).
        top_k: Draw each word from this many most probable ones, all equally likely.
        by_subword: Draw the subwords of a word separately.
        in_turn: Replace words one by one, so that each depends on the previous ones; takes longer.
    """

    needs_whole_words: ClassVar[bool] = True
    mean_rate: Rate = 0.5
    top_k: Count = 5
    by_subword: bool = False
    in_turn: bool = False

    def _prepare(self, model: MaskedLM, sentences: Sequence[Sentence]) -> None:
        """Add what the model needs for these sentences, such as tokens for their types; by default nothing."""

    def _masked_input(self, sentence: Sentence, positions: Sequence[int]) -> MaskedInput:
        """The input of the model for a sentence with masked words; by default only the words."""
        return MaskedInput(sentence.words, tuple(positions), names=sentence.inside, language=sentence.language)

    def generate_batch(self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]) -> list[Sentence | Reject]:
        """The sentences with words of their mentions replaced."""
        self._prepare(self.lm, sentences)
        rate, kept = self.mean_rate, self.lm.vocabulary.own_function_words
        hidden = [hidden_in_mentions(s, rate, rng, kept) for s, rng in zip(sentences, rngs, strict=True)]
        masked_inputs = [self._masked_input(*each) for each in zip(sentences, hidden, strict=True)]
        drawing = Drawing(self.top_k, by_subword=self.by_subword)
        filled = fill(self.lm, masked_inputs, rngs, drawing, in_turn=self.in_turn)
        return [with_words(*each) for each in zip(sentences, hidden, filled, strict=True)]

    def suggest(
        self, sentences: Sequence[Sentence], positions: Sequence[Sequence[int]], top_k: int
    ) -> list[list[list[Guess]]]:
        """The most probable words; see `Suggester.suggest`."""
        self._prepare(self.lm, sentences)
        masked_inputs = [self._masked_input(*each) for each in zip(sentences, positions, strict=True)]
        return self.lm.guesses(masked_inputs, top_k)


def hidden_in_mentions(
    sentence: Sentence, mean_rate: float, rng: random.Random, kept: Collection[str] = ()
) -> list[int]:
    """The positions of words of mentions to hide: a share of each mention, which is drawn each time.

    The share of a mention of n words is drawn from a normal distribution around ``mean_rate`` with deviation 1/n,
    within [0, 1]. If that hides no word of the sentence, one word is hidden anyway. A word without a letter or digit
    stays.

    Args:
        kept: Other words that stay, such as *of*, normalized by `bare`.
    """
    usable = {
        position for position in replaceable_positions(sentence.words) if bare(sentence.words[position]) not in kept
    }
    by_entity = ([position for position in entity.positions if position in usable] for entity in sentence.entities)
    mentions = [positions for positions in by_entity if positions]
    hidden = []
    for positions in mentions:
        hidden += rng.sample(positions, round(random_share(len(positions), mean_rate, rng) * len(positions)))
    if not hidden and mentions:
        hidden = [rng.choice(rng.choice(mentions))]  # the mention first, otherwise long ones would be hidden more often
    return sorted(hidden)


def random_share(count: int, mean: float, rng: random.Random) -> float:
    """A share from a normal distribution around a mean, with deviation 1/count, redrawn until it lies in [0, 1]."""
    # Redraw, because clipping would make 0 and 1, a mention kept or hidden completely, far too frequent.
    for _ in range(MAX_REDRAWS):
        share = rng.gauss(mean, 1 / count)
        if 0 <= share <= 1:
            return share
    return mean


def fill(
    model: MaskedLM,
    masked_inputs: Sequence[MaskedInput],
    rngs: Sequence[random.Random],
    drawing: Drawing,
    *,
    in_turn: bool,
) -> list[tuple[str, ...]]:
    """A new word for each gap: all at once, or from the first to the last, each depending on those before it."""
    if not in_turn:
        return model.fill(masked_inputs, rngs, drawing)
    # Later gaps stay masked in each turn, because the model must not see the words that it will replace.
    words, new = [list(masked_input.words) for masked_input in masked_inputs], [list[str]() for _ in masked_inputs]
    for turn in range(max((len(masked_input.gaps) for masked_input in masked_inputs), default=0)):
        due = [number for number, masked_input in enumerate(masked_inputs) if turn < len(masked_input.gaps)]
        left = [replace(masked_inputs[n], words=tuple(words[n]), gaps=masked_inputs[n].gaps[turn:]) for n in due]
        for number, filled in zip(due, model.fill(left, [rngs[n] for n in due], drawing), strict=True):
            words[number][masked_inputs[number].gaps[turn]] = filled[0]
            new[number].append(filled[0])
    return [*map(tuple, new)]


def with_words(sentence: Sentence, positions: Sequence[int], words: Sequence[str]) -> Sentence | Reject:
    """The sentence with other words at some positions, or why there is no such position."""
    if not positions:
        return Reject(NO_WORD if sentence.entities else NO_ENTITIES)
    return sentence.replace_spans(
        [(position, position + 1, (word,)) for position, word in zip(positions, words, strict=True)]
    )
