"""The file with the CRF of a tagger, beside its other weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file

from nersery.models.pretrained.loading import ModelSource
from nersery.models.pretrained.model_folder import refusing_damage
from nersery.taggers.output_layer.crf import ConditionalRandomField
from nersery.taggers.output_layer.pretrained_head import known_tags, shared_rows
from nersery.taggers.output_layer.tag_set import TagSet

CRF_FILE = "crf.safetensors"
_UNREADABLE = f"{CRF_FILE} cannot be read: {{}}"


def fit_transitions(crf: ConditionalRandomField, names: Sequence[str], source: ModelSource) -> None:
    """Copy the transitions between shared tags from a saved tagger, if the model is a tagger with a CRF.

    Raises:
        MissingResourceError: If the transitions cannot be read.
    """
    path = Path(source.name) / CRF_FILE
    rows = shared_rows(names, known_tags(source)) if path.is_file() else {}
    if not rows:
        return
    new, old = [*rows], [*rows.values()]
    with refusing_damage(source.name, _UNREADABLE):
        saved = load_file(path)
        for part in ("start", "end"):
            getattr(crf, part).data[new] = saved[part][old]
        crf.transitions.data[torch.tensor(new)[:, None], new] = saved["transitions"][old][:, old]


def load_crf(folder: str | Path, tags: TagSet) -> ConditionalRandomField:
    """Load the CRF of a saved tagger, or raise `MissingResourceError` if it cannot be read."""
    crf = ConditionalRandomField(tags)
    with refusing_damage(folder, _UNREADABLE):
        crf.load_state_dict(load_file(Path(folder) / CRF_FILE))
    return crf
