"""Speed of alignment by embeddings: pairs per second against a plain script, and agreement with one pair at a time.

    python benchmarks/embedding_aligner.py [--pairs 256] [--model NAME | mbert] [--checked 128] [--quick]

The pairs are English and German news sentences from NTREX in ``../shared/data``. The plain script runs batches of 16
pairs in the order of the file through the same layers of the same encoder, each side padded to its longest sentence.
It collects the links of each pair in Python. Both compute in fp32. The reference runs each sentence alone through the
whole model, without padding. ``mbert`` is an encoder of the size of multilingual BERT with random weights and the
bundled vocabulary.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import measuring
from nersery.core.outcome import Reject
from nersery.crosslingual.aligners.base import Alignment, Pair
from nersery.crosslingual.aligners.embeddings import Embeddings
from nersery.models.pretrained.loading import ModelSource

DATA = Path("../shared/data/bitext")
MBERT = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
THRESHOLD = 1e-3
BATCH = 16
REPEATS = 2

Place = tuple[int, int]


def sides(name: str, count: int) -> list[tuple[str, ...]]:
    lines = (DATA / f"ntrex.{name}.txt").read_text("utf-8").splitlines()
    return [tuple(line.split()) for line in lines[:count]]


def random_mbert(folder: Path) -> str:
    """Write an encoder of the size of multilingual BERT, and return its folder."""
    from transformers import AutoConfig, BertModel

    source = ModelSource("bundled")
    config = AutoConfig.for_model("bert", **{**source.config().to_dict(), **MBERT})
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder)
    source.tokenizer().save_pretrained(folder)
    return str(folder)


class Plain:
    """The plain script: whole sentences without windows, words split into subwords one by one."""

    def __init__(self, model: str, layer: int) -> None:
        source = ModelSource(model)
        self.tokenizer = source.tokenizer()
        self.whole: Any = source.model("AutoModel").eval()
        self.layers: Any = source.model("AutoModel", num_hidden_layers=layer).eval()
        self.layer = layer

    def subwords(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """The ids of a sentence's subwords, and the word that each belongs to."""
        ids, owners = [], []
        for number, word in enumerate(words):
            found = self.tokenizer(word, add_special_tokens=False)["input_ids"]
            ids += found
            owners += [number] * len(found)
        return [self.tokenizer.cls_token_id, *ids, self.tokenizer.sep_token_id], owners

    @torch.no_grad()
    def one_pair(self, pair: Pair) -> set[Place]:
        """The links of one pair, encoded alone."""
        (left, rows), (right, columns) = self.subwords(pair.source), self.subwords(pair.target)
        states = [
            self.whole(torch.tensor([ids]), output_hidden_states=True).hidden_states[self.layer][0, 1:-1]
            for ids in (left, right)
        ]
        return words_of(states[0] @ states[1].T, rows, columns)

    @torch.no_grad()
    def align(self, pairs: Sequence[Pair]) -> list[set[Place]]:
        """The links of all pairs, in batches in the given order."""
        found = []
        for start in range(0, len(pairs), BATCH):
            batch = pairs[start : start + BATCH]
            lefts, rights = (
                [self.subwords(text) for text in texts] for texts in zip(*map(texts_of, batch), strict=True)
            )
            scores = self.batch([ids for ids, _ in lefts]) @ self.batch([ids for ids, _ in rights]).transpose(1, 2)
            for matrix, (_, rows), (_, columns) in zip(scores, lefts, rights, strict=True):
                found.append(words_of(matrix[1 : len(rows) + 1, 1 : len(columns) + 1], rows, columns))
        return found

    def batch(self, texts: Sequence[list[int]]) -> Tensor:
        """The hidden states of a batch of texts."""
        length = max(map(len, texts))
        ids = torch.tensor([text + [0] * (length - len(text)) for text in texts])
        mask = torch.tensor([[1] * len(text) + [0] * (length - len(text)) for text in texts])
        states: Tensor = self.layers(input_ids=ids, attention_mask=mask).last_hidden_state
        return states


def texts_of(pair: Pair) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return pair.source, pair.target


def words_of(scores: Tensor, rows: Sequence[int], columns: Sequence[int]) -> set[Place]:
    """The links between words with subwords that are probable in both directions."""
    linked = (scores.softmax(1) > THRESHOLD) & (scores.softmax(0) > THRESHOLD)
    return {(rows[i], columns[j]) for i, j in linked.nonzero().tolist()}


def places(alignment: Alignment | Reject) -> set[Place]:
    return set() if isinstance(alignment, Reject) else {(link.source, link.target) for link in alignment}


def main() -> None:
    """Print pairs per second, their ratio, and the agreement with one pair at a time."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--pairs", type=int, default=256)
    parser.add_argument("--checked", type=int, default=128)
    parser.add_argument("--model", default="bundled")
    arguments = parser.parse_args()
    measuring.print_machine()
    if arguments.quick:
        texts = [(sentence.words, sentence.words[::-1]) for sentence in measuring.example(6)]
    else:
        texts = list(zip(sides("eng", arguments.pairs), sides("deu", arguments.pairs), strict=True))
    pairs = [Pair(source, target, str(number)) for number, (source, target) in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        model = random_mbert(Path(folder)) if arguments.model == "mbert" else arguments.model
        layer = max(1, ModelSource(model).config().num_hidden_layers * 2 // 3)
        ours = Embeddings(model, layer=layer, threshold=THRESHOLD, device="cpu", precision="fp32")
        plain = Plain(model, layer)
        ours.align(pairs[:1])
    plain.align(pairs[:1])
    timings = [
        (measuring.seconds(lambda: plain.align(pairs)), measuring.seconds(lambda: ours.align(pairs)))
        for _ in range(1 if arguments.quick else REPEATS)
    ]
    slow, fast = (min(column) for column in zip(*timings, strict=True))
    print(f"{slow / fast:.2f} times as fast as the plain way: {len(pairs) / fast:.1f} against ", end="")
    print(f"{len(pairs) / slow:.1f} pairs/s; {arguments.model}, {len(pairs)} pairs in fp32")
    checked = pairs[: arguments.checked]
    found = [places(alignment) for alignment in ours.align(checked)]
    expected = [plain.one_pair(pair) for pair in checked]
    same = sum(a == b for a, b in zip(found, expected, strict=True))
    differing = sum(len(a ^ b) for a, b in zip(found, expected, strict=True))
    total = sum(map(len, expected))
    print(f"one pair at a time: {same} of {len(checked)} pairs agree, {differing} of {total} links differ")


if __name__ == "__main__":
    main()
