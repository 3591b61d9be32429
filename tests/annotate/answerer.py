"""Stand-ins for question-answering models: one that finds words of the requested type, and a tiny real one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nersery.core.random import item_rng
from nersery.core.text.definitions import question
from nersery.models.question_answering import ExtractedAnswer
from tests.conftest import TINY, build_tokenizer


class FakeAnswerer:
    """Stands in for `QuestionAnswerer`: in a run of words ``PER.1 PER.2`` it sees a mention of PER.

    Attributes:
        types: The types that questions can ask for.
        calls: The number of pairs of every call.
    """

    types: Sequence[str] = ("PER", "LOC", "creative work")
    calls: list[int]

    def __init__(self, source: Any, *, device: str = "auto", precision: str = "auto") -> None:
        self.calls = []
        self.subwords = SimpleNamespace(tokenizer=SimpleNamespace(tokenize=list))
        self._types = {question(type_, own): type_ for type_ in self.types for own in ({}, {type_: type_})}

    def warn_if_unsuited(self, words: Sequence[str], languages: Collection[str]) -> None:
        assert words

    def check_questions(self, questions: Iterable[str]) -> None:
        assert all(questions)

    def answers(
        self, questions: Sequence[str], sentences: Sequence[Sequence[str]], *, top: int, longest: int
    ) -> list[list[ExtractedAnswer]]:
        self.calls.append(len(questions))
        return [
            self._answers(self._types[asked], words)[:top] for asked, words in zip(questions, sentences, strict=True)
        ]

    def _answers(self, type_: str, words: Sequence[str]) -> list[ExtractedAnswer]:
        """Every run of words of the type, and as poor answers the first words of all others, best first."""
        found, start = [], 0
        for prefix, run in groupby(words, lambda word: word.partition(".")[0]):
            end = start + len(list(run))
            chance = item_rng(*words[start:end], type_).random() / 2
            if prefix == type_[:3]:
                found.append(ExtractedAnswer(start, end, 0.5 + chance))
            else:
                found.append(ExtractedAnswer(start, start + 1, chance))
            start = end
        return sorted(found, key=lambda answer: -answer.score)


def build_answerer(folder: Path) -> str:
    """The folder of an untrained question-answering model, which still gives some answers."""
    import torch
    from tokenizers import processors
    from transformers import AutoTokenizer, BertConfig, BertForQuestionAnswering

    build_tokenizer("wordpiece", folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    BertForQuestionAnswering(BertConfig(vocab_size=500, initializer_range=0.3, **TINY)).save_pretrained(folder)
    return str(folder)
