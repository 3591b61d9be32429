"""Fine-tuning on translations, with tiny real models."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from nersery.core.errors import DataError, MissingResourceError, SettingsError
from nersery.core.progress import Progress
from nersery.core.training_context import Training
from nersery.crosslingual.aligners.base import Pair
from nersery.crosslingual.aligners.embeddings import Embeddings
from nersery.crosslingual.embedding.fine_tuning import FineTuning, _Learner, consistency, fine_tune, self_training
from nersery.crosslingual.parallel_corpus.complete_pairs import CompletePairs
from nersery.models.embeddings.hidden_states import LayerEncoder
from nersery.models.pretrained.loading import ModelSource
from nersery.models.training.training_state import OtherTrainingError
from tests.crosslingual.models import build_bilingual, f1, translations
from tests.killing import KilledError, KillingProgress

PAIRS, GOLD = translations(24, seed=0)
DEV, _ = translations(6, seed=1)
STEPS = 6
"""Steps of two epochs in batches of 8."""


@pytest.fixture(scope="module")
def bilingual(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("bilingual")
    build_bilingual(folder)
    return str(folder)


def opened(folder: Path | str, *, masked_lm: bool = True) -> LayerEncoder:
    return LayerEncoder(ModelSource(str(folder)), device="cpu", precision="fp32", masked_lm=masked_lm)


def settings(**changes: Any) -> FineTuning:
    return FineTuning(**{"epochs": 2, "learning_rate": 1e-3, **changes})


def weights(encoder: LayerEncoder) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in encoder.network.parameters()])


def tuned(folder: str, training: Training | None = None, **changes: Any) -> Tensor:
    encoder = opened(folder)
    fine_tune(encoder, PAIRS, settings(**changes), training or Training(seed=1))
    return weights(encoder)


def loss(encoder: LayerEncoder, pairs: list[Pair], plan: FineTuning) -> float:
    learner = _Learner(encoder, plan, seed=0)
    with torch.no_grad():
        return float(learner.loss([learner.masked_pair(pair, index, 0) for index, pair in enumerate(pairs)]))


class TestObjectives:
    def test_self_training_and_consistency_equal_values_by_hand(self) -> None:
        scores = torch.tensor([[2.0, 0.0, -9.0], [0.5, 1.0, -9.0]])
        forward, backward = scores.softmax(1), scores.softmax(0)
        linked = [(i, j) for i in range(2) for j in range(3) if min(forward[i, j], backward[i, j]) > 0.2]
        assert 0 < len(linked) < 6
        expected = sum(forward[i, j] / 2 + backward[i, j] / 3 for i, j in linked) / 2
        alike = sum(forward[i, j] * backward[i, j] for i in range(2) for j in range(3)) / 2
        sizes = torch.tensor([2]), torch.tensor([3])
        assert self_training(forward[None], backward[None], sizes, 0.2).item() == pytest.approx(float(expected))
        assert consistency(forward[None], backward[None], sizes).item() == pytest.approx(float(alike))

    def test_objectives_are_one_for_certain_links(self) -> None:
        sure = torch.eye(3)[None]
        sizes = torch.tensor([3]), torch.tensor([3])
        assert self_training(sure, sure, sizes, 1e-3).item() == pytest.approx(1)
        assert consistency(sure, sure, sizes).item() == pytest.approx(1)

    @pytest.mark.parametrize("objective", ["so", "co"])
    def test_training_increases_the_objectives(self, bilingual: str, objective: str) -> None:
        plan = settings(**{"tlm": 0.0, "mlm": 0.0, "so": 0.0, "co": 0.0, "epochs": 4, objective: 1.0})
        encoder = opened(bilingual, masked_lm=False)
        before = -loss(encoder, PAIRS[:8], plan)
        fine_tune(encoder, PAIRS, plan, Training(seed=1))
        assert 0 < before < -loss(encoder, PAIRS[:8], plan) <= 1

    @pytest.mark.parametrize("objective", ["tlm", "mlm"])
    def test_masked_subwords_are_guessed_better(self, bilingual: str, objective: str) -> None:
        plan = settings(**{"tlm": 0.0, "mlm": 0.0, "so": 0.0, objective: 1.0})
        encoder = opened(bilingual)
        before = loss(encoder, DEV, plan)
        fine_tune(encoder, PAIRS, plan, Training(seed=1))
        assert loss(encoder, DEV, plan) < before

    def test_objectives_are_weighted(self, bilingual: str) -> None:
        encoder = opened(bilingual)

        def loss_with(**weights: float) -> float:
            return loss(encoder, DEV, settings(**{"tlm": 0.0, "mlm": 0.0, "so": 0.0, "co": 0.0, **weights}))

        parts = {name: loss_with(**{name: 1.0}) for name in ("tlm", "mlm", "so", "co")}
        assert parts["tlm"] != parts["mlm"]  # each sees other masks
        assert loss_with(so=0.5, co=2.0) == pytest.approx(0.5 * parts["so"] + 2 * parts["co"], abs=1e-5)


def seen_by(network: Any, action: Callable[[], Any]) -> list[list[int]]:
    """Return the rows of subwords that a network reads during an action."""
    rows: list[list[int]] = []

    def watch(module: Any, args: Any, kwargs: Any) -> None:
        ids, mask = kwargs["input_ids"], kwargs["attention_mask"]
        rows.extend(
            [subword for subword, there in zip(*row, strict=True) if there]
            for row in zip(ids.tolist(), mask.tolist(), strict=True)
        )

    handle = network.register_forward_pre_hook(watch, with_kwargs=True)
    try:
        action()
    finally:
        handle.remove()
    return rows


class TestModelInput:
    def shown(self, folder: str, **changes: Any) -> tuple[Counter[tuple[int, ...]], Any]:
        """Return the counts of the rows of subwords, and the tokenizer."""
        encoder = opened(folder)
        plan = settings(epochs=1, **{"so": 0.0, "mlm": 0.0, "tlm": 0.0, **changes})
        rows = seen_by(encoder.network, lambda: fine_tune(encoder, PAIRS[:3], plan, Training(seed=1)))
        return Counter(map(tuple, rows)), encoder.subwords.tokenizer

    def test_tlm_reads_both_sides_in_both_orders(self, bilingual: str) -> None:
        rows, tokenizer = self.shown(bilingual, tlm=1.0, mask_rate=0.3)
        expected = [
            tokenizer.convert_tokens_to_ids(["[CLS]", *first, "[SEP]", *second, "[SEP]"])
            for pair in PAIRS[:3]
            for first, second in ((pair.source, pair.target), (pair.target, pair.source))
        ]
        assert rows.total() == len(expected)
        for row in rows:
            masked = [position for position, subword in enumerate(row) if subword == tokenizer.mask_token_id]
            fitting = [whole for whole in expected if all(row[p] == whole[p] for p in range(13) if p not in masked)]
            assert 0 < len(masked) < 11
            assert len(fitting) == 1
            expected.remove(fitting[0])

    def test_mlm_reads_each_side_alone(self, bilingual: str) -> None:
        rows, tokenizer = self.shown(bilingual, mlm=1.0)
        assert rows.total() == 6
        assert {len(row) for row in rows} == {7}
        assert all(tokenizer.mask_token_id in row for row in rows)

    def test_every_subword_is_sometimes_masked_but_never_a_separator(self, bilingual: str) -> None:
        encoder = opened(bilingual)
        plan = settings(epochs=30, so=0.0, mlm=0.0, mask_rate=0.3, learning_rate=1e-9)
        rows = seen_by(encoder.network, lambda: fine_tune(encoder, PAIRS[:1], plan, Training(seed=1)))
        mask = encoder.subwords.tokenizer.mask_token_id
        counts = Counter(position for row in rows for position, subword in enumerate(row) if subword == mask)
        assert set(counts) == set(range(13)) - {0, 6, 12}
        assert 0.2 < counts.total() / (10 * len(rows)) < 0.4
        assert len(set(map(tuple, rows))) > 30


class TestLearning:
    def test_fine_tuning_improves_links(self, bilingual: str) -> None:
        pairs, _ = translations(120, seed=2)
        plan = {"mlm": 0.0, "epochs": 4, "learning_rate": 3e-3, "batch_size": 20}
        before, after = (Embeddings(bilingual, precision="fp32", fine_tune=table) for table in (None, plan))
        after.fit(pairs, Training(seed=1))
        assert f1(before, PAIRS, GOLD) < 0.75
        assert f1(after, PAIRS, GOLD) > f1(before, PAIRS, GOLD) + 0.15

    def test_a_model_without_a_head_can_be_fine_tuned(self, tiny_model: str) -> None:
        encoder = opened(tiny_model, masked_lm=False)
        before = weights(encoder)
        fine_tune(encoder, PAIRS[:8], settings(tlm=0.0, mlm=0.0), Training(seed=1))
        assert not torch.equal(weights(encoder), before)

    def test_a_head_is_needed_for_guessing(self, tiny_model: str) -> None:
        with pytest.raises(MissingResourceError, match="head"):
            Embeddings(tiny_model, fine_tune={}).fit(PAIRS)
        Embeddings(tiny_model, fine_tune={"tlm": 0.0, "mlm": 0.0}).fit(PAIRS[:2])

    def test_pairs_that_are_too_long_are_counted_and_not_learnt_from(
        self, bilingual: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, target = PAIRS[0].source * 6, PAIRS[0].target * 6
        just_short, long = (Pair(source + source[:more], target) for more in (1, 2))
        odd = [long, Pair((), PAIRS[0].target), Pair(PAIRS[0].source, ())]
        found = [opened(bilingual), opened(bilingual)]
        for encoder, pairs in zip(found, ([just_short], [just_short, *odd]), strict=True):
            fine_tune(encoder, pairs, settings(), Training(seed=1))
        assert "1 of 4 pairs are longer than the 61 subwords" in capsys.readouterr().err
        assert torch.equal(*map(weights, found))
        with pytest.raises(DataError, match="no pair"):
            fine_tune(opened(bilingual), odd, settings())


class TestTraining:
    def test_the_same_seed_gives_the_same_weights(self, bilingual: str) -> None:
        first = tuned(bilingual)
        torch.manual_seed(7)
        assert torch.equal(tuned(bilingual), first)
        assert not torch.equal(tuned(bilingual, Training(seed=2)), first)

    @pytest.mark.parametrize("stop", [1, 3, 4])
    @pytest.mark.usefixtures("saves_each_step")
    def test_a_killed_training_resumes_with_the_same_weights(self, bilingual: str, tmp_path: Path, stop: int) -> None:
        expected, state = tuned(bilingual), tmp_path / "state"
        with pytest.raises(KilledError):
            tuned(bilingual, Training(seed=1, progress=KillingProgress(stop), folder=state))
        progress = Progress("train", quiet=True)
        assert torch.equal(tuned(bilingual, Training(seed=1, progress=progress, folder=state)), expected)
        assert (progress.total, progress.done, progress.resumed) == (STEPS, STEPS, stop - 1)

    @pytest.mark.parametrize("other", [{"so": 0.5}, {"seed": 2}, {"threshold": 0.1}])
    @pytest.mark.usefixtures("saves_each_step")
    def test_the_state_of_another_training_is_refused(self, bilingual: str, tmp_path: Path, other: Any) -> None:
        state = tmp_path / "state"
        with pytest.raises(KilledError):
            tuned(bilingual, Training(seed=1, progress=KillingProgress(3), folder=state))
        changes = {key: value for key, value in other.items() if key != "seed"}
        with pytest.raises(OtherTrainingError):
            tuned(bilingual, Training(seed=other.get("seed", 1), folder=state), **changes)

    def test_fit_resumes_too(self, bilingual: str, tmp_path: Path) -> None:
        one, again = (Embeddings(bilingual, precision="fp32", fine_tune={"learning_rate": 1e-3}) for _ in range(2))
        one.fit(PAIRS, Training(seed=1, folder=tmp_path / "state"))
        again.fit(PAIRS, Training(seed=1, progress=KillingProgress(99), folder=tmp_path / "state"))
        assert one.align(PAIRS) == again.align(PAIRS)

    def test_a_worker_does_not_read_pairs_that_were_learnt_before(
        self, bilingual: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Read(CompletePairs):
            """Counts the pairs that are read."""

            seen = 0

            def __len__(self) -> int:
                return len(PAIRS)

            def __iter__(self) -> Iterator[Pair]:
                for pair in PAIRS:
                    self.seen += 1
                    yield pair

        monkeypatch.setattr("nersery.crosslingual.aligners.embeddings.CHECKED_PAIRS", 1)
        found = []
        for digest, read in (("x", 25), ("x", 1), ("y", 25)):
            pairs = Read(cast(Any, None))
            pairs.__dict__["digest"] = digest  # as if the text were another
            aligner = Embeddings(bilingual, precision="fp32", fine_tune={"learning_rate": 1e-3})
            refused = pytest.raises(OtherTrainingError) if digest == "y" else contextlib.nullcontext()
            with refused:
                aligner.fit(pairs, Training(seed=1, folder=tmp_path / "state"))
                found.append(aligner.align(PAIRS))
            assert pairs.seen == read
        assert found[0] == found[1]


class TestSettings:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"tlm": 0.0, "mlm": 0.0, "so": 0.0}, "one of them above"),
            ({"co": -1.0}, "0 or more"),
            ({"threshold": 1.0}, "threshold"),
            ({"mask_rate": 0.0}, "mask_rate"),
            ({"epochs": 0}, "epochs"),
            ({"batch_size": 0}, "batch_size"),
            ({"learning_rate": 0.0}, "learning_rate"),
        ],
    )
    def test_settings_that_cannot_work_are_refused(self, changes: dict[str, Any], message: str) -> None:
        with pytest.raises(SettingsError, match=message):
            FineTuning(**changes)

    def test_a_learning_rate_that_is_far_too_high_is_reported(self, bilingual: str) -> None:
        with pytest.raises(SettingsError, match="lower learning_rate"):
            fine_tune(opened(bilingual), PAIRS, settings(learning_rate=1e30), Training(seed=1))
