"""What methods on a pretrained language model do with it: check it, open it, and fine-tune it on gold."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nersery.augment.base import unfitted
from nersery.augment.masked_lm.shared_settings import AdaptationSettings, FineTuned
from nersery.core.errors import DataError, MissingResourceError, SettingsError
from nersery.core.random import item_seed
from nersery.core.registry import BUNDLED, name_of
from nersery.core.sentence import Sentence, types_in
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import warn
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.model_settings import ModelSettings

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import MaskedLM
    from nersery.models.training.trainer import TrainingPlan

OTHER_HEADS = ("Classification", "QuestionAnswering", "MultipleChoice", "BertModel", "RobertaModel", "ElectraModel")
"""How the classes of models end that cannot fill gaps."""
LEARNING_RATE = 1e-5
"""Of the papers, for models of a hundred million weights."""
BUNDLED_LEARNING_RATE = 1e-4
"""What suits the bundled model, a tenth of that: on MultiCoNER's sample of 100, less loss on dev than 3e-4."""


@dataclass
class MaskedModelSettings(AdaptationSettings, ModelSettings):
    """Base of the methods on a masked language model: they look for it, adapt it and open it alike.

    The model of some of them may also be an encoder-decoder.
    """

    _lm: Any = field(default=None, init=False, repr=False, compare=False)

    def check(self) -> None:
        """Look for the model, the device and the text to adapt to; see `Augmenter.check`."""
        from nersery.models.loading import pick_device
        from nersery.models.masked.adaptation import check_text
        from nersery.models.masked.masked_lm import tokenizer_with_mask

        if self.model not in BUNDLED:
            _check_kind(self.model, self.source.config())
        tokenizer_with_mask(self.source)
        pick_device(self.device)
        check_text(self.adapt)

    def fit(self, sentences: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Open the model, for methods that teach it nothing about gold."""
        self._lm = self.opened(list(sentences), training)

    def opened(self, sentences: Sequence[Sentence], training: Training) -> MaskedLM:
        """The model, adapted to raw text if `adapt` is set; warn if it does not suit the sentences."""
        from nersery.models.masked.adaptation import adapt
        from nersery.models.masked.masked_lm import MaskedLM

        model = MaskedLM(self.source, self.device, self.precision)
        words = [word for sentence in sentences for word in sentence.words]
        model.warn_if_unsuited(words, {sentence.language for sentence in sentences})
        if self.adapt:
            adapt(
                model,
                self.adapt,
                epochs=self.adapt_epochs,
                seed=training.seed,
                progress=training.progress,
                folder=training.folder / "adapt" if training.folder else None,
            )
        return model

    @property
    def lm(self) -> MaskedLM:
        """The model that `fit` has opened; an error before."""
        if self._lm is None:
            raise unfitted(self)
        lm: MaskedLM = self._lm
        return lm

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether the model is an encoder-decoder rather than a masked language model."""
        return self.model not in BUNDLED and bool(self.source.config().is_encoder_decoder)

    def refuse_adaptation(self) -> None:
        """Raise `SettingsError` if an encoder-decoder shall learn from raw text first."""
        if self.adapt:
            raise SettingsError(f'adapt is for masked language models, and "{self.model}" is an encoder-decoder')


def _check_kind(name: str, config: Any) -> None:
    """Raise `MissingResourceError` for what is known to be no masked language model."""
    expected = "Expected a masked language model, e.g. bert-base-cased or xlm-roberta-base"
    if config.is_encoder_decoder:
        raise MissingResourceError(
            f'the model "{name}" is an encoder-decoder, which writes whole sentences, not single words. {expected}'
        )
    heads = config.architectures or ()
    if heads and all(head.endswith(OTHER_HEADS) for head in heads):  # of classes of other people nothing is known
        raise MissingResourceError(
            f'the model "{name}" is {" or ".join(heads)}, which has no masked language model\'s head. {expected}'
        )


def sentences_with_entities(method: object, sentences: Iterable[Sentence]) -> list[Sentence]:
    """The sentences that have entities; a `DataError` if there is none."""
    if found := [sentence for sentence in sentences if sentence.entities]:
        return found
    raise DataError(
        f"no training sentence has an entity, so {name_of(method)} has nothing to learn from",
        fix="name a file with entities; nersery inspect stats shows what is read from one",
    )


def warn_of_unused(texts: Mapping[str, str], setting: str, sentences: Iterable[Sentence]) -> None:
    """Say which of the user's types the sentences do not have."""
    types = sorted(types_in(sentences))
    if unused := sorted(texts.keys() - set(types)):
        warn(f"{setting} has {', '.join(unused)}, which no sentence has; the types are {', '.join(types)}")


def fine_tune(
    model: MaskedLM,
    settings: FineTuned,
    gold: Sequence[Sentence],
    masked_input: Callable[[Sentence, random.Random], MaskedInput],
    training: Training,
    *,
    rate: float,
) -> None:
    """Fine-tune a model on gaps in gold sentences, whose order does not matter.

    See `nersery.models.masked.masked_lm.MaskedLM.fine_tune`.
    """
    gold, plan, keeping = fine_tuning(settings, gold, training)
    model.fine_tune(gold, masked_input, plan, rate=rate, **keeping)


def fine_tuning(
    settings: FineTuned, gold: Sequence[Sentence], training: Training, **fingerprint: Any
) -> tuple[list[Sentence], TrainingPlan, dict[str, Any]]:
    """Gold in an order of its own, the plan of a fine-tuning on it, and what `fine_tune` of a model takes besides.

    Args:
        fingerprint: What the training depends on, apart from gold, dev and settings, as JSON values.
    """
    from nersery.models.training.trainer import TrainingPlan
    from nersery.taggers.base import training_record

    default = BUNDLED_LEARNING_RATE if settings.model in BUNDLED else LEARNING_RATE
    learning_rate = default if settings.learning_rate is None else settings.learning_rate
    gold, dev = (sorted(sentences, key=lambda sentence: sentence.id) for sentences in (gold, training.dev))
    record = training_record(settings, gold, dev)
    languages = [(sentence.language, sentence.origin is None) for sentence in (*gold, *dev)]
    if len({language for language, _ in languages}) > 1:  # then some methods show the model which
        record["languages"] = f"{item_seed(*languages):x}"
    return (
        gold,
        TrainingPlan(
            epochs=settings.epochs,
            patience=settings.patience,
            batch_size=settings.batch_size,
            learning_rate=learning_rate,
            precision=settings.precision,
        ),
        {
            "dev": dev,
            "seed": training.seed,
            "progress": training.progress,
            "folder": training.folder / "fine-tune" if training.folder else None,
            "fingerprint": record | fingerprint,
        },
    )
