"""BDA: a pretrained masked language model replaces any words, given only their context."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nersery.augment.base import Augmenter
from nersery.augment.masked_lm.model_setup import open_model
from nersery.augment.masked_lm.shared_settings import AdaptationSettings
from nersery.augment.masked_lm.word_replacement import WordPredictions
from nersery.core.sentence import Sentence
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.model_settings import ModelSettings


@dataclass
class BDA(WordPredictions, AdaptationSettings, Augmenter, ModelSettings):
    """Replaces words by predictions of a pretrained masked language model, given only the context.

    The model sees no labels, so a new word may not fit the type.

    Args:
        model: ``bundled``, or a masked language model by Hugging Face name or folder.

    Reference:
        The baseline BDA of Liu et al. (2022), PromptDA, IJCAI, section 4; after Zhou et al. (2019), BERT-based Lexical
        Substitution, ACL.

    Departures:
        - Zhou et al. mask the word only in part, and rank predictions by how little they change the sentence. Here it
          is masked as in `label_conditioned`, without its label.
        - As in `label_conditioned`: the cut-off, whole new words, and the model's size.
    """

    def fit(self, sentences: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Open the model."""
        self._lm = open_model(self, list(sentences), training)
