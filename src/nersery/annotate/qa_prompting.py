"""PromptDA, question answering: an extractive model is asked for the mentions of each type."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from nersery.annotate.base import Annotator, TypeSettings, best_non_overlapping
from nersery.core.errors import printable
from nersery.core.registry import unfitted
from nersery.core.sentence import Entity, Sentence
from nersery.core.settings.ranges import Count, Rate
from nersery.core.settings.typed_settings import hidden
from nersery.core.text.definitions import question, undefined
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import advise, warn
from nersery.io.word_splitting.scripts_without_spaces import has_letter_or_digit, with_whole_loanwords
from nersery.models.pretrained.model_settings import ModelSettings
from nersery.models.subwords.joined_characters import character_labels, with_joined_characters

if TYPE_CHECKING:
    from nersery.models.question_answering import ExtractedAnswer, QuestionAnswerer

LONG = 200
"""A sentence with more words than this is probably several in one."""
UNFINDABLE_SHARE = 0.05
"""Warn from this share of mentions that are too long to be found."""


@dataclass
class QaPrompting(TypeSettings, Annotator, ModelSettings):
    """Asks a question-answering model for the mentions of each type; needs no labelled sentences.

    The model answers one question per type, made from its definition ("Who is the named person or family mentioned in
    texts?"). An answer becomes an entity, scored by its probability against "no answer".

    Args:
        model: ``bundled``, or an extractive question-answering model by name or folder, trained with unanswerable
            questions (SQuAD 2.0).
        definitions: Definitions of types, or whole questions. Other types use those of `nersery list types`, or their
            name.
        max_answers: Maximum mentions of a type per 50 words.
        max_answer_words: Maximum words of a mention.
        threshold: Minimum score of an entity, in [0, 1].

    Reference:
        Liu, Chen and Xu (2022), PromptDA, IJCAI, section 3.2.

    Departures:
        - The paper finds one mention and does not say how it detects absence. Here a type may have several, each
          compared with "no answer".
        - The paper does not say which of two types gets a mention; here the higher score decides.
        - The paper shows questions for two types. The others, and that for places, are ours.
        - Answers become whole words, not characters; those without a letter or digit are dropped.
        - The paper uses BERT fine-tuned on SQuAD 2.0; the bundled model, a fifth of its size, is trained on questions
          about types of names.
    """

    max_answers: Count = 3
    max_answer_words: Count = 10
    threshold: Rate = 0.5
    _questions: dict[str, str] = hidden(default_factory=dict)
    _is_model_checked: bool = hidden(default=False)
    _has_warned: bool = hidden(default=False)

    def check(self) -> None:
        _ = self._model

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Choose the types and their questions; nothing is learnt.

        Raises:
            SettingsError: When there is no type to ask for, or a question is too long for the model.
        """
        types = self.types_to_find(gold)
        if unknown := undefined(types, self.definitions):
            advise(
                f"qa_prompting has no definition of {', '.join(unknown)}, so it asks with the name alone: "
                f'"{question(unknown[0], {})}" Define it: '
                f'definitions = {{ {json.dumps(unknown[0], ensure_ascii=False)} = "..." }}'
            )
        mentions = (Sentence(s.mention(entity)) for s in gold for entity in s.entities if entity.type in types)
        lengths = [len(with_joined_characters(mention, self._tokenize)[0]) for mention in mentions]
        unfindable = sum(length > self.max_answer_words for length in lengths) / max(1, len(lengths))
        if unfindable >= UNFINDABLE_SHARE:
            warn(
                f"{unfindable:.0%} of the mentions in gold have more than {self.max_answer_words} words, but "
                f"qa_prompting does not find mentions that long: set max_answer_words = {max(lengths)}"
            )
        self._questions = {type_: question(type_, self.definitions) for type_ in types}
        self._model.check_questions(self._questions.values())

    def annotate(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        if not self._questions:
            raise unfitted(self, "annotate")
        self._warn_if_unsuited(sentences)
        questions = list(self._questions.values()) * len(sentences)
        joined = [with_joined_characters(sentence, self._tokenize) for sentence in sentences]
        texts = [longer.words for longer, _ in joined for _ in self._questions]
        answers = self._model.answers(questions, texts, top=self.max_answers, longest=self.max_answer_words)
        type_count = len(self._questions)
        labelled = [
            longer.with_entities(self._entities(longer, answers[number * type_count : (number + 1) * type_count]))
            for number, (longer, _) in enumerate(joined)
        ]
        return [
            character_labels(sentence, longer, groups)
            for sentence, longer, (_, groups) in zip(sentences, labelled, joined, strict=True)
        ]

    def _tokenize(self, text: str) -> Sequence[str]:
        return self._model.subwords.tokenizer.tokenize(text)

    def _entities(self, sentence: Sentence, answers_by_type: Sequence[Sequence[ExtractedAnswer]]) -> list[Entity]:
        """The mentions among the answers for each type, without those that overlap a better one."""
        return best_non_overlapping(
            Entity(*with_whole_loanwords(sentence.words, answer.start, answer.end), type_, answer.score)
            for type_, answers in zip(self._questions, answers_by_type, strict=True)
            for answer in answers
            if answer.score >= self.threshold
            and any(map(has_letter_or_digit, sentence.words[answer.start : answer.end]))
        )

    @cached_property
    def _model(self) -> QuestionAnswerer:
        from nersery.models.question_answering import QuestionAnswerer

        return QuestionAnswerer(self.source, device=self.device, precision=self.precision)

    def _warn_if_unsuited(self, sentences: Sequence[Sentence]) -> None:
        """Warn once if the model does not suit the text, and once if a sentence is probably several in one."""
        if not self._is_model_checked and sentences:
            words = [word for sentence in sentences for word in sentence.words]
            self._model.warn_if_unsuited(words, {sentence.language for sentence in sentences})
            self._is_model_checked = True
        longest = max(sentences, key=len, default=None)
        if longest is not None and len(longest) > LONG and not self._has_warned:
            warn(
                f"the sentence {printable(longest.id)} has {len(longest):,} words: one question about such a long text "
                "finds fewer mentions than a question about each sentence. Put each sentence on a line of its own"
            )
            self._has_warned = True
