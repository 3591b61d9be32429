"""ACLM on a masked language model: draw a number of words for each gap of a template, and fill it in several passes."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, cycle, islice

from nersery.augment.components.gold_training import fine_tuning
from nersery.augment.linearized.linearization import linearized_input, token_descriptions
from nersery.augment.templates.template import Template
from nersery.augment.templates.template_writer import TemplateWriter
from nersery.core.edits import Edit
from nersery.core.entity import Span
from nersery.core.outcome import Reject
from nersery.core.random import item_rng
from nersery.core.sentence import Sentence, types_in
from nersery.core.text.scripts import script_of
from nersery.core.training_context import Training
from nersery.io.word_splitting.scripts_without_spaces import has_letter_or_digit
from nersery.io.word_splitting.tokenization import END_PUNCTUATION, attached_punctuation
from nersery.models.masked.masked_inputs import MaskedInput

ATTACHED_ABOVE = 0.5
"""If more than this share of punctuation is at the ends of longer words, written punctuation is attached, too."""
ATTACHABLE = frozenset((*END_PUNCTUATION, "."))
"""Punctuation that follows a word."""


class MaskedWriter(TemplateWriter):
    """Fills the gaps of templates with a masked language model."""

    def learn(self, gold: Sequence[Sentence], training: Training, templates: Mapping[Sentence, Template]) -> None:
        # Count gaps after dynamic masking, as when filling them: each keyword that a template loses may join two gaps.
        self._lengths = GapLengths(
            templates[s].dynamically_masked(item_rng(training.seed, "aclm gaps", s.id)) for s in gold
        )
        keywords = {sentence.id: template.keywords for sentence, template in templates.items()}
        examples, plan, arguments = fine_tuning(self._settings, gold, training, keywords=keywords)
        self._model = self._settings.opened(gold, training)
        self._add_tokens(templates)
        self._model.fine_tune(
            examples,
            lambda s, rng: partly_masked_input(templates[s].dynamically_masked(rng), rng),
            plan,
            rate=1.0,
            **arguments,
        )

    def write(self, templates: Sequence[Template], rngs: Sequence[random.Random]) -> Sequence[Sentence | Reject]:
        """See `TemplateWriter`. Of several drafts of a template, the one with the highest mean probability is used.

        All drafts have gaps of equal lengths, because short gaps have more probable words. In each pass, the model sees
        the words of the previous passes, and fills the gaps about which it is most certain.
        """
        settings = self._settings
        self._add_tokens(template.sentence for template in templates)
        empty = [_empty_draft(template, self._lengths, rng) for template, rng in zip(templates, rngs, strict=True)]
        drafts = [[_Draft(draft.sentence, list(draft.gaps)) for _ in range(settings.candidates)] for draft in empty]
        for passes_left in range(settings.passes, 0, -1):
            due = [
                (draft, rng) for candidates, rng in zip(drafts, rngs, strict=True) for draft in candidates if draft.gaps
            ]
            if not due:
                break
            masked_inputs = [linearized_input(draft.sentence, draft.gaps) for draft, _ in due]
            distinct = [*dict.fromkeys(masked_inputs)]  # at first, all drafts of a template are equal
            guesses = dict(zip(distinct, self._model.guesses(distinct, settings.top_k, punctuation=True), strict=True))
            for (draft, rng), masked_input in zip(due, masked_inputs, strict=True):
                draft.write(guesses[masked_input], math.ceil(len(draft.gaps) / passes_left), rng)
        best = [max(candidates, key=lambda draft: draft.certainty).sentence for candidates in drafts]
        return [*map(with_attached_punctuation, best)] if self._lengths.attaches_punctuation else best

    def _add_tokens(self, sentences: Iterable[Sentence]) -> None:
        """Add tag tokens for new types. Types that gold lacks get tokens from their descriptions when they occur."""
        if new := types_in(sentences) - self._types:
            self._model.add_tokens(token_descriptions(new, (), self._settings.descriptions))
            self._types |= new


class GapLengths:
    """Numbers of words in gaps of the training data, at the beginning, at the end, and within a sentence.

    Attributes:
        attaches_punctuation: Whether commas and full stops are attached to words in the training data.
    """

    def __init__(self, templates: Iterable[Template]) -> None:
        self._lengths: dict[tuple[bool, bool], list[int]] = defaultdict(list)
        texts: list[tuple[str, ...]] = []
        for template in templates:
            texts.append(template.sentence.words)
            for gap in template.gaps():
                self._lengths[_touched_ends(template, gap)].append(gap[1] - gap[0])
        self._all = [length for lengths in self._lengths.values() for length in lengths]
        share, _ = attached_punctuation(texts)
        self.attaches_punctuation = (share or 0.0) > ATTACHED_ABOVE

    def draw(self, template: Template, gap: Span, rng: random.Random) -> int:
        """Draw a number of words for a gap; the gap's own number if the training data has no gaps."""
        known = self._lengths.get(_touched_ends(template, gap)) or self._all
        return rng.choice(known) if known else gap[1] - gap[0]


def _touched_ends(template: Template, gap: Span) -> tuple[bool, bool]:
    return gap[0] == 0, gap[1] == len(template.sentence)


def partly_masked_input(template: Template, rng: random.Random) -> MaskedInput:
    """A text to learn from: a random number of words in the gaps is hidden, from one to all.

    The reason is that in the passes of `MaskedWriter.write`, the model sees any share of them.
    """
    words = [word for start, end in template.gaps() for word in range(start, end)]
    count = rng.randint(1, len(words)) if words else 0
    return linearized_input(template.sentence, sorted(rng.sample(words, count)))


@dataclass
class _Draft:
    """A sentence with gaps, and the probabilities of the words that are filled in."""

    sentence: Sentence
    gaps: list[int]
    probabilities: list[float] = field(default_factory=list)

    @property
    def certainty(self) -> float:
        return sum(self.probabilities) / max(1, len(self.probabilities))

    def write(self, guesses: Sequence[Sequence[tuple[str, float]]], count: int, rng: random.Random) -> None:
        """Draw a word for each of ``count`` gaps: those whose best guess is the most probable."""
        # The best guess shows how certain the model is about a gap. The word to write there is drawn nevertheless.
        by_certainty = sorted(zip(self.gaps, guesses, strict=True), key=lambda gap: -gap[1][0][1])
        known = {position: word for position, word in enumerate(self.sentence.words) if position not in self.gaps}
        edits = []
        for gap, words in sorted(by_certainty[:count]):
            neighbours = (known.get(gap - 1), known.get(gap + 1))
            fitting = [guess for guess in words if _fits(guess[0], gap, neighbours)] or words
            ((word, probability),) = rng.choices(fitting, [chance for _, chance in fitting])
            known[gap] = word
            edits.append((gap, gap + 1, (word,)))
            self.probabilities.append(probability)
            self.gaps.remove(gap)
        self.sentence = self.sentence.replace_spans(edits)


def _fits(word: str, gap: int, neighbours: tuple[str | None, str | None]) -> bool:
    """Whether a word fits into a gap: not beside itself, and no comma or full stop first or beside another one."""
    if word in neighbours:
        return False
    return word not in ATTACHABLE or (gap > 0 and ATTACHABLE.isdisjoint(neighbours))


def with_attached_punctuation(sentence: Sentence) -> Sentence:
    """The sentence with commas and full stops attached to the words before them, unless these are in entities.

    >>> with_attached_punctuation(Sentence(("it", "rained", ",", "then", "stopped", "."))).text
    'it rained, then stopped.'
    """
    words, outside = sentence.words, set(sentence.outside)
    positions = [position for position in sentence.outside if position - 1 in outside and words[position] in ATTACHABLE]
    edits = [(p - 1, p + 1, (words[p - 1] + words[p],)) for p in positions if has_letter_or_digit(words[p - 1])]
    return sentence.replace_spans(edits)


def _empty_draft(template: Template, lengths: GapLengths, rng: random.Random) -> _Draft:
    """A draft with gaps of drawn lengths. The model does not see their words, but writes in most words' script."""
    # An uncased model gives new words the capitals of those that they replace: only the first word has a capital.
    sentence = template.sentence
    is_in_capitals = MaskedInput(sentence.words, (), names=sentence.inside).is_in_capitals
    words = [*sentence.words] if is_in_capitals else [*map(str.lower, sentence.words)]
    script, _ = MaskedInput(tuple(words), ()).style
    first = next((word for word in sentence.words if script_of(word) == script), "")
    first = first.title() if first.isupper() and not is_in_capitals else first
    in_script = [word for word in words if script_of(word) == script]
    edits, gaps, shift = list[Edit](), list[int](), 0
    for start, end in template.gaps():
        former = [word for word in words[start:end] if script_of(word) == script] or in_script
        # The endings of Korean words stay. In words beyond those of the gap, they would occur again and again.
        others = [word[:1] for word in former] if script == "HANGUL" else former
        hidden = [*islice(chain(former, cycle(others)), lengths.draw(template, (start, end), rng))]
        if start == 0 and first:
            hidden[0] = first
        edits.append((start, end, hidden))
        gaps += range(start + shift, start + shift + len(hidden))
        shift += len(hidden) - (end - start)  # the gaps behind move
    return _Draft(sentence.replace_spans(edits), gaps)
