"""Train the question-answering head that comes with nersery. README.md in this folder has the results.

    python models/qa_head/train.py --data DIR --work DIR [--encoder NAME] [--steps N] [--start FILE] [--device cuda]

The same command resumes. It writes ``curve.jsonl`` into the working folder, and ``qa_head.safetensors`` with the
weights learnt on top of the bundled encoder, in the format that `nersery.models.bundled_models.bundled` reads.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from examples import Example, Kinds, Questions, Text, asked, filled, labelled, unlabelled
from made_up import made_up
from mining import COVERS, Miner, balanced, common_words, mine, pools, refined, sentences_of, with_things
from safetensors.torch import load_file
from terms import BIOMEDICAL, Terms
from terms import COVERS as TERM_COVERS
from torch import Tensor, nn

from nersery.core.progress import Progress
from nersery.core.random import item_rng
from nersery.core.registry import BUNDLED
from nersery.core.text import definitions
from nersery.models.bundled_models import bundled, bundled_heads
from nersery.models.pretrained.loading import ModelSource, autocast, pick_device
from nersery.models.question_answering import best_spans, token_type_count, word_scores
from nersery.models.subwords.pair_inputs import PairEncoder
from nersery.models.subwords.subwords import SubwordEncoder
from nersery.models.training.trainer import TrainingPlan, seeded, train

sys.path.insert(0, str(Path(__file__).parents[1]))
from existing_path import existing
from low_rank import add_adapters, save_adapters

TEXTS = ("wikitext2", "textbooks", "wikipedia_crowd")
RANK = 32
QA_OUTPUTS = "qa_outputs."
MAX_ANSWER_LENGTH = 12
GROUP = 24
"""The number of texts of similar length in a step."""
MAX_SUBWORDS = 40
"""Longer sentences are left out, because they cost more than they teach."""
MINED = 150_000
"""The number of sentences of plain text that are searched for names."""
MAX_EXAMPLES = {"tweets": 5000, "anatomy": 2000, "asked": 2500, "translated": 10_000}
ASKED = {bundled.MULTILINGUAL: ("en", "de", "hi")}
"""Languages of XQuAD by encoder. Other encoders use English."""
PLAIN = 10_000
"""The number of sentences of plain text on which a student learns its teacher's answers."""
HELD_OUT = 120
"""The last sentences of Wikigold, which are used only for evaluation."""
TYPES = {"PER": "person", "LOC": "place", "ORG": "organization", "MISC": "misc"}
MAX_OF_A_KIND = 300
COPIES = 40
"""How often each sentence of ``sentences.txt`` is filled."""
RATE, NEW_FACTOR = 5e-4, 3
"""The learning rate of biases and norms, and the factor for adapters and the head."""


# --- texts --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Material:
    """The data for training and evaluation."""

    groups: list[tuple[Text, ...]]
    questions: Questions
    dev: list[tuple[str, Example]]
    """Questions with the type that they ask for."""


def material(
    folder: Path, encoder: str, seed: int, translated: Path | None = None, *, with_plain: bool = False
) -> Material:
    """All texts, in groups of similar length.

    Args:
        translated: The folder that `translate.sh` has written.
        with_plain: Add sentences without labels, for a teacher's answers.
    """
    kinds = Kinds()
    terms = Terms(kinds)
    wikigold = labelled(folder / "ner_en/wikigold/wikigold.conll.txt", COVERS)
    wikigold, held_out = wikigold[:-HELD_OUT], wikigold[-HELD_OUT:]
    tweets = [
        text
        for path in sorted((folder / "ner_en/btc_twitter").glob("*.conll"))
        for text in labelled(path, ("person", "place", "organization"))
    ]
    columns: dict[str, Any] = {"format": "conll", "word_column": 1, "tag_column": 4}
    bodies = [
        text
        for name in ("AnEM.train", "AnEM.test")
        for text in labelled(folder / "ner_en/anem" / name, ("anatomy", "work", "group"), **columns)
    ]
    sentences = [words for name in TEXTS for words in sentences_of(folder / f"text/en/{name}.txt")]
    chance = random.Random(seed)
    sentences = chance.sample(sentences, MINED)
    miner = Miner(kinds, wikigold + tweets, common_words(sentences, 50))
    mined = mine(sentences, miner, terms)
    names = pools([*wikigold, *mined], kinds)
    for kind, made in made_up(names["person"], seed).items():
        names[kind] += made
    phrases = [phrase for words in chance.sample(sentences, 8000) if (phrase := _phrase(words, chance))]
    parts = {
        "wikigold": 4 * [terms.add(refined(with_things(text, kinds), kinds, miner), TERM_COVERS) for text in wikigold],
        "tweets": [
            terms.add(refined(text, kinds, miner), ()) for text in tweets if text.mentions or chance.random() < 0.5
        ],
        "anatomy": [terms.add(text, BIOMEDICAL) for text in bodies],
        "mined": balanced(mined, MAX_OF_A_KIND, seed),
        "filled": filled(kinds, names, phrases, COPIES, seed),
        "translated": [
            text
            for path in (sorted(translated.glob("???.jsonl")) if translated else ())
            for text in labelled(path, COVERS)
        ],
        "asked": [
            text for language in ASKED.get(encoder, ("en",)) for text in asked(folder / f"qa/xquad.{language}.json")
        ],
        "plain": list(map(unlabelled, sentences[:PLAIN])) if with_plain else [],
    }
    subwords_of = SubwordEncoder(ModelSource(encoder).tokenizer()).subwords
    lengths = []
    for name, texts in parts.items():
        counted = [(sum(map(len, subwords_of(text.words))), text) for text in texts]
        counted = [(subwords, text) for subwords, text in counted if subwords <= MAX_SUBWORDS]
        counted = chance.sample(counted, min(len(counted), MAX_EXAMPLES.get(name, len(counted))))
        print(f"{name}: {len(counted)} sentences", flush=True)
        lengths += counted
    lengths.sort(key=lambda pair: (pair[0], chance.random()))
    texts = [text for _, text in lengths]
    groups = [tuple(texts[start : start + GROUP]) for start in range(0, len(texts), GROUP)]
    return Material(groups, Questions(kinds, names), _dev(held_out))


def _phrase(words: Sequence[str], chance: random.Random) -> tuple[str, ...]:
    """Two to five words of a sentence without punctuation; empty if the drawn words are not suitable."""
    start, length = chance.randrange(len(words)), chance.randint(2, 5)
    phrase = tuple(words[start : start + length])
    return phrase if len(phrase) == length and all(word.isalpha() for word in phrase) else ()


def _dev(texts: Sequence[Text]) -> list[tuple[str, Example]]:
    """The questions that nersery asks by default."""
    return [
        (
            type,
            Example(
                definitions.question(type, {}),
                text.words,
                tuple((mention.start, mention.end) for mention in text.mentions if mention.kind == kind),
                frozenset(),
            ),
        )
        for text in texts
        for type, kind in TYPES.items()
    ]


# --- model --------------------------------------------------------------------------------------------------------


def build(encoder: str, start: Path | None = None) -> Any:
    """The installed encoder with a new head and adapters. Only these, biases and norms are trained.

    Args:
        start: A file of an earlier training to continue from.
    """
    # "eager", because on CPUs the backward pass of torch's fused attention takes longer than everything else
    model = ModelSource(encoder).model("AutoModelForQuestionAnswering", attn_implementation="eager")
    layers = f"{model.base_model_prefix}.encoder.layer."
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith((layers, QA_OUTPUTS)))
    for layer in model.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0  # no question is asked twice
    add_adapters(model, layers, RANK)
    if start is not None:
        stored = load_file(start)
        learnt = {
            re.sub(r"\.weight(\.up|\.down)$", r"\1", name): tensor * stored.get(f"{name}.scale", 1)
            for name, tensor in stored.items()
        }
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.data.copy_(learnt[name])
    return model


class Asker:
    """Asks questions to a model in training, and to its teacher, if there is one."""

    def __init__(self, model: Any, encoder: str, device: torch.device, teacher: Asker | None = None) -> None:
        self.model, self.device, self.teacher = model, device, teacher
        self.pairs = PairEncoder(SubwordEncoder(ModelSource(encoder).tokenizer()), token_type_count(model))

    def loss(self, examples: Sequence[Example]) -> Tensor:
        """The loss: answers should score above "no answer", other spans below. Spans with unknown words are ignored."""
        scores = self._spans(examples)
        loss = self._loss_of_labels(scores, examples)
        return loss if self.teacher is None else loss + self._loss_of_teacher(scores, examples, self.teacher)

    def _spans(self, examples: Sequence[Example]) -> Tensor:
        """The score of each span minus that of "no answer". Shape: (examples, first word, number of words - 1)"""
        starts, ends, none = self._scores(examples)
        longest = max(len(example.words) for example in examples)
        starts, ends = starts[:, :longest], ends[:, :longest]  # tokenizers differ in the number of subwords
        following = nn.functional.pad(ends, (0, MAX_ANSWER_LENGTH - 1), value=-torch.inf).unfold(
            1, MAX_ANSWER_LENGTH, 1
        )
        return starts.unsqueeze(2) + following - none[:, None, None]

    def _loss_of_teacher(self, scores: Tensor, examples: Sequence[Example], teacher: Asker) -> Tensor:
        """The divergence from the teacher's probabilities of spans and of "no answer"."""
        with torch.no_grad(), autocast(self.device, "auto"):
            wanted = _log_probabilities(teacher._spans(examples))
        found = _log_probabilities(scores)
        wanted[[row for row, example in enumerate(examples) if not example.for_teacher]] = -torch.inf
        parts = (wanted.exp() * (wanted - found)).masked_fill(wanted.isneginf(), 0)
        return parts.sum(1).mean()

    def _loss_of_labels(self, scores: Tensor, examples: Sequence[Example]) -> Tensor:
        right = torch.zeros(scores.shape, dtype=torch.bool)
        hidden = torch.zeros(scores.shape[0], scores.shape[1] + MAX_ANSWER_LENGTH - 1)
        for row, example in enumerate(examples):
            for start, end in example.answers:
                if end - start <= MAX_ANSWER_LENGTH:
                    right[row, start, end - start - 1] = True
            hidden[row, list(example.unknown)] = 1
        is_open = (hidden.unfold(1, MAX_ANSWER_LENGTH, 1).cumsum(2) > 0).to(scores.device)
        right = right.to(scores.device)
        wrong = (scores.masked_fill(right | is_open, -torch.inf)).flatten(1)
        missed = (-scores).masked_fill(~right, -torch.inf).flatten(1)
        nothing = torch.zeros(len(scores), 1, device=scores.device)
        losses = [torch.cat([nothing, part], 1).logsumexp(1) for part in (wrong, missed)]
        return (losses[0] + losses[1]).mean()

    def _scores(self, examples: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
        questions, sentences = [e.question for e in examples], [e.words for e in examples]
        batch = self.pairs.collate(self.pairs.windows(questions, sentences))
        return word_scores(self.model, batch.to(self.device))

    @torch.no_grad()
    def answers(self, examples: Sequence[Example], top: int = 8) -> list[list[tuple[int, int]]]:
        """The spans that score higher than "no answer"."""
        order = sorted(range(len(examples)), key=lambda number: len(examples[number].words))
        found: list[list[tuple[int, int]]] = [[] for _ in examples]
        for start in range(0, len(order), 32):
            part = order[start : start + 32]
            with autocast(self.device, "auto"):
                starts, ends, none = self._scores([examples[number] for number in part])
            spans, scores = best_spans(starts, ends, top, MAX_ANSWER_LENGTH)
            better = scores > none.unsqueeze(1)
            for number, row, kept in zip(part, spans.tolist(), better.tolist(), strict=True):
                found[number] = [(span[0], span[1]) for span, keep in zip(row, kept, strict=True) if keep]
        return found


def _log_probabilities(scores: Tensor) -> Tensor:
    """The log probabilities of "no answer" (first) and of each span."""
    return nn.functional.pad(scores.float().flatten(1), (1, 0)).log_softmax(1)


def fingerprint(data: Material, asker: Asker) -> dict[str, str]:
    """What a training depends on in addition to its settings: the texts, the initial weights, and the teacher."""
    texts, weights = hashlib.sha256(repr(data.groups).encode()), hashlib.sha256()
    models = [one.model for one in (asker, asker.teacher) if one is not None]
    for parameter in (weight for model in models for weight in model.parameters()):
        weights.update(parameter.detach().cpu().numpy().tobytes())
    return {"texts": texts.hexdigest(), "weights": weights.hexdigest()}


def f1(examples: Sequence[tuple[str, Example]], answers: Sequence[list[tuple[int, int]]]) -> dict[str, float]:
    """Strict F1 of the answers, overall and for each type, in [0, 1]."""
    counts: dict[str, list[int]] = {}
    for (type, example), found in zip(examples, answers, strict=True):
        for name in ("all", type):
            right, predicted, gold = counts.setdefault(name, [0, 0, 0])
            hits = len(set(found) & set(example.answers))
            counts[name] = [right + hits, predicted + len(found), gold + len(example.answers)]
    return {name: 2 * right / max(1, predicted + gold) for name, (right, predicted, gold) in counts.items()}


def plan(steps: int, rate: float) -> TrainingPlan:
    """AdamW with learning rates that rise over 6 % of the steps and then fall to zero."""
    return TrainingPlan(
        steps=steps,
        epochs=None,
        evaluate_every=max(1, steps // 3),
        patience=None,
        batch_size=1,
        learning_rate=rate,
        head_learning_rate=NEW_FACTOR * rate,
        warmup=0.06,
        weight_decay=0.01,
        clip=1.0,
        optimizer="adamw",
        schedule="linear",
        precision="auto",
    )


def _cased(example: Example, encoder: str, rng: random.Random) -> Example:
    """The example; for a cased encoder, half of the texts in lower case, so that it does not rely on capitals."""
    if bundled.is_lower_case(encoder) or rng.random() < 0.5:
        return example
    return example._replace(words=tuple(word.lower() for word in example.words))


def run(data: Material, asker: Asker, encoder: str, work: Path, schedule: TrainingPlan, seed: int) -> None:
    """Train to the end. The same call resumes."""
    with seeded(seed):

        def draw(group: tuple[Text, ...], index: int, number: int) -> list[Example]:
            chances = [item_rng(seed, index, row, number) for row in range(len(group))]
            return [
                _cased(data.questions.draw(text, rng), encoder, rng) for text, rng in zip(group, chances, strict=True)
            ]

        def evaluate() -> float:
            figures = f1(data.dev, asker.answers([example for _, example in data.dev]))
            print({name: round(figure, 4) for name, figure in figures.items()}, flush=True)
            return figures["all"]

        history = train(
            asker.model,
            data.groups,
            lambda batch: asker.loss(batch[0]),
            schedule,
            seed=seed,
            draw=draw,
            evaluate=evaluate,
            is_new=lambda name: name.endswith((bundled_heads.UP, bundled_heads.DOWN)) or QA_OUTPUTS in name,
            progress=Progress("train"),
            folder=work / "state",
            fingerprint=fingerprint(data, asker),
        )
    points = [{"step": e.step, "loss": e.loss, "held_out_f1": round(e.score, 4)} for e in history.evaluations]
    (work / "curve.jsonl").write_text("".join(json.dumps(point) + "\n" for point in points), "utf-8")


def teacher_of(name: str, device: torch.device) -> Asker:
    """A trained question-answering model, which is not trained further."""
    return Asker(ModelSource(name).question_answering().to(device).eval(), name, device)


def main() -> None:
    """Train, write the learnt weights, and evaluate them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=existing("ner_en", "qa", "text/en"), required=True, help="folder with ner_en, qa and text/en"
    )
    parser.add_argument("--work", type=Path, required=True, help="folder for the state and the results")
    parser.add_argument("--steps", type=int, default=600, help="length of the training")
    parser.add_argument("--rate", type=float, default=RATE, help="the learning rate of biases and norms")
    parser.add_argument("--start", type=existing(), help="a qa_head.safetensors to continue from, with another --seed")
    parser.add_argument(
        "--translated", type=existing(), help="folder from translate.sh, with labelled text in other languages"
    )
    parser.add_argument("--teacher", help="a larger question-answering model, whose answers are also learnt")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--encoder", default=bundled.ENGLISH, help="a bundled encoder, or a folder")
    arguments = parser.parse_args()
    encoder = arguments.encoder
    arguments.work.mkdir(parents=True, exist_ok=True)
    device = pick_device(arguments.device)
    teacher = teacher_of(arguments.teacher, device) if arguments.teacher else None
    data = material(arguments.data, encoder, arguments.seed, arguments.translated, with_plain=teacher is not None)
    with seeded(arguments.seed):
        model = build(encoder, arguments.start).to(device)
    asker = Asker(model, encoder, device, teacher)
    run(data, asker, encoder, arguments.work, plan(arguments.steps, arguments.rate), arguments.seed)
    target = arguments.work / "qa_head.safetensors"
    save_adapters(model, target)
    shipped = ModelSource(encoder).model("AutoModelForQuestionAnswering")
    bundled_heads.add_head(shipped, target, "question-answering model")
    if encoder not in BUNDLED:
        shipped.save_pretrained(arguments.work / "model")
        ModelSource(encoder).tokenizer().save_pretrained(arguments.work / "model")
    figures = f1(
        data.dev, Asker(shipped.to(device).eval(), encoder, device).answers([example for _, example in data.dev])
    )
    print(f"{target}: {target.stat().st_size} bytes, held-out F1 {figures}")


if __name__ == "__main__":
    main()
