"""The base class of language models that turn ACLM's templates into sentences."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from nersery.augment.templates.template import Template
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.core.training_context import Training


class TemplateWriter(ABC):
    """A language model that writes sentences from templates.

    Args:
        settings: An `nersery.augment.aclm.ACLM`.
    """

    def __init__(self, settings: Any) -> None:
        self._settings = settings
        self._model: Any = None
        self._types: frozenset[str] = frozenset()

    @abstractmethod
    def learn(self, gold: Sequence[Sentence], training: Training, templates: Mapping[Sentence, Template]) -> None:
        """Fine-tune the model on templates that lose different keywords in every epoch.

        Args:
            gold: Sentences with entities.
            training: A training whose dev sentences all have entities.
            templates: The template of each of these sentences, before it loses keywords.
        """

    @abstractmethod
    def write(self, templates: Sequence[Template], rngs: Sequence[random.Random]) -> Sequence[Sentence | Reject]:
        """A sentence for each template, or why there is none."""
