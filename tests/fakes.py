"""A fake masked language model: it answers with words of the right kind, and checks its input."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import pytest

from nersery import Entity, Sentence
from nersery.augment.linearized.linearization import tag_token
from nersery.core.random import item_rng
from nersery.core.text.definitions import NO_ENTITY, definition
from nersery.io.word_splitting.scripts_without_spaces import has_letter_or_digit
from nersery.models.llm.prompt import Completion, Prompt
from nersery.models.masked.masked_inputs import Drawing, MaskedInput
from nersery.models.seq2seq.seq2seq_inputs import Generated, Sampling, TextPair
from nersery.models.tokens import GAP, TOKEN_PREFIX, UNKNOWN

TAGS, DEFINITIONS, LABELS, NOTHING = "shows tags", "shows definitions", "shows labels", "shows nothing"
CONTEXT = "shows tags and hides context"
FLIPPED, BEGINNINGS = "shows tags of other types", "shows beginnings"
"""Names of the model, by what its input should show of a hidden word's type."""
NUMBERED = re.compile(r"(.+)\.\d")
TYPES = {"o": None, "PER": "PER", "LOC": "LOC", "cre": "creative work", "NEW": "NEW"}
"""The types in words such as ``PER.1``."""


class FakeVocabulary:
    """The vocabulary of a model whose words are one subword each."""

    own_function_words: frozenset[str] = frozenset()

    def subwords(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        return [(0,) for _ in words]

    def without_beginnings(self, words: Sequence[Sequence[int]]) -> FakeVocabulary:
        assert all(len(subwords) == 1 for subwords in words)
        return self

    without_foreign_punctuation = without_beginnings

    def with_function_words(self, latin: frozenset[str], own: frozenset[str]) -> FakeVocabulary:
        return self


class FakeMaskedLM:
    """Stands in for `nersery.models.masked.masked_lm.MaskedLM`.

    Attributes:
        kinds: The type of each word that does not contain it, or ``o``.
    """

    kinds: Mapping[str, str] = {}
    encoder = vocabulary = FakeVocabulary()

    def __init__(self, source: Any, device: str = "auto", precision: str = "auto") -> None:
        self.shows: str = source.name
        assert self.shows in (TAGS, DEFINITIONS, LABELS, NOTHING, CONTEXT, FLIPPED, BEGINNINGS)
        self.precision = precision
        self.tokens: set[str] = set()

    def warn_if_unsuited(self, words: Sequence[str], languages: Collection[str]) -> None:
        assert words

    def check_condition(self, condition: Sequence[str]) -> None:
        assert all(condition)

    def add_tokens(self, descriptions: Mapping[str, str]) -> None:
        assert self.shows in (TAGS, CONTEXT, FLIPPED, BEGINNINGS)
        assert all(token.startswith(TOKEN_PREFIX) and text.split() for token, text in descriptions.items())
        self.tokens |= set(descriptions)

    def fine_tune(
        self,
        examples: Sequence[Any],
        masked_input: Callable[[Any, random.Random], MaskedInput],
        plan: Any,
        *,
        rate: float,
        dev: Sequence[Any] = (),
        seed: int = 0,
        **keeping: Any,
    ) -> None:
        assert self.shows != NOTHING
        assert set(keeping) <= {"progress", "folder", "fingerprint"}
        assert 0 < rate <= 1
        for number, example in enumerate([*examples, *dev]):
            self._check(masked_input(example, item_rng(seed, number)))

    def fill(
        self, masked_inputs: Sequence[MaskedInput], rngs: Sequence[random.Random], drawing: Drawing
    ) -> list[tuple[str, ...]]:
        filled = []
        for masked_input, rng in zip(masked_inputs, rngs, strict=True):
            self._check(masked_input)
            assert all(has_letter_or_digit(masked_input.words[gap]) for gap in masked_input.gaps)
            filled.append(tuple(rng.choice(self._fitting(masked_input, gap)) for gap in masked_input.gaps))
        return filled

    def _fitting(self, masked_input: MaskedInput, gap: int) -> list[str]:
        """Words for a gap: of the kind of its word, or of another kind if the input shows that."""
        word, type_ = masked_input.words[gap], self.type_of(masked_input.words[gap])
        shown = self._type_shown(masked_input, gap) if self.shows == FLIPPED else type_
        return self._others(word) if shown == type_ else self.of_type(shown, like=word)

    def guesses(
        self, masked_inputs: Sequence[MaskedInput], top_k: int, *, punctuation: bool
    ) -> list[list[list[tuple[str, float]]]]:
        """Up to ``top_k`` words outside entities, which depend on the text."""
        assert self.shows == CONTEXT
        assert punctuation
        found = []
        for masked_input in masked_inputs:
            self._check(masked_input)
            rng = item_rng(0, *masked_input.words)
            numbered = any(map(NUMBERED.fullmatch, masked_input.words))
            outside = self._others("o.0") if numbered else [word for word, kind in self.kinds.items() if kind == "o"]
            words = rng.sample(outside, min(top_k, len(outside)))
            found.append([[(word, 1 / (n + gap + 2)) for n, word in enumerate(words)] for gap in masked_input.gaps])
        return found

    def type_of(self, word: str) -> str | None:
        if match := NUMBERED.fullmatch(word):
            return TYPES[match[1]]
        return None if (kind := self.kinds.get(word, "o")) == "o" else kind

    def _others(self, word: str) -> list[str]:
        """Other words of the same kind, or the word itself if there are no others."""
        if match := NUMBERED.fullmatch(word):
            alike = [f"{match[1]}.{number}" for number in range(10)]
        else:
            alike = [other for other, kind in self.kinds.items() if kind == self.kinds.get(word)]
        return [other for other in alike if other != word] or [word]

    def of_type(self, type_: str | None, *, like: str) -> list[str]:
        """Words of a type, with numbers if ``like`` has a number."""
        if NUMBERED.fullmatch(like):
            (kind,) = (kind for kind, known in TYPES.items() if known == type_)
            return [f"{kind}.{number}" for number in range(10)]
        return [word for word, kind in self.kinds.items() if kind == (type_ or "o")]

    def _type_shown(self, masked_input: MaskedInput, gap: int) -> str | None:
        """The type of the tag tokens around a gap, or None if all tags before it are closed."""
        if not sum(word.startswith(TOKEN_PREFIX) for word in masked_input.words[:gap]) % 2:
            return None
        known = {*TYPES.values(), *self.kinds.values()} - {None, "o"}
        tokens = {tag_token(type_, begins=begins): type_ for type_ in known if type_ for begins in (True, False)}
        assert masked_input.words[gap - 1] == masked_input.words[gap + 1]
        return tokens[masked_input.words[gap - 1]]

    def _check(self, masked_input: MaskedInput) -> None:
        """Check that a text with gaps is valid, and shows what it should of each hidden word."""
        assert list(masked_input.gaps) == sorted(set(masked_input.gaps))
        assert all(0 <= gap < len(masked_input.words) for gap in masked_input.gaps)
        own = {word for word in masked_input.words if TOKEN_PREFIX in word}
        assert own <= self.tokens
        assert all(word.rindex(TOKEN_PREFIX) == 0 for word in own)
        for gap in masked_input.gaps:
            assert masked_input.words[gap] not in own
            self._check_shown(masked_input, gap, self.type_of(masked_input.words[gap]))

    def _check_shown(self, masked_input: MaskedInput, gap: int, type_: str | None) -> None:
        if self.shows == FLIPPED:
            assert (type_ is None) == (self._type_shown(masked_input, gap) is None)
        if self.shows == TAGS:
            assert type_ is not None
            before, behind = masked_input.words[gap - 1], masked_input.words[gap + 1]
            begins, inside = (tag_token(type_, begins=begins) for begins in (True, False))
            assert before == behind
            assert before == begins or (before == inside and masked_input.words[gap - 2] in (begins, inside))
        if self.shows == CONTEXT:
            assert type_ is None, "no word of an entity is hidden"
        shown = {
            TAGS: "",
            CONTEXT: "",
            FLIPPED: "",
            NOTHING: "",
            LABELS: "O" if type_ is None else type_,
            DEFINITIONS: NO_ENTITY if type_ is None else definition(type_, {}),
        }
        assert " ".join(masked_input.condition) == shown[self.shows]


class FakeTagger:
    """Sees an entity in every run of words of one type."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self.model = FakeMaskedLM(SimpleNamespace(name=NOTHING))
        self.model.kinds = kinds

    def predict(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        return [sentence.with_entities(self._entities(sentence.words)) for sentence in sentences]

    def _entities(self, words: Sequence[str]) -> Iterator[Entity]:
        start = 0
        for type_, run in groupby(words, self.model.type_of):
            end = start + len(list(run))
            if type_ is not None:
                yield Entity(start, end, type_, 0.5 + 0.5 * item_rng(*words[start:end]).random())
            start = end


class FakeLSTM(FakeMaskedLM):
    """Stands in for `nersery.models.lstm.LSTMLanguageModel`: writes training texts, with other words of their types."""

    def __init__(self, words: Sequence[str], **sizes: Any) -> None:
        self.words = frozenset(words)

    def fit(
        self, texts: Sequence[tuple[str, ...]], plan: Any, *, dev: Sequence[Any], seed: int, **keeping: Any
    ) -> None:
        assert set(keeping) <= {"progress", "folder", "fingerprint"}
        self.texts = list(texts)
        for text in (*texts, *dev):
            assert {word for word in text if word.startswith(TOKEN_PREFIX)} <= self.words
            for place, word in enumerate(text):
                if not word.startswith(TOKEN_PREFIX) and (type_ := self.type_of(word)):
                    assert text[place - 1] in {tag_token(type_, begins=begins) for begins in (True, False)}

    def sample(
        self, rngs: Sequence[random.Random], *, max_words: int, temperature: float, starts: Sequence[tuple[str, ...]]
    ) -> list[tuple[str, ...] | None]:
        return [self._sampled(*each, max_words) for each in zip(rngs, starts, strict=True)]

    def _sampled(self, rng: random.Random, start: tuple[str, ...], max_words: int) -> tuple[str, ...] | None:
        text = rng.choice([text for text in self.texts if text[: len(start)] == start] or self.texts)
        words = (word if word.startswith(TOKEN_PREFIX) else rng.choice(self._others(word)) for word in text)
        known = tuple(word if word in self.words else UNKNOWN for word in words)
        return known if len(text) <= max_words else None


class FakeSeq2Seq(FakeMaskedLM):
    """Stands in for `Seq2Seq`: continues a beginning with a training text."""

    def __init__(self, source: Any, device: str, precision: str, language: str) -> None:
        super().__init__(source)
        assert self.shows == BEGINNINGS
        self.precision = precision

    def length_issue(self, pair: TextPair) -> str:
        return "" if pair.source else "no source"

    def written(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(words)

    def parts(self, word: str) -> tuple[str, ...]:
        return tuple(word.split())

    def fine_tune(  # type: ignore[override]
        self,
        items: Sequence[Any],
        pair: Callable[[Any, random.Random], TextPair],
        plan: Any,
        *,
        dev: Sequence[Any] = (),
        seed: int = 0,
        **keeping: Any,
    ) -> None:
        assert set(keeping) <= {"progress", "folder", "fingerprint"}
        self.texts = []
        for number, item in enumerate([*items, *dev]):
            *shown, gap = (drawn := pair(item, item_rng(seed, number))).source
            assert gap == GAP
            assert drawn.target[: len(shown)] == tuple(shown)
            assert {word for word in drawn.target if word.startswith(TOKEN_PREFIX)} <= self.tokens
            self.texts.append(drawn.target)

    def generate(
        self, sources: Sequence[TextPair | None], rngs: Sequence[random.Random], sampling: Sampling
    ) -> list[Generated | None]:
        made: list[Generated | None] = []
        for pair, rng in zip(sources, rngs, strict=True):
            if pair is None:
                made.append(None)
                continue
            *shown, gap = pair.source
            assert gap == GAP
            assert pair.language
            text = (
                word if word.startswith(TOKEN_PREFIX) else rng.choice(self._others(word))
                for word in rng.choice(self.texts)
            )
            made.append(Generated((*shown, *text), -1.0, finished=len(shown) < 10))
        return made


def install(patch: pytest.MonkeyPatch, kinds: Mapping[str, str]) -> None:
    """Replace all masked language models, which need not be installed, by the fake.

    Args:
        kinds: The type of each word that does not contain it, or ``o``.
    """
    patch.setattr("nersery.models.masked.masked_lm.MaskedLM", FakeMaskedLM)
    patch.setattr("nersery.models.masked.masked_lm.tokenizer_with_mask", lambda source: None)
    config = SimpleNamespace(is_encoder_decoder=False)
    patch.setattr("nersery.models.pretrained.loading.ModelSource.config", lambda source: config)
    patch.setattr("nersery.models.seq2seq.encoder_decoder.Seq2Seq", FakeSeq2Seq)
    patch.setattr("nersery.models.lstm.LSTMLanguageModel", FakeLSTM)
    patch.setattr("nersery.taggers.training.gold_tagger.load_tagger", lambda folder, **_: FakeTagger(kinds))
    patch.setattr(FakeMaskedLM, "kinds", kinds)
    patch.setattr("nersery.models.llm.chat_client.ChatClient.check", lambda client: None)
    patch.setattr("nersery.models.llm.chat_client.ChatClient.ask", fake_llm(kinds))


def fake_llm(kinds: Mapping[str, str]) -> Callable[..., list[Completion]]:
    """A language model that labels words by their types, and replaces entities by words of their type."""

    def labelled(text: str) -> list[dict[str, str]]:
        words = text.split(" ")
        types = [kinds.get(word) or TYPES.get(word.partition(".")[0]) or "o" for word in words]
        runs = [(type_, [*run]) for type_, run in groupby(zip(types, words, strict=True), lambda pair: pair[0])]
        return [{"text": " ".join(word for _, word in run), "type": type_} for type_, run in runs if type_ != "o"]

    def other(entity: Mapping[str, str], seed: int) -> str:
        prefix = entity["text"].partition(".")[0]
        known = [word for word, type_ in kinds.items() if type_ == entity["type"]]
        return f"{prefix}.{seed % 97}" if prefix in TYPES else known[seed % len(known)]

    def answer(prompt: Prompt) -> Completion:
        data = json.loads(prompt.messages[-1][1])
        if "entities" in data:
            return Completion(json.dumps({"entities": [other(entity, prompt.seed) for entity in data["entities"]]}))
        return Completion(json.dumps({"entities": labelled(data["sentence"])}))

    return lambda client, prompts, label="", *, quiet=True: [answer(prompt) for prompt in prompts]


class FakeGliner:
    """Stands in for a GLiNER model: it finds the types in words, or those given.

    Args:
        kinds: The type of each word that does not contain it, or ``o``.
    """

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._kinds = kinds
        self.config = SimpleNamespace(max_len=1000)
        self.data_processor = SimpleNamespace(words_splitter=str.split)

    def inference(self, texts: list[str], labels: list[str], threshold: float) -> list[list[dict[str, Any]]]:
        (text,) = texts
        names = {"PER": labels[0], "LOC": labels[1], "creative work": labels[2]}
        found, place = list[dict[str, Any]](), 0
        for word in text.split(" "):
            type_ = self._kinds.get(word) or TYPES.get(word.partition(".")[0])
            if type_ in names:
                found.append({"start": place, "end": place + len(word), "label": names[type_], "score": 0.9})
            place += len(word) + 1
        return [found]
