"""Hidden states of one layer of an encoder, for every subword of a text."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from nersery.core.errors import SettingsError
from nersery.core.settings.typed_settings import Precision
from nersery.models.likelihoods.likelihood import Text
from nersery.models.packed.packed_encoder import can_pack, in_one_row
from nersery.models.passes import window_passes
from nersery.models.pretrained.loading import ModelSource, autocast, pick_device, position_count
from nersery.models.pretrained.model_folder import reads_plain_text
from nersery.models.subwords.collation import collate
from nersery.models.subwords.subwords import SubwordEncoder
from nersery.models.subwords.windows import Window

LENGTH_MULTIPLE = 8
SUBWORDS_ON_CPU, SUBWORDS_ON_GPU = 512, 16384
"""Subwords per forward pass, padding included; see `by_length`."""
_Rows = tuple[int, list[int]]
"""Where the states of a window belong: its first row in `HiddenStates`, and the window's position for each row."""


@dataclass(frozen=True, slots=True)
class HiddenStates:
    """Hidden states of the subwords of several texts, one text after the other.

    Args:
        values: The last row is zero and belongs to no subword. Shape: (subwords + 1, dimension).
        starts: The row of the first subword of each text.
        owners: For each text the word that each subword belongs to.
    """

    values: Tensor
    starts: tuple[int, ...]
    owners: tuple[tuple[int, ...], ...]


class LayerEncoder:
    """An encoder up to one of its layers. Layers above are not computed if the result stays the same.

    Args:
        source: ``bundled`` or any Hugging Face encoder. Of an encoder-decoder the encoder is used.
        layer: From 1. None takes the one two thirds of the way up, e.g. 8 of 12.
        masked_lm: Load the masked language model head too.

    Attributes:
        network: The whole model.
        layer: The number of the layer.

    Raises:
        MissingResourceError: If there is no such model, or it has no such head.
        SettingsError: If it has no such layer.
    """

    def __init__(
        self,
        source: ModelSource,
        layer: int | None = None,
        *,
        device: str = "auto",
        precision: Precision = "auto",
        masked_lm: bool = False,
    ) -> None:
        self.source, self.precision = source, precision
        self.device = pick_device(device)
        network = source.masked_lm() if masked_lm else source.encoder()
        self.network: Any = network.to(self.device).eval()
        inner = network.base_model
        self._encoder: Any = inner.get_encoder() if inner.config.is_encoder_decoder else inner
        self.layer = _layer(self._encoder.config, layer, source.name)
        self.subwords = SubwordEncoder(source.tokenizer(), position_count(network))

    def can_read(self, text: Text) -> bool:
        """Whether every word of a text fits into a window."""
        return all(len(ids) <= self.subwords.room for ids in self.subwords.subwords(text))

    def subword_count(self, text: Text) -> int:
        """The number of subwords of a text."""
        return sum(map(len, self.subwords.subwords(text)))

    @torch.no_grad()
    def hidden_states(self, texts: Sequence[Text]) -> HiddenStates:
        """The hidden states of all subwords of all texts. Each text is independent of the others to the last bit.

        A text longer than the model is read in overlapping windows. The states of a word come from one of them. A word
        that the tokenizer turns into nothing has no subwords.
        """
        windows: list[tuple[_Rows, Window]] = []
        starts, owners, total = [], [], 0
        for text in texts:
            starts.append(total)
            text_owners: list[int] = []
            for window in self.subwords.windows(text):
                if subwords := self._own_subwords(window, text):
                    windows.append(((total, [position for _, position in subwords]), window))
                    text_owners += [word for word, _ in subwords]
                    total += len(subwords)
            owners.append(tuple(text_owners))
        return HiddenStates(self._values(windows, total), tuple(starts), tuple(owners))

    def _own_subwords(self, window: Window, text: Text) -> list[tuple[int, int]]:
        """A pair for each subword of the words in the core of a window: its word, and its position in the window."""
        spans = self.subwords.word_spans(window)
        words = (word for word in range(*window.core) if not self.subwords.is_nothing(text[word]))
        return [(word, position) for word in words for position in range(*spans[word - window.start])]

    def _values(self, windows: Sequence[tuple[_Rows, Window]], total: int) -> Tensor:
        values = torch.zeros(total + 1, int(self._encoder.config.hidden_size), device=self.device)
        max_positions = SUBWORDS_ON_CPU if self.device.type == "cpu" else SUBWORDS_ON_GPU
        with autocast(self.device, self.precision):
            packed = self._can_truncate and can_pack(self._encoder)
            passes = window_passes(windows, lambda length: max_positions // length, LENGTH_MULTIPLE, packed=packed)
            for owners, part, shape in passes:
                hidden = self._in_one_row(part) if packed else self.hidden(part, **shape)
                chosen = [
                    (row, position, rank)
                    for row, (first, positions) in enumerate(owners)
                    for rank, position in enumerate(positions, first)
                ]
                rows, places, ranks = torch.tensor(chosen, device=self.device).T
                values[ranks] = hidden[rows, places].float()
        return values

    def _in_one_row(self, windows: Sequence[Window]) -> Tensor:
        """Like `hidden`, but without computing padding."""
        batch = collate(windows, self.subwords.pad)
        with self._truncated():
            return in_one_row(self._encoder, batch.input_ids, batch.attention_mask).last_hidden_state

    def hidden(self, windows: Sequence[Window], rows: int = 0, multiple: int = 1) -> Tensor:
        """The hidden states of windows, padded as by `collate`. Shape: (windows, subwords, dimension)."""
        batch = collate(windows, self.subwords.pad, rows=rows, multiple=multiple, longest=self.subwords.max_subwords)
        return self._forward(batch.input_ids.to(self.device), batch.attention_mask.to(self.device), self._can_truncate)

    def _forward(self, input_ids: Tensor, attention_mask: Tensor, end: bool) -> Tensor:
        with self._truncated() if end else contextlib.nullcontext():
            output = self._encoder(input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=not end)
        return output.last_hidden_state if end else output.hidden_states[self.layer]

    @contextlib.contextmanager
    def _truncated(self) -> Iterator[None]:
        """Remove the layers above `layer` from the network within the context."""
        if self._layer_list is None:
            yield
            return
        parent, name, layers = self._layer_list
        setattr(parent, name, layers[: self.layer])
        try:
            yield
        finally:
            setattr(parent, name, layers)

    @cached_property
    def _layer_list(self) -> tuple[nn.Module, str, nn.ModuleList] | None:
        """The module that holds the list of layers, its attribute name, and the list; None if there is no such list."""
        count = self._encoder.config.num_hidden_layers
        lists = (
            (parent, name, child)
            for parent in self._encoder.modules()
            for name, child in parent.named_children()
            if isinstance(child, nn.ModuleList) and len(child) == count
        )
        return next(lists, None)

    @cached_property
    def _can_truncate(self) -> bool:
        """Whether the result stays the same without the layers above. Some models have a norm after the last layer."""
        ids = torch.tensor([self.subwords.windows(("a",))[0].subwords], device=self.device)
        mask = torch.ones_like(ids)
        is_training = self.network.training
        self.network.eval()
        with torch.no_grad():
            with reads_plain_text(self.source.name):
                whole, ended = self._forward(ids, mask, end=False), None
            with contextlib.suppress(IndexError):  # XLM has its own number of layers to run
                ended = self._forward(ids, mask, end=True)
        self.network.train(is_training)
        if whole.shape[:2] != ids.shape:
            raise SettingsError(
                f'layer {self.layer} of "{self.source.name}" has {whole.shape[1]} hidden states for {ids.shape[1]} '
                "subwords, expected one for each. Name another layer, or a model that does not shorten texts, e.g. "
                "xlm-roberta-base"
            )
        return ended is not None and torch.equal(whole, ended)


def _layer(config: Any, layer: int | None, name: str) -> int:
    count = int(config.num_hidden_layers)
    if layer is None:
        layer = -(-2 * count // 3)
    if not 1 <= layer <= count:
        raise SettingsError(
            f'layer is {layer}, but "{name}" has {count} layers. Name one from 1 to {count}, or leave it out for '
            "the one two thirds of the way up"
        )
    return layer
