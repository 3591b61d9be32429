"""Pairs of texts, a question and a sentence, as inputs of models.

The subwords of each question and each sentence are computed once and then combined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nersery.core.errors import MissingResourceError, SettingsError, beginning
from nersery.models.passes import PassShape, by_length
from nersery.models.subwords.subwords import SubwordEncoder
from nersery.models.subwords.windows import window_spans

Ids = NDArray[np.int64]


class SpecialTokens(NamedTuple):
    """The special tokens of a pair: ``[CLS] … [SEP] … [SEP]`` or ``<s> … </s></s> … </s>``.

    Args:
        front: Before the question.
        middle: Between question and sentence.
        back: After the sentence.
        types: Token types of front, question, middle, sentence and back.
        summary: Position of the class token, from the end if negative. Without a class token, the first position.
    """

    front: tuple[int, ...]
    middle: tuple[int, ...]
    back: tuple[int, ...]
    types: tuple[int, ...]
    summary: int

    @classmethod
    def of(cls, tokenizer: Any) -> Self:
        """The special tokens of a transformers tokenizer.

        Raises:
            MissingResourceError: If it does not support pairs of texts.
        """
        encoded = tokenizer("a", "a", return_token_type_ids=True)
        ids, inner = tuple(encoded["input_ids"]), tuple(tokenizer("a", add_special_tokens=False)["input_ids"])
        width = len(inner)
        starts = [start for start in range(len(ids) - width + 1) if ids[start : start + width] == inner]
        if len(starts) != 2:
            raise MissingResourceError(
                f'the tokenizer of "{tokenizer.name_or_path}" cannot put a question and a sentence side by side. '
                "Expected one of an encoder like BERT, RoBERTa or XLM-R"
            )
        question, sentence = starts
        front, middle, back = ids[:question], ids[question + width : sentence], ids[sentence + width :]
        places = (0, question, question + width, sentence, len(ids) - 1)
        position = ids.index(tokenizer.cls_token_id) if tokenizer.cls_token_id in front + back else 0
        summary = position if position < sentence else position - len(ids)
        return cls(front, middle, back, tuple(encoded["token_type_ids"][place] for place in places), summary)

    @property
    def length(self) -> int:
        """The number of special tokens."""
        return len(self.front) + len(self.middle) + len(self.back)


class PairWindow(NamedTuple):
    """A question and a window of a sentence.

    Args:
        pair: The number of the pair.
        question: Subwords of the question.
        start: The first word of the window.
        subwords: Subwords of the window.
        owners: For each subword the word of the window that it belongs to, from 0.
    """

    pair: int
    question: Ids
    start: int
    subwords: Ids
    owners: Ids


class PairBatch(NamedTuple):
    """Windows of sentences with their questions as tensors.

    Args:
        inputs: Arguments of the model. Shape of each: (windows, subwords).
        owners: The word of each subword of the sentence; elsewhere the number of subwords. Shape: (windows, subwords).
        summaries: Position of the class token. Shape: (windows,).
    """

    inputs: dict[str, Tensor]
    owners: Tensor
    summaries: Tensor

    def to(self, device: torch.device) -> PairBatch:
        """The batch on a device."""
        inputs = {name: ids.to(device) for name, ids in self.inputs.items()}
        return PairBatch(inputs, self.owners.to(device), self.summaries.to(device))


class PairEncoder:
    """Turns questions and sentences into model inputs.

    Args:
        encoder: Splits words into subwords, and has the length of the longest window.
        token_type_count: The number of token types of the model.
    """

    def __init__(self, encoder: SubwordEncoder, token_type_count: int = 0) -> None:
        self.encoder = encoder
        self.template = SpecialTokens.of(encoder.tokenizer)
        self._has_types = token_type_count > max(self.template.types)

    def windows(
        self, questions: Sequence[str], sentences: Sequence[Sequence[str]], pairs: Iterable[int] | None = None
    ) -> list[PairWindow]:
        """The windows of each sentence with its question. An empty sentence has no window.

        Args:
            pairs: The numbers of the pairs to read. None reads all.

        Raises:
            SettingsError: If a question is empty, or takes more than half of a window.
        """
        pairs = range(len(questions)) if pairs is None else tuple(pairs)
        encoded = {question: self._question(question) for question in dict.fromkeys(questions[pair] for pair in pairs)}
        texts = self._texts(sentences[pair] for pair in pairs)
        return [
            window
            for pair in pairs
            for window in self._windows(pair, encoded[questions[pair]], *texts[tuple(sentences[pair])])
        ]

    def _question(self, question: str) -> Ids:
        if not question.strip():
            raise SettingsError("a question is empty: expected a few words")
        tokenizer = self.encoder.tokenizer
        ids = tokenizer(question, add_special_tokens=False, verbose=False)["input_ids"]
        max_length = (self.encoder.max_subwords - self.template.length) // 2
        if len(ids) > max_length:
            raise SettingsError(
                f'the question "{beginning(question)}" has {len(ids)} subwords, but only {max_length} fit in front of '
                "a sentence. Shorten it"
            )
        return np.array(ids, np.int64)

    def _texts(self, sentences: Iterable[Sequence[str]]) -> dict[tuple[str, ...], tuple[Ids, Ids]]:
        """The subwords of each distinct sentence, and the number of the word of each subword."""
        texts = {}
        for words in dict.fromkeys(map(tuple, sentences)):
            subwords = self.encoder.subwords(words)
            ids = np.array([subword for word in subwords for subword in word], np.int64)
            texts[words] = ids, np.repeat(np.arange(len(words)), [len(word) for word in subwords])
        return texts

    def _windows(self, pair: int, question: Ids, subwords: Ids, owners: Ids) -> Iterator[PairWindow]:
        """The windows of a sentence. A word longer than a window is truncated."""
        room = self.encoder.max_subwords - self.template.length - len(question)
        if 0 < len(subwords) <= room:
            yield PairWindow(pair, question, 0, subwords, owners)
        elif len(subwords):
            shown = np.arange(len(owners)) - np.searchsorted(owners, owners) < room
            subwords, owners = subwords[shown], owners[shown]
            for start, end in window_spans(np.bincount(owners).tolist(), room):
                part = slice(*np.searchsorted(owners, [start, end]))
                yield PairWindow(pair, question, start, subwords[part], owners[part] - start)

    def batches(
        self, windows: Sequence[PairWindow], rows: int, multiple: int, *, packed: bool = False
    ) -> Iterator[tuple[list[PairWindow], PassShape]]:
        """The windows of each forward pass and its shape; see `by_length`."""
        lengths = list(map(self._length, windows))
        for part, shape in by_length(lengths, lambda _: rows, multiple, packed=packed):
            yield [windows[number] for number in part], shape

    def _length(self, window: PairWindow) -> int:
        return self.template.length + len(window.question) + len(window.subwords)

    def collate(self, windows: Sequence[PairWindow], *, rows: int = 0, multiple: int = 1) -> PairBatch:
        """Pad windows at the end and stack them.

        Args:
            rows: Add copies of the first window up to this many rows.
            multiple: Pad the length to a multiple of this, up to the longest window.
        """
        windows = [*windows, *[windows[0]] * (rows - len(windows))]
        length = max(map(self._length, windows))
        length = max(length, min(self.encoder.max_subwords, length + -length % multiple))
        front, middle, back, types, summary = self.template
        ids = np.full((len(windows), length), self.encoder.pad)
        mask, kinds = np.zeros_like(ids), np.zeros_like(ids)
        owners = np.full_like(ids, length)
        for row, window in enumerate(windows):
            parts = (front, window.question, middle, window.subwords, back)
            lengths = [len(part) for part in parts]
            end, sentence = sum(lengths), sum(lengths[:3])
            ids[row, :end] = np.concatenate(parts)
            mask[row, :end] = 1
            kinds[row, :end] = np.repeat(types, lengths)
            owners[row, sentence : sentence + len(window.owners)] = window.owners
        summaries = np.where(summary < 0, mask.sum(1) + summary, summary)
        inputs = {"input_ids": ids, "attention_mask": mask} | ({"token_type_ids": kinds} if self._has_types else {})
        tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
        return PairBatch(tensors, torch.from_numpy(owners), torch.from_numpy(summaries))
