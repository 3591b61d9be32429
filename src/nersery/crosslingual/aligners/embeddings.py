"""Links between words that have similar hidden states in a multilingual encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from nersery.core.errors import SettingsError
from nersery.core.outcome import Reject
from nersery.core.registry import unfitted
from nersery.core.settings.ranges import Positive, Rate, RateBelowOne
from nersery.core.settings.typed_settings import ModelName, build, hidden
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import warn
from nersery.crosslingual.aligner_components.padded_shapes import padded_shapes
from nersery.crosslingual.aligners.base import Aligner, Alignment, Link, Pair, Pairs
from nersery.crosslingual.embedding.fine_tuning import FineTuning, fine_tune
from nersery.crosslingual.embedding.probabilities import NORMALIZERS, both_directions, probable_links, word_states
from nersery.crosslingual.embedding.similarities import argmax, cosines, itermax, match
from nersery.models.bundled_models import bundled
from nersery.models.bundled_models.multilingual_e5 import ON_THE_HUB
from nersery.models.embeddings.hidden_states import HiddenStates, LayerEncoder
from nersery.models.likelihoods.likelihood import Text
from nersery.models.pretrained.loading import pick_device, refuse_nan
from nersery.models.pretrained.model_settings import ModelSettings

Extraction = Literal["softmax", "entmax", "argmax", "itermax", "match"]

TOO_LONG = "a word is longer than the model can read"
SUBWORDS = 2**16
"""Maximum number of subwords whose states are kept at once."""
CELLS = 2**24
"""Maximum number of cells whose similarities are computed at once."""
MAX_CELLS = 2 * CELLS
"""A pair with more cells, e.g. two sentences of 5,800 subwords, is rejected: its matrices would fill the memory."""
TOO_MUCH = "a pair too long to compare"
SENTENCE_ENCODERS = (bundled.MULTILINGUAL, ON_THE_HUB)
"""Models that were trained to compare sentences: their hidden states have much in common."""
CHECKED_PAIRS = 1000
"""Number of pairs that are checked to see whether the model covers their languages."""


@dataclass
class Embeddings(Aligner, ModelSettings):
    """Links words whose hidden states in a multilingual encoder are similar.

    Two words are linked if any of their subwords are. The probability of a link is that of its best two subwords: for
    `softmax` and `entmax` the geometric mean of both directions, for the others the cosine scaled to [0, 1].

    Args:
        model: ``bundled-multilingual``, or any multilingual encoder by Hugging Face name or folder.
        layer: Layer whose states are compared, from 1. None: two thirds of the way up (8 of 12).
        extraction: ``softmax`` and ``entmax`` link what is probable in both directions; ``argmax`` links mutual nearest
            neighbours, ``itermax`` does so twice, ``match`` links one to one with the largest sum. None: ``argmax`` for
            multilingual E5, otherwise ``softmax``.
        threshold: Minimum probability of a link of subwords for `softmax` and `entmax`, in [0, 1).
        distortion: Penalty of `argmax`, `itermax` and `match` for different positions in the sentences, in [0, 1].
        temperature: If set, ``softmax`` and ``entmax`` compare words by cosine divided by this (above 0); a word's
            vector is the mean of its subwords minus the sentence's. None: they compare subwords by dot product, as in
            the paper.
        fine_tune: Train the model on the pairs first, which must fit in memory. A table with any of the objectives'
            weights `tlm`, `mlm`, `so`, `co`, and `threshold`, `mask_rate`, `epochs`, `batch_size`, `learning_rate`.

    Reference:
        Dou and Neubig (2021). Word Alignment by Fine-tuning Embeddings on Parallel Corpora. EACL (`softmax`, `entmax`,
        fine-tuning). Jalili Sabet et al. (2020). SimAlign: High Quality Word Alignments Without Parallel Training Data
        Using Static and Contextualized Embeddings. Findings of EMNLP (`argmax`, `itermax`, `match`, distortion).

    Departures:
        - `temperature`, with means of words and of the sentence, is ours.
        - 1.5-entmax links above `threshold`; the paper links above 0 (`threshold = 0`).
        - SimAlign may compare whole words, and drop links whose rows are nearly even; we do neither.
        - The code truncates long sentences; here they are read in overlapping windows.
        - A word that the tokenizer drops has no link.
    """

    model: ModelName = bundled.MULTILINGUAL
    layer: int | None = None
    extraction: Extraction | None = None
    threshold: RateBelowOne = 1e-3
    distortion: Rate = 0.0
    temperature: Positive | None = None
    fine_tune: dict[str, Any] | None = None
    _fine_tuning: FineTuning | None = hidden(default=None)
    _encoder: LayerEncoder | None = hidden(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distortion and self._extraction in NORMALIZERS:
            raise SettingsError(
                f'distortion is for the extractions argmax, itermax and match; "{self._extraction}" does not use it'
            )
        if self.temperature is not None and self._extraction not in NORMALIZERS:
            raise SettingsError(
                f'temperature is for the extractions softmax and entmax; "{self._extraction}" does not use it'
            )
        if self.fine_tune is not None:
            self._fine_tuning = build(FineTuning, "fine_tune", self.fine_tune)

    @property
    def _extraction(self) -> Extraction:
        return self.extraction or ("argmax" if self.model in SENTENCE_ENCODERS else "softmax")

    def check(self) -> None:
        self.source.config()
        pick_device(self.device)

    def fit(self, pairs: Pairs, training: Training = NO_TRAINING) -> None:
        """Open the model, and fine-tune it on the pairs if `fine_tune` is set."""
        self._encoder = self._open_encoder()
        self._warn_if_unsuited(self._encoder, list(islice(pairs, CHECKED_PAIRS)))
        if self._fine_tuning is not None:
            fine_tune(self._encoder, pairs, self._fine_tuning, training)

    def _open_encoder(self) -> LayerEncoder:
        settings: dict[str, Any] = {"device": self.device, "precision": self.precision}
        if self._fine_tuning is not None:
            return LayerEncoder(self.source, self.layer, **settings, masked_lm=self._fine_tuning.needs_masked_lm)
        key = (self.source, self.layer, self.device, self.precision)
        encoder = _OPEN_ENCODERS.get(key)
        if encoder is None:
            encoder = _OPEN_ENCODERS[key] = _SharedEncoder(self.source, self.layer, **settings)
        return encoder

    def _warn_if_unsuited(self, encoder: LayerEncoder, pairs: Sequence[Pair]) -> None:
        advice = (
            "Name a multilingual encoder in the setting model, e.g. bert-base-multilingual-cased or xlm-roberta-base"
        )
        if bundled.is_lower_case(self.model):
            warn(f"the bundled model only covers English: words of other languages are aligned by chance. {advice}")
        elif issue := encoder.subwords.vocabulary_issue(
            [word for pair in pairs for word in (*pair.source, *pair.target)]
        ):
            warn(f'the model "{self.model}" was made for other languages than this text: {issue}. {advice}')

    def align(self, pairs: Sequence[Pair]) -> list[Alignment | Reject]:
        """The links of each pair. Pairs with a word longer than the model can read, and too long pairs, are rejected.

        Raises:
            SettingsError: If the output of the model contains NaN.
            UnfittedError: If the model must be fine-tuned first, and was not.
        """
        if self._encoder is None:
            if self._fine_tuning is not None:
                raise unfitted(self, "align")
            self._encoder = self._open_encoder()
        encoder = self._encoder
        alignments: list[Alignment | Reject] = [_reject_of(encoder, pair) or () for pair in pairs]
        readable = [number for number, reject in enumerate(alignments) if not reject]
        for chunk in _chunks(readable, [encoder.subword_count(pair.source + pair.target) for pair in pairs]):
            states = encoder.hidden_states([side for n in chunk for side in (pairs[n].source, pairs[n].target)])
            refuse_nan(states.values, self.source)
            if self.temperature is not None:
                states = word_states(states)
            for numbers, left, right, mask in _batches(states):
                linked, probability = self._linked(left, right, mask)
                for number, alignment in zip(
                    numbers, _word_alignments(linked, probability, numbers, states), strict=True
                ):
                    alignments[chunk[number]] = alignment
        return alignments

    @torch.no_grad()
    def _linked(self, left: Tensor, right: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Which subwords are linked, and how probably. Shape: twice (pairs, source subwords, target subwords)."""
        if self._extraction in NORMALIZERS:
            scores = left @ right.transpose(1, 2) / (self.temperature or 1.0)
            return probable_links(*both_directions(scores, mask, NORMALIZERS[self._extraction]), self.threshold)
        similarities = cosines(left, right, mask, self.distortion)
        if self._extraction == "match":
            return match(similarities, mask), similarities
        return (argmax if self._extraction == "argmax" else itermax)(similarities), similarities


class _SharedEncoder(LayerEncoder):
    """An encoder that aligners with the same model share. It keeps the hidden states of the latest texts."""

    _latest: tuple[Sequence[Text], HiddenStates] | None = None

    def hidden_states(self, texts: Sequence[Text]) -> HiddenStates:
        if self._latest is None or self._latest[0] != texts:
            self._latest = texts, super().hidden_states(texts)
        return self._latest[1]


_OPEN_ENCODERS: WeakValueDictionary[tuple[Any, ...], _SharedEncoder] = WeakValueDictionary()


def _chunks(numbers: Sequence[int], sizes: Sequence[int]) -> Iterator[list[int]]:
    """Pairs that have at most `SUBWORDS` subwords together, or one pair that has more."""
    chunk: list[int] = []
    total = 0
    for number in numbers:
        if chunk and total + sizes[number] > SUBWORDS:
            yield chunk
            chunk, total = [], 0
        chunk.append(number)
        total += sizes[number]
    if chunk:
        yield chunk


def _batches(states: HiddenStates) -> Iterator[tuple[list[int], Tensor, Tensor, Tensor]]:
    """Batches of pairs with one padded shape: their numbers, the states of both sides, and a mask, false at padding.

    The texts are a source and a target in turn. Shapes: twice (pairs, subwords, dimension), and (pairs, source
    subwords, target subwords).
    """
    lengths = [len(owners) for owners in states.owners]
    for part, rows, (source, target) in padded_shapes(enumerate(zip(lengths[::2], lengths[1::2], strict=True)), CELLS):
        left, is_left = _padded(states, [2 * number for number in part], rows, source)
        right, is_right = _padded(states, [2 * number + 1 for number in part], rows, target)
        yield part, left, right, is_left[:, :, None] & is_right[:, None, :]


def _reject_of(encoder: LayerEncoder, pair: Pair) -> Reject | None:
    """Why a pair cannot be compared, if so. This depends on the pair alone."""
    if not (encoder.can_read(pair.source) and encoder.can_read(pair.target)):
        return Reject(TOO_LONG)
    too_much = encoder.subword_count(pair.source) * encoder.subword_count(pair.target) > MAX_CELLS
    return Reject(TOO_MUCH) if too_much else None


def _padded(states: HiddenStates, texts: Sequence[int], rows: int, length: int) -> tuple[Tensor, Tensor]:
    """The states of some texts, zero at padding, and a mask that is true where there is a subword."""
    padding = len(states.values) - 1
    index = torch.full((rows, length), padding)
    for row, text in enumerate(texts):
        count = len(states.owners[text])
        index[row, :count] = torch.arange(states.starts[text], states.starts[text] + count)
    index = index.to(states.values.device)
    return states.values[index], index != padding


def _word_alignments(
    linked: Tensor, probability: Tensor, numbers: Sequence[int], states: HiddenStates
) -> list[Alignment]:
    """The links of words, each with the best probability of its subwords."""
    best: list[dict[tuple[int, int], float]] = [{} for _ in numbers]
    points = linked.nonzero()
    values = probability[points.unbind(1)].tolist()
    for (row, left, right), value in zip(points.tolist(), values, strict=True):
        words = states.owners[2 * numbers[row]][left], states.owners[2 * numbers[row] + 1][right]
        best[row][words] = max(value, best[row].get(words, 0.0))
    return [tuple(Link(*words, value) for words, value in sorted(alignment.items())) for alignment in best]
