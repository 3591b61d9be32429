"""CBT: a masked language model fine-tuned with each word's label replaces words."""

from __future__ import annotations

from dataclasses import dataclass

from nersery.augment.base import Augmenter
from nersery.augment.masked_lm.word_replacement import ConditionedPredictions
from nersery.core.tags import OUTSIDE


@dataclass
class CBT(ConditionedPredictions, Augmenter):
    """Replaces words with predictions of a masked language model that is fine-tuned with their labels.

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

    def condition(self, type: str | None) -> tuple[str, ...]:
        """The words of the label; a label such as "creative work" has several."""
        return tuple((OUTSIDE if type is None else type).split())
