"""CBT: a masked language model fine-tuned with each word's label replaces words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nersery.augment.base import Augmenter
from nersery.augment.components.shared_settings import FineTuningSettings
from nersery.augment.masked_lm.model_setup import MaskedModelSettings
from nersery.augment.masked_lm.word_replacement import WordPredictions
from nersery.core.ranges import Count
from nersery.core.sentence import Sentence
from nersery.core.tags import OUTSIDE
from nersery.core.training_context import NO_TRAINING, Training


@dataclass
class CBT(WordPredictions, FineTuningSettings, MaskedModelSettings, Augmenter):
    """Replaces words by predictions of a masked language model that is fine-tuned with their labels.

    The label itself, `PER` or `O`, precedes the sentence; the model does not see what it means.

    Args:
        model: ``bundled``, or a masked language model by Hugging Face name or folder.

    Reference:
        The baseline CBT of Liu et al. (2022), PromptDA, IJCAI, section 4; after Kumar, Choudhary and Cho (2020), Data
        Augmentation using Pre-trained Transformer Models.

    Departures:
        - Kumar et al. prepend a sentence's label; Liu et al. do not say where a word's label goes. Here it takes the
          place of `label_conditioned`'s definition, the same for all words of a mention.
        - Otherwise as in `label_conditioned`.
    """

    epochs: Count = 3

    def fit(self, sentences: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Fine-tune the model on words with their labels.

        Raises:
            DataError: When there is no sentence.
        """
        self.fit_on_words(self, list(sentences), training)

    def condition(self, type: str | None) -> tuple[str, ...]:
        """The label; a label such as "creative work" is several words."""
        return tuple((OUTSIDE if type is None else type).split())
