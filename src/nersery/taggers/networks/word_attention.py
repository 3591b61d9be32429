"""Compute the attention between the words of a sentence in the encoder of a tagger."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nersery.core.errors import SettingsError
from nersery.core.registry import name_of
from nersery.core.sentence import Sentence
from nersery.core.warnings import warn
from nersery.models.packed.packed_encoder import attention_in_one_row, can_pack
from nersery.models.passes import WINDOWS, PassShape, window_passes
from nersery.models.pretrained.loading import autocast, eager_attention, refuse_nan
from nersery.models.subwords.collation import collate
from nersery.models.subwords.joined_characters import WordGroups
from nersery.models.subwords.windows import Window
from nersery.taggers.base import Tagger
from nersery.taggers.networks.emissions import LENGTH_MULTIPLE
from nersery.taggers.transformer import TransformerTagger

MAX_PAIRS = WINDOWS * 256**2
"""The most pairs of subwords in one pass, also on a GPU: every layer and head stores a number for each pair."""
OTHER_WAYS = 'Use another tagger, or keywords = "random" or "none"'


def subword_attention(
    tagger: TransformerTagger, windows: Sequence[tuple[int, Window]], layers: int
) -> Iterator[tuple[int, Window, NDArray[np.float32]]]:
    """Yield the attention between the subwords of windows, summed over heads and layers.

    Args:
        windows: Windows, each with the number of its sentence.
        layers: See `nersery.taggers.networks.word_attention.word_attention`.

    Yields:
        The number, the window, and its attention. Shape: (subwords, subwords), or larger with padding.
    """
    network = tagger.network
    packed = can_pack(network)
    with contextlib.nullcontext() if packed else eager_attention(network):
        passes = window_passes(
            windows, lambda length: min(WINDOWS, MAX_PAIRS // length**2), LENGTH_MULTIPLE, packed=packed
        )
        for numbers, part, shape in passes:
            totals = _padded(tagger, part, shape, layers) if shape else _packed(tagger, part, layers)
            for number, window, total in zip(numbers, part, totals, strict=False):
                refuse_nan(total, tagger.source)
                yield number, window, total.numpy()


def _packed(tagger: TransformerTagger, windows: Sequence[Window], layers: int) -> list[Tensor]:
    network = tagger.network
    summed = _layers(tagger, layers, len(network.base_model.encoder.layer))
    return attention_in_one_row(network, [window.subwords for window in windows], summed)


def _padded(tagger: TransformerTagger, windows: Sequence[Window], shape: PassShape, layers: int) -> Tensor:
    """The attention of padded windows. Shape: (rows, subwords, subwords), with more rows than windows."""
    network, encoder = tagger.network, tagger.encoder
    shape = {**shape, "rows": shape["rows"] + 1}
    batch = collate(windows, encoder.pad, longest=encoder.max_subwords, **shape)
    batch.attention_mask[-1, -1] = 0  # with nothing masked, transformers adds no mask, and bf16 rounds differently
    batch = batch.to(network.device)
    output = network(input_ids=batch.input_ids, attention_mask=batch.attention_mask, output_attentions=True)
    attentions = getattr(output, "attentions", None) or ()
    length = batch.input_ids.shape[1]
    if not attentions or any(layer is None or layer.shape[2:] != (length, length) for layer in attentions):
        raise SettingsError(f'the model "{tagger.model}" does not return the attention between subwords. {OTHER_WAYS}')
    summed = attentions[-_layers(tagger, layers, len(attentions)) :]
    total: Tensor = sum(layer.float().sum(1) for layer in summed)  # over layers and heads
    return total.cpu()


def _layers(tagger: TransformerTagger, layers: int, available: int) -> int:
    if layers > available:
        warn(f'{layers} layers of attention were requested, but "{tagger.model}" has {available}: all are summed')
    return min(layers, available) or available


def word_attention(tagger: Tagger, sentences: Sequence[Sentence], layers: int = 4) -> list[NDArray[np.float32]]:
    """For each sentence, the attention from word (row) to word (column), summed over heads and layers.

    Attention to a word is the sum over its subwords; attention from a word is the mean over its subwords (Clark et al.
    2019). Special tokens are left out. Characters that the tagger reads as one word all get the attention of that word.
    In sentences that are too long for the model, each word is read in the same window as in prediction; its attention
    to words outside the window is 0. As in prediction, the numbers of a sentence do not depend on other sentences.

    Args:
        layers: The number of last layers to sum. 0 means all layers; so does a number that is too large, with a note.

    Returns:
        An array for each sentence. Shape: (words, words).

    Raises:
        SettingsError: If the tagger returns no attention between words.

    Reference:
        Kevin Clark, Urvashi Khandelwal, Omer Levy and Christopher D. Manning (2019). What Does BERT Look At? An
        Analysis of BERT's Attention. BlackboxNLP, section 4.1.
    """
    transformer = with_attention(tagger)
    network, encoder = transformer.network, transformer.encoder
    read = transformer.as_read(sentences, labelled=True)
    attentions = [np.zeros((len(longer), len(longer)), np.float32) for longer, _ in read]
    windows = [(number, w) for number, (longer, _) in enumerate(read) for w in encoder.windows(longer.words)]
    network.eval()
    with torch.no_grad(), autocast(network.device, transformer.precision):
        for number, window, subwords in subword_attention(transformer, windows, layers):
            _fill(attentions[number], window, subwords, len(encoder.suffix))
    return [_original_attention(attention, groups) for attention, (_, groups) in zip(attentions, read, strict=True)]


def with_attention(tagger: Tagger) -> TransformerTagger:
    """Return the tagger, or raise `SettingsError` if it has no attention between words."""
    if not isinstance(tagger, TransformerTagger):
        raise SettingsError(f"the tagger {name_of(tagger)} has no attention between words. {OTHER_WAYS}")
    return tagger


def between_words(subwords: NDArray[Any], firsts: Sequence[int], end: int) -> NDArray[Any]:
    """The attention between words, computed from that between subwords.

    Args:
        subwords: Attention from subword to subword. Shape: (subwords, subwords).
        firsts: The position of each word's first subword.
        end: The position after the last word's last subword.

    Returns:
        Shape: (words, words).

    >>> between_words(np.array([[9.0, 9, 9, 9], [9, 1, 2, 3], [9, 3, 4, 5], [9, 0, 6, 7]]), [1, 3], 4).tolist()
    [[5.0, 4.0], [6.0, 7.0]]
    """
    to_words = np.add.reduceat(subwords[:end, :end], firsts, axis=1)
    sizes = np.diff([*firsts, end]).astype(subwords.dtype)
    return np.add.reduceat(to_words, firsts, axis=0) / sizes[:, None]


def _original_attention(attention: NDArray[np.float32], groups: WordGroups) -> NDArray[np.float32]:
    """The attention between joined words, repeated for each of the original words."""
    joint = [number for number, group in enumerate(groups) for _ in group]
    return attention[np.ix_(joint, joint)] if groups else attention


def _fill(attention: NDArray[np.float32], window: Window, subwords: NDArray[Any], suffix: int) -> None:
    """Store the attention from the words in the core of a window in ``attention``."""
    between = between_words(subwords, window.firsts, len(window.subwords) - suffix)
    (start, end), first = window.core, window.start
    attention[start:end, first : first + len(window.firsts)] = between[start - first : end - first]
