from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from nersery.core.errors import SettingsError
from nersery.models.training.monte_carlo_dropout import monte_carlo_dropout

PASSES, ROWS, WORDS, FEATURES = 3, 4, 5, 16


def ones(passes=PASSES, words=WORDS):
    return torch.ones(passes * ROWS, words, FEATURES)


def masks(layer=None, passes=PASSES, seed=0, words=WORDS):
    """The output of one dropout layer for ones. Shape: (passes, features)."""
    layer = (layer or nn.Sequential(nn.Dropout(0.25))).eval()
    with monte_carlo_dropout(layer, passes, seed):
        found = layer(ones(passes, words))
    blocks = found.view(passes, ROWS * words, FEATURES)
    assert torch.equal(blocks, blocks[:, :1].expand_as(blocks)), "rows or positions of a pass differ"
    return blocks[:, 0]


def test_a_pass_drops_the_same_features_in_all_rows_and_positions():
    first, second, third = masks()
    assert not torch.equal(first, second)
    assert not torch.equal(second, third)
    assert first.unique().tolist() == [0.0, pytest.approx(4 / 3)]


def test_dropped_features_depend_only_on_seed_and_pass_number():
    torch.manual_seed(9)
    whole = masks()
    torch.manual_seed(10)
    assert torch.equal(masks(words=1), whole)
    assert torch.equal(masks(passes=2), whole[:2])
    assert not torch.equal(masks(seed=1), whole)


def test_the_mean_is_preserved():
    assert float(masks(passes=400).mean()) == pytest.approx(1.0, abs=0.03)
    assert float((masks(passes=400) == 0).float().mean()) == pytest.approx(0.25, abs=0.02)


def test_each_layer_drops_other_features():
    layers = nn.ModuleDict({"first": nn.Dropout(0.5), "second": nn.Dropout(0.5)}).eval()
    with monte_carlo_dropout(layers, PASSES, 0):
        assert not torch.equal(layers["first"](ones()), layers["second"](ones()))


def test_values_of_other_dimensions_are_unchanged():
    layer = nn.Sequential(nn.Dropout(0.5)).eval()
    with monte_carlo_dropout(layer, 2, 0):
        for shape in ((4, 8), (4, 2, 8, 8)):
            assert torch.equal(layer[0](torch.ones(shape)), torch.ones(shape))


def test_restores_the_network_even_after_an_error():
    layer = nn.Sequential(nn.Dropout(0.5)).eval()
    with pytest.raises(KeyError), monte_carlo_dropout(layer, 2, 0):
        raise KeyError
    assert torch.equal(layer(ones()), ones())
    assert not layer[0]._forward_hooks


def test_other_threads_use_the_same_network_at_once():
    """Two threads of an application that share a tagger, one of which measures certainty."""
    layer = nn.Sequential(nn.Dropout(0.5)).eval()
    expected = masks(layer, seed=1)
    with ThreadPoolExecutor(1) as other, monte_carlo_dropout(layer, PASSES, 0):
        assert torch.equal(other.submit(layer, ones()).result(), ones())
        assert torch.equal(other.submit(masks, layer, seed=1).result(), expected)


def test_precision_is_kept():
    layer = nn.Sequential(nn.Dropout(0.5)).eval()
    with monte_carlo_dropout(layer, 1, 0):
        assert layer(ones().bfloat16()).dtype == torch.bfloat16


def test_global_random_state_is_unchanged():
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    masks()
    assert torch.equal(torch.rand(1), expected)


def test_refuses_a_network_without_dropout():
    for network in (nn.Linear(2, 2), nn.Sequential(nn.Dropout(0.0))):
        with pytest.raises(SettingsError, match="does not have"), monte_carlo_dropout(network, 2, 0):
            pass
    with pytest.raises(SettingsError, match="passes is 0"), monte_carlo_dropout(nn.Dropout(0.5), 0, 0):
        pass


class Positions(nn.Module):
    """A network whose layers have positions before rows, as in XLNet."""

    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, rows):
        return self.dropout(rows.transpose(0, 1))


class Attention(nn.Module):
    """A network that does not drop features."""

    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, rows):
        return self.dropout(rows.unsqueeze(1)).squeeze(1)


@pytest.mark.parametrize("network", [Positions(), Attention()], ids=["positions first", "attention alone"])
def test_refuses_a_network_in_which_all_passes_are_equal(network):
    with pytest.raises(SettingsError, match="Use another model"), monte_carlo_dropout(network.eval(), 2, 0):
        network(ones(2))
    assert torch.equal(network(ones(2)).sum(), ones(2).sum()), "afterwards it is whole"
