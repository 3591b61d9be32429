"""The tags of a tagger's output layer: their indices, and which tags may follow which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor, nn

from nersery.core.errors import MissingResourceError
from nersery.core.sentence import Entity, Sentence, SoftLabel
from nersery.core.tags import OUTSIDE, SCHEMES, encode

OutputScheme = Literal["IOB2", "BIOES"]
LETTERS: dict[str, str] = {"B": "B", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S", "W": "S"}
"""The meaning of each letter of the common schemes: begin, inside, end, single."""
MIN_PROBABILITY = 1e-3
"""Soft labels with smaller probabilities are left out."""


@dataclass(frozen=True)
class TagSet:
    """Tags in the order of a model's outputs.

    >>> tags = TagSet.of(["PER"])
    >>> tags.names, tags.indices([Entity(1, 3, "PER")], 4)
    (('O', 'B-PER', 'I-PER'), [0, 1, 2, 0])
    >>> tags.entities([0, 1, 2, 0], [1.0, 0.5, 1.0, 1.0])
    [Entity(start=1, end=3, type='PER', score=0.75)]
    """

    names: tuple[str, ...]
    strict: bool = True
    """Whether broken sequences are forbidden. Third-party models may begin entities with I."""

    @classmethod
    def of(cls, types: Iterable[str], scheme: OutputScheme = "IOB2") -> TagSet:
        """The tags of types in a scheme."""
        return cls((OUTSIDE, *(f"{letter}-{type_}" for type_ in sorted(types) for letter in SCHEMES[scheme].letters)))

    @cached_property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """The meaning (B, I, E, S or O) and the type of each tag."""
        parts = []
        for name in self.names:
            letter, dash, type_ = name.partition("-")
            if name == OUTSIDE:
                parts.append((OUTSIDE, ""))
            elif dash and letter in LETTERS and type_:
                parts.append((LETTERS[letter], type_))
            else:
                raise MissingResourceError(
                    f'the model predicts "{name}", which is not a tag: expected O, B-PER, I-PER and the like. '
                    'If it recognises entities, name its tags in its config.json, e.g. "id2label": {"0": "O", "1": '
                    '"B-PER", "2": "I-PER"}; else choose another model'
                )
        return tuple(parts)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types, sorted."""
        return tuple(sorted({type_ for _, type_ in self.parts if type_}))

    @cached_property
    def _closed(self) -> bool:
        """Whether the scheme marks the ends of entities."""
        return any(letter in "ES" for letter, _ in self.parts)

    def _may_follow(self, before: tuple[str, str], after: tuple[str, str]) -> bool:
        if not self.strict:
            return True
        if after[0] in "IE":
            return before[0] in "BI" and before[1] == after[1]
        return not (self._closed and before[0] in "BI")

    @property
    def allowed(self) -> Tensor:
        """Whether the column's tag may follow the row's tag. Shape: (tags, tags)."""
        return torch.tensor([[self._may_follow(a, b) for b in self.parts] for a in self.parts])

    @property
    def allowed_start(self) -> Tensor:
        """Whether a sentence may begin with the tag. Shape: (tags,)."""
        return torch.tensor([self._may_follow((OUTSIDE, ""), tag) for tag in self.parts])

    @property
    def allowed_end(self) -> Tensor:
        """Whether a sentence may end with the tag. Shape: (tags,)."""
        return torch.tensor([self._may_follow(tag, (OUTSIDE, "")) for tag in self.parts])

    @cached_property
    def _index(self) -> dict[str, int]:
        """The index of each tag, by its name in IOB2 or BIOES; the tag set may use other letters."""
        return {f"{letter}-{type_}" if type_ else letter: index for index, (letter, type_) in enumerate(self.parts)}

    def indices(self, entities: Iterable[Entity], length: int) -> list[int]:
        """The labels of a sentence as one tag index per word; raises `KeyError` for a type that the tag set lacks."""
        return [self._index[tag] for tag in encode(entities, length, "BIOES" if self._closed else "IOB2")]

    @cached_property
    def _begins(self) -> dict[str, int]:
        """The number of each type's beginning in `labels`; the number of its inside is one higher."""
        return {type_: 2 * number + 2 for number, type_ in enumerate(self.types)}

    def labels(self, paths: Tensor) -> Tensor:
        """The labels of legal paths, one number per word in every scheme. It encodes the type and whether an entity
        begins there; 0 is outside.

        Args:
            paths: Shape: (..., words).

        >>> tags = TagSet.of(["LOC", "PER"], "BIOES")
        >>> path = torch.tensor(tags.indices([Entity(1, 3, "PER"), Entity(3, 4, "LOC")], 4))
        >>> tags.labels(path).tolist(), tags.labels_of([Entity(0, 2, "PER")], 2)
        ([0, 4, 5, 2], [4, 5])
        """
        types = torch.tensor([self._begins.get(type_, 0) for _, type_ in self.parts])[paths]
        inside = torch.tensor([letter in "IE" for letter, _ in self.parts])[paths]
        continues = inside[..., 1:] & (types[..., 1:] == types[..., :-1])
        return types + nn.functional.pad(continues, (1, 0))

    def labels_of(self, entities: Iterable[Entity], length: int) -> list[int]:
        """The numbers of `labels` for the entities of a sentence; negative if the tag set lacks the type."""
        labels = [0] * length
        for entity in entities:
            begins = self._begins.get(entity.type, -2)
            labels[entity.start : entity.end] = [begins] + [begins + 1] * (entity.end - entity.start - 1)
        return labels

    @cached_property
    def label_of_tag(self) -> Tensor:
        """1 where a tag stands for a label of `labels`, otherwise 0. Shape: (tags, labels)."""
        labels = [self._begins.get(type_, 0) + (letter in "IE") for letter, type_ in self.parts]
        return nn.functional.one_hot(torch.tensor(labels), 2 * len(self.types) + 2).float()

    def soft_labels(self, shares: Tensor, words: Iterable[int]) -> tuple[SoftLabel, ...]:
        """The soft labels of some words.

        Args:
            shares: Probability of each label of `labels`. Shape: (words, labels).
        """
        candidates = [
            (word, type_, *shares[word, begins : begins + 2].tolist())
            for word in words
            for type_, begins in self._begins.items()
        ]
        return tuple(SoftLabel(w, t, round(b, 4), round(i, 4)) for w, t, b, i in candidates if b + i >= MIN_PROBABILITY)

    def soft_targets(self, sentence: Sentence) -> Tensor:
        """The probability of each label of `labels` at each word, from its soft labels or else 1 for its hard label.

        A soft label of a type that the tag set lacks counts as no mention. Shape: (words, labels).
        """
        hard = torch.tensor(self.labels_of(sentence.entities, len(sentence)))
        targets = nn.functional.one_hot(hard, 2 * len(self.types) + 2).float()
        targets[sorted({label.word for label in sentence.soft_labels})] = 0.0
        for label in sentence.soft_labels:
            if label.type in self._begins:
                begins = self._begins[label.type]
                targets[label.word, begins : begins + 2] += torch.tensor([label.begin, label.inside])
        targets[:, 0] += (1 - targets.sum(1)).clamp_min(0.0)
        return targets

    def entities(self, indices: Sequence[int], scores: Sequence[float]) -> list[Entity]:
        """The entities of a legal path.

        Args:
            indices: One tag per word.
            scores: Probability of each word's tag, in [0, 1]. The score of an entity is the mean over its words.
        """
        entities: list[Entity] = []
        start, open_type = 0, ""
        for position in range(len(indices) + 1):
            letter, type_ = self.parts[indices[position]] if position < len(indices) else (OUTSIDE, "")
            continues = letter in "IE" and type_ == open_type
            if open_type and not continues:
                score = sum(scores[start:position]) / (position - start)
                entities.append(Entity(start, position, open_type, round(score, 4)))
            if not continues:
                start, open_type = position, type_
        return entities
