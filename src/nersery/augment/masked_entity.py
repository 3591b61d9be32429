"""MLM-Entity: a pretrained masked language model replaces words of mentions, given only their context."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nersery.augment.base import Augmenter
from nersery.augment.masked_lm.mention_masking import MentionPredictions
from nersery.augment.masked_lm.model_setup import open_model
from nersery.augment.masked_lm.shared_settings import AdaptationSettings
from nersery.core.sentence import Sentence
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.model_settings import ModelSettings


@dataclass
class MaskedEntity(MentionPredictions, AdaptationSettings, Augmenter, ModelSettings):
    """Replaces words of mentions by predictions of a pretrained masked language model from context alone.

    The model sees no labels, so a new word may not fit the type.

    Args:
        model: ``bundled``, or a masked language model by Hugging Face name or folder.

    Reference:
        The baseline MLM-Entity of Zhou et al. (2022), MELM, ACL, section 3.3.

    Departures:
        - As in `melm`: the model's size, whole new words, and at least one per sentence.
    """

    def fit(self, sentences: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Open the model."""
        self._lm = open_model(self, list(sentences), training)
