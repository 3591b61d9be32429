"""PromptDA, label-conditioned: a masked language model fine-tuned with definitions of types replaces words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nersery.augment.base import Augmenter
from nersery.augment.components.gold_training import warn_of_unused
from nersery.augment.masked_lm.word_replacement import ConditionedPredictions
from nersery.core.sentence import Sentence, types_in
from nersery.core.text.definitions import NO_ENTITY, check_texts, definition, undefined
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import warn


@dataclass
class LabelConditioned(ConditionedPredictions, Augmenter):
    """Replaces words with predictions of a masked language model that sees definitions of their types.

    The definition of the masked word's type ("named person or family"; "other" outside entities) precedes the sentence.
    The paper makes ten copies and filters them with `self_training`.

    Args:
        model: ``bundled``, or a masked language model by Hugging Face name or folder.
        definitions: Definitions of types. Other types use those of `nersery list types`, or their name.

    Reference:
        Liu, Chen and Xu (2022). Low-Resource NER by Data Augmentation With Prompting. IJCAI, section 3.1.

    Departures:
        - The paper draws from all words, often improbable ones. We draw from 50; for the paper's way, set `top_k` to
          the vocabulary size.
        - The paper takes definitions from spaCy; ours also cover MultiCoNER and MaSciP.
        - The paper does not report epochs, learning rate or number of replaced words. We use three, its tagger's, and
          one.
        - Words with a letter or digit, except URLs and @names, are replaced by one whole word of the vocabulary unless
          `by_subword`.
        - All segment ids are 0, including those of the definition.
        - The paper uses BERT base, cased, five times as large as the bundled model.
    """

    definitions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_texts(self.definitions, "definitions")

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Warn of types without a definition and of definitions without a type, then do what the base class does."""
        sentences = list(gold)
        if sentences:
            self._warn_of_undefined(sorted(types_in([*sentences, *training.dev])))
            warn_of_unused(self.definitions, "definitions", sentences)
        super().fit(sentences, training)

    def condition(self, type: str | None) -> tuple[str, ...]:
        return tuple((NO_ENTITY if type is None else definition(type, self.definitions)).split())

    def _warn_of_undefined(self, types: Sequence[str]) -> None:
        if unknown := undefined(types, self.definitions):
            warn(
                f"label_conditioned has no definition of {', '.join(unknown)}, so the model sees only the name. "
                f'Define it: definitions = {{ {json.dumps(unknown[0], ensure_ascii=False)} = "..." }}'
            )
