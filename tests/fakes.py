"""A masked language model that is none: it answers with words of the right kind, and checks what it is asked."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pytest

from nersery.augment.linearization import tag_token
from nersery.definitions import OUTSIDE, definition
from nersery.lm.cloze import OWN, Cloze, Drawing, is_replaceable
from nersery.rng import item_rng

TAGS, DEFINITIONS, LABELS, NOTHING = "shows tags", "shows definitions", "shows labels", "shows nothing"
"""Names of the model, by what it shall be shown of a hidden word's type."""
NUMBERED = re.compile(r"(.+)\.\d")
TYPES = {"o": None, "PER": "PER", "LOC": "LOC", "cre": "creative work", "NEW": "NEW"}
"""What words such as ``PER.1`` say of themselves."""


class FakeMaskedLM:
    """Stands in for `nersery.lm.masked.MaskedLM`.

    Attributes:
        kinds: The type of each word that does not say it itself, or ``o``.
    """

    kinds: Mapping[str, str] = {}

    def __init__(self, source: Any, device: str = "auto", precision: str = "auto") -> None:
        self.shows: str = source.name
        assert self.shows in (TAGS, DEFINITIONS, LABELS, NOTHING)
        self.precision = precision
        self.tokens: set[str] = set()

    def warn_of_misfit(self, words: Sequence[str], languages: Collection[str]) -> None:
        assert words

    def check_condition(self, condition: Sequence[str]) -> None:
        assert all(condition)

    def add_tokens(self, descriptions: Mapping[str, str]) -> None:
        assert self.shows == TAGS
        assert all(token.startswith(OWN) and text.split() for token, text in descriptions.items())
        self.tokens |= set(descriptions)

    def fine_tune(
        self,
        examples: Sequence[Any],
        cloze: Callable[[Any, random.Random], Cloze],
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
            self._check(cloze(example, item_rng(seed, number)))

    def fill(self, clozes: Sequence[Cloze], rngs: Sequence[random.Random], drawing: Drawing) -> list[tuple[str, ...]]:
        filled = []
        for cloze, rng in zip(clozes, rngs, strict=True):
            self._check(cloze)
            assert all(is_replaceable(cloze.words[gap]) for gap in cloze.gaps)
            filled.append(tuple(rng.choice(self._others(cloze.words[gap])) for gap in cloze.gaps))
        return filled

    def _type_of(self, word: str) -> str | None:
        if match := NUMBERED.fullmatch(word):
            return TYPES[match[1]]
        return None if (kind := self.kinds.get(word, "o")) == "o" else kind

    def _others(self, word: str) -> list[str]:
        """Other words of the same kind; the word itself where none is known."""
        if match := NUMBERED.fullmatch(word):
            alike = [f"{match[1]}.{number}" for number in range(10)]
        else:
            alike = [other for other, kind in self.kinds.items() if kind == self.kinds.get(word)]
        return [other for other in alike if other != word] or [word]

    def _check(self, cloze: Cloze) -> None:
        """A text with gaps must be sound, and show of each hidden word what it shall."""
        assert list(cloze.gaps) == sorted(set(cloze.gaps))
        assert all(0 <= gap < len(cloze.words) for gap in cloze.gaps)
        own = {word for word in cloze.words if OWN in word}
        assert own <= self.tokens
        assert all(word.rindex(OWN) == 0 for word in own)
        for gap in cloze.gaps:
            assert cloze.words[gap] not in own
            self._check_shown(cloze, gap, self._type_of(cloze.words[gap]))

    def _check_shown(self, cloze: Cloze, gap: int, type_: str | None) -> None:
        if self.shows == TAGS:
            assert type_ is not None
            before, behind = cloze.words[gap - 1], cloze.words[gap + 1]
            begins, inside = (tag_token(type_, begins=begins) for begins in (True, False))
            assert before == behind
            assert before == begins or (before == inside and cloze.words[gap - 2] in (begins, inside))
        shown = {
            TAGS: "",
            NOTHING: "",
            LABELS: "O" if type_ is None else type_,
            DEFINITIONS: OUTSIDE if type_ is None else definition(type_, {}),
        }
        assert " ".join(cloze.condition) == shown[self.shows]


def install(patch: pytest.MonkeyPatch, kinds: Mapping[str, str]) -> None:
    """Put the fake in the place of all masked language models, which need not be there.

    Args:
        kinds: The type of each word that does not say it itself, or ``o``.
    """
    patch.setattr("nersery.lm.masked.MaskedLM", FakeMaskedLM)
    patch.setattr("nersery.lm.masked.tokenizer_with_mask", lambda source: None)
    patch.setattr("nersery.lm.load.ModelSource.config", lambda source: None)
    patch.setattr(FakeMaskedLM, "kinds", kinds)
