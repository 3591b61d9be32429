"""Monte Carlo dropout: prediction with active dropout, as a measure of certainty.

Reference: Gal and Ghahramani 2016, "Dropout as a Bayesian Approximation".

Departures:
    - Each pass uses one mask for all rows and positions instead of a new mask for each. The result for a sentence then
      does not depend on those beside it, and each pass samples one network, as in the paper's theory.
    - Attention probabilities are not dropped, because their number depends on the length of the batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from threading import get_ident
from typing import Any

import torch
from torch import Tensor, nn

from nersery.core.errors import SettingsError
from nersery.core.random import item_seed


@contextlib.contextmanager
def monte_carlo_dropout(network: nn.Module, passes: int, seed: int) -> Iterator[None]:
    """Give each of ``passes`` blocks of rows its own dropout mask, in a network in evaluation mode, within the context.

    The caller repeats the rows block by block. A mask depends only on the seed, the number of the pass and the name of
    the layer. Other threads may use the network at the same time, also with masks of their own.

    Args:
        network: A network with `torch.nn.Dropout` layers. Shape of their output: (rows, positions, features).

    Raises:
        SettingsError: If the network has no dropout, or ``passes`` is below 1.

    >>> layer = nn.Sequential(nn.Dropout(0.5)).eval()
    >>> with monte_carlo_dropout(layer, passes=2, seed=0):
    ...     first, second = layer(torch.ones(2, 3, 8))
    >>> bool((first == first[0]).all()), bool((first == second).all()), sorted(set(first[0].tolist()))
    (True, False, [0.0, 2.0])
    """
    if passes < 1:
        raise SettingsError(f"passes is {passes}, expected 1 or more")
    layers, thread = dropout_layers(network), get_ident()
    masks = _DropoutMasks(passes, seed)

    def here(hook: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: hook(*args) if get_ident() == thread else None

    handles = [layer.register_forward_hook(here(partial(masks.apply, name))) for name, layer in layers]
    handles.append(network.register_forward_pre_hook(here(masks.begin), with_kwargs=True))
    handles.append(network.register_forward_hook(here(masks.end)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def dropout_layers(network: nn.Module) -> list[tuple[str, nn.Dropout]]:
    """The dropout layers with a rate above 0, with their names; a `SettingsError` if there are none."""
    layers = [(name, layer) for name, layer in network.named_modules() if isinstance(layer, nn.Dropout) and layer.p]
    if not layers:
        raise SettingsError(
            "certainty is measured with dropout, which this model does not have. Train the tagger with a dropout "
            "above 0, or use another model"
        )
    return layers


class _DropoutMasks:
    """Forward hooks that apply the masks of the passes."""

    def __init__(self, passes: int, seed: int) -> None:
        self._passes, self._seed = passes, seed
        self._masks: dict[tuple[str, int], Tensor] = {}
        self._rows: int | None = None
        self._masked_outputs = 0

    def begin(self, _: nn.Module, args: tuple[Any, ...], values: dict[str, Any]) -> None:
        """Store the number of rows in a call of the whole network."""
        given = (*args, *values.values())
        self._rows = next((len(value) for value in given if isinstance(value, Tensor)), None)
        self._masked_outputs = 0

    def end(self, *_: Any) -> None:
        """Raise `SettingsError` if no mask was applied in the network."""
        if not self._masked_outputs:
            raise SettingsError(
                "certainty is measured with dropout outside attention, on the shape (rows, positions, features), "
                "which this model does not have. Use another model"
            )

    def apply(self, name: str, layer: nn.Dropout, _: Any, output: Tensor) -> Tensor:
        """The output of a layer, multiplied by the mask of each block's pass."""
        if output.ndim != 3 or self._rows not in (None, len(output)):
            return output
        self._masked_outputs += 1
        features = output.shape[2]
        if (name, features) not in self._masks:
            drawn = [_mask(layer.p, features, self._seed, number, name) for number in range(self._passes)]
            self._masks[name, features] = torch.stack(drawn).to(output)
        blocks = output.reshape(self._passes, -1, features) * self._masks[name, features].unsqueeze(1)
        return blocks.reshape(output.shape)


def _mask(rate: float, features: int, *keys: object) -> Tensor:
    """The factor on each feature: 0, or 1 / (1 - rate). Shape: (features,)."""
    generator = torch.Generator().manual_seed(item_seed("dropout", *keys) >> 65)
    kept: Tensor = torch.rand(features, generator=generator) >= rate
    return kept / (1 - rate)
