from __future__ import annotations

import pytest
import torch

from nersery.core.errors import SettingsError
from nersery.taggers.output_layer.tagging_loss import disagreement
from nersery.taggers.transformer import TransformerTagger
from tests.taggers.small_taggers import GOLD


def test_disagreement_is_the_divergence_from_the_mean() -> None:
    ours, theirs = torch.tensor([[0.8, 0.2]]), torch.tensor([[0.4, 0.6]])
    mean = (ours + theirs) / 2
    divergences = [(mean * (mean / one).log()).sum() for one in (ours, theirs)]
    assert disagreement(ours.log(), theirs.log()).item() == pytest.approx(sum(divergences).item() / 2)
    assert disagreement(ours.log(), ours.log() + 3).item() == pytest.approx(0, abs=1e-6)


def test_agreement_makes_the_encoders_more_alike(tiny_model: str) -> None:
    def apart(agreement: float) -> float:
        """How much two encoders disagree on gold after the last step."""
        tagger = TransformerTagger(
            model=tiny_model,
            head="linear",
            co_regularization=agreement,
            steps=15,
            batch_size=8,
            learning_rate=5e-3,
            dropout=0.0,
        )
        seen: list[float] = []
        scores_of = tagger._loss

        def watched(batch):
            both = [tagger._scores([one[0] for one in batch], network=n) for n in (tagger.network, tagger._peer)]
            seen.append(disagreement(*(scores[mask] for scores, mask in both)).item())
            return scores_of(batch)

        tagger._loss = watched
        tagger.fit(GOLD)
        return sum(seen)

    assert apart(20.0) < 0.5 * apart(1e-9)


def test_drops_the_second_encoder_after_training(tiny_model: str) -> None:
    tagger = TransformerTagger(model=tiny_model, head="linear", co_regularization=5.0, steps=1)
    tagger.fit(GOLD)
    assert tagger._peer is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"head": "crf", "co_regularization": 5.0}, 'needs head = "linear"'), ({"co_regularization": -1.0}, "0 or more")],
)
def test_refuses_invalid_settings(settings: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        TransformerTagger(**settings)
