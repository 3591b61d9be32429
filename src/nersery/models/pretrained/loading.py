"""Loading of pretrained models: names, devices, precision and refusals.

Weights must be safetensors. Code from a model's repository runs only if the user asks for it.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch

from nersery.core.counting import plural
from nersery.core.errors import MissingResourceError, SettingsError, is_lack_of_memory
from nersery.core.registry import BUNDLED
from nersery.core.settings.file_settings import paths_in
from nersery.core.settings.typed_settings import ModelName, Precision
from nersery.core.system.files import content_hash, unexpanded_home
from nersery.core.warnings import warn
from nersery.models.bundled_models import bundled, bundled_heads
from nersery.models.packed.packed_encoder import pack
from nersery.models.pretrained.hub_connection import refuse_unreachable_hub
from nersery.models.pretrained.model_folder import refuse_damaged, refuse_without_config, refuse_without_weights
from nersery.models.pretrained.torch_state import SharedSetting, kept_random_state

EXAMPLES = {
    "AutoModelForMaskedLM": ", unlike sentence encoders and taggers: name a masked language model, e.g. "
    "bert-base-cased or xlm-roberta-base"
}
"""Advice for each Auto class."""
IMPORTED_BYTES = 2**28
"""The address space that the imports of a model take, rounded up."""
MIN_SUBWORDS = 3
"""Special tokens not counted. Without tokenizer files, transformers makes an empty tokenizer with at most two."""
PRECISION = "NERSERY_PRECISION"
"""Environment variable that sets what the precision ``auto`` means."""
FP32_ONLY = ("deberta", "xmod")
"""Model types whose code in transformers multiplies bf16 by fp32 within autocast, which is an error."""
SPECIAL = ("pad", "unk", "cls", "sep", "bos", "eos", "mask")
"""Special tokens around or within text."""
T = TypeVar("T")

GLOBAL_STATE_LOCK = threading.RLock()
"""Lock of the thread that imports or loads something with transformers, or draws torch's global random numbers.

Two threads must not do that at the same time. A training holds the lock until it ends.
"""


@dataclass(frozen=True)
class ModelSource:
    """A pretrained model, and whether its code is trusted.

    Args:
        name: A bundled model, a folder, or a name on the Hugging Face hub.
        revision: A branch, tag or commit on the hub.
        trust_remote_code: Run code from the model's repository.
    """

    name: ModelName
    revision: str | None = None
    trust_remote_code: bool = False

    @property
    def location(self) -> str:
        """The folder or the name on the hub."""
        return str(bundled.folder(self.name)) if self.name in BUNDLED else self.name

    @property
    def files(self) -> dict[str, str]:
        """The content hash of a model folder, so that a training does not resume with another model."""
        return {"model": content_hash(self.name)} if "name" in paths_in(ModelSource, {"name": self.name}) else {}

    def config(self) -> Any:
        """The model's configuration."""
        with GLOBAL_STATE_LOCK:
            from transformers import AutoConfig

        settings: dict[str, Any] = {}
        if self.name in bundled_heads.TOKEN_CLASSIFICATION:
            settings = {**output_settings(bundled_heads.TAGS), "architectures": ["BertForTokenClassification"]}
        return self._load(AutoConfig.from_pretrained, **settings)

    @property
    def layer_size(self) -> int:
        """Layers times squared width, to which the time of a step is proportional; 0 if the configuration lacks one."""
        text = self.config().get_text_config()
        return int(getattr(text, "num_hidden_layers", 0) * getattr(text, "hidden_size", 0) ** 2)

    def tokenizer(self) -> Any:
        """The model's tokenizer. It reads special tokens within text as ordinary text.

        Raises:
            MissingResourceError: If it does not exist or does not fit the weights. Without tokenizer files,
                transformers makes an empty tokenizer, which has no words.
        """
        with GLOBAL_STATE_LOCK:
            from transformers import AutoTokenizer

        tokenizer = self._load(AutoTokenizer.from_pretrained)
        if len(tokenizer) - len(tokenizer.all_special_ids) < MIN_SUBWORDS:
            raise MissingResourceError(
                f'the model "{self.name}" has no tokenizer: every word would be unknown to it. Expected its files '
                "beside the weights, e.g. tokenizer.json and tokenizer_config.json; copy them from where the "
                "model comes from"
            )
        self._check_weights(tokenizer)
        tokenizer.split_special_tokens = True  # not with each call, because LUKE passes it on twice
        return tokenizer

    def _check_weights(self, tokenizer: Any) -> None:
        """Refuse a folder without configuration or safetensors, and a tokenizer that has subwords without embedding."""
        folder = Path(self.location)
        refuse_without_config(self.name, folder)
        refuse_without_weights(self.name, folder)
        rows = getattr(self.config().get_text_config(), "vocab_size", None)
        if rows is not None and (last := _last_subword(tokenizer)) >= rows:
            raise MissingResourceError(
                f'the tokenizer of "{self.name}" has subwords up to number {last}, but the model has vectors only '
                f"for {rows}. Copy the tokenizer that the model was trained with; or, if "
                "subwords were added on purpose, call model.resize_token_embeddings(len(tokenizer)) and save the model"
            )

    def model(self, auto_class: str, *, whole: bool = False, **settings: Any) -> Any:
        """The model with the head of a transformers Auto class, in fp32.

        Args:
            auto_class: E.g. ``AutoModelForTokenClassification``.
            whole: The head must be pretrained too; otherwise a new random head is allowed.

        Raises:
            MissingResourceError: If the model does not exist, has no safetensors, or lacks weights.
        """
        import_libraries()
        with GLOBAL_STATE_LOCK:
            import transformers

            loader = getattr(transformers, auto_class).from_pretrained
        # Weights of other shapes are reported below, in our own words.
        known = {"use_safetensors": True, "output_loading_info": True, "ignore_mismatched_sizes": True}
        model, report = self._load(loader, dtype=torch.float32, **known, **settings)
        names = {name for name, _ in model.named_parameters()}
        # A network without prefix has no head.
        base = {name for name in names if name.startswith(f"{model.base_model_prefix}.")} or names
        missing = set(report["missing_keys"])
        unequal = (names if whole else base) & {key for key, *_ in report["mismatched_keys"]}
        is_other = len(missing & base) > len(base) / 2 or (whole and missing & base)
        if wrong := unequal or (missing if is_other else ()):
            raise MissingResourceError(
                f'the weights of "{self.name}" are not those of its configuration: {len(wrong)} '
                f"{'have other shapes' if unequal else 'are missing'}, e.g. {min(wrong)}. They would be random; "
                "expected a complete model"
            )
        if whole and missing:
            raise MissingResourceError(
                f'the model "{self.name}" was saved without the head of {auto_class}: {len(missing)} of its weights, '
                f"e.g. {min(missing)}, would be random. Expected a model that was trained with that head"
                f"{EXAMPLES.get(auto_class, '')}"
            )
        if left_out := _layers_left_out(names, report["unexpected_keys"], model.base_model_prefix):
            warn(
                f'the model "{self.name}" has more layers than its config.json says: {plural(len(left_out), "weight")} '
                f"are left out, e.g. {min(left_out)}. If this is not on purpose, correct the number of layers there, "
                "e.g. num_hidden_layers"
            )
        if path := bundled_heads.TOKEN_CLASSIFICATION.get(self.name):
            bundled_heads.add_layers(model, path)
        return in_fp32(model) if model.config.model_type in FP32_ONLY else pack(model)

    def encoder(self) -> Any:
        """The model without a head. An encoder-decoder keeps its decoder, unless it was saved without."""
        alone = any(kind.endswith("EncoderModel") for kind in self.config().architectures or ())
        return self.model("AutoModelForTextEncoding" if alone else "AutoModel")

    def masked_lm(self) -> Any:
        """The model with its masked language model head; a `MissingResourceError` if it has none."""
        return self._with_head("AutoModelForMaskedLM", bundled_heads.MASKED_LM, "masked language model")

    def question_answering(self) -> Any:
        """The model with its extractive question-answering head; a `MissingResourceError` if it has another head."""
        kinds = () if self.name in BUNDLED else self.config().architectures or ()
        if kinds and not any("QuestionAnswering" in kind for kind in kinds):
            raise MissingResourceError(
                f'the model "{self.name}" is a {", ".join(kinds)}; expected an extractive question-answering model, '
                "e.g. deepset/bert-base-cased-squad2 or deepset/xlm-roberta-base-squad2"
            )
        source = replace(self, name=bundled.ENCODERS.get(self.name, self.name))
        heads = bundled_heads.QUESTION_ANSWERING
        return source._with_head("AutoModelForQuestionAnswering", heads, "question-answering model")

    def token_classification(self) -> Any:
        """The model with its token-classification head; a `MissingResourceError` if it has none."""
        heads, outputs = bundled_heads.TOKEN_CLASSIFICATION, output_settings(bundled_heads.TAGS)
        return self._with_head("AutoModelForTokenClassification", heads, "tagger", **outputs)

    def _with_head(self, auto_class: str, heads: Mapping[str, Path], what: str, **settings: Any) -> Any:
        """The model with its own head, or with one of ours. ``settings`` only apply to models with ours."""
        if self.name not in heads:
            return self.model(auto_class, whole=True)
        encoder = replace(self, name=bundled.ENCODERS.get(self.name, self.name))
        model = encoder.model(auto_class, **settings)
        bundled_heads.add_head(model, heads[self.name], what)
        return model

    def _load(self, loader: Callable[..., T], **settings: Any) -> T:
        location = self.location
        if os.sep in location and location.startswith((".", os.sep, "~")) and not Path(location).is_dir():
            fix = unexpanded_home(Path(location)) or "Expected a folder with a config.json"
            raise MissingResourceError(f"there is no model folder {location}. {fix}")
        if self.revision is not None:
            settings["revision"] = self.revision
        try:
            with GLOBAL_STATE_LOCK, quiet_transformers(), kept_random_state():
                refuse_unreachable_hub(location)
                return loader(location, trust_remote_code=self.trust_remote_code, **settings)
        except Exception as error:  # of any class, e.g. if values of a configuration have wrong types
            if is_lack_of_memory(error):
                raise
            folder = Path(location)
            refuse_damaged(folder)
            if unfit := re.match(r"Unrecognized configuration class <class '[\w.]+\.(\w+)'>", str(error)):
                raise MissingResourceError(
                    f'the model "{self.name}" has a {unfit[1]}, a kind that cannot be used for this. '
                    "Expected an encoder, e.g. bert-base-cased or xlm-roberta-base"
                ) from error
            refuse_without_config(self.name, folder)
            refuse_without_weights(self.name, folder)
            raise MissingResourceError(
                f'the model "{self.name}" cannot be loaded. Expected a bundled model ({", ".join(BUNDLED)}), a folder '
                "with config.json, tokenizer and model.safetensors, or a name on the Hugging Face hub, which needs the "
                "network once. Pickled weights (pytorch_model.bin) are refused: convert them to safetensors. "
                f"Message of transformers: {str(error).strip()}"
            ) from error


def output_settings(names: Sequence[str]) -> dict[str, Any]:
    """The settings of a transformers configuration that name the outputs."""
    return {
        "num_labels": len(names),
        "id2label": dict(enumerate(names)),
        "label2id": {name: index for index, name in enumerate(names)},
    }


def _layers_left_out(names: Iterable[str], unexpected: Iterable[str], prefix: str) -> list[str]:
    """The weights in a file that have no place in a network, although the same weights of the first layer do.

    Weights of a head or a decoder that the network does not have are left out on purpose.

    >>> _layers_left_out(["bert.layer.0.bias"], ["bert.layer.1.bias", "cls.bias", "decoder.layer.0.bias"], "bert")
    ['bert.layer.1.bias']
    """
    known = {name.removeprefix(f"{prefix}.") for name in names}
    firsts = {key: re.sub(r"\.\d+\.", ".0.", key.removeprefix(f"{prefix}.")) for key in unexpected}
    return [key for key, first in firsts.items() if first in known]


def import_libraries() -> None:
    """Import in advance what the first model of a process imports, which takes seconds."""
    with GLOBAL_STATE_LOCK:
        if "transformers.modeling_utils" not in sys.modules:  # without memory, OpenBLAS in scipy would retry forever
            mmap.mmap(-1, IMPORTED_BYTES).close()
        from transformers import BertModel  # noqa: F401  # the architecture of the bundled encoders


def _last_subword(tokenizer: Any) -> int:
    """The highest id of a subword that text or its framing special tokens can have.

    Other special tokens, such as those for images, may have no embedding in a text model.
    """
    special = {number for number, subword in tokenizer.added_tokens_decoder.items() if subword.special}
    around = {id for name in SPECIAL if (id := getattr(tokenizer, f"{name}_token_id", None)) is not None}
    subwords: set[int] = {*tokenizer.get_vocab().values()}
    return max(subwords - special | around)


def _silence() -> Callable[[], None]:
    from transformers.utils import logging

    verbosity, shows_progress = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()

    def restore() -> None:
        logging.set_verbosity(verbosity)
        if shows_progress:
            logging.enable_progress_bar()

    return restore


quiet_transformers = SharedSetting(_silence).changed
"""Silences transformers: its reports on new heads, unused poolers and written files would drown our messages."""


@contextlib.contextmanager
def eager_attention(network: Any) -> Iterator[None]:
    """Use the eager implementation of attention within the context. It returns attention weights and may be faster on a
    CPU.
    """
    before = network.config._attn_implementation
    with quiet_transformers():
        network.set_attn_implementation("eager")
    try:
        yield
    finally:
        with quiet_transformers():
            network.set_attn_implementation(before)


def pick_device(name: str) -> torch.device:
    """The device of a name; a `SettingsError` if it cannot be used. ``auto`` is the GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise SettingsError(f'device "{name}" cannot be used: {error}. Expected auto, cpu, cuda or cuda:0') from error
    return device


def position_count(network: Any) -> int | None:
    """The number of positions of a network; the smaller one if encoder and decoder differ; None if unknown."""
    names = ("max_position_embeddings", "max_encoder_position_embeddings", "max_decoder_position_embeddings")
    count = min((count for name in names if (count := getattr(network.config, name, None)) is not None), default=0)
    if count < 1:
        return None
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(count - module.padding_idx - 1)  # RoBERTa-like models number positions from the padding id + 1
    return int(count)


def has_fast_bf16(device: torch.device) -> bool:
    """Whether bf16 is native on the processor, and therefore faster than fp32. Emulated bf16 is 50 times slower.

    With ``ATEN_CPU_CAPABILITY=avx2``, a processor counts as one without bf16.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    has_it = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return bool(has_it) and torch.backends.cpu.get_cpu_capability().startswith("AVX512")


def resolve_precision(precision: Precision, device: torch.device) -> Literal["bf16", "fp32"]:
    """The precision that a setting means on a device.

    Raises:
        SettingsError: If the environment variable `PRECISION` has another value.
    """
    wanted = os.environ.get(PRECISION) or "auto" if precision == "auto" else precision
    if wanted == "auto":
        wanted = "bf16" if has_fast_bf16(device) else "fp32"
    if wanted not in ("bf16", "fp32"):
        raise SettingsError(f'the environment variable {PRECISION} is "{wanted}", expected bf16 or fp32')
    return wanted  # type: ignore[return-value]


def autocast(device: torch.device, precision: Precision) -> torch.autocast:
    """Autocast for one forward pass, or for several while the weights do not change.

    Autocast caches the weights it has cast until the context ends, so a context around several training steps would
    train on stale weights. In inference mode it caches nothing and casts all weights in every pass; therefore we use
    ``torch.no_grad`` and never ``torch.inference_mode``.
    """
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=resolve_precision(precision, device) == "bf16")


def in_fp32(network: Any) -> Any:
    """Make the base model of a network compute in fp32 even within `autocast`."""
    base = network.base_model
    base.forward = partial(_without_autocast, base, base.forward)
    return network


def _without_autocast(base: Any, forward: Callable[..., T], *inputs: Any, **options: Any) -> T:
    with torch.autocast(base.device.type, enabled=False):
        return forward(*inputs, **options)


def refuse_nan(values: torch.Tensor, source: ModelSource) -> None:
    """Raise `SettingsError` for the output of a model with NaN weights."""
    if not torch.isfinite(values).all():
        raise SettingsError(
            f'the model "{source.name}" computes NaN. If it was fine-tuned, use a lower '
            'learning_rate; else, or if that does not help, precision = "fp32"'
        )
