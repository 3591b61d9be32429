"""MELM: a masked language model fine-tuned on masked entities under their labels writes new ones."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nersery.augment.base import Augmenter, check_rate, unfitted
from nersery.augment.linearized.linearization import linearized_input, token_descriptions
from nersery.augment.masked_lm.model_setup import (
    check_fine_tuning,
    check_model,
    fine_tune,
    guesses_at,
    open_model,
    replace_in_mentions,
    warn_of_unused,
)
from nersery.core.definitions import check_texts
from nersery.core.errors import DataError
from nersery.core.outcome import Reject
from nersery.core.registry import FileName
from nersery.core.sentence import Entity, Sentence
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.masked.masked_inputs import Drawing, MaskedInput
from nersery.models.model_settings import ModelSettings

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import Guess, MaskedLM


@dataclass
class MELM(Augmenter, ModelSettings):
    """Replaces words of mentions by guesses of a masked language model, fine-tuned under their labels.

    Each word of a mention stands between two tokens that say its tag, so the model is told the label of the word it
    has to guess. Filter the result by `agreement`, as the paper does.

    Args:
        model: ``bundled``, or any masked language model by name or folder.
        linearize: Show the model the tags; without them it is the paper's ablation.
        mask_rate: Probability in [0, 1] with which a subword of a mention is hidden in fine-tuning (the paper's η); of
            each sentence one is at the least.
        mean_rate: Mean share of a mention's words that is replaced, in [0, 1] (μ).
        top_k: Each word is drawn from so many of the most probable ones, all with the same chance.
        by_subword: Draw each of a word's subwords by itself instead of a whole word.
        in_turn: Replace the words of a sentence one after the other, each in sight of the new ones before it, instead
            of all at once; takes as many times longer.
        epochs: Passes over the gold sentences in fine-tuning; the one with the lowest loss on dev is kept.
        patience: Stop after so many passes without a lower loss on dev; None makes them all.
        batch_size: Sentences in a step.
        learning_rate: Of Adam. None: 1e-5 as in the paper; for the bundled model, a tenth of the size, 1e-4.
        descriptions: What a type stands for in a few words; the embedding of its tag tokens starts there. Types
            without one take the default (`nersery list types`), or their own name.
        adapt: File of raw text, one sentence a line, that the model learns from first. Empty: none.
        adapt_epochs: Passes over that text.

    Reference:
        Ran Zhou, Xin Li, Ruidan He, Lidong Bing, Erik Cambria, Luo Si and Chunyan Miao (2022). MELM: Data Augmentation
        with Masked Entity Language Modeling for Low-Resource NER. ACL.

    Departures:
        - The paper masks and draws subwords, which puts halves of words side by side. A new word is one whole word of
          the vocabulary here; ``by_subword`` gives the paper's way, with opening and inner subwords in their places.
        - The paper's code cuts the first character of every word and never takes the best guess; it does neither here.
        - Where no word of a sentence would be replaced, one is; words of signs alone stay.
        - The three rounds of the paper are the number of copies, which belongs to the loop: ``copies = 3``.
        - With several languages the marker stands once before each entity. A mention's language is that of the
          sentences that have it, so mentions that `code_mixing` put in are known by their own language.
        - The paper's model is XLM-R base, at 1e-5; the bundled one, English and a twelfth of its size, learns at 1e-4.
    """

    linearize: bool = True
    mask_rate: float = 0.7
    mean_rate: float = 0.5
    top_k: int = 5
    by_subword: bool = False
    in_turn: bool = False
    epochs: int = 20
    patience: int | None = None
    batch_size: int = 30
    learning_rate: float | None = None
    descriptions: dict[str, str] = field(default_factory=dict)
    adapt: FileName = ""
    adapt_epochs: int = 3
    _lm: Any = field(default=None, init=False, repr=False, compare=False)
    _languages: dict[tuple[str, ...], frozenset[str]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rate(self.mask_rate, "mask_rate")
        check_rate(self.mean_rate, "mean_rate")
        check_texts(self.descriptions, "descriptions")
        check_fine_tuning(self)
        Drawing(self.top_k)

    def check(self) -> None:
        """Look for the model; see `Augmenter.check`."""
        check_model(self)

    def fit(self, sentences: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Fine-tune the model on the mentions.

        Raises:
            DataError: When no sentence has an entity.
        """
        gold = [sentence for sentence in sentences if sentence.entities]
        if not gold:
            raise DataError(
                "no training sentence has an entity, and melm has nothing to learn from",
                fix="name a file with entities; nersery inspect stats shows what is read from one",
            )
        warn_of_unused(self.descriptions, "descriptions", gold)
        self._languages = _languages_of_mentions(gold)
        model = open_model(self, gold, training)
        self._add_tokens(model, [*gold, *training.dev])
        fine_tune(model, self, gold, self._with_mentions_hidden, training, rate=self.mask_rate)
        self._lm = model

    def generate_batch(self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]) -> list[Sentence | Reject]:
        """The sentences with words of their mentions replaced."""
        if self._lm is None:
            raise unfitted(self)
        self._add_tokens(self._lm, sentences)
        return replace_in_mentions(self._lm, self, sentences, rngs, self._masked_input)

    def suggest(
        self, sentences: Sequence[Sentence], places: Sequence[Sequence[int]], top_k: int
    ) -> list[list[list[Guess]]]:
        """The most probable words; see `Suggester.suggest`."""
        if self._lm is None:
            raise unfitted(self)
        self._add_tokens(self._lm, sentences)
        return guesses_at(self._lm, sentences, places, self._masked_input, top_k)

    def _add_tokens(self, model: MaskedLM, sentences: Sequence[Sentence]) -> None:
        """Tokens for types and languages; those that gold does not have are still told by their descriptions."""
        if self.linearize:
            types = {entity.type for sentence in sentences for entity in sentence.entities}
            languages = {language for sentence in sentences for language in self._languages_in(sentence).values()}
            model.add_tokens(token_descriptions(types, languages - {""}, self.descriptions))

    def _with_mentions_hidden(self, sentence: Sentence, rng: random.Random) -> MaskedInput:
        return self._masked_input(sentence, sorted(sentence.inside))

    def _masked_input(self, sentence: Sentence, places: Sequence[int]) -> MaskedInput:
        """The sentence with gaps, its tags shown where that is asked for."""
        if not self.linearize:
            return MaskedInput(sentence.words, tuple(places))
        return linearized_input(sentence, places, self._languages_in(sentence))

    def _languages_in(self, sentence: Sentence) -> dict[Entity, str]:
        """The language of each entity: the sentence's own, unless only other languages have the mention."""
        found = {}
        for entity in sentence.entities if self._languages else ():
            languages = self._languages.get(sentence.mention(entity), frozenset([sentence.language]))
            found[entity] = sentence.language if sentence.language in languages else min(languages)
        return found


def _languages_of_mentions(gold: Sequence[Sentence]) -> dict[tuple[str, ...], frozenset[str]]:
    """In which languages each mention occurs in sentences that nobody generated; empty when there is one language."""
    originals = [sentence for sentence in gold if sentence.origin is None and sentence.language]
    if len({sentence.language for sentence in originals}) < 2:
        return {}
    languages: dict[tuple[str, ...], set[str]] = {}
    for sentence in originals:
        for entity in sentence.entities:
            languages.setdefault(sentence.mention(entity), set()).add(sentence.language)
    return {mention: frozenset(found) for mention, found in languages.items()}
