"""Functions for methods on a pretrained language model: check it, open it, and fine-tune it on gold."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nersery.augment.components.gold_training import fine_tuning
from nersery.augment.components.shared_settings import AdaptationSettings, FineTuned
from nersery.augment.words.stop_words import function_words, latin_function_words
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.registry import BUNDLED, unfitted
from nersery.core.sentence import Sentence
from nersery.core.settings.typed_settings import hidden
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.pretrained.model_settings import ModelSettings

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import MaskedLM

OTHER_HEADS = ("Classification", "QuestionAnswering", "MultipleChoice", "BertModel", "RobertaModel", "ElectraModel")
"""Endings of the names of model classes that cannot fill gaps."""


@dataclass
class MaskedModelSettings(AdaptationSettings, ModelSettings):
    """Base of the methods on a masked language model. It checks, adapts and opens the model.

    The model of some methods may also be an encoder-decoder.
    """

    spares_function_words: ClassVar[bool] = True
    """Whether function words of mentions stay, and no other word of a mention becomes one."""
    _lm: Any = hidden(default=None)

    def check(self) -> None:
        """Look for the model, the device and the text to adapt to; see `Augmenter.check`."""
        from nersery.models.masked.adaptation import check_text
        from nersery.models.masked.masked_lm import tokenizer_with_mask
        from nersery.models.pretrained.loading import pick_device

        if self.model not in BUNDLED:
            _check_kind(self.model, self.source.config())
        tokenizer_with_mask(self.source)
        pick_device(self.device)
        check_text(self.adapt)

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Open the model. Methods that fine-tune it on gold override this."""
        self._lm = self.opened(list(gold), training)

    def opened(self, sentences: Sequence[Sentence], training: Training) -> MaskedLM:
        """The model, adapted to raw text if `adapt` is set; warn if it does not suit the sentences."""
        from nersery.models.masked.adaptation import adapt
        from nersery.models.masked.masked_lm import MaskedLM

        model = MaskedLM(self.source, self.device, self.precision)
        words = [word for sentence in sentences for word in sentence.words]
        model.warn_if_unsuited(words, {sentence.language for sentence in sentences})
        subwords = model.encoder.subwords(sorted({*words}))
        vocabulary = model.vocabulary.without_beginnings(subwords).without_foreign_punctuation(subwords)
        own = function_words(sentences) if self.spares_function_words else frozenset[str]()
        model.vocabulary = vocabulary.with_function_words(latin_function_words(), own)
        if self.adapt:
            adapt(model, self.adapt, epochs=self.adapt_epochs, training=training.within("adapt"))
        return model

    @property
    def lm(self) -> MaskedLM:
        """The model that `fit` has opened. Raises `UnfittedError` before that."""
        if self._lm is None:
            raise unfitted(self, "generate or suggest")
        return self._lm

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether the model is an encoder-decoder rather than a masked language model."""
        return self.model not in BUNDLED and bool(self.source.config().is_encoder_decoder)

    def refuse_adaptation(self) -> None:
        """Raise `SettingsError` if an encoder-decoder is to be adapted to raw text."""
        if self.adapt:
            raise SettingsError(f'adapt is for masked language models, but "{self.model}" is an encoder-decoder')


def _check_kind(name: str, config: Any) -> None:
    """Raise `MissingResourceError` if a model is known not to be a masked language model."""
    expected = "Expected a masked language model, e.g. bert-base-cased or xlm-roberta-base"
    if config.is_encoder_decoder:
        raise MissingResourceError(
            f'the model "{name}" is an encoder-decoder, which writes whole sentences, not single words. {expected}'
        )
    heads = config.architectures or ()
    if heads and all(head.endswith(OTHER_HEADS) for head in heads):  # nothing is known about third-party classes
        raise MissingResourceError(
            f'the model "{name}" is {" or ".join(heads)}, which has no masked language modelling head. {expected}'
        )


def fine_tune(
    model: MaskedLM,
    settings: FineTuned,
    gold: Sequence[Sentence],
    masked_input: Callable[[Sentence, random.Random], MaskedInput],
    training: Training,
    *,
    rate: float,
) -> None:
    """Fine-tune a model on gaps in gold sentences. The order of the sentences does not matter.

    See `nersery.models.masked.masked_lm.MaskedLM.fine_tune`.
    """
    gold, plan, arguments = fine_tuning(settings, gold, training)
    model.fine_tune(gold, masked_input, plan, rate=rate, **arguments)
