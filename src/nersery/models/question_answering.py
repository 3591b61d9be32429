"""Extractive question answering: the words of a sentence that answer a question, and their score."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from nersery.core.settings.typed_settings import Precision
from nersery.core.warnings import advise
from nersery.models.bundled_models import bundled, known_languages
from nersery.models.packed.packed_encoder import can_pack, in_one_row
from nersery.models.passes import PassShape, windows_at_once
from nersery.models.pretrained.loading import ModelSource, autocast, pick_device, position_count, refuse_nan
from nersery.models.subwords.pair_inputs import PairBatch, PairEncoder, PairWindow
from nersery.models.subwords.subwords import SubwordEncoder

LENGTH_MULTIPLE = 4
"""Passes of a network that cannot be packed are padded to a multiple of this many subwords; see `by_length`."""
CHUNK = 8192
"""Pairs that are sorted by length together."""
MAX_EXPONENT = 700
"""The largest exponent of e whose power a float can hold, rounded down."""
STRETCH = 50
"""Words of a stretch. A sentence may have ``top`` answers for each stretch that it begins."""


class ExtractedAnswer(NamedTuple):
    """An answer, words ``[start, end)``, and its score in [0, 1]; see `QuestionAnswerer`."""

    start: int
    end: int
    score: float


class QuestionAnswerer:
    """An extractive question-answering model over words.

    The model scores each subword as start and end of an answer, and the class token as both if there is no answer. A
    word has the score of its best subword. With softmax over starts and over ends, an answer has the probability p =
    p(start) p(end), and no answer has p₀ = p₀(start) p₀(end). The score is p / (p + p₀), in which the denominators of
    the softmax cancel out. Above 0.5 the answer is more probable than no answer. Scores of a model that was trained
    without unanswerable questions mean little.

    A sentence longer than the model is read in overlapping windows, each with its own p₀.

    Args:
        source: ``bundled``, or any extractive question-answering model by name or folder.
        device, precision: See `nersery.models.pretrained.model_settings.ModelSettings`.

    Raises:
        MissingResourceError: If there is no such model, or it is not a question-answering model.

    Reference:
        Devlin et al. 2019, BERT (SQuAD 2.0).

    Departures:
        A question may have several answers, which do not overlap; SQuAD has one.
    """

    def __init__(self, source: ModelSource, *, device: str = "auto", precision: Precision = "auto") -> None:
        self.source, self.precision = source, precision
        self.device = pick_device(device)
        self.network: Any = source.question_answering().to(self.device).eval()
        self.subwords = SubwordEncoder(source.tokenizer(), position_count(self.network))
        self.pairs = PairEncoder(self.subwords, token_type_count(self.network))

    def warn_if_unsuited(self, words: Sequence[str], languages: Iterable[str] = ()) -> None:
        """Warn if the model was made for other text than these words, in these languages."""
        name, issue = self.source.name, self.subwords.vocabulary_issue(words)
        advice = "Its answers will be poor. Name a question-answering model of the language, e.g. {}"
        example = "deepset/xlm-roberta-base-squad2"
        is_unsuited = known_languages.warn_if_unsuited(name, issue, languages, advice, example, words=words)
        if not is_unsuited and bundled.is_lower_case(name) and any(word != word.lower() for word in words):
            advise(
                "the bundled question-answering model reads lower case only. For text with capitals, name a cased "
                "model, e.g. bundled-multilingual or deepset/bert-base-cased-squad2"
            )

    def check_questions(self, questions: Iterable[str]) -> None:
        """Raise `SettingsError` for a question that is empty or leaves no room for a sentence."""
        for question in questions:
            self.pairs.windows([question], [["a"]])

    def answers(
        self, questions: Sequence[str], sentences: Sequence[Sequence[str]], *, top: int, longest: int
    ) -> list[list[ExtractedAnswer]]:
        """The best non-overlapping answers to each question in its sentence, best first.

        Args:
            sentences: The words of the sentence of each question.
            top: The most answers per `STRETCH` of words, including those less probable than no answer.
            longest: The most words of an answer.

        Raises:
            SettingsError: If a question is empty or too long, or the model computes NaN.
        """
        candidates: list[list[ExtractedAnswer]] = [[] for _ in questions]
        limits = [top * max(1, math.ceil(len(words) / STRETCH)) for words in sentences]
        for start in range(0, len(questions), CHUNK):
            part = range(start, min(start + CHUNK, len(questions)))
            windows = self.pairs.windows(questions, sentences, part)
            rows, packed = windows_at_once(self.device), can_pack(self.network)
            for batch, shape in self.pairs.batches(windows, rows, LENGTH_MULTIPLE, packed=packed):
                widest = max(limits[window.pair] for window in batch)
                for window, best in zip(batch, self._best(batch, shape, widest, longest), strict=False):
                    candidates[window.pair] += best[: limits[window.pair]]
        return [_without_overlaps(answers, limit) for answers, limit in zip(candidates, limits, strict=True)]

    @torch.no_grad()
    def _best(
        self, windows: Sequence[PairWindow], shape: PassShape, top: int, longest: int
    ) -> list[list[ExtractedAnswer]]:
        """The best answers in each window. Rows that only fill up the pass come last."""
        batch = self.pairs.collate(windows, **shape).to(self.device)
        forward = self.network if shape else partial(in_one_row, self.network)
        with autocast(self.device, self.precision):
            starts, ends, no_answer = word_scores(forward, batch)
        refuse_nan(no_answer, self.source)
        spans, scores = best_spans(starts, ends, top, longest)
        margins = (scores - no_answer.unsqueeze(1)).tolist()
        return [
            [
                ExtractedAnswer(start + window.start, end + window.start, _sigmoid(margin))
                for (start, end), margin in zip(*row, strict=True)
                if end
            ]
            for window, row in zip(windows, zip(spans.tolist(), margins, strict=True), strict=False)
        ]


def _sigmoid(value: float) -> float:
    """The sigmoid in Python, because the rounding of torch depends on the position of a value in a tensor."""
    return 1 / (1 + math.exp(-value)) if value > -MAX_EXPONENT else 0.0


def token_type_count(network: Any) -> int:
    """The number of token types of a model; 0 if it does not take token types."""
    if "token_type_ids" not in inspect.signature(network.forward).parameters:
        return 0
    return int(getattr(network.config, "type_vocab_size", 0) or 0)


def word_scores(network: Any, batch: PairBatch) -> tuple[Tensor, Tensor, Tensor]:
    """Scores of each word as start and end of an answer, minus infinity after the last word, and the score of no
    answer, in fp32.

    Shape: (windows, subwords), (windows, subwords) and (windows,).
    """
    output = network(**batch.inputs)
    starts, ends = (logits.float() for logits in (output.start_logits, output.end_logits))
    no_answer = (starts + ends).gather(1, batch.summaries.unsqueeze(1)).squeeze(1)
    no_scores = starts.new_full((len(starts), starts.shape[1] + 1), -torch.inf)
    words = [no_scores.scatter_reduce(1, batch.owners, logits, "amax")[:, :-1] for logits in (starts, ends)]
    return words[0], words[1], no_answer


def best_spans(starts: Tensor, ends: Tensor, top: int, longest: int) -> tuple[Tensor, Tensor]:
    """The best non-overlapping spans of each row, best first, and their scores. ``[0, 0)`` fills up short rows.

    Args:
        starts: Scores of starts, minus infinity where there is no word. Shape: (rows, words).
        ends: Scores of ends, likewise.

    Shape: (rows, answers, 2) and (rows, answers).
    """
    words = starts.shape[1]
    top, longest = min(top, words), min(longest, words)
    begin = torch.arange(words, device=starts.device).unsqueeze(1)
    end = begin + torch.arange(1, longest + 1, device=starts.device)
    # A window of `longest` ends for each start, by `unfold`, so that no table of words times words is made.
    scores = starts.unsqueeze(2) + nn.functional.pad(ends, (0, longest - 1), value=-torch.inf).unfold(1, longest, 1)
    spans, values = [], []
    for _ in range(top):
        value, place = scores.flatten(1).max(1)
        first = place // longest
        last = first + place % longest + 1
        is_span = value > -torch.inf
        spans.append(torch.stack([first, last], 1) * is_span.unsqueeze(1))
        values.append(value)
        # Masked here, not removed later, because `top` answers without overlap need more than the `top` best spans.
        overlaps = (begin < last[:, None, None]) & (end > first[:, None, None])
        scores = scores.masked_fill(overlaps, -torch.inf)
    return torch.stack(spans, 1), torch.stack(values, 1)


def _without_overlaps(answers: Sequence[ExtractedAnswer], top: int) -> list[ExtractedAnswer]:
    """The best non-overlapping answers of all windows over a sentence."""
    kept: list[ExtractedAnswer] = []
    taken = bytearray(max((answer.end for answer in answers), default=0))
    for answer in sorted(answers, key=lambda answer: -answer.score):
        if len(kept) < top and not any(taken[answer.start : answer.end]):
            taken[answer.start : answer.end] = b"\1" * (answer.end - answer.start)
            kept.append(answer)
    return kept
