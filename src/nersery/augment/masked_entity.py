"""MLM-Entity: a pretrained masked language model replaces words of mentions, given only their context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nersery.augment.base import Augmenter
from nersery.augment.masked_lm.mention_masking import MentionPredictions


@dataclass
class MaskedEntity(MentionPredictions, Augmenter):
    """Replaces words of mentions with a pretrained masked language model, from context alone.

    The model sees no labels, so a new word may not fit the type.

    Args:
        model: ``bundled``, or a masked language model by Hugging Face name or folder.

    Reference:
        The baseline MLM-Entity of Zhou et al. (2022), MELM, ACL, section 3.3.

    Departures:
        - As in `melm`: the model's size, whole new words, and at least one per sentence.
    """

    spares_function_words: ClassVar[bool] = False
    """If the model does not see types, names of only content words cost 2 F1 (MultiCoNER en 100, three seeds)."""
