"""What an aligner has learnt is read from the folder of its training only."""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from safetensors import SafetensorError

from nersery.core.errors import SettingsError
from nersery.core.training_context import Training
from nersery.crosslingual.aligner_components.aligner_checkpoint import LEARNT, pairs_digest
from nersery.crosslingual.aligners.base import Pair, Pairs
from nersery.crosslingual.aligners.external import External
from nersery.crosslingual.aligners.statistical import Statistical
from nersery.models.training.training_state import RECORD, BrokenStateError, OtherTrainingError, is_foreign
from tests.crosslingual.fakes import put_on_path

WORDS = {"the": "el", "house": "casa", "river": "río", "big": "grande", "Ada": "Ada", "sees": "ve"}


def corpus() -> list[Pair]:
    rng = random.Random(0)
    sentences = [rng.sample(list(WORDS), rng.randint(1, len(WORDS))) for _ in range(30)]
    return [Pair(tuple(words), tuple(WORDS[word] for word in words[::-1])) for words in sentences]


PAIRS = corpus()


class Once:
    """Pairs that may be read only once, to compute their digest."""

    def __init__(self) -> None:
        self.looks = 0

    def __len__(self) -> int:
        return len(PAIRS)

    def __iter__(self) -> Iterator[Pair]:
        self.looks += 1
        assert self.looks == 1
        return iter(PAIRS)


@pytest.fixture(params=["statistical", "external"])
def aligner(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> type[Statistical | External]:
    if request.param == "statistical":
        return Statistical
    (tmp_path / "bin").mkdir()
    put_on_path(monkeypatch, tmp_path / "bin", "eflomal-align")
    return External


def test_the_next_aligner_need_not_learn(aligner: type[Statistical | External], tmp_path: Path) -> None:
    training = Training(folder=tmp_path / "kept")
    first, second = aligner(), aligner()
    first.fit(PAIRS, training)
    second.fit(Once(), training)
    assert second.align(PAIRS) == first.align(PAIRS)
    assert not is_foreign(tmp_path / "kept")


def test_a_checkpoint_of_other_pairs_or_settings_is_refused(
    aligner: type[Statistical | External], tmp_path: Path
) -> None:
    training = Training(folder=tmp_path / "kept")
    aligner().fit(PAIRS, training)
    with pytest.raises(OtherTrainingError, match="pairs: the content has changed"):
        aligner().fit(PAIRS[1:], training)
    with pytest.raises(OtherTrainingError, match=r"aligner\.prefix: was 4, now 3"):
        aligner(prefix=3).fit(PAIRS, training)


def test_a_call_that_failed_before_learning_blocks_no_later_call(tmp_path: Path) -> None:
    Statistical().fit(PAIRS, Training(folder=tmp_path / "first"))
    training = Training(folder=tmp_path / "kept")
    with pytest.raises(SettingsError, match="learnt with other settings"):
        Statistical(prefix=3, priors=str(tmp_path / "first" / LEARNT)).fit(PAIRS, training)
    Statistical(priors=str(tmp_path / "first" / LEARNT)).fit(PAIRS, training)
    assert (tmp_path / "kept" / LEARNT).is_dir()


def test_a_full_disk_raises_an_os_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(tensors: object, path: Path) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("nersery.crosslingual.hmm.lexicon.save_file", full)
    with pytest.raises(OSError, match="No space left") as raised:
        Statistical().fit(PAIRS, Training(folder=tmp_path))
    assert raised.value.errno == errno.ENOSPC
    assert str(raised.value.filename).startswith(str(tmp_path))


def test_refuses_a_record_that_a_power_failure_has_emptied(tmp_path: Path) -> None:
    (tmp_path / RECORD).touch()
    (tmp_path / LEARNT).mkdir()
    with pytest.raises(BrokenStateError, match="cannot be read"):
        Statistical().fit(PAIRS, Training(folder=tmp_path))


def test_an_incomplete_checkpoint_is_learnt_again(tmp_path: Path) -> None:
    training, aligner = Training(folder=tmp_path), Statistical()
    aligner.fit(PAIRS, training)
    (tmp_path / "learnt" / "lexicon.json").unlink()
    again = Statistical()
    again.fit(PAIRS, training)
    assert again.align(PAIRS) == aligner.align(PAIRS)


def test_pairs_are_distinguished_only_by_their_words() -> None:
    def digest(pairs: Pairs) -> str:
        return pairs_digest(pairs)

    assert digest([Pair(("a",), ("b",), "1")]) == digest([Pair(("a",), ("b",), "2")])
    assert digest([Pair(("a", "b"), ("c",))]) != digest([Pair(("a",), ("b", "c"))])
