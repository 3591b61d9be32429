"""What `bda`, `cbt` and `label_conditioned` share: they replace single words, and differ in what the model is shown."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from nersery.augment.base import NO_WORD
from nersery.augment.components.gold_training import no_sentences
from nersery.augment.components.shared_settings import FineTuningSettings
from nersery.augment.masked_lm.model_setup import MaskedModelSettings, fine_tune
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence, types_in
from nersery.core.settings.ranges import Count
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.masked.masked_inputs import Drawing, MaskedInput, replaceable_positions

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import Guess


@dataclass
class WordPredictions(MaskedModelSettings):
    """Settings and generation of the methods that replace random words with predictions of a masked language model.

    Args:
        words: Words to replace per sentence; each depends on the previous ones.
        top_k: Draw each word or subword from this many most probable ones, in proportion to their probability.
        by_subword: Draw the subwords of a word separately.
    """

    needs_whole_words: ClassVar[bool] = True
    words: Count = 1
    top_k: Count = 50
    by_subword: bool = False

    def condition(self, type: str | None) -> tuple[str, ...]:
        """The words before the sentence for the type of a masked word, None outside entities; by default no words."""
        return ()

    def masked_input(self, sentence: Sentence, position: int) -> MaskedInput:
        """The sentence with one word masked, after the condition of its type."""
        condition = self.condition(type_at(sentence, position))
        return MaskedInput(sentence.words, (position,), condition, sentence.inside, sentence.language)

    def random_masked_input(self, sentence: Sentence, rng: random.Random) -> MaskedInput:
        """The sentence with one randomly drawn word masked; without a gap if no word can be replaced."""
        positions = replaceable_positions(sentence.words)
        return self.masked_input(sentence, rng.choice(positions)) if positions else MaskedInput(sentence.words, ())

    def generate_batch(self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]) -> list[Sentence | Reject]:
        """The sentences with words replaced, the first word of all sentences in one pass, then the second, and so on.

        If a sentence has fewer words than are to be replaced, all of them are replaced.
        """
        lm = self.lm
        drawing = Drawing(self.top_k, weighted=True, by_subword=self.by_subword)
        replaceable = [replaceable_positions(sentence.words) for sentence in sentences]
        chosen = [
            rng.sample(usable, min(self.words, len(usable))) for usable, rng in zip(replaceable, rngs, strict=True)
        ]
        changed = list(sentences)
        for turn in range(max(map(len, chosen), default=0)):
            due = {number: positions[turn] for number, positions in enumerate(chosen) if turn < len(positions)}
            masked_inputs = [self.masked_input(changed[number], position) for number, position in due.items()]
            filled = lm.fill(masked_inputs, [rngs[number] for number in due], drawing)
            for (number, position), word in zip(due.items(), filled, strict=True):
                changed[number] = changed[number].replace_span(position, position + 1, word)
        return [new if positions else Reject(NO_WORD) for new, positions in zip(changed, chosen, strict=True)]

    def suggest(
        self, sentences: Sequence[Sentence], positions: Sequence[Sequence[int]], top_k: int
    ) -> list[list[list[Guess]]]:
        """The most probable words for each position, under the condition of its type; see `Suggester.suggest`."""
        types = [
            [type_at(sentence, position) for position in row]
            for sentence, row in zip(sentences, positions, strict=True)
        ]
        # All positions are masked at once, but an input has only one condition, so each type needs its own input.
        masked_inputs: dict[tuple[int, str | None], MaskedInput] = {}
        for number, sentence in enumerate(sentences):
            for type_ in dict.fromkeys(types[number]):
                condition, gaps = self.condition(type_), tuple(positions[number])
                masked_inputs[number, type_] = MaskedInput(
                    sentence.words, gaps, condition, sentence.inside, sentence.language
                )
        guesses = dict(zip(masked_inputs, self.lm.guesses([*masked_inputs.values()], top_k), strict=True))
        return [[guesses[number, type_][gap] for gap, type_ in enumerate(row)] for number, row in enumerate(types)]


@dataclass
class ConditionedPredictions(WordPredictions, FineTuningSettings, MaskedModelSettings):
    """Base of the methods that fine-tune the model to predict words of gold, given the condition of their type."""

    epochs: Count = 3

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Open the model, and fine-tune it to predict one masked word per gold sentence, given its condition.

        Raises:
            DataError: If there is no gold sentence.
            SettingsError: If a condition leaves no room for a sentence.
        """
        sentences = list(gold)
        if not sentences:
            raise no_sentences(self)
        model = self.opened(sentences, training)
        for type_ in (None, *sorted(types_in([*sentences, *training.dev]))):  # before any time is spent
            model.check_condition(self.condition(type_))
        fine_tune(model, self, sentences, self.random_masked_input, training, rate=1.0)
        self._lm = model


def type_at(sentence: Sentence, position: int) -> str | None:
    """The type of the entity that contains a word, if there is one."""
    return next((entity.type for entity in sentence.entities if position in entity.positions), None)
