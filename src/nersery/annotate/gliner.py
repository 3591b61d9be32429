"""Labels by GLiNER, a small model that finds entities of any type by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nersery.annotate.base import Annotator, TypeSettings, best_non_overlapping
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.extras import required
from nersery.core.outcome import Reject
from nersery.core.registry import unfitted
from nersery.core.sentence import Entity, Sentence
from nersery.core.settings.ranges import Rate
from nersery.core.settings.typed_settings import ModelName, hidden
from nersery.core.text.definitions import description
from nersery.core.training_context import NO_TRAINING, Training

WEIGHTS = "model.safetensors"


@dataclass
class GlinerLabels(TypeSettings, Annotator):
    """Finds entities with a GLiNER model, which needs only short names of the types.

    Entities are extended to whole words; of overlapping ones, the best-scored stays. Needs the extra `gliner`, which
    installs transformers 5.16.

    Args:
        model: A GLiNER model by folder or name, e.g. ``urchade/gliner_multi-v2.1``.
        definitions: Short names of types. Other types use those of `nersery list types`, or their name.
        threshold: Minimum score of an entity, in [0, 1].
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:0``.

    Reference:
        Zaratiana et al. (2024). GLiNER: Generalist Model for Named Entity Recognition using Bidirectional Transformer.
        NAACL.

    Departures:
        - GLiNER cuts off long text; here the sentence is rejected.
    """

    model: ModelName
    threshold: Rate = 0.5
    device: str = "auto"
    _names: dict[str, str] = hidden(default_factory=dict)

    def check(self) -> None:
        _ = self._model

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Choose the types; nothing is learnt. A `SettingsError` when there is no type to find."""
        types = self.types_to_find(gold)
        self._names = {description(type_, self.definitions): type_ for type_ in types}
        if len(self._names) < len(types):
            raise SettingsError(f"two of gliner's types have the same definition: {', '.join(types)}")

    def annotate(self, sentences: Sequence[Sentence]) -> list[Sentence | Reject]:
        if not self._names:
            raise unfitted(self, "annotate")
        return [self._labelled(sentence) for sentence in sentences]

    def _labelled(self, sentence: Sentence) -> Sentence | Reject:
        model = self._model
        if sum(1 for _ in model.data_processor.words_splitter(sentence.text)) > model.config.max_len:
            return Reject("too long for the model")
        (predictions,) = model.inference([sentence.text], [*self._names], threshold=self.threshold)
        word_at = [index for index, word in enumerate(sentence.words) for _ in range(len(word) + 1)]
        entities = [
            Entity(word_at[p["start"]], word_at[p["end"] - 1] + 1, self._names[p["label"]], p["score"])
            for p in predictions
        ]
        return sentence.with_entities(best_non_overlapping(entities))

    @cached_property
    def _model(self) -> Any:
        return load_gliner(self.model, self.device)


def load_gliner(name: str, device: str) -> Any:
    """Load a GLiNER model by folder or name.

    Raises:
        MissingResourceError: If the package or the model is missing, or its weights are not safetensors.
    """
    package = required("gliner", "gliner")
    from nersery.models.pretrained.loading import pick_device

    try:
        folder = Path(name)
        if not folder.is_dir():
            from huggingface_hub import snapshot_download

            folder = Path(snapshot_download(name, ignore_patterns=["*.bin", "*.onnx", "*.pt"]))
    except Exception as error:
        raise MissingResourceError(f'there is no GLiNER model "{name}": {error}'.split("\n")[0]) from error
    if not (folder / WEIGHTS).is_file() or not (folder / "gliner_config.json").is_file():
        raise MissingResourceError(
            f"{folder} does not contain a GLiNER model: expected gliner_config.json and {WEIGHTS}"
        )
    return package.GLiNER.from_pretrained(str(folder), local_files_only=True).to(pick_device(device)).eval()
