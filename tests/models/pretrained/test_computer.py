"""The parts of the environment that results depend on are recorded, and refused if they differ."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from nersery import io
from nersery.core.errors import SettingsError
from nersery.models.pretrained.computer import ANY, computer, environment
from nersery.models.pretrained.loading import autocast, resolve_precision
from nersery.models.training.trainer import TrainingPlan, train
from nersery.models.training.training_state import OtherTrainingError
from nersery.pipeline.job import FileJob
from nersery.pipeline.stage_job import stage_job
from nersery.pipeline.stage_options import JobOptions
from nersery.select.base import SelectStage
from nersery.select.duplicates import Duplicates
from nersery.select.perplexity import Perplexity

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def test_a_computer_has_processor_precision_and_threads() -> None:
    found = computer()
    assert found["processor"]
    assert found["precision"] in ("bf16", "fp32")
    if not torch.cuda.is_available():
        assert found["threads"] == str(torch.get_num_threads())


def test_threads_do_not_matter_on_a_gpu() -> None:
    assert environment(GPU, "bf16") == {"NERSERY_PRECISION": "bf16", "OMP_NUM_THREADS": ANY}
    assert environment(CPU, "fp32", threads=3) == {"NERSERY_PRECISION": "fp32", "OMP_NUM_THREADS": "3"}


@pytest.mark.parametrize("wanted", ["bf16", "fp32"])
def test_the_variable_decides_what_auto_means(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NERSERY_PRECISION", wanted)
    assert (resolve_precision("auto", CPU), resolve_precision("fp32", CPU), resolve_precision("bf16", CPU)) == (
        wanted,
        "fp32",
        "bf16",
    )
    with autocast(CPU, "auto"):
        assert (torch.ones(1, 1) @ torch.ones(1, 1)).dtype == {"bf16": torch.bfloat16, "fp32": torch.float32}[wanted]


def test_refuses_another_value_of_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NERSERY_PRECISION", "fp16")
    with pytest.raises(SettingsError, match='NERSERY_PRECISION is "fp16", expected bf16 or fp32'):
        resolve_precision("auto", CPU)


def test_a_training_does_not_resume_with_other_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = TrainingPlan(steps=1, batch_size=1, learning_rate=0.1, precision="fp32")

    def training() -> None:
        model = nn.Linear(1, 1)
        train(model, [1.0], lambda batch: model(torch.tensor([batch])).sum(), plan, seed=0, folder=tmp_path)

    training()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    with pytest.raises(OtherTrainingError, match=r"environment\.OMP_NUM_THREADS: was '1', now '7'"):
        training()


@pytest.mark.parametrize(("selector", "depends"), [(Perplexity(), True), (Duplicates(), False)])
def test_jobs_with_a_model_depend_on_threads(selector: object, depends: bool, tmp_path: Path) -> None:
    job = stage_job(SelectStage(selector), io.InMemory([]), tmp_path / "out.jsonl", JobOptions())  # type: ignore[arg-type]
    found: FileJob = job._file_job(job._environment(selector))
    assert ("environment" in found.fingerprint) == depends
