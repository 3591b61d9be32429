"""Pseudo-likelihoods of texts under masked language models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import torch

from nersery.core.batched import batched
from nersery.core.progress import Progress
from nersery.core.settings.typed_settings import Precision
from nersery.models.likelihoods.likelihood import Likelihood, Text
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.masked.masked_lm import MaskedLM
from nersery.models.pretrained.loading import ModelSource, refuse_nan
from nersery.models.tokens import Token

MASKED_INPUTS = 4096
"""Inputs prepared at once. A sentence has one input per subword."""
MUCH_WORK, SHOWN_INPUTS = 250_000, 256
"""The fewest subwords in all inputs together for which progress is shown, and the inputs between two updates of it.
16 texts of 125 subwords have as many, or one text of 500."""


class PseudoLM:
    """A masked language model that scores texts: each subword is masked in turn and predicted from all others.

    The result is not a probability of the text, but it ranks texts like one. Subwords of one word see each other, so
    rare words of several subwords look more probable than they are. A text longer than the model is read in overlapping
    windows.

    Args:
        source: ``bundled``, or any masked language model by name or folder.
        device, precision: See `nersery.models.pretrained.model_settings.ModelSettings`.
        progress: Shows the progress within texts that are `MUCH_WORK`.

    Raises:
        MissingResourceError: If there is no such model, or it is not a masked one.

    Reference:
        Julian Salazar, Davis Liang, Toan Q. Nguyen and Katrin Kirchhoff (2020). Masked Language Model Scoring. ACL.

    Departures:
        Words are split into subwords one by one, as in all our masked language models.
    """

    kind: Literal["perplexity", "pseudo-perplexity"] = "pseudo-perplexity"

    def __init__(
        self,
        source: ModelSource,
        *,
        device: str = "auto",
        precision: Precision = "auto",
        progress: Progress | None = None,
    ) -> None:
        self._lm, self.progress = MaskedLM(source, device, precision), progress

    def likelihoods(self, texts: Sequence[Text]) -> list[Likelihood]:
        """The pseudo-likelihood of each text, independent of the others; a `SettingsError` if it is NaN."""
        likelihoods = [Likelihood()] * len(texts)
        split = [[(subword,) for word in self._lm.encoder.subwords(text) for subword in word] for text in texts]
        progress = None
        if self.progress is not None and sum(len(text) ** 2 for text in split) >= MUCH_WORK:
            progress = self.progress.within("subwords", sum(map(len, split)))
        for part in batched(self._gaps(split), SHOWN_INPUTS if progress else MASKED_INPUTS):
            logs = [log for (log,) in self._lm.log_probabilities([masked_input for _, masked_input in part])]
            refuse_nan(torch.tensor(logs), self._lm.source)
            for (number, _), log in zip(part, logs, strict=True):
                likelihoods[number] += Likelihood(log, 1)
            if progress is not None:
                progress.advance(len(part))
        return likelihoods

    def vocabulary_issue(self, words: Sequence[str]) -> str:
        """Evidence that the model was made for other languages; see `SubwordEncoder.vocabulary_issue`."""
        return self._lm.encoder.vocabulary_issue(words)

    def _gaps(self, texts: Sequence[Sequence[Token]]) -> Iterator[tuple[int, MaskedInput]]:
        """For each subword of each text the input that masks it. Every subword is a word of its own, so that it can be
        masked alone.
        """
        for number, text in enumerate(texts):
            words = tuple(text)
            for window in self._lm.encoder.windows(words):  # once per text, not per gap: each subword is one
                shown = words[window.start : window.start + len(window.firsts)]
                yield from ((number, MaskedInput(shown, (gap - window.start,))) for gap in range(*window.core))
