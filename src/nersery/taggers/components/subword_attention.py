"""Attention between the subwords of windows, read out of the encoder of a tagger."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from nersery.core.errors import SettingsError
from nersery.core.warnings import warn
from nersery.models.loading import eager_attention, refuse_nan
from nersery.models.packed.packed_encoder import attention_in_one_row, can_pack
from nersery.models.passes import WINDOWS, PassShape, window_passes
from nersery.models.subwords.collation import collate
from nersery.models.subwords.windows import Window
from nersery.taggers.components.emissions import LENGTH_MULTIPLE
from nersery.taggers.transformer import TransformerTagger

MOST_PAIRS = WINDOWS * 256**2
"""Pairs of subwords in one pass, also on a GPU; every layer and head keeps a number for each pair."""
OTHER_WAYS = 'Use another tagger, or keywords = "random" or "none"'


def subword_attention(
    tagger: TransformerTagger, windows: Sequence[tuple[int, Window]], layers: int
) -> Iterator[tuple[int, Window, NDArray[np.float32]]]:
    """The attention between the subwords of windows, summed over heads and layers.

    Args:
        windows: Each behind the number of its sentence.
        layers: See `nersery.taggers.components.word_attention.word_attention`.

    Yields:
        The number, the window, and its attention. Shape: (subwords, subwords), or more.
    """
    network, _ = tagger.parts
    packed = can_pack(network)
    with contextlib.nullcontext() if packed else eager_attention(network):
        for numbers, part, shape in window_passes(windows, _rows, LENGTH_MULTIPLE, packed=packed):
            totals = _padded(tagger, part, shape, layers) if shape else _packed(tagger, part, layers)
            for number, window, total in zip(numbers, part, totals, strict=False):
                refuse_nan(total, tagger.source)
                yield number, window, total.numpy()


def _packed(tagger: TransformerTagger, windows: Sequence[Window], layers: int) -> list[Tensor]:
    network, _ = tagger.parts
    summed = _layers(tagger, layers, len(network.base_model.encoder.layer))
    return attention_in_one_row(network, [window.subwords for window in windows], summed)


def _rows(length: int) -> int:
    return max(1, min(WINDOWS, MOST_PAIRS // length**2))


def _padded(tagger: TransformerTagger, windows: Sequence[Window], shape: PassShape, layers: int) -> Tensor:
    """Shape: (rows, subwords, subwords), with more rows than windows."""
    network, encoder = tagger.parts
    shape = {**shape, "rows": shape["rows"] + 1}
    batch = collate(windows, encoder.pad, longest=encoder.max_subwords, **shape)
    batch.attention_mask[-1, -1] = 0  # where nothing is masked transformers adds no mask, and bf16 rounds otherwise
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
        warn(f'attention is asked for of {layers} layers, and "{tagger.model}" has {available}: all are summed')
    return min(layers, available) or available
