from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from nersery.models.training import shared_vocabulary
from nersery.models.training.shared_vocabulary import partly_trained_vocabulary
from nersery.models.training.vocabulary_pruning import pruned_vocabulary


class Network(nn.Module):
    def __init__(self, *, padding: int | None = None, tied: bool = False) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 4, padding_idx=padding)
        self.head = nn.Linear(4, 50 if tied else 3)
        if tied:
            self.head.weight = self.table.weight

    def get_input_embeddings(self) -> nn.Module:
        return self.table

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    def forward(self, ids: Tensor) -> Tensor:
        found: Tensor = self.head(self.table(ids))
        return found


IDS = torch.tensor([[7, 3, 49, 3], [0, 7, 0, 0]])
SUBWORDS = [49, 0, 3, 7]


def made(**settings: bool | int | None) -> Network:
    torch.manual_seed(0)
    return Network(**settings)  # type: ignore[arg-type]


def learn(network: Network, steps: int = 5) -> None:
    optimizer = torch.optim.Adam(network.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        network(IDS).square().mean().backward()
        optimizer.step()


@pytest.mark.parametrize("padding", [None, 0, 1])
def test_weights_are_trained_as_with_all_rows(padding: int | None) -> None:
    whole, cut = made(padding=padding), made(padding=padding)
    learn(whole)
    with pruned_vocabulary(cut, SUBWORDS):
        assert sum(weight.numel() for weight in cut.parameters()) == 4 * 4 + 4 * 3 + 3
        learn(cut)
    assert isinstance(cut.table, nn.Embedding)
    assert all(torch.equal(one, other) for one, other in zip(whole.parameters(), cut.parameters(), strict=True))
    assert list(whole.state_dict()) == list(cut.state_dict())


def test_weights_keep_their_names_while_pruned() -> None:
    network = made()
    names = [name for name, _ in network.named_parameters()]
    with pruned_vocabulary(network, SUBWORDS):
        assert [name for name, _ in network.named_parameters()] == names
        assert list(network.state_dict()) == names


def test_other_rows_do_not_even_decay() -> None:
    network = made()
    before = network.table.weight.detach().clone()
    with pruned_vocabulary(network, SUBWORDS):
        optimizer = torch.optim.AdamW(network.parameters(), lr=0.1, weight_decay=0.5)
        network(IDS).sum().backward()
        optimizer.step()
    same = (network.table.weight == before).all(1)
    assert {row for row in range(50) if not same[row]} == {*SUBWORDS}


def test_a_table_tied_to_the_output_layer_is_not_pruned() -> None:
    network = made(tied=True)
    table = network.table
    with pruned_vocabulary(network, SUBWORDS):
        assert network.table is table
        assert network(torch.tensor([[12]])).shape == (1, 1, 50)


def test_a_frozen_table_is_not_pruned() -> None:
    network = made()
    network.table.weight.requires_grad = False
    with pruned_vocabulary(network, SUBWORDS):
        assert network(torch.tensor([[12]])).shape == (1, 1, 3)


def test_a_pruned_subword_is_an_error() -> None:
    network = made()
    with pruned_vocabulary(network, SUBWORDS), pytest.raises(IndexError):
        network(torch.tensor([[12]]))


def test_restores_all_rows_with_their_training_after_an_error() -> None:
    network, other = made(), made()
    with pruned_vocabulary(other, SUBWORDS):
        learn(other)

    def broken() -> None:
        with pruned_vocabulary(network, SUBWORDS):
            learn(network)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert torch.equal(network.table.weight, other.table.weight)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary of 50 counts as large."""
    monkeypatch.setattr(shared_vocabulary, "MAX_TRAINED", 40)


def learn_some(network: Network) -> None:
    optimizer = torch.optim.Adam(network.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        network(IDS)[..., SUBWORDS].square().mean().backward()
        optimizer.step()


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("padding", [None, 1])
def test_a_tied_table_trained_in_some_rows_equals_one_trained_whole(padding: int | None) -> None:
    whole, partly = made(tied=True, padding=padding), made(tied=True, padding=padding)
    learn_some(whole)
    with partly_trained_vocabulary(partly, SUBWORDS):
        sizes = {name: weight.numel() for name, weight in partly.named_parameters()}
        assert sizes == {"table.weight": 4 * 4, "head.bias": 50}
        learn_some(partly)
    assert partly.head.weight is partly.table.weight
    for name, weight in partly.named_parameters():
        assert torch.allclose(weight, dict(whole.named_parameters())[name], atol=1e-6), name


@pytest.mark.usefixtures("large")
def test_a_tied_table_trained_in_bf16_is_close_to_fp32() -> None:
    exact, rough = made(tied=True), made(tied=True)
    with partly_trained_vocabulary(exact, SUBWORDS):
        learn_some(exact)
    with partly_trained_vocabulary(rough, SUBWORDS), torch.autocast("cpu", torch.bfloat16):
        learn_some(rough)
    changed = (exact.table.weight - made(tied=True).table.weight).abs().max()
    assert (rough.table.weight - exact.table.weight).abs().max() < 0.1 * changed


@pytest.mark.usefixtures("large")
def test_all_rows_of_a_partly_trained_tied_table_are_used() -> None:
    network = made(tied=True)
    expected = network(torch.arange(50))
    with partly_trained_vocabulary(network, SUBWORDS):
        assert torch.allclose(network(torch.arange(50)), expected, atol=1e-6)


@pytest.mark.usefixtures("large")
def test_an_untied_table_is_not_trained_in_part() -> None:
    network = made()
    table = network.table
    with partly_trained_vocabulary(network, SUBWORDS):
        assert network.table is table


def test_a_small_tied_table_is_trained_whole() -> None:
    network = made(tied=True)
    table = network.table
    with partly_trained_vocabulary(network, SUBWORDS):
        assert network.table is table
