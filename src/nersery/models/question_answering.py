"""Extractive question answering: which words of a sentence answer a question, and how sure that is."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from nersery.core.errors import SettingsError
from nersery.core.progress import Progress
from nersery.core.registry import Precision
from nersery.core.warnings import warn
from nersery.models import bundled
from nersery.models.loading import ModelSource, autocast, pick_device, positions, refuse_nan
from nersery.models.subwords.pair_inputs import PairBatch, PairEncoder, Reading
from nersery.models.subwords.subwords import SubwordEncoder

ROWS = 16
LENGTH_MULTIPLE = 4
"""Every forward pass has so many windows and a multiple of so many subwords, so that a pair gets the same numbers to
the
last bit whatever stands beside it."""
CHUNK = 8192
"""Pairs that are sorted by length together."""
LARGEST_EXPONENT = 700
"""Of e, in a float."""
STRETCH = 50
"""In words. A longer sentence may have as many answers again for each further stretch that it begins."""


class ExtractedAnswer(NamedTuple):
    """Words ``[start, end)`` that answer a question, and a score in [0, 1]; see `QuestionAnswerer`."""

    start: int
    end: int
    score: float


class QuestionAnswerer:
    """An extractive question-answering model that speaks in words.

    The model scores each subword as the start and as the end of an answer, and its class token as both when there is
    none. A word is as good a start, or end, as the best of its subwords, so an answer of half a word is one of the
    whole. By the softmax over starts and that over ends an answer has the probability p = p(start) p(end), no answer
    p₀ = p₀(start) p₀(end); the score is p / (p + p₀), from which the softmax's denominators fall out. Above 0.5 the
    answer is more probable than that there is none. The scores of a model that was never asked in vain say little.

    A sentence longer than the model is read in overlapping windows, each with its own p₀.

    Args:
        source: ``bundled``, or any extractive question-answering model by name or folder.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:0``.
        precision: ``auto`` computes in bf16 where the processor has it.
        max_subwords: The longest window; None takes what the model allows.

    Raises:
        MissingResourceError: When there is no such model, or it is no question-answering model.

    Reference:
        Devlin et al. 2019, BERT (SQuAD 2.0).

    Departures:
        Several answers to a question, which do not overlap; SQuAD asks for one.
    """

    def __init__(
        self,
        source: ModelSource,
        *,
        device: str = "auto",
        precision: Precision = "auto",
        max_subwords: int | None = None,
    ) -> None:
        self.source = source
        self.precision: Precision = precision
        self.device = pick_device(device)
        self.network: Any = source.question_answering().to(self.device).eval()
        self.subwords = SubwordEncoder(source.tokenizer(), max_subwords, positions(self.network))
        self.pairs = PairEncoder(self.subwords, token_types(self.network))

    def warn_if_unsuited(self, words: Sequence[str], languages: Iterable[str] = ()) -> None:
        """Say when the model was made for other text than this.

        Args:
            languages: What the text says that it is in.
        """
        is_bundled = bundled.is_bundled(self.source.name)
        foreign = bundled.foreign(self.source.name, languages)
        issue = self.subwords.vocabulary_issue(words)
        if foreign and not issue:
            issue = f"it knows English alone, and there is text in {', '.join(foreign)}"
        if issue:
            warn(
                f'the model "{self.source.name}" was made for other languages than this text: {issue}. Its answers '
                "will be poor. Name a question-answering model of the language, e.g. deepset/xlm-roberta-base-squad2"
            )
        elif is_bundled and any(word != word.lower() for word in words):
            warn(
                "the bundled question-answering model knows English in lower case only: capitals tell it nothing. For "
                "cased text name a cased model, e.g. deepset/bert-base-cased-squad2"
            )

    def check_questions(self, questions: Iterable[str]) -> None:
        """Refuse what cannot be asked.

        Raises:
            SettingsError: When a question is empty, or leaves no room for a sentence.
        """
        for question in questions:
            self.pairs.readings([question], [["a"]])

    def answers(
        self,
        questions: Sequence[str],
        sentences: Sequence[Sequence[str]],
        *,
        top: int,
        longest: int,
        progress: Progress | None = None,
    ) -> list[list[ExtractedAnswer]]:
        """For each question the best answers in the sentence of the same place, which do not overlap, best first.

        Args:
            sentences: The words of each; as many sentences as questions.
            top: At most so many answers for each `STRETCH` of words; those no answer is better than are among them.
            longest: An answer has at most so many words.
            progress: Counts pairs.

        Raises:
            SettingsError: When a question is empty or too long, or the model answers with what is no number.
        """
        if len(questions) != len(sentences) or top < 1 or longest < 1:
            raise SettingsError(
                f"{len(questions)} questions for {len(sentences)} sentences, top {top} and longest {longest}: expected "
                "a question for each sentence, and numbers above 0"
            )
        found: list[list[ExtractedAnswer]] = [[] for _ in questions]
        most = [top * max(1, math.ceil(len(words) / STRETCH)) for words in sentences]
        for start in range(0, len(questions), CHUNK):
            part = range(start, min(start + CHUNK, len(questions)))
            for batch in self.pairs.batches(self.pairs.readings(questions, sentences, part), ROWS, LENGTH_MULTIPLE):
                widest = max(most[reading.pair] for reading in batch)
                for reading, best in zip(batch, self._best(batch, widest, longest), strict=False):
                    found[reading.pair] += best[: most[reading.pair]]
            if progress is not None:
                progress.advance(len(part))
        return [_apart(answers, limit) for answers, limit in zip(found, most, strict=True)]

    @torch.no_grad()
    def _best(self, readings: Sequence[Reading], top: int, longest: int) -> list[list[ExtractedAnswer]]:
        """The best answers in each window, and behind them those of the rows that only fill up the batch."""
        batch = self.pairs.collate(readings, rows=ROWS, multiple=LENGTH_MULTIPLE).to(self.device)
        with autocast(self.device, self.precision):
            starts, ends, none = word_scores(self.network, batch)
        refuse_nan(none, self.source)
        spans, scores = best_spans(starts, ends, top, longest)
        leads = (scores - none.unsqueeze(1)).tolist()
        return [
            [
                ExtractedAnswer(start + reading.start, end + reading.start, _sigmoid(lead))
                for (start, end), lead in zip(*row, strict=True)
                if end
            ]
            for reading, row in zip(readings, zip(spans.tolist(), leads, strict=True), strict=False)
        ]


def _sigmoid(value: float) -> float:
    """One by one, for PyTorch's own rounds otherwise in some places of a tensor than in others."""
    return 1 / (1 + math.exp(-value)) if value > -LARGEST_EXPONENT else 0.0


def token_types(network: Any) -> int:
    """How many token types a model tells apart, 0 when it cannot be told them."""
    if "token_type_ids" not in inspect.signature(network.forward).parameters:
        return 0
    return int(getattr(network.config, "type_vocab_size", 0) or 0)


def word_scores(network: Any, batch: PairBatch) -> tuple[Tensor, Tensor, Tensor]:
    """The scores of each word as start and as end of an answer, and that of no answer, all in fp32.

    Behind the last word there is minus infinity.

    Shape: (readings, subwords), (readings, subwords) and (readings,).
    """
    output = network(**batch.inputs)
    starts, ends = (logits.float() for logits in (output.start_logits, output.end_logits))
    none = (starts + ends).gather(1, batch.summaries.unsqueeze(1)).squeeze(1)
    nowhere = starts.new_full((len(starts), starts.shape[1] + 1), -torch.inf)
    words = [nowhere.scatter_reduce(1, batch.owners, logits, "amax")[:, :-1] for logits in (starts, ends)]
    return words[0], words[1], none


def best_spans(starts: Tensor, ends: Tensor, top: int, longest: int) -> tuple[Tensor, Tensor]:
    """The best spans of each row that do not overlap, best first, and their scores; ``[0, 0)`` when there are no more.

    Args:
        starts: Scores, minus infinity where there is no word. Shape: (rows, words).
        ends: The same.

    Shape: (rows, answers, 2) and (rows, answers).
    """
    words = starts.shape[1]
    top, longest = min(top, words), min(longest, words)
    begin = torch.arange(words, device=starts.device).unsqueeze(1)
    end = begin + torch.arange(1, longest + 1, device=starts.device)
    scores = starts.unsqueeze(2) + nn.functional.pad(ends, (0, longest - 1), value=-torch.inf).unfold(1, longest, 1)
    spans, values = [], []
    for _ in range(top):
        value, place = scores.flatten(1).max(1)
        first = place // longest
        last = first + place % longest + 1
        there = value > -torch.inf
        spans.append(torch.stack([first, last], 1) * there.unsqueeze(1))
        values.append(value)
        overlaps = (begin < last[:, None, None]) & (end > first[:, None, None])
        scores = scores.masked_fill(overlaps, -torch.inf)
    return torch.stack(spans, 1), torch.stack(values, 1)


def _apart(answers: Sequence[ExtractedAnswer], top: int) -> list[ExtractedAnswer]:
    """The best answers of all windows over a sentence, without those that overlap a better one."""
    kept: list[ExtractedAnswer] = []
    taken = bytearray(max((answer.end for answer in answers), default=0))
    for answer in sorted(answers, key=lambda answer: -answer.score):
        if len(kept) < top and not any(taken[answer.start : answer.end]):
            taken[answer.start : answer.end] = b"\1" * (answer.end - answer.start)
            kept.append(answer)
    return kept
