from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

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
def test_the_weights_come_out_as_if_all_rows_had_been_there(padding: int | None) -> None:
    whole, cut = made(padding=padding), made(padding=padding)
    learn(whole)
    with pruned_vocabulary(cut, SUBWORDS):
        assert sum(weight.numel() for weight in cut.parameters()) == 4 * 4 + 4 * 3 + 3
        learn(cut)
    assert isinstance(cut.table, nn.Embedding)
    assert all(torch.equal(one, other) for one, other in zip(whole.parameters(), cut.parameters(), strict=True))
    assert list(whole.state_dict()) == list(cut.state_dict())


def test_within_it_the_weights_have_the_same_names() -> None:
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


def test_a_table_that_is_an_output_layer_too_stays_whole() -> None:
    network = made(tied=True)
    table = network.table
    with pruned_vocabulary(network, SUBWORDS):
        assert network.table is table
        assert network(torch.tensor([[12]])).shape == (1, 1, 50)


def test_a_table_that_is_not_learnt_stays_whole() -> None:
    network = made()
    network.table.weight.requires_grad = False
    with pruned_vocabulary(network, SUBWORDS):
        assert network(torch.tensor([[12]])).shape == (1, 1, 3)


def test_a_subword_that_nobody_named_is_an_error() -> None:
    network = made()
    with pruned_vocabulary(network, SUBWORDS), pytest.raises(IndexError):
        network(torch.tensor([[12]]))


def test_after_an_error_all_rows_are_back_with_what_they_had_learnt() -> None:
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
