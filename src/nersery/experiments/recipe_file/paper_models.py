"""The checkpoints that the papers use, and how those without safetensors are converted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PaperModel:
    """A model that the papers use.

    Args:
        gigabytes: Size of the download.
        pickled: Whether the hub had no safetensors of it when this list was written.
        auto_class: The transformers class to convert it with.
    """

    gigabytes: float
    pickled: bool = False
    auto_class: str = "AutoModel"


CHECKPOINTS: Mapping[str, PaperModel] = {
    "bert-base-cased": PaperModel(0.4),
    "bert-base-multilingual-cased": PaperModel(0.7),
    "deepset/bert-base-cased-squad2": PaperModel(0.4),
    "facebook/mbart-large-50": PaperModel(2.4, pickled=True, auto_class="AutoModelForSeq2SeqLM"),
    "google-t5/t5-large": PaperModel(3.0),
    "google/muril-base-cased": PaperModel(1.0, pickled=True, auto_class="AutoModelForMaskedLM"),
    "gpt2": PaperModel(0.5),
    "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2": PaperModel(0.5),
    "studio-ousia/luke-large": PaperModel(1.9, pickled=True),
    "xlm-roberta-base": PaperModel(1.1),
    "xlm-roberta-large": PaperModel(2.2),
}
"""The checkpoints that the papers' recipes and tables name."""


def conversion(name: str, folder: str) -> str:
    """Python that writes a pickled checkpoint as safetensors, to be run where the pickle is trusted."""
    model = CHECKPOINTS.get(name, PaperModel(0))
    return (
        f"from transformers import AutoTokenizer, {model.auto_class} as M; "
        f"M.from_pretrained('{name}', use_safetensors=False).save_pretrained('{folder}'); "
        f"AutoTokenizer.from_pretrained('{name}').save_pretrained('{folder}')"
    )
