"""DAGA: a small recurrent language model, trained on sentences with their tags, writes new ones from scratch."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nersery.augment.base import Augmenter
from nersery.augment.components.gold_training import sentences_with_entities
from nersery.augment.components.shared_settings import FineTuningSettings
from nersery.augment.linearized.linearization import language_token, linearize
from nersery.augment.linearized.parsing import parsed_child, punctuation_mentions
from nersery.core.outcome import Reject
from nersery.core.registry import unfitted
from nersery.core.sentence import Sentence, types_in
from nersery.core.settings.ranges import Count, Positive, RateBelowOne
from nersery.core.settings.typed_settings import hidden
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.tokens import TOKEN_PREFIX, UNKNOWN

UNFINISHED = "longer than max_words"
OTHER_LANGUAGE = "a language that gold does not have"


@dataclass
class DAGA(FineTuningSettings, Augmenter):
    """Generates new labelled sentences with a small language model trained on gold alone.

    An LSTM learns gold sentences with a tag token before each entity word, then writes new ones, which share only the
    language with their parents. Filter the output with `duplicates`.

    Args:
        min_count: Words rarer than this in gold become an unknown token. Where the model writes it, a rare word with
            the same tag is drawn.
        embedding_size: Dimension of word embeddings.
        hidden_size: Dimension of the LSTM.
        dropout: Dropout rate, in [0, 1).
        temperature: Sampling temperature, above 0; below 1 favours probable words.
        max_words: Maximum length including tags; longer texts are rejected.
        learning_rate: Initial rate of gradient descent; falls to zero.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:0``.

    Reference:
        Ding et al. (2020). DAGA: Data Augmentation with a Generation Approach for Low-resource Tagging Tasks. EMNLP.

    Departures:
        - The code writes unknown tokens, replaces numbers and truncates long texts. We do not; long texts are rejected.
        - The code halves the learning rate after an epoch without a lower dev loss and stops after two; here the rate
          falls at every step.
        - With several languages, each sentence begins with a language token, as in MulDA.
        - The variants with raw text or a knowledge base are not implemented.
    """

    min_count: Count = 2
    embedding_size: Count = 300
    hidden_size: Count = 512
    dropout: RateBelowOne = 0.5
    temperature: Positive = 1.0
    max_words: Count = 100
    epochs: Count = 30
    learning_rate: Positive = 1.0
    device: str = "auto"
    _lm: Any = hidden(default=None)
    _types: frozenset[str] = hidden(default=frozenset())
    _punctuation_mentions: frozenset[tuple[str, ...]] = hidden(default=frozenset())
    _rare: Mapping[tuple[str, ...], Sequence[str]] = hidden(default_factory=dict)
    _languages: frozenset[str] = hidden(default=frozenset())

    def check(self) -> None:
        from nersery.models.pretrained.loading import pick_device

        pick_device(self.device)

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Train the model on gold sentences with their tags. Raises `DataError` if no sentence has an entity."""
        from nersery.models.lstm import LSTMLanguageModel, frequent, training_plan
        from nersery.taggers.base import training_record

        sentences, dev = (sorted(part, key=lambda sentence: sentence.id) for part in (gold, training.dev))
        labelled = sentences_with_entities(self, sentences)
        self._types, self._punctuation_mentions = frozenset(types_in(labelled)), punctuation_mentions(labelled)
        self._languages = frozenset(sentence.language for sentence in sentences)
        texts, dev_texts = ([self._text(sentence) for sentence in part] for part in (sentences, dev))
        words = frequent(texts, self.min_count)
        self._rare = self._rare_words(sentences, frozenset(words))
        self._lm = LSTMLanguageModel(
            words,
            embedding=self.embedding_size,
            hidden=self.hidden_size,
            dropout=self.dropout,
            seed=training.seed,
            device=self.device,
        )
        languages = [sentence.language for sentence in (*sentences, *dev)] if self._has_language_token else []
        self._lm.fit(
            texts,
            training_plan(self.epochs, self.batch_size, self.learning_rate, self.patience),
            dev=dev_texts,
            seed=training.seed,
            progress=training.progress,
            folder=training.folder,
            fingerprint=training_record(self, sentences, dev) | {"languages": languages},
        )

    def generate_batch(self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]) -> list[Sentence | Reject]:
        if self._lm is None:
            raise unfitted(self, "generate")
        outcomes: list[Sentence | Reject] = [Reject(OTHER_LANGUAGE) for _ in sentences]
        due = [number for number, sentence in enumerate(sentences) if self._knows_language_of(sentence)]
        starts = [self._start(self._language(sentences[n], rngs[n])) for n in due]
        texts = self._lm.sample(
            [rngs[n] for n in due], max_words=self.max_words, temperature=self.temperature, starts=starts
        )
        for number, text, start in zip(due, texts, starts, strict=True):
            outcomes[number] = self._parsed(text, start, sentences[number], rngs[number])
        return outcomes

    def _knows_language_of(self, sentence: Sentence) -> bool:
        """Whether this sentence names no language, or gold has sentences in its language or without a language."""
        return not sentence.language or not self._languages.isdisjoint({sentence.language, ""})

    @property
    def _has_language_token(self) -> bool:
        """Whether texts begin with their language."""
        return len(self._languages) > 1

    def _text(self, sentence: Sentence) -> tuple[str, ...]:
        return (*self._start(sentence.language), *linearize(sentence, closed=False).words)

    def _start(self, language: str) -> tuple[str, ...]:
        return (language_token(language),) if self._has_language_token else ()

    def _language(self, sentence: Sentence, rng: random.Random) -> str:
        """The sentence's language. If gold lacks it: no language if gold has sentences without one, or a random one."""
        if sentence.language in self._languages or not self._has_language_token:
            return sentence.language
        return "" if "" in self._languages else rng.choice(sorted(self._languages))

    def _rare_words(self, gold: Iterable[Sentence], known: Collection[str]) -> dict[tuple[str, ...], list[str]]:
        """The words that the model does not know, by language and by the tag token before them, if there is one."""
        rare: dict[tuple[str, ...], list[str]] = {}
        for sentence in gold:
            words = linearize(sentence, closed=False).words
            for position, word in enumerate(words):
                if word not in known:
                    rare.setdefault((*self._start(sentence.language), _tag_before(words, position)), []).append(word)
        return rare

    def _parsed(
        self, text: Sequence[str] | None, start: tuple[str, ...], parent: Sentence, rng: random.Random
    ) -> Sentence | Reject:
        if text is None:
            return Reject(UNFINISHED)
        words = list(text[len(start) :])
        for position, word in enumerate(words):
            if word == UNKNOWN and (rare := self._rare.get((*start, _tag_before(words, position)))):
                words[position] = rng.choice(rare)
        return parsed_child(words, self._types, parent, self._punctuation_mentions)


def _tag_before(words: Sequence[str], position: int) -> str:
    return words[position - 1] if position and words[position - 1].startswith(TOKEN_PREFIX) else ""
