"""Fluency: perplexity under a causal language model, pseudo-perplexity under a masked one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED

from nersery.core.batched import batched
from nersery.core.errors import SettingsError
from nersery.core.progress import Progress
from nersery.core.registry import BUNDLED
from nersery.core.sentence import Sentence
from nersery.core.settings.typed_settings import Precision
from nersery.models.bundled_models import known_languages
from nersery.models.likelihoods.causal import CausalLM
from nersery.models.likelihoods.likelihood import Likelihood
from nersery.models.likelihoods.pseudo_likelihood import PseudoLM
from nersery.models.pretrained.loading import ModelSource

ENOUGH = 10_000
"""The number of sentences that show which languages a text has."""
SENTENCES = 128
"""Sentences scored between two updates of the progress."""
Scorer = CausalLM | PseudoLM
"""A language model that scores texts; only figures of one ``kind`` and model are comparable."""


def open_scorer(
    source: ModelSource, *, device: str = "auto", precision: Precision = "auto", progress: Progress | None = None
) -> Scorer:
    """Load a language model that scores texts: a causal or a masked one, depending on how it was trained.

    Args:
        progress: See `PseudoLM`. A causal model needs no progress within texts, because it is fast.

    Raises:
        MissingResourceError: If there is no such model.
        SettingsError: If it is an encoder-decoder or an XLNet.
    """
    if is_causal(source):
        return CausalLM(source, device=device, precision=precision)
    return PseudoLM(source, device=device, precision=precision, progress=progress)


def is_causal(source: ModelSource) -> bool:
    """Whether a model is causal rather than masked. Its weights are not read.

    Raises:
        MissingResourceError: If there is no such model.
        SettingsError: If it is an encoder-decoder or an XLNet.
    """
    if source.name in BUNDLED:
        return False
    config = source.config()
    kind = "an encoder-decoder" if getattr(config, "is_encoder_decoder", False) else ""
    kind = "an XLNet" if config.model_type == "xlnet" else kind  # it would see the word that it predicts
    if kind:
        raise SettingsError(
            f'the model "{source.name}" is {kind}, which gives a text no probability of its own. '
            "Expected a causal language model, e.g. gpt2, or a masked one, e.g. xlm-roberta-base"
        )
    causal, masked = CAUSAL.get(config.model_type), MASKED.get(config.model_type)
    is_trained_so = any(name.endswith("ForCausalLM") or name == causal != masked for name in config.architectures or ())
    return is_trained_so or source.tokenizer().mask_token_id is None


def likelihood(model: Scorer, sentences: Iterable[Sentence], progress: Progress | None = None) -> Likelihood:
    """The likelihood of all sentences together. They are read once, in batches."""
    total = Likelihood()
    if isinstance(model, PseudoLM):
        model.progress = progress
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
    advice = f"Its {model.kind} says little there. Name a language model of the language, e.g. {{}}"
    issue = model.vocabulary_issue(words)
    known_languages.warn_if_unsuited(source.name, issue, languages, advice, fills_gaps=True, words=words)
