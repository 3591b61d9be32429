"""Adaptation to raw text, with a real but tiny model."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from nersery.core.errors import DataError, MissingResourceError
from nersery.core.progress import Progress
from nersery.core.training_context import Training
from nersery.models.masked import adaptation
from nersery.models.masked.adaptation import adapt, check_text
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.masked.masked_subwords import MaskedWindow
from nersery.models.training.training_state import OtherTrainingError
from tests.killing import KilledError, stop_at
from tests.models.masked_texts import opened, weights

TEXT = ["we saw there today Radia .", "the program in Oslo won", "राम दिल्ली में रहता है ।", "東京 は 日本 の 首都"] * 20
STEPS = 3
"""Steps of a pass over the text, in batches of 32."""


def adapted(
    name: Path | str, path: Path, watch: Callable[[list[MaskedWindow]], Any] | None = None, **settings: Any
) -> Any:
    """The weights of an adapted model.

    Args:
        watch: Is called with the rows of each step before the step.
    """
    model = opened(name)
    loss = model._loss

    def watched(rows: Any) -> torch.Tensor:
        if watch is not None:
            watch(rows)
        return loss(rows)

    model._loss = watched  # type: ignore[method-assign]
    epochs = settings.pop("epochs", 2)
    adapt(model, str(path), epochs=epochs, training=Training(**{"seed": 1, **settings}))
    return weights(model)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    (tmp_path / "raw.txt").write_text("\n".join(TEXT) + "\n", "utf-8")
    return tmp_path / "raw.txt"


class TestLearning:
    def test_words_of_the_text_become_more_probable(
        self, tiny_masked_lm: str, raw: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(adaptation, "LEARNING_RATE", 3e-4)  # for a model of two layers of 32
        model = opened(tiny_masked_lm)
        seen, other = (MaskedInput(("we", "saw", "there", "today", word, "."), (4,)) for word in ("Radia", "Boston"))
        before = model.log_probabilities([seen, other])
        adapt(model, str(raw), epochs=30)
        after = model.log_probabilities([seen, other])
        assert after[0][0] > before[0][0] + 0.5
        assert after[0][0] - before[0][0] > after[1][0] - before[1][0] + 0.5

    def test_about_15_percent_of_subwords_are_masked_differently_in_each_pass(
        self, tiny_masked_lm: str, raw: Path
    ) -> None:
        passes: list[Counter[tuple[int, ...]]] = [Counter() for _ in range(4)]
        hidden = total = step = 0
        words = set()

        def watch(rows: list[MaskedWindow]) -> None:
            nonlocal hidden, total, step
            for row in rows:
                hidden += len(row.positions)
                total += len(row.window.subwords) - 2
                words.update(word for word, _ in row.places)
                passes[step // STEPS][row.window.subwords] += 1
            step += 1

        adapted(tiny_masked_lm, raw, watch, epochs=4)
        assert step == 4 * STEPS
        assert [each.total() for each in passes] == [len(TEXT)] * 4, "every sentence in every pass"
        assert 0.13 < hidden / total < 0.22, "15 %, and one of a sentence at the least"
        assert words == set(range(6)), "signs too, and words of every script"
        assert all(a != b for a, b in pairwise(passes))

    def test_learns_from_all_of_a_sentence_longer_than_the_model(self, tiny_masked_lm: str, tmp_path: Path) -> None:
        (tmp_path / "long.txt").write_text("Ada won " * 100 + "Oslo\n")
        words: set[int] = set()
        watch = lambda rows: words.update(word for row in rows for word, _ in row.places)  # noqa: E731
        adapted(tiny_masked_lm, tmp_path / "long.txt", watch, epochs=80)
        assert len(words) == 201

    def test_accepts_text_like_special_tokens_and_words_without_subwords(
        self, tiny_masked_lm: str, tmp_path: Path
    ) -> None:
        lines = ["[MASK] [SEP] <b-PER> ##s", "\u200b", "👩‍👩‍👧 zzyzx", "x" * 500]
        (tmp_path / "odd.txt").write_text("\n\n".join(lines), "utf-8")
        assert torch.isfinite(adapted(tiny_masked_lm, tmp_path / "odd.txt")).all()


class TestRandomness:
    def test_weights_depend_on_the_seed(self, tiny_masked_lm: str, raw: Path) -> None:
        first, again, other = (adapted(tiny_masked_lm, raw, seed=seed) for seed in (1, 1, 2))
        assert torch.equal(first, again)
        assert not torch.equal(first, other)

    def test_global_random_state_is_unchanged(self, tiny_masked_lm: str, raw: Path) -> None:
        before = torch.get_rng_state()
        adapted(tiny_masked_lm, raw)
        assert torch.equal(before, torch.get_rng_state())

    def test_file_format_and_labels_do_not_matter(self, tiny_masked_lm: str, raw: Path) -> None:
        """Lines, columns and JSONL of the same words give the same weights."""
        columns = raw.with_name("raw.conll")
        columns.write_text("\n".join("".join(f"{w}\tB-PER\n" for w in line.split()) for line in TEXT), "utf-8")
        json_lines = raw.with_name("raw.jsonl")
        json_lines.write_text("".join(json.dumps({"words": line.split()}) + "\n" for line in TEXT), "utf-8")
        other = Path(shutil.copy(raw, raw.with_name("raw.de")))
        found = [adapted(tiny_masked_lm, path) for path in (raw, columns, json_lines, other)]
        assert all(torch.equal(found[0], again) for again in found[1:])


@pytest.mark.usefixtures("saves_each_step")
class TestState:
    @pytest.mark.parametrize("step", [1, 2, STEPS + 1, 2 * STEPS])
    def test_resumes_with_the_same_bits(self, tiny_masked_lm: str, raw: Path, step: int) -> None:
        state, taken = raw.parent / "state", []
        with pytest.raises(KilledError):
            adapted(tiny_masked_lm, raw, stop_at(step), folder=state)
        found = adapted(tiny_masked_lm, raw, taken.append, folder=state)
        assert len(taken) == 2 * STEPS - (step - 1)
        assert torch.equal(found, adapted(tiny_masked_lm, raw))

    def test_a_finished_adaptation_takes_no_step(self, tiny_masked_lm: str, raw: Path) -> None:
        state, taken = raw.parent / "state", []
        first = adapted(tiny_masked_lm, raw, folder=state)
        assert torch.equal(first, adapted(tiny_masked_lm, raw, taken.append, folder=state))
        assert not taken
        assert sorted(os.listdir(state)) == [f"final-{2 * STEPS}.safetensors", "state.json"]

    @pytest.mark.parametrize("finished", [False, True])
    def test_refuses_the_state_of_another_model_text_length_or_seed(
        self, tiny_masked_lm: str, raw: Path, finished: bool
    ) -> None:
        state, twin = raw.parent / "state", Path(shutil.copytree(tiny_masked_lm, raw.parent / "twin"))
        if finished:
            adapted(twin, raw, folder=state)
        else:
            with pytest.raises(KilledError):
                adapted(twin, raw, stop_at(3), folder=state)
        with pytest.raises(OtherTrainingError, match=r"\n  model\.name: was "):
            adapted(tiny_masked_lm, raw, folder=state)
        with pytest.raises(OtherTrainingError, match=r"\n  plan\.epochs: was 2, now 3"):
            adapted(twin, raw, folder=state, epochs=3)
        with pytest.raises(OtherTrainingError, match=r"\n  seed: was 1, now 2"):
            adapted(twin, raw, folder=state, seed=2)
        text = raw.read_text("utf-8")
        raw.write_text(text.replace("Radia", "Grace"), "utf-8")
        with pytest.raises(OtherTrainingError, match=r"\n  text: the content has changed"):
            adapted(twin, raw, folder=state)
        raw.write_text(text, "utf-8")
        (twin / "notes.txt").write_text("other files of the same shapes")
        with pytest.raises(OtherTrainingError, match=r"\n  files\.model: the content has changed"):
            adapted(twin, raw, folder=state)

    def test_progress_counts_the_steps(self, tiny_masked_lm: str, raw: Path) -> None:
        state = raw.parent / "state"
        with pytest.raises(KilledError):
            adapted(tiny_masked_lm, raw, stop_at(3), folder=state)
        progress = Progress("adapt", quiet=True)
        adapted(tiny_masked_lm, raw, folder=state, progress=progress)
        assert (progress.total, progress.done, progress.resumed) == (2 * STEPS, 2 * STEPS, 2)


class TestBadInput:
    def test_refuses_a_missing_file(self, tiny_masked_lm: str, tmp_path: Path) -> None:
        check_text("")
        for path in (tmp_path / "nowhere.txt", tmp_path):
            with pytest.raises(MissingResourceError, match=r"there is no file .* to adapt to\. Expected raw text"):
                check_text(str(path))
            with pytest.raises(MissingResourceError):
                adapted(tiny_masked_lm, path)

    @pytest.mark.parametrize("text", ["", "\n \n\n"])
    def test_refuses_a_file_without_a_sentence(self, tiny_masked_lm: str, tmp_path: Path, text: str) -> None:
        (tmp_path / "raw.txt").write_text(text)
        with pytest.raises(DataError, match=r"raw\.txt contains no sentence to adapt to") as error:
            adapted(tiny_masked_lm, tmp_path / "raw.txt")
        assert "one sentence per line" in error.value.fix

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("news.2019.json", b"we saw there today\nthe program in Oslo won\n", "show the format"),
            ("raw.txt", "größer\n".encode("latin-1"), "UTF-8"),
            ("raw.conll", b"Ada\tB-PER\nwon\tI_LOC\n", "I_LOC"),
        ],
    )
    def test_unreadable_text_has_a_fix_for_this_setting(
        self, tiny_masked_lm: str, tmp_path: Path, name: str, content: bytes, message: str
    ) -> None:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=message) as error:
            adapted(tiny_masked_lm, tmp_path / name)
        assert error.value.fix == "name a file of raw text in UTF-8, one sentence per line, that ends in .txt"


def test_the_batch_size_is_the_one_assumed_here() -> None:
    assert -(-len(TEXT) // adaptation.BATCH_SIZE) == STEPS
