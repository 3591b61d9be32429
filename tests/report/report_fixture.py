"""A report as a real run writes it: four systems, three seeds, six types, sentences in several scripts."""

from __future__ import annotations

import math
import random
from statistics import mean, stdev
from typing import Any

TYPES = {"PER": 214, "LOC": 187, "CW": 122, "GRP": 96, "CORP": 88, "PROD": 21}
SEEDS = [0, 1, 2]


def sentence(id_: str, marked: str, language: str = "") -> dict[str, Any]:
    """Read ``[Ada Lovelace|PER] wrote`` as words and entities."""
    words: list[str] = []
    entities = []
    for number, part in enumerate(marked.replace("]", "[").split("[")):
        if number % 2:
            text, type_ = part.rsplit("|", 1)
            mention = text.split(" ")
            entities.append({"start": len(words), "end": len(words) + len(mention), "type": type_})
            words += mention
        else:
            words += [word for word in part.split(" ") if word]
    result: dict[str, Any] = {"id": id_, "words": words, "entities": entities}
    return result | ({"language": language} if language else {})


PAIRS = [
    ("en", "portrayed by [song kang-ho|PER] in the 2019 film [the king's letters|CW]",
     "portrayed by [agnès varda|PER] in the 2019 film [cléo from 5 to 7|CW]"),
    ("hi", "[लता मंगेशकर|PER] ने [मुंबई|LOC] में यह गीत रिकॉर्ड किया ।",
     "[किशोर कुमार|PER] ने [नई दिल्ली|LOC] में यह गीत रिकॉर्ड किया ।"),
    ("ar", "وُلدت [فيروز|PER] في [بيروت|LOC] وغنّت مع [فرقة الرحباني|GRP] .",
     "وُلدت [أم كلثوم|PER] في [طماي الزهايرة|LOC] وغنّت مع [فرقة الرحباني|GRP] ."),
    ("en", "the [galaxy s21|PROD] 📱 by [samsung electronics|CORP] sold out within 👩‍👩‍👧 hours",
     "the [thinkpad x1 carbon|PROD] 📱 by [deutsche telekom|CORP] sold out within 👩‍👩‍👧 hours"),
    ("zh", "[張藝謀|PER] 在 [西安|LOC] 拍攝 了 [紅高粱|CW] 。",
     "[侯孝賢|PER] 在 [西安|LOC] 拍攝 了 [悲情城市|CW] 。"),
    ("en", "its headquarters moved from [oslo|LOC] to [bergen|LOC] after the merger with [norsk hydro|CORP] "
     ", which the [norwegian confederation of trade unions|GRP] had opposed for years .",
     "its headquarters moved from [tromsø|LOC] to [bergen|LOC] after the merger with [equinor|CORP] "
     ", which the [manchester united supporters trust|GRP] had opposed for years ."),
]  # fmt: skip


def measure(values: list[float]) -> dict[str, Any]:
    return {"mean": mean(values), "std": stdev(values) if len(values) > 1 else None, "values": values}


def per_type(center: float, rng: random.Random, seeds: int) -> dict[str, Any]:
    levels = {"PER": 0.14, "LOC": 0.06, "CW": -0.09, "GRP": 0.02, "CORP": -0.02, "PROD": -0.16}
    result: dict[str, Any] = {}
    for name, gold in TYPES.items():
        level = center + levels[name] + rng.gauss(0, 0.02)
        result[name] = {"gold": gold}
        for part, shift in (("f1", 0.0), ("precision", 0.02), ("recall", -0.02)):
            result[name][part] = measure([level + rng.gauss(0, 0.012) + shift for _ in range(seeds)])
    return result


def groups(names: tuple[str, ...], center: float, seeds: int) -> dict[str, Any]:
    scores = {part: measure([center] * seeds) for part in ("precision", "recall", "f1")}
    return {name: {**scores, "gold": 364} for name in names}


def training(center: float, rng: random.Random, seeds: list[int], steps: int) -> list[dict[str, Any]]:
    runs = []
    for seed in seeds:
        evaluations = [
            {"step": step, "loss": 2 * math.exp(-step / 60), "score": score}
            for step in range(30, steps + 1, 30)
            for score in [max(0.0, (center + 0.01) * (1 - math.exp(-step / 55)) + rng.gauss(0, 0.008))]
        ]
        best = max(evaluations, key=lambda one: one["score"])
        runs.append({"seed": seed, "steps": steps, "best_step": best["step"], "evaluations": evaluations})
    return runs


def system(name: str, f1: list[float], sentences: list[int], steps: int = 300) -> dict[str, Any]:
    rng = random.Random(name)
    center = mean(f1)
    return {
        "name": name, "method": None, "select": [], "settings": {},
        "precision": measure([value + 0.013 for value in f1]),
        "recall": measure([value - 0.011 for value in f1]), "f1": measure(f1),
        "f1_interval": {"low": center - 0.03, "high": center + 0.03},
        "per_type": per_type(center, rng, len(f1)), "train_sentences": sentences,
        "per_novelty": groups(("seen", "unseen"), center, len(f1)),
        "per_length": groups(("1 to 10", "over 40"), center, len(f1)),
        "new_entities": [2 * (number - 100) for number in sentences],
        "diversity": {"entity": None, "non_entity": None, "length": None},
        "errors": errors(), "training": training(center, rng, SEEDS[: len(f1)], steps), "against_gold": None,
    }  # fmt: skip


def errors() -> dict[str, Any]:
    """Some mistakes of each kind for each type, and two examples."""
    kinds = ("correct", "boundary", "type", "both", "missed", "spurious")
    gold = sentence("test-3", "[नई दिल्ली|LOC] में [लता|PER] रहती थीं ।", "hi")
    predicted = sentence("test-3", "नई [दिल्ली|ORG] में [लता|PER] रहती थीं ।")
    (place, person), (wrong, _) = gold["entities"], predicted["entities"]
    shown = {"id": gold["id"], "words": gold["words"], "language": "hi", "gold": gold["entities"]}
    return {
        "per_type": {
            name: {kind: count // (number + 2) for number, kind in enumerate(kinds)} for name, count in TYPES.items()
        },
        "confusion": {"LOC": {"LOC": 93, "ORG": 7}, "PER": {"PER": 107}},
        "examples": [
            {**shown, "kind": "both", "predicted": predicted["entities"], "gold_entity": place,
             "predicted_entity": wrong},
            {**shown, "kind": "missed", "predicted": [place], "gold_entity": person, "predicted_entity": None},
        ],
    }  # fmt: skip


def changes() -> dict[str, Any]:
    """Two entities fixed and one broken, with an example of each."""
    gold = sentence("test-5", "[أم كلثوم|PER] في [القاهرة|LOC]", "ar")
    person, place = gold["entities"]
    shown = {"id": gold["id"], "words": gold["words"], "language": "ar", "gold": gold["entities"]}
    return {
        "per_type": {"LOC": {"broken": 1, "new": 4}, "PER": {"fixed": 2, "gone": 3}},
        "examples": [
            {**shown, "kind": "fixed", "before": [place], "after": [person], "entity": person},
            {**shown, "kind": "broken", "before": [place], "after": [person], "entity": place},
        ],
    }


def against(difference: float, low: float, high: float, p: float) -> dict[str, Any]:
    test = "paired bootstrap over sentences, seeds averaged, two-sided"
    return {"difference": difference, "low": low, "high": high, "p": p, "samples": 10000, "test": test}


def examples(method: str) -> list[dict[str, Any]]:
    return [
        {
            "parent": sentence(f"train-{number}", parent, language),
            "child": sentence(f"train-{number}~{method}-{1 + number % 3}", child, language),
            "scores": {"agreement": 1.0},
        }
        for number, (language, parent, child) in enumerate(PAIRS, 1)
    ]


def rejects(method: str) -> list[dict[str, Any]]:
    parent = sentence("train-41", "she joined [the beatles fan club|GRP] in [liverpool|LOC]")
    child = sentence(f"train-41~{method}-2", "she joined [the world bank|GRP] in [liverpool|LOC]")
    alone = sentence(f"train-7~{method}-1", "no parent is known of this one")
    return [
        {"reason": "agreement < 1", "stage": "agreement", "parent": parent, "child": child},
        {"reason": "of gold", "stage": "duplicates", "parent": None, "child": alone},
    ]


def generated(name: str, f1: list[float], comparison: dict[str, Any], kept: tuple[int, int, int]) -> dict[str, Any]:
    written, distinct, agreeing = kept
    return system(name, f1, [100 + agreeing // 3, 100 + agreeing // 3 + 4, 96 + agreeing // 3]) | {
        "method": name, "select": ["duplicates", "agreement"], "settings": {"rate": 0.5, "copies": 3},
        "generation": {"read": 900, "written": written, "rejected": 900 - written,
                       "reasons": {"unchanged": 900 - written - 7, "no entities": 7}},
        "selection": [
            {"method": "duplicates", "read": written, "written": distinct, "rejected": written - distinct,
             "reasons": {"of another": written - distinct - 2, "of gold": 2}},
            {"method": "agreement", "read": distinct, "written": agreeing, "rejected": distinct - agreeing,
             "reasons": {"agreement < 1": distinct - agreeing}},
        ],
        "diversity": {
            "entity": measure([0.41, 0.44, 0.47]), "non_entity": measure([0.1, 0.12, 0.11]),
            "length": measure([1.0, 1.25, 1.5]),
        },
        "changes": changes(), "against_gold": comparison, "examples": examples(name), "reject_examples": rejects(name),
    }  # fmt: skip


def split(name: str, sentences: int, factor: float) -> dict[str, Any]:
    types = {type_: round(count * factor) for type_, count in TYPES.items()}
    return {
        "path": f"data/multiconer/en/{name}.conll", "sha256": "9f86d081884c7d65" * 4, "sentences": sentences,
        "words": sentences * 16 + 7, "entities": sum(types.values()), "types": types,
    }  # fmt: skip


RECIPE = {
    "name": "demo", "seeds": SEEDS,
    "data": {"train": "data/train.conll", "dev": "data/dev.conll", "test": "data/test.conll", "repair": None},
    "sample": {"size": 100, "protocol": "stratified"},
    "tagger": {"method": "transformer", "model": "bundled", "head": "linear", "batch_size": 16,
               "optimizer": {"name": "adamw", "learning_rate": 2e-4, "warm_up": 0.1},
               "steps": 300, "bf16": "auto"},
    "systems": [
        {"name": "label_wise_token_replacement", "rate": 0.3, "copies": 3,
         "select": ["duplicates", "agreement"]},
        {"name": "mention_replacement", "rate": 0.5, "copies": 3, "select": ["duplicates", "agreement"]},
        {"name": "synonym_replacement", "rate": 0.2, "copies": 3, "wordnet": "/usr/share/wordnet",
         "select": []},
    ],
}  # fmt: skip


def build() -> dict[str, Any]:
    """The report of a finished run, as `json.load` would give it."""
    return {
        "name": "demo",
        "description": "Which rule method helps a tagger that has seen a hundred labelled sentences?",
        "nersery": "0.1.0",
        "versions": {"python": "3.11.7", "torch": "2.13.0", "transformers": "5.23.0", "numpy": "2.4.6"},
        "command": "nersery run demo --out runs/demo --set tagger.steps=300",
        "recipe": RECIPE,
        "seeds": SEEDS,
        "notes": [
            "3 of 300 test sentences also stand in train.",
            "dev has types that train lacks: PROD (4 mentions). No tagger trained here can find them.",
        ],
        "data": {"train": split("train", 150, 0.4), "dev": split("dev", 100, 0.3),
                 "test": split("test", 300, 1.0)},
        "sample": {"size": 100, "protocol": "stratified"},
        "run_time": {
            "gold": {"estimate": 40.0, "seconds": [41.5, 39.2, 40.0], "killed": False},
            "mention_replacement": {"estimate": 50.0, "seconds": [70.0, None, 80.0], "killed": True},
        },
        "files": [
            {"system": "", "label": "recipe", "path": "run.json"},
            {"system": "gold", "label": "predictions on test, seed 0", "path": "seed-0/gold/predicted.jsonl"},
        ],
        "systems": [
            system("gold", [0.4552, 0.4631, 0.4674], [100, 100, 100]),
            generated("label_wise_token_replacement", [0.4251, 0.4190, 0.4344],
                      against(-0.0357, -0.0521, -0.0194, 0.00004), (861, 845, 610)),
            generated("mention_replacement", [0.4795, 0.4828, 0.4868], against(0.0211, 0.004, 0.038, 0.0184),
                      (860, 850, 731)),
            generated("synonym_replacement", [0.4702, 0.4598, 0.4716], against(0.0053, -0.0081, 0.0187, 0.44),
                      (774, 765, 702)),
        ],
    }  # fmt: skip
