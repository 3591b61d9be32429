"""Several aligners vote on each link."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nersery.core.batched import batched
from nersery.core.errors import MissingResourceError, SettingsError, did_you_mean
from nersery.core.outcome import Reject
from nersery.core.registry import create, get, names
from nersery.core.settings.ranges import CountOrZero, NotNegative, RateBetween
from nersery.core.settings.typed_settings import ModelName, hidden
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import warn
from nersery.crosslingual.aligner_components.aligner_checkpoint import learnt_path
from nersery.crosslingual.aligner_components.characters import JoinedPairs, character_links, joined_pair
from nersery.crosslingual.aligner_components.symmetrization import mutually_best
from nersery.crosslingual.aligners.base import Aligner, Alignment, Link, Pair, Pairs, Suggestions, alignments_of
from nersery.crosslingual.label_projection.projection import alignment_issue
from nersery.io.word_splitting.scripts_without_spaces import is_character
from nersery.models.bundled_models.bundled import MULTILINGUAL
from nersery.models.pretrained.model_settings import ModelSettings
from nersery.models.subwords.joined_characters import Tokenize

Probabilities = NDArray[np.float64]
Answers = tuple[Alignment | Reject, ...]
"""The outcomes of several members for one pair."""

OUT_OF_RANGE = "a member of the ensemble links words that the pair does not have"
EMBEDDINGS: Mapping[str, Mapping[str, Any]] = {
    "softmax": {"method": "embeddings", "extraction": "softmax", "temperature": 0.07, "threshold": 0.02},
    "argmax": {"method": "embeddings", "extraction": "argmax"},
    "itermax": {"method": "embeddings", "extraction": "itermax"},
}
MEMBERS: Mapping[str, Mapping[str, Any]] = {"statistical": {}, **EMBEDDINGS}
WEIGHTS = {"statistical": 8.0, "softmax": 2.0, "argmax": 1.0, "itermax": 1.0}
"""The default members and weights. The statistical aligner has already used the suggestions of the others."""
PAIRS_AT_ONCE = 256
MAX_CACHED = 2048
"""Number of first pairs to remember, enough for the default of `Ensemble.max_pairs`; their links take some 25 MB."""
SUGGESTED_ABOVE = 0.02
"""Only links with a higher probability are suggested."""


@dataclass
class Ensemble(Aligner, ModelSettings):
    """Lets several aligners vote on each link.

    The probability of a link is the weighted mean of the members' probabilities; a member without the link counts as 0.
    Two words are linked above `threshold` if each is the other's most probable one, or if they touch such a link.

    Before that, the statistical aligner counts the other members' links as observed while it learns, and prefers them
    when it aligns. These suggestions help more than the vote, most with a few hundred pairs.

    Args:
        members: Settings of each aligner by name, or by any name with `method`, e.g. `{ other = { method = "embeddings"
            } }`. Empty: `statistical` and `embeddings` three times (`softmax`, `argmax`, `itermax`), or `statistical`
            alone without the bundled multilingual model.
        weights: Votes of members by name, above 0; by default 1.
        threshold: Minimum probability of a link, in (0, 1).
        suggestion_counts: Observations that a suggested link is worth in learning, at least 0.
        suggestion_exponent: Exponent of suggested probabilities when a pair is aligned, at least 0.
        max_pairs: Maximum pairs with suggestions in learning; 0: all. One core handles about 40 pairs a second.
        join: In scripts without spaces, align words of `model`'s vocabulary and foreign names, not characters; all
            characters of a word get its links.
        model: Encoder of members that need one and name none.

    Reference:
        Jalili Sabet et al. (2020), SimAlign, Findings of EMNLP (`argmax`, `itermax`). Liang, Taskar and Klein (2006).
        Alignment by Agreement. NAACL.

    Departures:
        - Suggestions, the vote and its weights are ours.
    """

    model: ModelName = MULTILINGUAL
    members: dict[str, dict[str, Any]] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    threshold: RateBetween = 0.3
    suggestion_counts: NotNegative = 4.0
    suggestion_exponent: NotNegative = 0.75
    max_pairs: CountOrZero = 2000
    join: bool = True
    _aligners: dict[str, Aligner] = hidden(default_factory=dict)
    _with_suggestions: frozenset[str] = hidden(default=frozenset())
    _first: dict[Pair, Answers] = hidden(default_factory=dict)
    _latest: dict[Pair, Answers] = hidden(default_factory=dict)
    _is_checked: bool = hidden(default=False)

    def __post_init__(self) -> None:
        """Refuse settings that cannot work, including those of the members."""
        issues: list[str] = []
        try:
            super().__post_init__()
        except SettingsError as error:
            issues += str(error).split("\n")
        tables = self.members or MEMBERS
        for name, weight in self.weights.items():
            if name not in tables:
                issues.append(f'weights names "{name}", which is not a member; {did_you_mean(name, tuple(tables))}')
            elif not 0 < weight < math.inf:
                issues.append(f"weights.{name} is {weight:g}, expected a number above 0")
        for name, table in tables.items():
            try:
                self._aligners[name] = self._create_member(name, table)
            except SettingsError as error:
                issues += [f"members.{name}: {line}" for line in str(error).split("\n")]
        if issues:
            raise SettingsError("\n".join(issues))
        self._pass_suggestions()

    def _create_member(self, name: str, table: Mapping[str, Any]) -> Aligner:
        method = table.get("method", name)
        if method == "ensemble":
            raise SettingsError("an ensemble cannot be a member of an ensemble. Name its members here instead")
        if method not in names("align"):
            raise SettingsError(f'no aligner is called "{method}"; {did_you_mean(str(method), names("align"))}')
        shared = {}
        if issubclass(get("align", method), ModelSettings):
            shared = {field.name: getattr(self, field.name) for field in fields(ModelSettings) if field.init}
        settings = {key: value for key, value in table.items() if key != "method"}
        return create("align", method, {**shared, **settings})

    def _pass_suggestions(self) -> None:
        """Give the suggestions of the others to the members that use them."""
        suggestions = Suggestions(self._suggest, self.suggestion_counts, self.suggestion_exponent, self.max_pairs)
        with_suggestions = {name for name, aligner in self._aligners.items() if aligner.use_suggestions(suggestions)}
        if len(with_suggestions) == len(self._aligners):  # no member is left to suggest anything
            for name in with_suggestions:
                self._aligners[name].use_suggestions(None)
            with_suggestions = set()
        self._with_suggestions = frozenset(with_suggestions)

    def check(self) -> None:
        if self._is_checked:
            return
        try:
            for aligner in self._aligners.values():
                aligner.check()
        except MissingResourceError as error:
            if self.members or self.model != MULTILINGUAL:
                raise
            warn(f"the ensemble consists only of the statistical aligner: {error}")
            self._aligners = {"statistical": self._aligners["statistical"]}
            self._pass_suggestions()
        self._is_checked = True

    def fit(self, pairs: Pairs, training: Training = NO_TRAINING) -> None:
        """Fit each member; those that use suggestions come last."""
        self.check()
        self._first, self._latest = {}, {}
        learnt_path(self, pairs, training.folder)
        if self._tokenize is not None and _has_characters(pairs):
            pairs = JoinedPairs(pairs, self._tokenize)
        for name in sorted(self._aligners, key=lambda name: name in self._with_suggestions):
            self._aligners[name].fit(pairs, training.within(name))

    def align(self, pairs: Sequence[Pair]) -> list[Alignment | Reject]:
        """The links of each pair; a pair that no member can align is rejected."""
        self.check()
        return [outcome for batch in batched(pairs, PAIRS_AT_ONCE) for outcome in self._align_batch(batch)]

    def _align_batch(self, pairs: Sequence[Pair]) -> list[Alignment | Reject]:
        """The links of a batch; characters are joined into longer words for the alignment."""
        if self._tokenize is None or not _has_characters(pairs):
            return self._voted(pairs)
        joined = [joined_pair(pair, self._tokenize) for pair in pairs]
        return [
            outcome if isinstance(outcome, Reject) else character_links(outcome, source, target)
            for outcome, (_, source, target) in zip(self._voted([pair for pair, *_ in joined]), joined, strict=True)
        ]

    @cached_property
    def _tokenize(self) -> Tokenize | None:
        """The function that splits text by the model's vocabulary; None if no member has a model or `join` is off."""
        has_model = any(isinstance(aligner, ModelSettings) for aligner in self._aligners.values())
        return self.source.tokenizer().tokenize if self.join and has_model else None

    def _voted(self, pairs: Sequence[Pair]) -> list[Alignment | Reject]:
        answers = dict(self._links_without_suggestions(pairs))
        answers |= {
            name: alignments_of(self._aligners[name], pairs)
            for name in self._aligners
            if name in self._with_suggestions
        }
        votes = self._votes(pairs, answers)
        return [
            vote if isinstance(vote, Reject) else _links(vote, mutually_best(vote, self.threshold)) for vote in votes
        ]

    def _suggest(self, pairs: Sequence[Pair]) -> list[Alignment]:
        """The vote of the members that use no suggestions; no links for a pair that they reject."""
        votes = self._votes(pairs, self._links_without_suggestions(pairs))
        return [() if isinstance(vote, Reject) else _links(vote, vote > SUGGESTED_ABOVE) for vote in votes]

    def _links_without_suggestions(self, pairs: Sequence[Pair]) -> Mapping[str, Sequence[Alignment | Reject]]:
        """The links of the members that use no suggestions.

        They are remembered for the latest pairs, and for the first ones, from which the other members learn.
        """
        without_suggestions = [name for name in self._aligners if name not in self._with_suggestions]
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._first and pair not in self._latest]
        if new and without_suggestions:
            answers = zip(*(alignments_of(self._aligners[name], new) for name in without_suggestions), strict=True)
            kept = {pair: self._latest[pair] for pair in pairs if pair in self._latest}
            self._latest = kept | dict(zip(new, answers, strict=True))
            room = max(0, MAX_CACHED - len(self._first))
            self._first |= {pair: self._latest[pair] for pair in new[:room]}
        known = [self._first.get(pair) or self._latest.get(pair, ()) for pair in pairs]
        return {name: [answers[index] for answers in known] for index, name in enumerate(without_suggestions)}

    def _votes(
        self, pairs: Sequence[Pair], answers: Mapping[str, Sequence[Alignment | Reject]]
    ) -> list[Probabilities | Reject]:
        """The mean probability of each link of each pair. Shape: each (source words, target words)."""
        default = {} if self.members else WEIGHTS
        weights = {name: {**default, **self.weights}.get(name, 1.0) for name in self._aligners if name in answers}
        return [
            _vote(pair, [(weight, answers[name][number]) for name, weight in weights.items()])
            for number, pair in enumerate(pairs)
        ]


def _has_characters(pairs: Pairs) -> bool:
    return any(is_character(word) for pair in pairs for word in pair.source + pair.target)


def _vote(pair: Pair, answers: Sequence[tuple[float, Alignment | Reject]]) -> Probabilities | Reject:
    """The weighted mean over the members that did not reject the pair."""
    total, votes = 0.0, np.zeros((len(pair.source), len(pair.target)))
    for weight, answer in answers:
        if isinstance(answer, Reject):
            continue
        if alignment_issue(answer, *votes.shape):
            return Reject(OUT_OF_RANGE)
        total += weight
        for source, target, probability in answer:
            votes[source, target] += weight * probability
    if total:
        return np.minimum(votes / total, 1.0)
    return next(answer for _, answer in answers if isinstance(answer, Reject))


def _links(probabilities: Probabilities, linked: NDArray[np.bool_]) -> Alignment:
    points = np.argwhere(linked).tolist()
    return tuple(Link(source, target, float(probabilities[source, target])) for source, target in points)
