"""Both methods with `transformers serve` and a tiny random model: all answers are noise, all are rejected."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import nersery
from nersery import Corpus, Entity, Sentence
from nersery.core.outcome import Result
from tests.conftest import build_tokenizer

pytestmark = pytest.mark.torture
GOLD = Corpus(
    [
        Sentence(("Ada", "met", "Grace", "in", "Oslo"), (Entity(0, 1, "PER"), Entity(4, 5, "LOC")), "g1"),
        Sentence(("राम", "saw", "👩\u200d👩\u200d👧"), (Entity(0, 1, "PER"),), "g2"),
    ]
)
TEMPLATE = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random causal language model with a chat template. A quarter of its vocabulary ends an answer."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("causal")
    build_tokenizer("bytes", folder)
    tokenizer = AutoTokenizer.from_pretrained(folder, model_max_length=8192, chat_template=TEMPLATE)
    tokenizer.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=8192, bos_token_id=2, eos_token_id=[*range(3, 100)],
        pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def server(model: Path) -> Iterator[str]:
    pytest.importorskip("openai")
    from transformers.utils.import_utils import is_serve_available

    if not is_serve_available():
        pytest.skip("transformers serve lacks packages: pip install 'transformers[serving]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(model), "--port", str(port)]
    process = subprocess.Popen([*command, "--host", "127.0.0.1", "--device", "cpu"])
    try:
        for _ in range(600):
            assert process.poll() is None, "the server ended"
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("method", ["llm_labels", "llm_sentences"])
@pytest.mark.parametrize("structured", ["auto", "off"])
def test_rejects_noise_with_reasons_and_reuses_the_cache(
    server: str, model: Path, tmp_path: Path, method: str, structured: str
) -> None:
    settings = {"model": str(model), "server": server, "structured": structured, "cache": str(tmp_path)}
    settings |= {"max_tokens": 6, "temperature": 1.0}

    def run() -> Result:
        if method == "llm_labels":
            raw = [Sentence(sentence.words, id=sentence.id) for sentence in GOLD]
            return nersery.annotate(raw, method, gold=GOLD, **settings)
        return nersery.augment(GOLD, method, copies=2, **settings)

    first = run()
    assert not first.corpus
    assert first.tally.read == len(first.rejects) == len(GOLD) * (1 if method == "llm_labels" else 2)
    assert all(reject.reason and not reject.reason.startswith("no answer") for reject in first.rejects), first.rejects
    stored = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    again = run()
    assert (again.corpus, again.rejects) == (first.corpus, first.rejects)
    assert {path: path.stat().st_mtime_ns for path in stored} == stored, "nothing was asked twice"
