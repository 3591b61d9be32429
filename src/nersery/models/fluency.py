"""Fluency: perplexity under a causal language model, pseudo-perplexity under a masked one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import torch
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED

from nersery.core.batched import batched
from nersery.core.errors import SettingsError
from nersery.core.progress import Progress
from nersery.core.registry import BUNDLED
from nersery.core.sentence import Sentence
from nersery.core.typed_settings import Precision
from nersery.core.warnings import warn
from nersery.models import known_languages
from nersery.models.causal import CausalLM, Likelihood, Text
from nersery.models.loading import ModelSource, refuse_nan
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.masked.masked_lm import MaskedLM

MASKED_INPUTS = 4096
"""Inputs prepared at once: a sentence has one per subword."""
ENOUGH = 10_000
"""Sentences that show which languages a text has."""
SENTENCES = 128
"""Sentences scored between two updates of the progress."""


class PseudoLM:
    """A masked language model that scores texts: each subword is masked in turn and predicted from all others.

    The result is not a probability of the text, but ranks texts as one does. Subwords of one word see each other, so
    rare words of several subwords look more probable than they are. A text longer than the model is read in overlapping
    windows.

    Args:
        source: ``bundled``, or any masked language model by name or folder.
        device, precision: See `nersery.models.model_settings.ModelSettings`.

    Raises:
        MissingResourceError: If there is no such model, or it is not a masked one.

    Reference:
        Julian Salazar, Davis Liang, Toan Q. Nguyen and Katrin Kirchhoff (2020). Masked Language Model Scoring. ACL.

    Departures:
        Words are split into subwords one by one, as in all our masked language models.
    """

    kind: Literal["perplexity", "pseudo-perplexity"] = "pseudo-perplexity"

    def __init__(self, source: ModelSource, *, device: str = "auto", precision: Precision = "auto") -> None:
        self._lm = MaskedLM(source, device, precision)

    def likelihoods(self, texts: Sequence[Text]) -> list[Likelihood]:
        """The pseudo-likelihood of each text, independent of the others; a `SettingsError` if it is NaN."""
        likelihoods = [Likelihood()] * len(texts)
        for part in batched(self._gaps(texts), MASKED_INPUTS):
            logs = [log for (log,) in self._lm.log_probabilities([masked_input for _, masked_input in part])]
            refuse_nan(torch.tensor(logs), self._lm.source)
            for (number, _), log in zip(part, logs, strict=True):
                likelihoods[number] += Likelihood(log, 1)
        return likelihoods

    def vocabulary_issue(self, words: Sequence[str]) -> str:
        """What shows that the model was made for other languages; see `SubwordEncoder.vocabulary_issue`."""
        return self._lm.encoder.vocabulary_issue(words)

    def _gaps(self, texts: Sequence[Text]) -> Iterator[tuple[int, MaskedInput]]:
        """For each subword of each text the input that masks it. Every subword is a word of its own, so that one can
        be masked.
        """
        for number, text in enumerate(texts):
            words = tuple((subword,) for word in self._lm.encoder.subwords(text) for subword in word)
            for window in self._lm.encoder.windows(words):  # once, for a text has as many gaps as subwords
                shown = words[window.start : window.start + len(window.firsts)]
                yield from ((number, MaskedInput(shown, (gap - window.start,))) for gap in range(*window.core))


Scorer = CausalLM | PseudoLM
"""A language model that scores texts; only figures of one ``kind`` and model are comparable."""


def open_scorer(source: ModelSource, *, device: str = "auto", precision: Precision = "auto") -> Scorer:
    """A language model that scores texts, causal or masked as it was trained.

    Raises:
        MissingResourceError: If there is no such model.
        SettingsError: If it is an encoder-decoder.
    """
    scorer = CausalLM if is_causal(source) else PseudoLM
    return scorer(source, device=device, precision=precision)


def is_causal(source: ModelSource) -> bool:
    """Whether a model is causal rather than masked. Its weights are not read.

    Raises:
        MissingResourceError: If there is no such model.
        SettingsError: If it is an encoder-decoder.
    """
    if source.name in BUNDLED:
        return False
    config = source.config()
    if getattr(config, "is_encoder_decoder", False):
        raise SettingsError(
            f'the model "{source.name}" is an encoder-decoder, which gives a text no probability of its own. '
            "Expected a causal language model, e.g. gpt2, or a masked one, e.g. xlm-roberta-base"
        )
    causal, masked = CAUSAL.get(config.model_type), MASKED.get(config.model_type)
    is_trained_so = any(name.endswith("ForCausalLM") or name == causal != masked for name in config.architectures or ())
    return is_trained_so or source.tokenizer().mask_token_id is None


def likelihood(model: Scorer, sentences: Iterable[Sentence], progress: Progress | None = None) -> Likelihood:
    """The likelihood of all sentences together; they are read once, in batches."""
    total = Likelihood()
    for batch in batched(sentences, SENTENCES):
        total = sum(model.likelihoods([sentence.words for sentence in batch]), total)
        if progress is not None:
            progress.advance(len(batch))
    return total


def warn_if_unsuited(model: Scorer, source: ModelSource, sentences: Sequence[Sentence]) -> None:
    """Warn if a model was made for other text, so that its figures say little."""
    shown = sentences[:ENOUGH]
    words = [word for sentence in shown for word in sentence.words]
    languages = {sentence.language for sentence in shown}
    issue = model.vocabulary_issue(words)
    if issue := known_languages.unknown_languages(source.name, languages, known_languages.MASKED_LANGUAGES) or issue:
        warn(
            f'the model "{source.name}" was made for other languages than this text: {issue}. Its {model.kind} says '
            "little there. Name a language model of the language, e.g. "
            + known_languages.alternatives("xlm-roberta-base", source.name, languages, known_languages.MASKED_LANGUAGES)
        )
