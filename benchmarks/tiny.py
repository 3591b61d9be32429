"""Tiny replacements for the data in ../shared/data and for recipes, so that ``--quick`` needs no data and little time.

    python benchmarks/tiny.py data FOLDER
    python benchmarks/tiny.py recipe RECIPE DATA WORK > TINY_RECIPE

The first command writes files with the names of ../shared/data and the sentences of the shipped example. The second
prints a recipe with one seed and the smallest sizes. It reads DATA, and WORK in place of runs/cross-lingual.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import measuring
from nersery import Entity, Sentence, io

TINY_VALUES = {
    "steps": 2,
    "epochs": 1,
    "copies": 1,
    "size": 6,
    "dev_size": 4,
    "per_step": 2,
    "examined": 6,
    "passes": 2,
}
NUMBER = re.compile(rf"(?<![\w-])({'|'.join(TINY_VALUES)}) = \d+")
OTHERS = ("de", "es", "nl", "tr", "ru", "ko", "zh", "bn")
"""Languages for which the English sentences are used."""
TRANSLATIONS = ("deu", "spa", "ben", "guj", "kan", "mal", "mar", "pan", "tam", "tel")
HINDI = [
    (("राम", "दिल्ली", "में", "रहता", "है", "।"), (Entity(0, 1, "PER"), Entity(1, 2, "LOC"))),
    (("गूगल", "भारत", "आया", "।"), (Entity(0, 1, "ORG"), Entity(1, 2, "LOC"))),
]


def write_data(folder: Path) -> None:
    """Write every file that the recipes and scripts of this folder read, with a few sentences."""
    english = measuring.example(30)
    hindi = [Sentence(*HINDI[n % len(HINDI)], id=str(n)) for n in range(12)]
    general = [s.with_entities([Entity(e.start, e.end, "LOC") for e in s.entities]) for s in english]
    german = [Sentence(tuple(word[::-1] for word in s.words), s.entities, id=s.id) for s in general]
    labelled = {
        **{f"multiconer/en/{name}.conll": english for name in ("100", "200", "500", "1000", "dev", "test")},
        **{f"multiconer/{language}/{name}.conll": english for language in OTHERS for name in ("100", "dev", "test")},
        **{f"multiconer/hi/{name}.conll": hindi for name in ("100", "dev", "test")},
        **{f"ncbi_disease/{name}.tsv": english for name in ("train", "dev", "test")},
        **{f"parallel_ner/{name}": general for name in ("europarl.en.conll", "pud.en.iob2")},
        **{f"parallel_ner/{name}": german for name in ("europarl.es.conll", "pud.de.iob2")},
        **{f"il_ner_hi/{name}.txt": hindi for name in ("train", "dev")},
        "ner_en/wikigold/wikigold.conll.txt": general,
    }
    texts = {
        **{f"multiconer/{language}/unlabelled.txt": english for language in ("en", *OTHERS)},
        "multiconer/hi/unlabelled.txt": hindi,
        **{f"bitext/ntrex.{language}.txt": german for language in TRANSLATIONS},
        **{
            f"bitext/wiki.{part}.{language}.txt": hindi
            for part in ("dev", "devtest", "test")
            for language in ("en", "hi")
        },
        "bitext/ntrex.eng.txt": general,
        "bitext/ntrex.hin.txt": (hindi * 3)[: len(general)],
    }
    for name in (*labelled, *texts):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    for name, sentences in labelled.items():
        io.write(sentences, folder / name, format="conll")
    for name, sentences in texts.items():
        (folder / name).write_text("".join(f"{sentence.text}\n" for sentence in sentences), "utf-8")


def tiny_recipe(text: str, data: Path, work: Path) -> str:
    """The text of a recipe with one seed, the smallest sizes and other folders."""
    text = re.sub(r"^seeds = .*", "seeds = [0]", text, flags=re.MULTILINE)
    text = NUMBER.sub(lambda found: f"{found[1]} = {TINY_VALUES[found[1]]}", text)
    return text.replace("../../shared/data", str(data)).replace("../runs/cross-lingual", str(work))


def main() -> None:
    match sys.argv[1:]:
        case ["data", folder]:
            write_data(Path(folder))
        case ["recipe", recipe, data, work]:
            print(tiny_recipe(Path(recipe).read_text("utf-8"), Path(data).resolve(), Path(work).resolve()), end="")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
