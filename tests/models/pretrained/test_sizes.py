"""The numbers of parameters in reports."""

from __future__ import annotations

from torch import nn

from nersery.core.sentence import Entity, Sentence
from nersery.models.pretrained.sizes import parameters_of, parameters_of_method
from nersery.taggers.transformer import TransformerTagger


def test_shared_parameters_count_once() -> None:
    first, second = nn.Linear(3, 2), nn.Linear(3, 2)
    second.weight = first.weight

    assert parameters_of(nn.ModuleList([first, second])) == 3 * 2 + 2 + 2


def test_a_method_has_the_parameters_of_its_models(tiny_masked_lm: str) -> None:
    from transformers import AutoModel

    expected = parameters_of(AutoModel.from_pretrained(tiny_masked_lm))

    assert parameters_of_method("augment", "melm", {"model": tiny_masked_lm}) == expected
    assert parameters_of_method("augment", "mention_replacement", {"rate": 0.5}) is None


def test_a_missing_model_has_an_unknown_number_of_parameters() -> None:
    assert parameters_of_method("augment", "melm", {"model": "./gone"}) is None


def test_a_tagger_records_all_parameters_of_its_network(tiny_model: str) -> None:
    """Training leaves out the embeddings of subwords that do not occur; they count nevertheless."""
    tagger = TransformerTagger(tiny_model, steps=1)
    tagger.fit([Sentence(("Ana", "sings"), (Entity(0, 1, "PER"),), id="1")])

    assert tagger.history["parameters"] == parameters_of(tagger.network)
