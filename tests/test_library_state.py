"""Calls of the library do not change the global state of the user's program."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from transformers.utils import logging as transformers_logging

import nersery
from nersery.models.pretrained.loading import quiet_transformers
from nersery.models.pretrained.torch_state import AUTOCAST_DEVICES, SharedSetting, torch_defaults
from nersery.taggers.base import load_tagger
from tests.standins import sentences

GOLD = nersery.Corpus(sentences(8))


def _state() -> dict[str, Any]:
    return {
        "random": random.getstate(),
        "numpy": np.random.get_state()[1].tobytes(),  # type: ignore[union-attr]
        "torch": torch.random.get_rng_state().numpy().tobytes(),
        "threads": torch.get_num_threads(),
        "logging": (logging.root.level, [*logging.root.handlers], logging.getLogger("torch.onnx").level),
        "progress": transformers_logging.is_progress_bar_enabled(),
        "verbosity": transformers_logging.get_verbosity(),
    }


@pytest.mark.parametrize(
    "call",
    [
        lambda: nersery.predict(GOLD, "bundled-ner", quiet=True),
        lambda: nersery.train(GOLD, "transformer", model="bundled", steps=1, quiet=True),
        lambda: nersery.augment(GOLD, "masked_entity", quiet=True),
    ],
    ids=["predict", "train", "augment"],
)
def test_a_call_does_not_change_global_state(call: Any) -> None:
    """New weights, such as those of a head, are drawn from PyTorch's global random numbers."""
    before = _state()
    call()
    assert _state() == before


def test_progress_bars_that_the_user_has_hidden_stay_hidden() -> None:
    shown = transformers_logging.is_progress_bar_enabled()
    try:
        for wanted in (transformers_logging.disable_progress_bar, transformers_logging.enable_progress_bar):
            wanted()
            before = _state()
            with quiet_transformers():
                assert not transformers_logging.is_progress_bar_enabled()
            assert _state() == before
    finally:
        (transformers_logging.enable_progress_bar if shown else transformers_logging.disable_progress_bar)()


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    torch.set_default_dtype(dtype)
    try:
        yield
        assert torch.get_default_dtype() == dtype
    finally:
        torch.set_default_dtype(torch.float32)


def _results() -> tuple[list[torch.Tensor], Any]:
    """The weights of a tagger, and links of words."""
    tagger = nersery.train(GOLD, "transformer", model="bundled", steps=2, quiet=True)
    alignments = nersery.align(GOLD, GOLD, "embeddings", model="bundled", quiet=True)
    return [*tagger.network.state_dict().values()], alignments  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def usual() -> tuple[list[torch.Tensor], Any]:
    """The results without any settings of the user."""
    return _results()


@pytest.mark.parametrize(
    "settings",
    [
        lambda: _default_dtype(torch.float64),
        lambda: _default_dtype(torch.bfloat16),
        lambda: torch.device("meta"),
        torch.no_grad,
        torch.inference_mode,
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    ],
    ids=["float64", "bfloat16", "device", "no_grad", "inference_mode", "autocast"],
)
def test_results_do_not_depend_on_the_user_s_settings_of_pytorch(
    settings: Callable[[], Any], usual: tuple[list[torch.Tensor], Any]
) -> None:
    with settings():
        weights, alignments = _results()
    assert all(map(torch.equal, weights, usual[0]))
    assert alignments == usual[1]


@pytest.mark.parametrize("device", AUTOCAST_DEVICES)
def test_torch_defaults_turns_autocast_off_temporarily(device: str) -> None:
    torch.set_autocast_enabled(device, True)
    try:
        with torch_defaults():
            assert not torch.is_autocast_enabled(device)
        assert torch.is_autocast_enabled(device)
    finally:
        torch.set_autocast_enabled(device, False)


def test_the_first_thread_changes_a_setting_and_the_last_one_restores_it() -> None:
    done: list[str] = []

    def change() -> Callable[[], None]:
        done.append("changed")
        return lambda: done.append("restored")

    setting = SharedSetting(change)
    first, second = setting.changed(), setting.changed()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert done == ["changed"]
    second.__exit__(None, None, None)
    assert done == ["changed", "restored"]


def test_loading_within_autocast_does_not_change_the_weights() -> None:
    expected = nersery.predict(GOLD, load_tagger("bundled-ner"), quiet=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        tagger = load_tagger("bundled-ner")
    assert nersery.predict(GOLD, tagger, quiet=True).corpus == expected.corpus
