"""Fine-tuning of an encoder on translations, so that its hidden states of words that translate each other are alike."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nersery.core.alignments import Pair
from nersery.core.errors import DataError, SettingsError
from nersery.core.random import item_rng
from nersery.core.registry import check_values
from nersery.core.settings.ranges import Count, NotNegative, Positive, RateBelowOne, RateBetween
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import warn
from nersery.crosslingual.aligner_components.aligner_checkpoint import pairs_digest
from nersery.crosslingual.aligners.base import Pairs
from nersery.crosslingual.embedding.probabilities import both_directions, probable_links
from nersery.models.embeddings.hidden_states import LayerEncoder
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.masked.masked_lm import masked_loss, tokenizer_with_mask
from nersery.models.masked.masked_subwords import MaskedInputEncoder, MaskedWindow
from nersery.models.subwords.windows import Window
from nersery.models.tokens import Token
from nersery.models.training.trainer import TrainingPlan, seeded, train
from nersery.models.training.training_state import RECORD


@dataclass(frozen=True)
class FineTuning:
    """How an encoder learns from translations. The loss is the weighted sum of the objectives.

    Args:
        tlm: Weight of translation language modelling: the model predicts masked subwords of a sentence and its
            translation side by side, in both orders.
        mlm: Weight of masked language modelling: the same for each side by itself.
        so: Weight of self-training: links that the model currently finds become more probable.
        co: Weight of consistency: the probabilities of both directions become alike.
        threshold: Self-training uses links with a higher probability in both directions, in [0, 1).
        mask_rate: Probability with which a subword is masked, in (0, 1).
        epochs: Passes over the pairs.
        batch_size: Pairs in a step.
        learning_rate: The highest rate; it falls to zero.

    Raises:
        SettingsError: If one of them is out of range, or no objective has a weight.

    Reference:
        Zi-Yi Dou and Graham Neubig (2021). Word Alignment by Fine-tuning Embeddings on Parallel Corpora. EACL,
        section 2.2.

    Departures:
        - The paper's objective of recognizing translations (PSI) is left out: it trains the class token, which
          alignment does not use.
        - Every chosen subword is masked. It is never left unchanged or replaced by another subword.
        - The links of self-training come from the trained forward pass, with dropout, and are those of softmax.
        - Pairs that are longer than the model, both sides together, are left out. A note counts them.
    """

    tlm: NotNegative = 1.0
    mlm: NotNegative = 1.0
    so: NotNegative = 1.0
    co: NotNegative = 0.0
    threshold: RateBelowOne = 1e-3
    mask_rate: RateBetween = 0.15
    epochs: Count = 1
    batch_size: Count = 8
    learning_rate: Positive = 2e-5

    def __post_init__(self) -> None:
        check_values(self)
        if not any((self.tlm, self.mlm, self.so, self.co)):
            raise SettingsError("tlm, mlm, so and co are 0, so nothing would be learnt: expected one of them above 0")

    @property
    def needs_masked_lm(self) -> bool:
        """Whether the model must be able to guess masked subwords."""
        return self.tlm > 0 or self.mlm > 0


def fine_tune(encoder: LayerEncoder, pairs: Pairs, settings: FineTuning, training: Training = NO_TRAINING) -> None:
    """Train an encoder on sentences and their translations.

    Args:
        encoder: Opened as a masked language model if the settings need one.
        pairs: Held in memory during the training. The result of a finished training is loaded without reading them.
        training: Only seed, progress and folder are used; see `nersery.models.training.trainer.train`.

    Raises:
        DataError: If there is no pair to learn from.
        SettingsError: If the loss is no longer a number, or the folder holds the state of another training.
        MissingResourceError: If the model has no mask token, and needs one.
    """
    learner = _Learner(encoder, settings, training.seed)
    fingerprint = {
        "fine_tuning": asdict(settings),
        "model": asdict(encoder.source),
        "files": encoder.source.files,
        "layer": encoder.layer,
        "pairs": pairs_digest(pairs),
    }
    examples = _finished_examples(training.folder, fingerprint) or learner.readable(list(pairs))
    if not examples:
        raise DataError(
            "there is no pair to learn from", fix="give sentences with their translations, neither of them empty"
        )
    plan = TrainingPlan(
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        precision=encoder.precision,
        optimizer="adamw",
        schedule="linear",
    )
    with seeded(training.seed):
        train(
            encoder.network,
            examples,
            learner.loss,
            plan,
            seed=training.seed,
            draw=learner.masked_pair,
            progress=training.progress,
            folder=training.folder,
            fingerprint=fingerprint,
        )


def _finished_examples(folder: Path | None, fingerprint: Mapping[str, Any]) -> Sequence[Any]:
    """A range as long as the examples of a finished training, which stands for them; empty if it is not finished.

    Whether it is the same training in everything else, and complete, is checked when it is loaded.
    """
    try:
        state = json.loads((folder / RECORD).read_text("utf-8")) if folder is not None else {}
        stored = state["fingerprint"]
        is_same = {key: stored[key] for key in fingerprint} == json.loads(json.dumps(fingerprint))
        return range(stored["examples"]) if is_same and state["facts"]["finished"] else ()
    except (OSError, ValueError, LookupError, TypeError):
        return ()


@dataclass(frozen=True, slots=True)
class _MaskedPair:
    """A pair as an epoch sees it.

    Args:
        source: The whole source.
        target: The whole target.
        mlm_inputs: Each side with masks.
        tlm_inputs: Both sides with masks, in both orders.
    """

    source: Window
    target: Window
    mlm_inputs: tuple[MaskedWindow, ...]
    tlm_inputs: tuple[MaskedWindow, ...]


class _Learner:
    """The objectives, and the masked inputs that they need."""

    def __init__(self, encoder: LayerEncoder, settings: FineTuning, seed: int) -> None:
        self._encoder, self._settings, self._seed = encoder, settings, seed
        self._subwords = encoder.subwords
        mask = tokenizer_with_mask(encoder.source).mask_token_id if settings.needs_masked_lm else self._subwords.pad
        self._input_encoder = MaskedInputEncoder(self._subwords, int(mask))

    def readable(self, pairs: Sequence[Pair]) -> list[Pair]:
        """The pairs with words on both sides that fit into one window together; a note counts the longer pairs."""
        room = self._subwords.room - 1
        count = self._encoder.subword_count
        short = [pair for pair in pairs if count(pair.source) + count(pair.target) <= room]
        if len(short) < len(pairs):
            warn(
                f"{len(pairs) - len(short)} of {len(pairs)} pairs are longer than the {room} subwords that "
                f'"{self._encoder.source.name}" can learn from at once; it does not learn from them, but aligns them'
            )
        return [pair for pair in short if pair.source and pair.target]

    def masked_pair(self, pair: Pair, index: int, epoch: int) -> _MaskedPair:
        """A pair with masks that depend on the seed, the number of the pair, and the epoch."""
        rng, settings = item_rng(self._seed, "train", index, epoch), self._settings
        source, target = pair.source, pair.target
        separator: Token = self._subwords.suffix[:1]
        together = ((*source, separator, *target), (*target, separator, *source)) if settings.tlm else ()
        alone = (source, target) if settings.mlm else ()
        return _MaskedPair(
            self._subwords.windows(source)[0],
            self._subwords.windows(target)[0],
            tuple(row for words in alone for row in self._masked(words, rng)),
            tuple(row for words in together for row in self._masked(words, rng)),
        )

    def _masked(self, words: tuple[Token, ...], rng: random.Random) -> list[MaskedWindow]:
        gaps = tuple(position for position, word in enumerate(words) if isinstance(word, str))
        return self._input_encoder.randomly_masked(MaskedInput(words, gaps), self._settings.mask_rate, rng)

    def loss(self, pairs: Sequence[_MaskedPair]) -> Tensor:
        """The sum of all objectives, each times its weight."""
        settings = self._settings
        total = torch.zeros((), device=self._encoder.device)
        for weight, rows in (
            (settings.mlm, [row for pair in pairs for row in pair.mlm_inputs]),
            (settings.tlm, [row for pair in pairs for row in pair.tlm_inputs]),
        ):
            if weight:
                total = total + weight * masked_loss(self._encoder.network, self._subwords, rows)
        if settings.so or settings.co:
            forward, backward, mask = self._directions(pairs)
            sizes = mask.any(2).sum(1), mask.any(1).sum(1)
            agreed = self_training(forward, backward, sizes, settings.threshold)
            total = total - settings.so * agreed.mean() - settings.co * consistency(forward, backward, sizes).mean()
        return total

    def _directions(self, pairs: Sequence[_MaskedPair]) -> tuple[Tensor, Tensor, Tensor]:
        """The probabilities of links in both directions, and a mask that is false at padding."""
        windows = [*(pair.source for pair in pairs), *(pair.target for pair in pairs)]
        prefix, suffix = len(self._subwords.prefix), len(self._subwords.suffix)
        with torch.autocast(self._encoder.device.type, enabled=False):
            states = self._encoder.hidden(windows)[:, prefix:].float()
            lengths = torch.tensor([len(window.subwords) - prefix - suffix for window in windows], device=states.device)
            real = torch.arange(states.shape[1], device=states.device) < lengths[:, None]
            count = len(pairs)
            mask = real[:count, :, None] & real[count:, None, :]
            scores = states[:count] @ states[count:].transpose(1, 2)
            return *both_directions(scores, mask), mask


def self_training(forward: Tensor, backward: Tensor, sizes: tuple[Tensor, Tensor], threshold: float) -> Tensor:
    """How probable the current links of each pair are, in [0, 1]; only the probabilities have gradients.

    Args:
        forward: Probabilities of target subwords for each source subword. Shape: (pairs, source subwords, target
            subwords).
        backward: Probabilities of source subwords for each target subword. Shape: the same.
        sizes: The numbers of source subwords and of target subwords. Shape: each (pairs,).
    """
    linked, _ = probable_links(forward.detach(), backward.detach(), threshold)
    source, target = (size[:, None, None] for size in sizes)
    return (linked * (forward / source + backward / target) / 2).sum((1, 2))


def consistency(forward: Tensor, backward: Tensor, sizes: tuple[Tensor, Tensor]) -> Tensor:
    """How much both directions agree in each pair, in [0, 1]; see `self_training`."""
    return (forward * backward).sum((1, 2)) / torch.minimum(*sizes)
