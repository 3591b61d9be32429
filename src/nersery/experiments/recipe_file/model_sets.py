"""One choice of models for a whole recipe (``--models``): a table from the role of a model to its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nersery.core import registry
from nersery.core.errors import SettingsError, checked_text, did_you_mean
from nersery.core.registry import BUNDLED, MEMBERS, NESTED_KINDS
from nersery.core.settings import file_settings
from nersery.core.settings.typed_settings import ModelName
from nersery.experiments.recipe_file import table_methods
from nersery.models.bundled_models.bundled import ENGLISH, MULTILINGUAL

PAPER = "paper"
NOT_BUNDLED = None
"""Marks a role without a model in a table of models. Systems that need such a model are left out."""

_BUNDLED = ("encoder", "masked", "denoiser", "similarity", "questions", "fluency")
MODELS: Mapping[str, Mapping[str, str | None]] = {
    "bundled": {**dict.fromkeys(_BUNDLED, ENGLISH), "seq2seq": NOT_BUNDLED, "aligner": MULTILINGUAL},
    "bundled-multilingual": {**dict.fromkeys(_BUNDLED, MULTILINGUAL), "seq2seq": NOT_BUNDLED, "aligner": MULTILINGUAL},
    PAPER: {
        "encoder": "xlm-roberta-large",
        "masked": "xlm-roberta-base",
        "denoiser": "facebook/mbart-large-50",
        "seq2seq": "facebook/mbart-large-50",
        "similarity": "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        "questions": "deepset/bert-base-cased-squad2",
        "fluency": "gpt2",
        "aligner": "bert-base-multilingual-cased",
    },
}
"""The model of each role, by the value of ``--models``. ``paper`` replaces only bundled models."""

ROLES: Mapping[str, str] = {
    "aclm": "denoiser",
    "mulda": "seq2seq",
    "code_mixing": "similarity",
    "qa_prompting": "questions",
    "perplexity": "fluency",
}
"""The role of ``model`` in methods whose kind does not determine it."""
ROLES_OF_KINDS: Mapping[str, str] = {"tagger": "encoder", "align": "aligner"}
ROLES_OF_SETTINGS: Mapping[str, str] = {"sentence_encoder": "similarity"}
DEFAULT_ROLE = "masked"
TRAINED_TAGGER = "tagger"
"""The setting with a trained tagger. Bundled sets leave it out, so that a method uses the run's own."""


def with_models(table: Mapping[str, Any], chosen: str) -> tuple[dict[str, Any], list[str]]:
    """A recipe's table with other models, and notes on the systems that had to be left out.

    Raises:
        SettingsError: If there is no such choice.
    """
    if checked_text(chosen, "models") not in MODELS:
        raise SettingsError(f'--models "{chosen}" is unknown; {did_you_mean(chosen, MODELS)}')
    replacement = Replacement(chosen, str(table.get("paper", "")))
    left_out = _left_out(table_methods.system_entries(table), chosen)
    changed = table_methods.map_methods(
        {key: part for key, part in table.items() if key != "tagger"}, replacement.own_model
    )
    changed["tagger"] = replacement.tagger(table.get("tagger", {}))
    if left_out:
        changed["systems"] = [
            entry
            for entry in changed["systems"]
            if not (isinstance(entry, dict) and table_methods.entry_name(entry) in left_out)
        ]
        swept = table_methods.swept_settings(table)
        if swept:
            settings = [entry for entry in swept if not (isinstance(entry, dict) and entry.get("system") in left_out)]
            changed["sweep"] = {**table["sweep"], "settings": settings}
    return changed, [f"{name} is left out: there is no {chosen} {why}" for name, why in left_out.items()]


def lacks_model(chosen: str, method: str) -> bool:
    """Whether a set of models has no model for the role that a method needs."""
    return method in ROLES and MODELS[chosen][ROLES[method]] is NOT_BUNDLED


def _left_out(entries: Iterable[Mapping[str, Any]], model_set: str) -> dict[str, str]:
    """The systems whose model the set lacks, and those that need such a system, each with a reason."""
    left_out: dict[str, str] = {}
    for entry in entries:
        merged = entry.get("merge")
        others = [entry.get("base"), *(merged if isinstance(merged, list) else [])]
        missing = next((name for name in others if name in left_out), None)
        if missing:
            left_out[table_methods.entry_name(entry)] = f'model for "{missing}", which it needs'
        elif lacks_model(model_set, str(entry.get("method"))):
            left_out[table_methods.entry_name(entry)] = "encoder-decoder"
    return left_out


@dataclass(frozen=True)
class Replacement:
    """Replaces the models in settings of methods.

    Args:
        chosen: A key of `MODELS`.
        paper: The recipe's paper. The tagger gets its preset if ``paper`` is chosen.
    """

    chosen: str
    paper: str

    @property
    def preset(self) -> str:
        """The paper's preset of the tagger."""
        return self.paper if self.paper in table_methods.presets() else "melm"

    def tagger(self, entry: Any) -> Any:
        """The recipe's tagger, with the paper's preset if the paper's model replaces a bundled one."""
        settings = self.method("tagger", entry)
        if self.chosen != PAPER or settings == entry:
            return settings
        return {"preset": self.preset, **{key: entry[key] for key in entry if key not in ("model", "steps")}}

    def own_model(self, kind: str, entry: Any) -> Any:
        """Like `method`, for systems. Their settings of the tagger name a model only if it is their own."""
        if kind == "tagger" and "model" not in entry:
            return entry
        return self.method(kind, {"method": entry} if kind == "select" and isinstance(entry, str) else entry)

    def method(self, kind: str, entry: Any, default: str = "") -> Any:
        """The settings of a method, and of the methods within it, with the models replaced."""
        if not isinstance(entry, Mapping):
            return entry
        settings = dict(entry)
        if not (name := table_methods.method_name(kind, entry, default)):
            return settings
        for key, type_ in file_settings.file_and_model_types(registry.get(kind, name)).items():
            if type_ == ModelName:
                self._replace(settings, kind, name, key, table_methods.preset_of(kind, entry))
        for key, value in entry.items():
            if key in NESTED_KINDS and isinstance(value, Mapping):
                settings[key] = self.method(NESTED_KINDS[key], value)
            elif key == MEMBERS and isinstance(value, Mapping):
                settings[key] = {member: self.method("align", aligner, member) for member, aligner in value.items()}
        return settings

    def _replace(self, settings: dict[str, Any], kind: str, name: str, key: str, preset: Mapping[str, Any]) -> None:
        """Replace one setting of a method, if it names a model that the set replaces."""
        current = settings.get(key, preset.get(key, registry.defaults(kind, name).get(key)))
        if key == TRAINED_TAGGER:
            if self.chosen != PAPER:
                settings.pop(key, None)
            return
        role = ROLES_OF_SETTINGS.get(key) or ROLES_OF_KINDS.get(kind) or ROLES.get(name, DEFAULT_ROLE)
        model = MODELS[self.chosen][role]
        if not current or model is NOT_BUNDLED or (self.chosen == PAPER and current not in BUNDLED):
            return
        settings[key] = model
        if kind == "tagger" and self.chosen == PAPER:  # with the rates that suit it
            paper = table_methods.presets()[self.preset]
            rates = {setting: value for setting, value in paper.items() if setting not in ("description", *settings)}
            settings.update({**rates, key: paper[key]})
            settings.pop("steps", None)
        elif kind == "tagger" and "preset" in settings:  # its rates suit another model
            del settings["preset"]
            settings.setdefault("head", preset.get("head", "crf"))


@dataclass(frozen=True)
class PaperModel:
    """A model that the papers use.

    Args:
        gigabytes: Size of the download.
        pickled: Whether the hub had no safetensors for it when this list was written.
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
    """Python code that writes a pickled checkpoint as safetensors. Run it only where the pickle is trusted."""
    model = CHECKPOINTS.get(name, PaperModel(0))
    return (
        f"from transformers import AutoTokenizer, {model.auto_class} as M; "
        f"M.from_pretrained('{name}', use_safetensors=False).save_pretrained('{folder}'); "
        f"AutoTokenizer.from_pretrained('{name}').save_pretrained('{folder}')"
    )
