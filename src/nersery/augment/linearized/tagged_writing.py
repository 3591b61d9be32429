"""Functions for methods with an encoder-decoder that writes sentences with their tags: `mulda`, and `aclm` on one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from nersery.augment.components.gold_training import fine_tuning
from nersery.augment.linearized.linearization import token_descriptions
from nersery.augment.linearized.parsing import UNKNOWN_TYPE, rejected
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.core.training_context import Training
from nersery.models.seq2seq.seq2seq_inputs import Sampling, TextPair

if TYPE_CHECKING:
    from nersery.models.seq2seq.encoder_decoder import Seq2Seq

UNFINISHED = "longer than max_subwords"


def check_encoder_decoder(settings: Any) -> None:
    """Look for the model, the language in it, and the device; see `Augmenter.check`."""
    from nersery.models.pretrained.loading import pick_device
    from nersery.models.seq2seq.encoder_decoder import tokenization_of

    tokenization_of(settings.source, settings.language)
    pick_device(settings.device)


def fine_tuned_writer(
    settings: Any,
    gold: Sequence[Sentence],
    training: Training,
    types: frozenset[str],
    pair: Callable[[Seq2Seq, Sentence, random.Random], TextPair],
    issue: Callable[[Seq2Seq, Sentence], str],
    **fingerprint: Any,
) -> Seq2Seq:
    """A model that is fine-tuned to write gold sentences with tag tokens for types.

    Args:
        settings: Settings of a method with `FineTuningSettings`, `TypeDescriptions` and `ModelSettings`.
        pair: Returns the input for a sentence, a new one in every epoch, and the text that the model must write.
        issue: Returns why the model cannot learn from a sentence; empty if it can.
        fingerprint: See `fine_tuning`.
    """
    from nersery.models.seq2seq.encoder_decoder import Seq2Seq, fitting_sentences, warn_of_words_apart

    examples, plan, arguments = fine_tuning(settings, gold, training, **fingerprint)
    model = Seq2Seq(settings.source, settings.device, settings.precision, settings.language)
    model.add_tokens(token_descriptions(types, (), settings.descriptions))
    warn_of_words_apart(model, gold)
    fitting = fitting_sentences(model, examples, partial(issue, model))
    arguments["dev"] = fitting_sentences(model, arguments["dev"], partial(issue, model), is_dev=True)
    model.fine_tune(fitting, lambda sentence, rng: pair(model, sentence, rng), plan, **arguments)
    return model


def write_sentences(
    model: Seq2Seq,
    types: frozenset[str],
    sentences: Sequence[Sentence],
    pairs: Iterable[TextPair],
    rngs: Sequence[random.Random],
    sampling: Sampling,
    read: Callable[[Sequence[str], Sentence], Sentence | Reject],
    *,
    too_long: str,
) -> list[Sentence | Reject]:
    """The sentence that the model writes for each sentence from the source of its pair, or why it writes none.

    Args:
        types: Types that the model has learnt.
        read: Makes a sentence from the words that are written for one.
        too_long: The reason for a source that does not fit into the model.
    """
    has_known_types = [types.issuperset(entity.type for entity in sentence.entities) for sentence in sentences]
    sources = [  # the sentence itself is not read, so it may be longer than the model
        replace(pair, target=()) if is_known else None for pair, is_known in zip(pairs, has_known_types, strict=True)
    ]
    texts = model.generate(sources, rngs, sampling)
    outcomes: list[Sentence | Reject] = []
    for text, sentence, is_known in zip(texts, sentences, has_known_types, strict=True):
        if text is None:
            outcomes.append(Reject(too_long if is_known else UNKNOWN_TYPE))
        else:
            outcomes.append(read(text.words, sentence) if text.finished else rejected(UNFINISHED, text.words, sentence))
    return outcomes
