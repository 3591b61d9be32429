"""Train a masked-language-model head with low-rank adapters on an encoder that has none.

    python models/multilingual_masked_lm/train.py --data DIR --work DIR [--encoder NAME] [--subwords 8e6]

README.md in this folder describes the result. The same command resumes. It prints the accuracy for each language, and
writes ``curve.jsonl`` and ``head.safetensors`` into the working folder. For an encoder that is not bundled, it also
writes ``model/``, the whole masked language model as a Hugging Face folder.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nersery.core.progress import Progress
from nersery.core.random import item_rng
from nersery.core.registry import BUNDLED
from nersery.models.bundled_models import bundled
from nersery.models.bundled_models.bundled_heads import add_head
from nersery.models.pretrained.loading import ModelSource, autocast, pick_device
from nersery.models.training.trainer import TrainingPlan, seeded, train

sys.path.insert(0, str(Path(__file__).parents[1]))
from existing_path import existing
from low_rank import LowRankEmbedding, TiedDecoder, add_adapters, load_adapters, replace_module, save_adapters

LANGUAGES = {
    "en": "eng", "de": "deu", "es": "spa", "nl": "nld", "tr": "tur", "ru": "rus", "ko": "kor", "zh": "zho",
    "hi": "hin", "bn": "ben",
}  # fmt: skip
"""The languages of the evaluation, with their codes. Their lines are read once unchanged and once in lower case."""
HELD_OUT = 100
"""The last lines of NTREX in every language, for evaluation. So no translation of them is used for training."""
ENGLISH = ("wikitext2", "textbooks", "wikipedia_crowd", "squad_sentences")
WIKITEXT_HELD_OUT = 0.1
XQUAD = ("en", "de", "hi")
WINDOW, MIN_LENGTH = 126, 8
MASK_RATE, HELD_OUT_RATE = 0.2, 0.15
KEPT_RATE = 0.1
"""The share of the chosen subwords that stay visible, as in BERT."""
RANK, EMBEDDING_RANK = 40, 16
RATE, NEW_RATE = 5e-4, 1.5e-3
MEASURED_AT_ONCE = 2048
FREQUENT, SAMPLED = 8000, 8000
"""The rows of the output matrix that every step scores: the most frequent rows, and a sample of the others."""

Ids = NDArray[np.int32]
Rows = list[Ids]


# --- text ---------------------------------------------------------------------------------------------------------


def clean(line: str) -> str:
    """A line without the markup of WikiText."""
    for mark, plain in ((" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."), ("<unk>", ""), ("``", '"'), ("''", '"')):
        line = line.replace(mark, plain)
    return re.sub(r"\s+", " ", line).strip()


Texts = dict[str, list[str]]
"""Lines of text by language."""


def english(folder: Path) -> tuple[list[str], list[str]]:
    """The lines to train on, and the held-out end of WikiText-2."""
    train: list[str] = []
    held_out: list[str] = []
    for name in ENGLISH:
        lines = [clean(line) for line in (folder / f"text/en/{name}.txt").read_text("utf-8").splitlines()]
        lines = [line for line in lines if len(line.split()) >= 5 and not line.startswith("= ")]
        if name == "wikitext2":
            cut = int(len(lines) * (1 - WIKITEXT_HELD_OUT))
            lines, held_out = lines[:cut], lines[cut:]
        train += lines
    return train, held_out


def multilingual(folder: Path, share: float, seed: int) -> tuple[list[str], Texts]:
    """The lines to train on, and the held-out lines of each language.

    Args:
        share: The share of the English lines to use. All of them would be two thirds of the text.
    """
    train: list[str] = []
    held_out: Texts = {}
    codes = {code: language for language, code in LANGUAGES.items()}
    for path in sorted(folder.glob("bitext/ntrex.*.txt")):
        lines, last = (text := path.read_text("utf-8").splitlines())[:-HELD_OUT], text[-HELD_OUT:]
        code = path.name.split(".")[1]
        train += lines
        if code in codes:
            held_out[codes[code]] = last
            train += [line.lower() for line in lines]
    for path in sorted(folder.glob("bitext/wiki.*.hi.txt")):
        train += path.read_text("utf-8").splitlines()
    for language in XQUAD:
        data = json.loads((folder / f"qa/xquad.{language}.json").read_text("utf-8"))["data"]
        train += [paragraph["context"] for article in data for paragraph in article["paragraphs"]]
    lines, end = english(folder)
    held_out["en (WikiText-2)"] = end[:HELD_OUT]
    drawn = np.random.default_rng(seed).permutation(len(lines))[: int(share * len(lines))]
    return train + [lines[number] for number in drawn], held_out


def rows_of(lines: Sequence[str], tokenizer: Any) -> Rows:
    """Windows of subwords, with the special tokens."""
    rows = []
    for ids in tokenizer(list(lines), add_special_tokens=False, verbose=False)["input_ids"]:
        for start in range(0, len(ids), WINDOW):
            part = ids[start : start + WINDOW]
            if len(part) >= MIN_LENGTH:
                rows.append(np.array([tokenizer.cls_token_id, *part, tokenizer.sep_token_id], dtype=np.int32))
    return rows


def batches(rows: Rows, size: int) -> list[tuple[Ids, ...]]:
    """Batches of rows of similar length, with up to ``size`` subwords including padding."""
    filled: list[list[Ids]] = [[]]
    for row in sorted(rows, key=lambda row: (len(row), row.tobytes())):
        if filled[-1] and (len(filled[-1]) + 1) * len(row) > size:
            filled.append([])
        filled[-1].append(row)
    return [tuple(batch) for batch in filled]


# --- model --------------------------------------------------------------------------------------------------------


class MaskedLMTrainer:
    """An encoder with a new masked-language-model head. Adapters, head, biases and norms are trained."""

    def __init__(
        self, source: ModelSource, train: Rows, others: Iterable[Rows], device: torch.device, dropout: float
    ) -> None:
        self.tokenizer = source.tokenizer()
        self.special = self.tokenizer.all_special_ids
        # "eager", because on CPUs the backward pass of torch's fused attention takes longer than everything else
        model = source.model("AutoModelForMaskedLM", attn_implementation="eager")
        counts: Counter[int] = Counter(np.concatenate(train).tolist())
        rows = {*counts, *self.special}.union(*(row.tolist() for rows in others for row in rows))
        names = {module: name for name, module in model.named_modules()}
        embedding = LowRankEmbedding(model.get_input_embeddings(), sorted(rows), EMBEDDING_RANK)
        frequency = torch.tensor([counts[row] + 0.5 for row in embedding.rows.tolist()])
        decoder = TiedDecoder(embedding, torch.log(frequency / frequency.sum()))
        self.decoder_name = names[model.get_output_embeddings()]
        self.bias = model.get_output_embeddings().bias
        replace_module(model, self.decoder_name, decoder)
        replace_module(model, names[model.get_input_embeddings()], embedding)
        add_adapters(model, f"{model.base_model_prefix}.encoder.", RANK)
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = dropout
        for name, parameter in model.named_parameters():
            parameter.requires_grad_("position_embeddings" not in name and "token_type" not in name)
        self.model, self.embedding = model.to(device), embedding.to(device)
        self.decoder, self.device = decoder, device
        self.frequent = decoder.bias.detach().argsort(descending=True)[:FREQUENT]

    @torch.no_grad()
    def start_from(self, path: Path) -> None:
        """Start from the weights of another training, with an output bias for each subword."""
        load_adapters(self.model, path)
        self.decoder.bias.copy_(self.bias[self.embedding.rows])

    @torch.no_grad()
    def restore_bias(self) -> None:
        """Set the output bias to the learnt values. Subwords not in the text become as improbable as the rarest."""
        learnt = self.decoder.bias.cpu()
        self.bias.fill_(learnt.min())
        self.bias[self.embedding.rows] = learnt

    def masked(self, rows: Sequence[Ids], rate: float, kept: float, chance: random.Random) -> tuple[Tensor, ...]:
        """The inputs, the attention mask, the masked positions, and the masked subwords as rows of the embedding."""
        ids = np.full((len(rows), max(map(len, rows))), self.tokenizer.pad_token_id, dtype=np.int64)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
        generator = np.random.default_rng(chance.getrandbits(64))  # one for all rows: a GPU would wait for many
        chosen = (generator.random(ids.shape) < rate) & ~np.isin(ids, self.special)
        shown = generator.random(ids.shape) < kept
        targets = torch.from_numpy(ids[chosen])
        attention = torch.from_numpy((ids != self.tokenizer.pad_token_id).astype(np.int64))
        ids[chosen & ~shown] = self.tokenizer.mask_token_id
        parts = (torch.from_numpy(ids), attention, torch.from_numpy(chosen))
        inputs, attention, places = (part.to(self.device) for part in parts)
        return inputs, attention, places, self.embedding.places[targets.to(self.device)]

    def scores(self, inputs: Tensor, attention: Tensor, places: Tensor) -> Tensor:
        """The scores of all rows at the masked positions. Shape: (masked, rows)."""
        encoder = getattr(self.model, self.model.base_model_prefix)
        states = encoder(input_ids=inputs, attention_mask=attention)[0][places]
        head = self.model.cls if hasattr(self.model, "cls") else self.model.lm_head
        scores: Tensor = head(states)
        return scores

    def loss(self, batch: tuple[Tensor, ...]) -> Tensor:
        """The cross-entropy of the masked subwords. Its sum over all rows is estimated from some of them.

        The rows of the batch and the frequent rows are all used. Of the others, a sample is drawn. Each drawn row
        represents several rows, so the logarithm of their number is added to its score.
        """
        *inputs, targets = batch
        rows = len(self.embedding.rows)
        sure = torch.cat([targets, self.frequent]).unique()
        is_rest = torch.ones(rows, dtype=torch.bool, device=self.device)
        is_rest[sure] = False
        rest = is_rest.nonzero()[:, 0]
        drawn = rest[torch.randperm(len(rest), device=self.device)[:SAMPLED]]
        self.decoder.chosen = torch.cat([sure, drawn])
        scores = self.scores(*inputs).float()
        self.decoder.chosen = None
        weights = torch.zeros(scores.shape[1], device=self.device)
        weights[len(sure) :] = math.log(len(rest) / max(1, len(drawn)))
        return nn.functional.cross_entropy(scores + weights, torch.searchsorted(sure, targets))

    @torch.no_grad()
    def accuracies(self, held_out: Mapping[str, Rows]) -> dict[str, float]:
        """The share of masked subwords that are predicted correctly, by language. The masks are the same each time."""
        found = {}
        for language, rows in held_out.items():
            right = total = 0
            for number, batch in enumerate(batches(rows, MEASURED_AT_ONCE)):
                *inputs, targets = self.masked(batch, HELD_OUT_RATE, 0.0, item_rng(1, number))
                with autocast(self.device, "auto"):
                    right += int((self.scores(*inputs).argmax(-1) == targets).sum())
                total += len(targets)
            found[language] = right / total
        return found


def run(
    trainer: MaskedLMTrainer,
    groups: list[Any],
    held_out: Mapping[str, Rows],
    work: Path,
    steps: int,
    seed: int,
    rate: float,
) -> None:
    """Train to the end, and keep the last weights. The same call resumes."""
    plan = TrainingPlan(
        steps=steps,
        evaluate_every=max(1, steps // 20),
        batch_size=1,
        learning_rate=RATE * rate,
        head_learning_rate=NEW_RATE * rate,
        warmup=0.03,
        optimizer="adamw",
        schedule="linear",
        precision="auto",
    )

    def draw(group: tuple[Ids, ...], index: int, epoch: int) -> tuple[Tensor, ...]:
        return trainer.masked(group, MASK_RATE, KEPT_RATE, item_rng(seed, index, epoch))

    curve = work / "curve.jsonl"

    def evaluate() -> float:
        found = trainer.accuracies(held_out)
        point = {language: round(accuracy, 4) for language, accuracy in found.items()}
        print(point, flush=True)
        with curve.open("a") as stream:
            stream.write(json.dumps(point) + "\n")
        return float(len(curve.read_text().splitlines()))  # the held-out lines must not choose the weights

    train(
        trainer.model,
        groups,
        lambda batch: trainer.loss(batch[0]),
        plan,
        seed=seed,
        draw=draw,
        evaluate=evaluate,
        is_new=lambda name: name.endswith((".up", ".down")) or not name.startswith(trainer.model.base_model_prefix),
        progress=Progress("train"),
        folder=work / "state",
        fingerprint={"groups": len(groups), "rows": len(trainer.embedding.rows)},
    )


def write(trainer: MaskedLMTrainer, source: ModelSource, work: Path, held_out: Mapping[str, Rows]) -> None:
    """Write the learnt weights, and evaluate them in the model as users load it, over the whole vocabulary."""
    path = work / "head.safetensors"
    trainer.restore_bias()
    save_adapters(trainer.model, path, skipped=[f"{trainer.decoder_name}.bias"])
    whole = source.model("AutoModelForMaskedLM")
    add_head(whole, path, "masked language model")
    if source.name not in BUNDLED:
        whole.save_pretrained(work / "model")
        trainer.tokenizer.save_pretrained(work / "model")
    trainer.model = whole.to(trainer.device).eval()
    trainer.embedding.places = torch.arange(len(trainer.bias), device=trainer.device)
    print(f"{path}: {path.stat().st_size} bytes, accuracy {trainer.accuracies(held_out)}")


def main() -> None:
    """Train, and write the learnt weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=existing("text/en"), required=True, help="folder with text/en, bitext and qa")
    parser.add_argument("--work", type=Path, required=True, help="folder for the checkpoint and the results")
    parser.add_argument("--encoder", default=bundled.MULTILINGUAL, help="a bundled encoder, or a folder")
    parser.add_argument("--english", action="store_true", help="English text only")
    parser.add_argument("--subwords", type=float, default=8e6, help="length of the training")
    parser.add_argument("--batch", type=int, default=2048, help="subwords per step, with padding")
    parser.add_argument("--rate", type=float, default=1.0, help="factor for the learning rates, for larger batches")
    parser.add_argument("--dropout", type=float, default=0.0, help="for a text that is seen often")
    parser.add_argument("--start", type=existing(), help="a head.safetensors to continue from, with another --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    if not arguments.english and not ((arguments.data / "bitext").exists() and (arguments.data / "qa").exists()):
        parser.error(
            f"{arguments.data} does not contain both bitext and qa, which are needed unless --english is given"
        )
    arguments.work.mkdir(parents=True, exist_ok=True)
    source = ModelSource(arguments.encoder)
    if arguments.english:
        lines, end = english(arguments.data)
        held_out_of = {"en (WikiText-2)": end}
    else:
        lines, held_out_of = multilingual(arguments.data, 0.2, arguments.seed)
    tokenizer = source.tokenizer()
    rows = rows_of(lines, tokenizer)
    held_out = {name: rows_of(text, tokenizer) for name, text in held_out_of.items()}
    print(f"{len(rows)} rows, {sum(map(len, rows))} subwords", flush=True)
    with seeded(arguments.seed):
        trainer = MaskedLMTrainer(source, rows, held_out.values(), pick_device(arguments.device), arguments.dropout)
        if arguments.start is not None:
            trainer.start_from(arguments.start)
            print(f"start: {trainer.accuracies(held_out)}", flush=True)
    print(f"{len(trainer.embedding.rows)} distinct subwords", flush=True)
    steps = int(arguments.subwords / arguments.batch)
    groups = batches(rows, arguments.batch)
    with seeded(arguments.seed):
        run(trainer, groups, held_out, arguments.work, steps, arguments.seed, arguments.rate)
    write(trainer, source, arguments.work, held_out)


if __name__ == "__main__":
    main()
