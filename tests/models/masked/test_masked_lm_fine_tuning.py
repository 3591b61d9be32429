"""Fine-tuning of a masked language model."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest
import torch

from nersery.core.progress import Progress
from nersery.core.random import item_rng
from nersery.models.masked import masked_lm
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.masked.masked_lm import MaskedLM
from nersery.models.masked.masked_subwords import MaskedWindow
from nersery.models.subwords.collation import collate
from tests.models.masked_texts import TEXTS, all_words, one_word, opened, plan, weights


class TestFineTuning:
    EXAMPLES = tuple(tuple(text.split()) for text in TEXTS[:4])

    def rows_seen(self, model: MaskedLM, monkeypatch: pytest.MonkeyPatch, epochs: int, seed: int) -> list[MaskedWindow]:
        """The rows of a training with one step an epoch, in order."""
        seen: list[MaskedWindow] = []
        loss = model._loss

        def watched(rows: Sequence[MaskedWindow]) -> torch.Tensor:
            seen.extend(sorted(rows, key=lambda row: row.window.firsts))
            return loss(rows)

        monkeypatch.setattr(model, "_loss", watched)
        model.fine_tune(self.EXAMPLES, all_words, plan(epochs, len(self.EXAMPLES)), rate=0.5, seed=seed)
        return seen

    def test_masks_differ_between_epochs_and_depend_only_on_the_seed(
        self, tiny_masked_lm: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, again, other = (self.rows_seen(opened(tiny_masked_lm), monkeypatch, 3, seed) for seed in (1, 1, 2))
        assert first == again != other
        size = len(first) // 3
        epochs = [first[start : start + size] for start in range(0, len(first), size)]
        assert len(epochs) == 3
        assert all(a != b for a, b in itertools.combinations(epochs, 2))

    def test_gaps_may_be_drawn_again_in_each_epoch(self, fresh: MaskedLM) -> None:
        drawn: list[tuple[int, ...]] = []

        def masked_input(words: tuple[str, ...], rng: random.Random) -> MaskedInput:
            made = one_word(words, rng)
            drawn.append(made.gaps)
            return made

        fresh.fine_tune([tuple(TEXTS[0].split())], masked_input, plan(20), rate=1.0)
        assert len(drawn) == 20
        assert len(set(drawn)) > 4

    def test_the_loss_counts_only_masked_subwords(self, model: MaskedLM) -> None:
        masked_inputs = [MaskedInput(tuple(text.split()), (0, 1)) for text in TEXTS[:3]]
        rows = [
            row
            for number, c in enumerate(masked_inputs)
            for row in model.masking.randomly_masked(c, 0.7, random.Random(number))
        ]
        batch = collate([row.window for row in rows], model.encoder.pad)
        labels = torch.full_like(batch.input_ids, -100)
        for number, row in enumerate(rows):
            labels[number, list(row.positions)] = torch.tensor(row.targets)
        expected = model.network(input_ids=batch.input_ids, attention_mask=batch.attention_mask, labels=labels).loss
        assert model._loss(rows).item() == pytest.approx(expected.item(), abs=1e-5)
        assert model._mean_loss(rows) == pytest.approx(expected.item(), abs=1e-5)

    def test_a_very_long_text_is_processed_in_parts(self, fresh: MaskedLM, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[int] = []
        fresh.network.register_forward_pre_hook(
            lambda module, _, given: seen.append(len(given["input_ids"])), with_kwargs=True
        )
        book = MaskedInput(tuple(TEXTS[0].split() * 60), tuple(range(540)))
        rows = fresh.masking.randomly_masked(book, 0.5, random.Random(0))
        gradients = []
        for most in (64 * len(rows), 64 * 4):
            monkeypatch.setattr(masked_lm, "MAX_SUBWORDS", most)
            fresh.network.zero_grad()
            fresh._loss(rows).backward()  # type: ignore[no-untyped-call]
            gradients.append(torch.cat([p.grad.flatten() for p in fresh.network.parameters() if p.grad is not None]))
        assert seen[0] == len(rows) > 8
        assert max(seen[1:]) == 4
        assert torch.allclose(*gradients, atol=1e-6)

    def test_weights_depend_on_the_seed(self, tiny_masked_lm: str) -> None:
        found = []
        for seed in (1, 1, 2):
            torch.manual_seed(len(found))
            model = opened(tiny_masked_lm)
            model.fine_tune(self.EXAMPLES, one_word, plan(), rate=1.0, seed=seed)
            found.append(weights(model))
        assert torch.equal(found[0], found[1])
        assert not torch.equal(found[0], found[2])

    def test_global_random_state_is_unchanged(self, fresh: MaskedLM) -> None:
        before, plain = torch.get_rng_state(), random.getstate()
        fresh.fine_tune(self.EXAMPLES, one_word, plan(), rate=1.0, dev=self.EXAMPLES)
        assert torch.equal(before, torch.get_rng_state())
        assert random.getstate() == plain

    def test_keeps_the_best_epoch_on_dev(self, fresh: MaskedLM) -> None:
        """Learning "Ada won" first helps and then harms "Oslo won": the best epoch is not the last."""
        train, dev = [("Ada", "won")] * 4 + [("Oslo", "won")], [("Oslo", "won")]
        masked_input = lambda words, rng: MaskedInput(words, (0,))  # noqa: E731
        history = fresh.fine_tune(train, masked_input, plan(40, 5, 1e-2), rate=1.0, dev=dev, seed=3)
        assert history.best is not None
        scores = [evaluation.score for evaluation in history.evaluations]
        assert len(scores) == 40
        assert history.best.score == max(scores) > scores[-1]
        rows = fresh.masking.randomly_masked(
            masked_input(dev[0], item_rng(3, "dev", 0, 0)), 1.0, item_rng(3, "dev", 0, 0)
        )
        assert -fresh._mean_loss(rows) == pytest.approx(history.best.score, abs=1e-6)

    def test_keeps_the_last_epoch_without_dev(self, fresh: MaskedLM) -> None:
        history = fresh.fine_tune(self.EXAMPLES, one_word, plan(3), rate=1.0)
        assert (history.best, history.evaluations, history.steps) == (None, (), 3)

    def test_dev_has_the_same_gaps_in_each_evaluation(self, fresh: MaskedLM) -> None:
        calls: list[tuple[str, ...]] = []

        def masked_input(words: tuple[str, ...], rng: random.Random) -> MaskedInput:
            calls.append(words)
            return one_word(words, rng)

        dev = [("राम", "won")]
        fresh.fine_tune(self.EXAMPLES, masked_input, plan(5), rate=1.0, dev=dev)
        assert calls.count(dev[0]) == 1

    def test_texts_without_gaps_do_not_change_the_weights(self, fresh: MaskedLM) -> None:
        before = weights(fresh)
        fresh.fine_tune(self.EXAMPLES, lambda words, rng: MaskedInput(words, ()), plan(), rate=1.0, dev=self.EXAMPLES)
        assert torch.equal(weights(fresh), before)

    def test_learns_from_the_end_of_a_long_text(self, fresh: MaskedLM) -> None:
        long = ("Ada", "won") * 60 + ("Oslo", "there")
        fresh.fine_tune([long], lambda words, rng: MaskedInput(words, (120,)), plan(30, 1, 1e-2), rate=1.0)
        ((guesses,),) = fresh.guesses([MaskedInput(long, (120,))], 1)
        assert guesses[0][0] == "Oslo"

    def test_progress_counts_the_steps(self, fresh: MaskedLM) -> None:
        with Progress("training", quiet=True) as progress:
            fresh.fine_tune(self.EXAMPLES, one_word, plan(3, 2), rate=1.0, progress=progress)
            fresh.fine_tune(self.EXAMPLES, one_word, plan(1, 4), rate=1.0, progress=progress)
        assert progress.total == progress.done == 7
