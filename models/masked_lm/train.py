"""Train the masked language model that comes with nersery. README.md in this folder has the results.

    python models/masked_lm/train.py --text DIR --work DIR [--subwords 60e6] [--batch 16384] [--device cuda]

The same command resumes. It writes ``curve.jsonl`` into the working folder while it trains, and
``masked_lm.safetensors`` at the end, with the weights learnt on top of the bundled encoder, in the format that
`nersery.models.bundled_models.bundled` reads.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModelForMaskedLM, AutoTokenizer

from nersery.models.bundled_models import bundled, bundled_heads
from nersery.models.pretrained.loading import ModelSource, autocast, pick_device

sys.path.insert(0, str(Path(__file__).parents[1]))
from existing_path import existing
from low_rank import is_learnt, save_differences

CORPORA = ("wikitext2", "squad_sentences", "textbooks", "wikipedia_crowd")
HELD_OUT = 0.1
"""The share at the end of WikiText-2 that is used only for evaluation."""
WINDOW = 126
MIN_LENGTH = 8
MASK_RATE, HELD_OUT_RATE = 0.2, 0.15
KEPT_RATE = 0.1
"""The share of the chosen subwords that stay visible and must still be predicted, as in BERT."""
RATES = {"bert.encoder": 5e-4, "bert.embeddings": 3e-4, "cls": 2e-3}
LEARNT_EMBEDDINGS = 11_000
"""The number of most frequent subwords with learnt embeddings: 97 % of the text, and as many as fit into 16 MB."""
WARMUP = 0.06
CHECKPOINT_SECONDS = 120
CURVE_PIECES, POINTS = 100_000, 100
"""The minimum number of subwords between two points of the curve, and the maximum number of points."""

Ids = NDArray[np.int64]
Rows = list[NDArray[np.uint16]]


# --- text ---------------------------------------------------------------------------------------------------------


def clean(line: str) -> str:
    """A line without WikiText's markup. Words that it hides become unknown subwords, which are never predicted."""
    for mark, plain in ((" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."), ("<unk>", "[UNK]"), ("``", '"'), ("''", '"')):
        line = line.replace(mark, plain)
    return re.sub(r"\s+", " ", line).strip()


def read(path: Path) -> list[str]:
    """The sentences and paragraphs of a file, without headings and fragments."""
    lines = [clean(line) for line in path.read_text("utf-8").splitlines()]
    return [line for line in lines if len(line.split()) >= 5 and not line.startswith("= ")]


def rows_of(lines: list[str], tokenizer: Any) -> Rows:
    """Windows of at most 128 subwords, with the special tokens."""
    rows = []
    for ids in tokenizer(lines, add_special_tokens=False)["input_ids"]:
        for start in range(0, len(ids), WINDOW):
            part = ids[start : start + WINDOW]
            if len(part) >= MIN_LENGTH:
                row = [tokenizer.cls_token_id, *part, tokenizer.sep_token_id]
                rows.append(np.array(row, dtype=np.uint16))
    return rows


def load_text(folder: Path, tokenizer: Any) -> tuple[Rows, Rows]:
    """Rows to train on, and held-out ones."""
    train: Rows = []
    held_out: Rows = []
    for name in CORPORA:
        lines = read(folder / f"{name}.txt")
        if name == "wikitext2":
            cut = int(len(lines) * (1 - HELD_OUT))
            lines, rest = lines[:cut], lines[cut:]
            held_out = rows_of(rest, tokenizer)
        rows = rows_of(lines, tokenizer)
        print(f"{name}: {len(rows)} rows, {sum(map(len, rows))} subwords", flush=True)
        train += rows
    return train, held_out


def batches(rows: Rows, size: int, seed: int) -> Iterator[list[int]]:
    """Endless batches of rows of similar length, up to ``size`` subwords with padding. They depend only on the seed."""
    lengths = np.array([len(row) for row in rows])
    chance = np.random.default_rng(seed)
    while True:
        order = chance.permutation(len(rows))
        for start in range(0, len(order), 8192):
            part = order[start : start + 8192]
            part = part[np.argsort(lengths[part], kind="stable")]
            filled: list[list[int]] = [[]]
            for index in part.tolist():
                if filled[-1] and (len(filled[-1]) + 1) * lengths[index] > size:
                    filled.append([])
                filled[-1].append(index)
            for number in chance.permutation(len(filled)).tolist():
                yield filled[number]


def padded(rows: Rows, indices: list[int]) -> Ids:
    """A batch of padded rows. Shape: (rows, subwords)."""
    ids = np.zeros((len(indices), max(len(rows[i]) for i in indices)), dtype=np.int64)
    for number, index in enumerate(indices):
        ids[number, : len(rows[index])] = rows[index]
    return ids


# --- model --------------------------------------------------------------------------------------------------------


class Trainer:
    """The model in training, with all values of a checkpoint."""

    def __init__(
        self, rows: Rows, subwords: int, device: torch.device, *, dropout: float, rate: float, seed: int = 0
    ) -> None:
        self.rows, self.subwords, self.device, self.seed = rows, subwords, device, seed
        self.tokenizer = AutoTokenizer.from_pretrained(bundled.folder())
        torch.manual_seed(seed)
        # "eager", because on CPUs the backward pass of torch's fused attention takes longer than everything else
        model = AutoModelForMaskedLM.from_pretrained(bundled.folder(), attn_implementation="eager")
        counts = np.bincount(np.concatenate(rows), minlength=model.config.vocab_size) + 0.5
        model.cls.predictions.bias.data = torch.tensor(np.log(counts / counts.sum()), dtype=torch.float32)
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = dropout
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(is_learnt(name))
        self.model = model.to(device)
        self.learnt = {name: p for name, p in model.named_parameters() if p.requires_grad}
        frequent = torch.zeros(len(counts), 1, device=device)
        frequent[np.argsort(-counts, kind="stable")[:LEARNT_EMBEDDINGS]] = 1.0
        self.model.get_input_embeddings().weight.register_hook(lambda gradient: gradient * frequent)
        groups = [
            {"params": [p for name, p in self.learnt.items() if name.startswith(part)], "rate": rate * usual}
            for part, usual in RATES.items()
        ]
        self.optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
        self.step = self.seen = 0
        self.seconds = 0.0

    def masked(self, ids: Ids, rate: float, kept: float, chance: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Masked rows, the chosen positions, and the subwords there. Special and unknown subwords are never chosen."""
        chosen = ~np.isin(ids, self.tokenizer.all_special_ids) & (chance.random(ids.shape) < rate)
        shown = ids.copy()
        shown[chosen & (chance.random(ids.shape) >= kept)] = self.tokenizer.mask_token_id
        arrays = (shown, chosen, ids[chosen])
        return tuple(torch.from_numpy(array).to(self.device) for array in arrays)  # type: ignore[return-value]

    def logits(self, shown: Tensor, chosen: Tensor) -> Tensor:
        """The scores of all subwords at the chosen positions. Shape: (chosen, vocabulary)."""
        states = self.model.bert(input_ids=shown, attention_mask=(shown != 0).long())[0][chosen]
        scores: Tensor = self.model.cls(states)
        return scores

    def train_on(self, indices: list[int]) -> float:
        """Take one step, and return the loss of its batch."""
        part = self.seen / self.subwords
        factor = min(1.0, (part + 1e-3) / WARMUP) if part < WARMUP else max(0.0, (1 - part) / (1 - WARMUP))
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * factor
        ids = padded(self.rows, indices)
        shown, chosen, targets = self.masked(ids, MASK_RATE, KEPT_RATE, np.random.default_rng([self.seed, self.step]))
        with autocast(self.device, "auto"):
            scores = self.logits(shown, chosen)
        loss = nn.functional.cross_entropy(scores.float(), targets)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(list(self.learnt.values()), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.seen += int((ids != 0).sum())
        self.step += 1
        return loss.item()

    @torch.no_grad()
    def accuracy(self, held_out: Rows) -> float:
        """The share of masked held-out subwords that are predicted correctly. The masks are the same each time."""
        chance = np.random.default_rng(1)
        right = asked = 0
        order = sorted(range(len(held_out)), key=lambda index: len(held_out[index]))
        with autocast(self.device, "auto"):
            for start in range(0, len(order), 32):
                ids = padded(held_out, order[start : start + 32])
                shown, chosen, targets = self.masked(ids, HELD_OUT_RATE, 0.0, chance)
                right += int((self.logits(shown, chosen).argmax(-1) == targets).sum())
                asked += len(targets)
        return right / asked

    # --- checkpoints ----------------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Save everything that is needed to resume."""
        state = {f"weight.{name}": p.detach() for name, p in self.learnt.items()}
        for name, parameter in self.learnt.items():
            for key in ("exp_avg", "exp_avg_sq"):
                state[f"{key}.{name}"] = self.optimizer.state[parameter][key]
        progress = {"step": self.step, "seen": self.seen, "seconds": round(self.seconds), "subwords": self.subwords}
        save_file(state, path.with_suffix(".part"), metadata={k: str(v) for k, v in progress.items()})
        os.replace(path.with_suffix(".part"), path)

    def load(self, path: Path) -> None:
        """Resume from a checkpoint."""
        from safetensors import safe_open

        with safe_open(path, framework="pt") as file:
            progress = {key: int(value) for key, value in file.metadata().items()}
        if progress["subwords"] != self.subwords:
            print(
                f"the training was planned for {progress['subwords']} subwords and continues to {self.subwords}",
                flush=True,
            )
        self.step, self.seen, self.seconds = progress["step"], progress["seen"], progress["seconds"]
        state = load_file(path)
        for name, parameter in self.learnt.items():
            parameter.data.copy_(state[f"weight.{name}"])
            moments = {key: state[f"{key}.{name}"].to(self.device) for key in ("exp_avg", "exp_avg_sq")}
            self.optimizer.state[parameter] = {"step": torch.tensor(float(self.step)), **moments}


def train(trainer: Trainer, held_out: Rows, work: Path, size: int) -> None:
    """Train to the end. Write points of the curve and checkpoints at intervals."""
    checkpoint, curve = work / "checkpoint.safetensors", work / "curve.jsonl"
    if checkpoint.exists():
        trainer.load(checkpoint)
    started = saved = time.monotonic() - trainer.seconds
    losses: list[float] = []
    apart = max(CURVE_PIECES, trainer.subwords // POINTS)
    for number, indices in enumerate(batches(trainer.rows, size, trainer.seed)):
        if number < trainer.step:
            continue
        if trainer.seen >= trainer.subwords:
            break
        before = trainer.seen // apart
        losses.append(trainer.train_on(indices))
        trainer.seconds = time.monotonic() - started
        if trainer.seen // apart > before:
            point = {
                "subwords": trainer.seen,
                "seconds": round(trainer.seconds),
                "loss": round(float(np.mean(losses)), 3),
                "held_out_accuracy": round(trainer.accuracy(held_out), 4),
            }
            losses.clear()
            print(point, flush=True)
            with curve.open("a") as stream:
                stream.write(json.dumps(point) + "\n")
        if time.monotonic() - saved > CHECKPOINT_SECONDS:
            trainer.save(checkpoint)
            saved = time.monotonic()
    trainer.save(checkpoint)


def main() -> None:
    """Train, write the learnt weights, and evaluate them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--text",
        type=existing(*(f"{name}.txt" for name in CORPORA)),
        required=True,
        help="folder with " + ", ".join(f"{name}.txt" for name in CORPORA),
    )
    parser.add_argument("--work", type=Path, required=True, help="folder for checkpoints and results")
    parser.add_argument("--subwords", type=float, default=14e6, help="length of the training")
    parser.add_argument("--batch", type=int, default=4096, help="subwords per step, with padding")
    parser.add_argument("--rate", type=float, default=1.0, help="factor for the learning rates, for larger batches")
    parser.add_argument("--dropout", type=float, default=0.0, help="for a text that is seen often")
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    train_rows, held_out = load_text(arguments.text, AutoTokenizer.from_pretrained(bundled.folder()))
    trainer = Trainer(
        train_rows,
        int(arguments.subwords),
        pick_device(arguments.device),
        dropout=arguments.dropout,
        rate=arguments.rate,
    )
    train(trainer, held_out, arguments.work, arguments.batch)
    target = arguments.work / "masked_lm.safetensors"
    trained = trainer.accuracy(held_out)
    save_differences(trainer.model, target)
    whole = ModelSource(bundled.ENGLISH).model("AutoModelForMaskedLM")
    bundled_heads.add_head(whole, target, "masked language model")
    trainer.model = whole.to(trainer.device)
    shipped = trainer.accuracy(held_out)
    print(f"{target}: {target.stat().st_size} bytes, held-out accuracy {shipped:.4f} ({trained:.4f} before rounding)")


if __name__ == "__main__":
    main()
