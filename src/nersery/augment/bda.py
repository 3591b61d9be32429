"""BDA: a pretrained masked language model replaces any words, given only their context."""

from __future__ import annotations

from dataclasses import dataclass

from nersery.augment.base import Augmenter
from nersery.augment.masked_lm.word_replacement import WordPredictions


@dataclass
class BDA(WordPredictions, Augmenter):
    """Replaces words with predictions of a pretrained masked language model, given only the context.

    The model sees no labels, so a new word may not fit the type.

    Args:
        model: ``bundled``, or a masked language model by Hugging Face name or folder.

    Reference:
        The baseline BDA of Liu et al. (2022), PromptDA, IJCAI, section 4; after Zhou et al. (2019), BERT-based Lexical
        Substitution, ACL.

    Departures:
        - Zhou et al. mask the word only in part, and rank predictions by how little they change the sentence. Here it
          is masked as in `label_conditioned`, without its label.
        - The cut-off, whole new words and the size of the model are as in `label_conditioned`.
    """
