"""Makes a small Hindi masked language model of raw text alone, as none can be downloaded here.

    python benchmarks/hindi_model.py TEXT FOLDER [--quick]

A BERT of 4 layers, 256 wide, with a vocabulary of 8,000 WordPieces, trained for some minutes on 8,000 lines: enough to
prove that methods work on Devanagari, not to be used. The folder is an ordinary Hugging Face one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

import measuring
from nersery.models.loading import autocast

EPOCHS = 10
BATCH = 16
RATE = 5e-4
MASKED = 0.2
LONGEST = 64
SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}


def tokenizer_of(lines: Sequence[str]) -> Any:
    """WordPieces that keep every mark and case."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=8000, special_tokens=[*SPECIAL.values()]))
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=128, **SPECIAL)


def batches(rows: list[list[int]], rng: random.Random) -> Iterator[list[list[int]]]:
    """All rows in a new order, those of like length together."""
    rows = sorted(rows, key=lambda row: (len(row), rng.random()))
    groups = [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]
    rng.shuffle(groups)
    yield from groups


def main() -> None:
    """Train, and write the folder."""
    parser = measuring.parser(__doc__)
    parser.add_argument("text", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    measuring.print_machine()
    lines, epochs = options.text.read_text("utf-8").splitlines(), EPOCHS
    if options.quick:
        lines, epochs = lines[:BATCH], 1
    tokenizer = tokenizer_of(lines)
    rows = [tokenizer(line, truncation=True, max_length=LONGEST).input_ids for line in lines]
    torch.manual_seed(0)
    size = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=128, pad_token_id=0, **size)
    config._attn_implementation = "eager"
    model = BertForMaskedLM(config).train()
    rng, steps = random.Random(0), epochs * -(-len(rows) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps, pct_start=0.1)
    for epoch in range(epochs):
        total = 0.0
        for batch in batches(rows, rng):
            ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in batch], batch_first=True)
            hidden = (torch.rand(ids.shape) < MASKED) & (ids > tokenizer.mask_token_id)
            seen = ids.masked_fill(hidden, tokenizer.mask_token_id)
            with autocast(model.device, "auto"):
                loss = model(seen, attention_mask=(ids > 0).long(), labels=ids.masked_fill(~hidden, -100)).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1} of {epochs}: loss {total / -(-len(rows) // BATCH):.3f}", flush=True)
    model.save_pretrained(options.folder)
    tokenizer.save_pretrained(options.folder)


if __name__ == "__main__":
    main()
