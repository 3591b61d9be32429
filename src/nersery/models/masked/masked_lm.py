"""Masked language models: fine-tuning on chosen words, and filling masked words with whole words.

Inputs are words. This module alone turns them into subwords, windows and batches.
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from nersery.core.batched import batched
from nersery.core.errors import MissingResourceError
from nersery.core.random import item_rng
from nersery.core.settings.typed_settings import Precision
from nersery.core.text import korean
from nersery.core.text.text_forms import upper_case
from nersery.core.warnings import advise, warn
from nersery.models.bundled_models import bundled, known_languages
from nersery.models.masked.gap_masks import GapMasks
from nersery.models.masked.masked_inputs import Drawing, MaskedInput, in_case_of
from nersery.models.masked.masked_subwords import MaskedInputEncoder, MaskedWindow, Place
from nersery.models.passes import WINDOWS, windows_at_once
from nersery.models.pretrained.loading import ModelSource, autocast, pick_device, position_count, refuse_nan
from nersery.models.subwords.collation import collate
from nersery.models.subwords.subword_vocabulary import SubwordConstraint, SubwordVocabulary, check_decoder
from nersery.models.subwords.subwords import MAX_UNMARKED_SHARE, SubwordEncoder
from nersery.models.subwords.token_embeddings import add_rows, output_at
from nersery.models.training.cross_entropy import mean_cross_entropy
from nersery.models.training.shared_vocabulary import partly_trained_vocabulary
from nersery.models.training.trainer import History, TrainingPlan, seeded, train

Example = TypeVar("Example")
Guess = tuple[str, float]
"""A word and its probability."""

LENGTH_MULTIPLE = 8
"""For filling, the padded shape of a pass, in subwords and masks, depends on each of its windows alone. The numbers of
a sentence are therefore the same to the last bit, whatever sentences stand beside it."""
MAX_MASKS = 512
"""Masks in a pass of more than `WINDOWS`. Each has a score per subword of the vocabulary: 0.5 GB in total for XLM-R."""
MAX_SUBWORDS = 1 << 15
"""Subwords in one pass of a training, padding included: 64 of the longest windows."""
WITH_A_MASK = "bert-base-cased, xlm-roberta-base, distilbert-base-multilingual-cased or google/muril-base-cased"


class MaskedLM:
    """A masked language model over words.

    Args:
        source: ``bundled``, or any masked language model by name or folder.

    Raises:
        MissingResourceError: If there is no such model, or it cannot fill in whole words.
    """

    def __init__(self, source: ModelSource, device: str = "auto", precision: Precision = "auto") -> None:
        self.source, self.precision = source, precision
        tokenizer = tokenizer_with_mask(source)
        self.mask = int(tokenizer.mask_token_id)
        self.network: Any = source.masked_lm().to(pick_device(device)).eval()
        self.encoder = SubwordEncoder(tokenizer, position_count(self.network))
        self.masking = MaskedInputEncoder(self.encoder, self.mask)
        self.vocabulary = SubwordVocabulary.of(self.encoder)
        self._allowed: dict[SubwordConstraint, Tensor] = {}

    @property
    def gap_masks(self) -> GapMasks:
        """The object that puts masks in place of words."""
        return GapMasks(self.encoder, self.vocabulary, self.mask)

    @cached_property
    def folds_case(self) -> bool:
        """Whether the model is uncased."""
        capitals, small = self.encoder.subwords(["Paris London", "paris london"])
        return capitals == small and self.encoder.tokenizer.unk_token_id not in small

    def warn_if_unsuited(self, words: Sequence[str], languages: Iterable[str] = ()) -> None:
        """Warn if the model was made for other text than these words, in these languages."""
        name, present = self.source.name, set(languages)
        instead = partial(known_languages.alternatives, name=name, present=present, fills_gaps=True)
        issue = self.encoder.vocabulary_issue(words)
        advice = "Its words will not fit. Name a masked language model of the language, e.g. {}"
        if known_languages.warn_if_unsuited(name, issue, present, advice, fills_gaps=True, words=words):
            return
        if (unmarked := self.encoder.unmarked(words)) > MAX_UNMARKED_SHARE:
            warn(
                f'the model "{name}" leaves out accents and vowel signs, which {100 * unmarked:.0f} % of the words '
                "have, so the words that it fills in lack them. Name a masked language model that keeps them, e.g. "
                + instead("bert-base-multilingual-cased or xlm-roberta-base")
            )
        elif bundled.is_lower_case(name) and any(word != word.lower() for word in words):
            advise(
                "the bundled masked language model reads lower case only; the words that it fills in take their "
                "capitals from those they replace. For text with capitals, name a cased model, e.g. "
                + instead("bert-base-cased")
            )

    def check_condition(self, condition: Sequence[str]) -> None:
        """Raise `SettingsError` for a condition that leaves no room for a sentence."""
        self.encoder.windows((), condition)

    # --- tag tokens -------------------------------------------------------------------------------------------------

    def add_tokens(self, descriptions: Mapping[str, str]) -> None:
        """Add new tokens; see `nersery.models.subwords.token_embeddings.add_rows`.

        Raises:
            SettingsError: If the model cannot be extended.
        """
        instead = f'"{self.source.name}" cannot be given new tokens. Name another, e.g. {WITH_A_MASK}'
        if add_rows(self.network, self.encoder, descriptions, instead=instead):
            self._allowed.clear()

    # --- fine-tuning ------------------------------------------------------------------------------------------------

    def fine_tune(
        self,
        examples: Sequence[Example],
        masked_input: Callable[[Example, random.Random], MaskedInput],
        plan: TrainingPlan,
        *,
        rate: float,
        dev: Sequence[Example] = (),
        seed: int = 0,
        **keeping: Any,
    ) -> History:
        """Learn to predict masked subwords. Only these count in the loss.

        Args:
            masked_input: Makes the input of an example, again in every epoch.
            rate: Probability that a subword of a chosen word is masked. At least one per window is masked.
            dev: Examples to choose the best epoch by, with fixed masks. Empty keeps the last epoch.
            keeping: ``progress``, ``folder`` and ``fingerprint`` of `nersery.models.training.trainer.train`.
        """

        def draw(example: Example, index: int, epoch: int, split: str = "train") -> list[MaskedWindow]:
            rng = item_rng(seed, split, index, epoch)
            return self.masking.randomly_masked(masked_input(example, rng), rate, rng)

        dev_rows = [row for index, example in enumerate(dev) for row in draw(example, index, 0, "dev")]

        def subwords() -> Iterator[int]:
            yield from itertools.chain(*self.encoder.token_ids.values())
            for row in itertools.chain(*(draw(example, index, 0) for index, example in enumerate(examples))):
                yield from (*row.window.subwords, *row.targets)

        with partly_trained_vocabulary(self.network, subwords()), seeded(seed):
            return train(
                self.network,
                examples,
                lambda drawn: self._loss([row for rows in drawn for row in rows]),
                plan,
                seed=seed,
                evaluate=(lambda: -self._mean_loss(dev_rows)) if dev_rows else None,
                draw=draw,
                **keeping,
            )

    def _loss(self, rows: Sequence[MaskedWindow]) -> Tensor:
        if not rows:  # no sentence of the batch has a gap; keep the graph, so that backward works
            return sum((p.sum() * 0.0 for p in self.network.parameters()), torch.zeros((), device=self.network.device))
        return masked_loss(self.network, self.encoder, rows)

    @torch.no_grad()
    def _mean_loss(self, rows: Sequence[MaskedWindow]) -> float:
        losses = []
        with autocast(self.network.device, self.precision):
            for numbers, logits in self._passes(rows):
                targets = torch.tensor([subword for n in numbers for subword in rows[n].targets]).to(logits.device)
                losses.append(nn.functional.cross_entropy(logits.float(), targets, reduction="none"))
        return float(torch.cat(losses).mean())

    # --- forward ----------------------------------------------------------------------------------------------------

    def _passes(self, rows: Sequence[MaskedWindow]) -> Iterator[tuple[list[int], Tensor]]:
        """Run rows of the same shape together, and yield their numbers and the scores at their masks."""
        # The shape depends on the row alone: its padded length, and its number of masks up to a power of two.
        by_shape: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, row in enumerate(rows):
            length = -(-len(row.window.subwords) // LENGTH_MULTIPLE)
            by_shape[length, 1 << (len(row.positions) - 1).bit_length()].append(number)
        for (_, masks), numbers in by_shape.items():
            at_once = max(WINDOWS, min(windows_at_once(self.network.device), MAX_MASKS // masks))
            for part in batched(numbers, at_once):
                padded = [rows[n] for n in [*part, *[part[0]] * (at_once - len(part))]]
                wanted = [
                    place * masks + mask for place, n in enumerate(part) for mask in range(len(rows[n].positions))
                ]
                filled = [row.with_masks(masks) for row in padded]
                yield part, logits_at_masks(self.network, self.encoder, filled, LENGTH_MULTIPLE)[wanted]

    # --- filling ----------------------------------------------------------------------------------------------------

    def fill(
        self, masked_inputs: Sequence[MaskedInput], rngs: Sequence[random.Random], drawing: Drawing
    ) -> list[tuple[str, ...]]:
        """A new word for each gap of each input. All gaps of an input are filled at once.

        Args:
            rngs: One for each input, the only source of randomness.

        Returns:
            For each input the words for its gaps, in order. A word is never empty, and has no subword mark, special
            token or tag token.
        """
        words = []
        for masked_input, options, rng in zip(masked_inputs, self._options(masked_inputs, drawing), rngs, strict=True):
            drawn: dict[int, list[int]] = defaultdict(list)
            for (gap, _), (subwords, probabilities) in options.items():
                drawn[gap].append(rng.choices(subwords, probabilities if drawing.weighted else None)[0])
            written = (self._word(masked_input, gap, drawn[gap], drawing) for gap in masked_input.gaps)
            words.append(tuple(map(masked_input.with_affixes, masked_input.gaps, written)))
        return words

    def guesses(
        self, masked_inputs: Sequence[MaskedInput], top_k: int, *, punctuation: bool = False
    ) -> list[list[list[Guess]]]:
        """The most probable whole words for each gap, best first. All gaps of an input are masked at once.

        Probabilities are relative to all whole words of one subword, and to punctuation if ``punctuation``.
        """
        drawing = Drawing(top_k, punctuation=punctuation)
        return [
            [
                [
                    (self._word(masked_input, gap, [subword], drawing), probability)
                    for subword, probability in zip(*by_place[gap, 0], strict=True)
                ]
                for gap in masked_input.gaps
            ]
            for masked_input, by_place in zip(masked_inputs, self._options(masked_inputs, drawing), strict=True)
        ]

    @torch.no_grad()
    def log_probabilities(self, masked_inputs: Sequence[MaskedInput]) -> list[list[float]]:
        """The log probability of the word at each gap. All gaps of an input are masked at once.

        For a word of several subwords it is the sum over its subwords, which are all masked.
        """
        rows = [
            (number, row)
            for number, masked_input in enumerate(masked_inputs)
            for row in self.masking.fully_masked(masked_input)
        ]
        sums = [dict.fromkeys(masked_input.gaps, 0.0) for masked_input in masked_inputs]
        with autocast(self.network.device, self.precision):
            for numbers, logits in self._passes([row for _, row in rows]):
                targets = torch.tensor([subword for n in numbers for subword in rows[n][1].targets]).to(logits.device)
                values = logits.float().log_softmax(-1).gather(1, targets[:, None])[:, 0].tolist()
                owners = [(rows[n][0], gap) for n in numbers for gap, _ in rows[n][1].places]
                for (number, gap), value in zip(owners, values, strict=True):
                    sums[number][gap] += value
        return [[row[gap] for gap in masked_input.gaps] for masked_input, row in zip(masked_inputs, sums, strict=True)]

    @torch.no_grad()
    def _options(
        self, masked_inputs: Sequence[MaskedInput], drawing: Drawing
    ) -> list[dict[Place, tuple[list[int], list[float]]]]:
        """The best subwords and their probabilities for each place of each input, in order."""
        gap_masks = self.gap_masks
        templates = [
            {
                gap: gap_masks.template(str(each.words[gap]), each.style, drawing, is_name=gap in each.names)
                for gap in each.gaps
            }
            for each in masked_inputs
        ]
        rows = [
            (number, row)
            for number, masked_input in enumerate(masked_inputs)
            for row in self.masking.with_masks(masked_input, [gap.subwords for gap in templates[number].values()])
        ]
        options: list[dict[Place, tuple[list[int], list[float]]]] = [{} for _ in masked_inputs]
        with autocast(self.network.device, self.precision):
            for numbers, logits in self._passes([row for _, row in rows]):
                part = [rows[n] for n in numbers]
                masks = [templates[number][gap].constraints[mask] for number, row in part for gap, mask in row.places]
                allowed = [*map(self._allowed_at, masks)]
                best = (logits.float() + torch.stack(allowed)).softmax(-1)
                top = best.topk(min(drawing.top_k, best.shape[-1]))
                refuse_nan(top.values, self.source)
                values = iter(zip(top.indices.tolist(), top.values.tolist(), strict=True))
                for number, row in part:
                    options[number].update((place, _possible(*next(values))) for place in row.places)
        return [dict(sorted(by_place.items())) for by_place in options]

    def _allowed_at(self, constraint: SubwordConstraint) -> Tensor:
        """0 for the subwords that a constraint allows, minus infinity for all others. Shape: (subwords)."""
        if constraint not in self._allowed:
            scores = torch.full((len(self.network.get_input_embeddings().weight),), -torch.inf)
            scores[self.vocabulary.allowed(*constraint)] = 0.0
            self._allowed[constraint] = scores.to(self.network.device)
        return self._allowed[constraint]

    def _word(self, masked_input: MaskedInput, gap: int, subwords: Sequence[int], drawing: Drawing) -> str:
        """The text of subwords, in capitals if the input is. With an uncased model, it has the case of the old word."""
        word, old = self.vocabulary.word(subwords), str(masked_input.words[gap])
        if not drawing.by_subword and (ending := self.gap_masks.ending(old)):
            word = korean.with_endings(word, [self.vocabulary.texts[subword] for subword in ending])
        word = masked_input.in_form_of_text(word)
        if self.folds_case:
            return in_case_of(word, old, masked_input.language)
        return upper_case(word, masked_input.language) if old.isupper() and masked_input.is_in_capitals else word


def masked_loss(network: Any, encoder: SubwordEncoder, rows: Sequence[MaskedWindow]) -> Tensor:
    """The mean loss over the masked subwords. A very long text on one line goes through the model in parts."""
    max_rows = max(1, MAX_SUBWORDS // max(len(row.window.subwords) for row in rows))
    if len(rows) <= max_rows:
        return _loss_of(network, encoder, rows)
    parts = [*batched(rows, max_rows)]  # checkpointed: activations are recomputed in the backward pass
    losses = [checkpoint(_loss_of, network, encoder, part, use_reentrant=False) for part in parts]
    weights = torch.tensor([float(sum(len(row.targets) for row in part)) for part in parts]).to(network.device)
    return (torch.stack(losses) * weights).sum() / weights.sum()


def _loss_of(network: Any, encoder: SubwordEncoder, rows: Sequence[MaskedWindow]) -> Tensor:
    targets = torch.tensor([subword for row in rows for subword in row.targets]).to(network.device)
    return mean_cross_entropy(logits_at_masks(network, encoder, rows), targets)


def logits_at_masks(network: Any, encoder: SubwordEncoder, texts: Sequence[MaskedWindow], multiple: int = 1) -> Tensor:
    """Scores of all subwords at the masks of all rows, in order. Shape: (masks, vocabulary).

    Args:
        multiple: See `nersery.models.subwords.collation.collate`.
    """
    windows = [row.window for row in texts]
    batch = collate(windows, encoder.pad, multiple=multiple, longest=encoder.max_subwords).to(network.device)
    rows = torch.tensor([number for number, row in enumerate(texts) for _ in row.positions], device=network.device)
    places = torch.tensor([position for row in texts for position in row.positions], device=network.device)
    with output_at(network, rows, places):
        logits: Tensor = network(input_ids=batch.input_ids, attention_mask=batch.attention_mask).logits
    return logits if logits.ndim == 2 else logits[rows, places]


def tokenizer_with_mask(source: ModelSource) -> Any:
    """The tokenizer of a masked language model.

    Raises:
        MissingResourceError: If there is no such model, it has no mask token, or it cannot write words.
    """
    tokenizer = source.tokenizer()
    if tokenizer.mask_token_id is None:
        raise MissingResourceError(
            f'the model "{source.name}" has no mask token, so it cannot fill gaps. Masked language models have one, '
            f"e.g. {WITH_A_MASK}"
        )
    check_decoder(tokenizer)
    return tokenizer


def _possible(subwords: list[int], probabilities: list[float]) -> tuple[list[int], list[float]]:
    """The subwords with a probability above 0, best first. A small vocabulary may have fewer than requested."""
    if probabilities[-1] > 0:
        return subwords, probabilities
    count = max(1, sum(probability > 0 for probability in probabilities))
    return subwords[:count], probabilities[:count]
