"""Input and output embeddings: new tokens, and scores at selected positions only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from nersery.core.errors import SettingsError
from nersery.models.subwords.subwords import SubwordEncoder
from nersery.models.training.trainer import seeded


def add_rows(network: Any, encoder: SubwordEncoder, descriptions: Mapping[str, str], *, instead: str) -> dict[str, int]:
    """Add new tokens. The embedding of each starts as the mean of its description's subwords.

    Args:
        encoder: Gets the ids of the tokens.
        descriptions: Description of each token. Tokens begin with `nersery.models.tokens.TOKEN_PREFIX`.
        instead: The end of the error message: which model cannot be extended, and which others can.

    Returns:
        The ids of the tokens that did not exist yet.

    Raises:
        SettingsError: If the model cannot be extended.
    """
    first = len(network.get_input_embeddings().weight)
    new = {token: number for number, token in enumerate((t for t in descriptions if t not in encoder.token_ids), first)}
    if not new:
        return new
    output = network.get_output_embeddings()
    if output is None or len(output.weight) != first:
        raise SettingsError(f"the model {instead}")
    try:
        with seeded(0):  # resizing draws random rows, which are overwritten below
            network.resize_token_embeddings(first + len(new), mean_resizing=False)
    except (TypeError, NotImplementedError):  # MobileBERT has more weights per subword, I-BERT has integers
        raise SettingsError(f"the model {instead}") from None
    vectors = [layer.weight for layer in (network.get_input_embeddings(), network.get_output_embeddings())]
    with torch.no_grad():
        for token, number in new.items():
            encoder.token_ids[token] = (number,)
            described = encoder.subwords(descriptions[token].split() or ["type"])
            subwords = [subword for word in described for subword in word]
            for weight in vectors:
                weight[number] = weight[subwords].mean(0)
    return new


@contextlib.contextmanager
def output_at(network: Any, rows: Tensor, positions: Tensor) -> Iterator[None]:
    """Compute the output layer at the given positions only within the context. It is the costliest of small models."""

    def choose(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        states, *rest = inputs
        return (states[rows, positions], *rest) if states.ndim == 3 else inputs

    output = network.get_output_embeddings()
    handle = output.register_forward_pre_hook(choose) if output is not None else None
    try:
        yield
    finally:
        if handle is not None:
            handle.remove()
