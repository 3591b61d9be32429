"""A sentence of 2,000 words with an entity at its end, through every command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nersery import Entity, Sentence, io
from nersery.experiments.grow import budget, candidates, plan, search
from nersery.experiments.grow.schedules import Schedule
from tests.cli.calls import COMMANDS, call
from tests.standins import RECIPE, register, sentences, tiny

pytestmark = pytest.mark.torture

LENGTH = 2000
END = (LENGTH - 2, LENGTH, "LOC")
PLACE = ("New", "York")
WITHOUT_SENTENCES = {"list", "copy", "inspect doctor"}
"""Commands that read no sentences."""


def long_sentence(id: str) -> Sentence:
    """Only fillers, which depend on the id, and then an entity."""
    words = tuple(
        f"{word}{id if number % 7 == 0 else ''}" for number, word in enumerate(["we", "saw", "there"] * LENGTH)
    )
    return Sentence((*words[: END[0]], *PLACE), (Entity(*END),), id=id)


def write_files(folder: Path, tagger: str) -> None:
    for name, start in (("train", 0), ("dev", 100), ("test", 200)):
        io.write([*sentences(24, start), long_sentence(name)], folder / f"{name}.jsonl")
    gold = [long_sentence("test"), *sentences(24, 200)]
    io.write(gold, folder / "gold.jsonl")
    io.write([sentence.with_entities(()) for sentence in gold], folder / "raw.jsonl")
    io.write([gold[0].with_entities(()), *gold[1:]], folder / "lost.jsonl")
    (folder / "gold.align").write_text("".join(f"{' '.join(f'{n}-{n}' for n in range(len(s)))}\n" for s in gold))
    (folder / "recipe.toml").write_text(RECIPE.format(tagger=tagger).replace(".conll", ".jsonl"), "utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_model: str) -> Iterator[Path]:
    """Files, a tagger that finds the entity, and patches that make `grow` quick."""
    folder = tmp_path_factory.mktemp("long")
    write_files(folder, tiny(tiny_model, steps=60))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for module in (plan, search):
            patch.setattr(module, "SCHEDULES", (Schedule(20, 16),))
        patch.setattr(plan, "MIN_STEPS", 20)
        patch.setattr(candidates, "MULTILINGUAL", tiny_model)
        patch.setattr(budget, "CLOSING", 1.0)
        register(patch)
        settings = [f"--set={line.replace(' = ', '=')}" for line in tiny(tiny_model, steps=60).split("\n")]
        assert call("train", "train.jsonl", "my-tagger", *settings, "-q").code == 0
        yield folder


def has_end(path: str) -> Callable[[str], bool]:
    """Whether a corpus has a long sentence with its entity."""
    return lambda out: any(len(s) == LENGTH and s.labels[-1:] == (END,) for s in io.read(path))


def says(*path: str | int, equals: object) -> Callable[[str], bool]:
    """Whether the JSON output of a command has a value at a path."""

    def check(out: str) -> bool:
        found = json.loads(out)
        for key in path:
            found = found[key]
        return bool(found == equals)

    return check


def one_is_missed(out: str) -> bool:
    micro = json.loads(out)["micro"]
    return bool(micro["gold"] - micro["correct"] == 1)


def published(out: str) -> bool:
    rows = [json.loads(line) for file in Path("data/spans").iterdir() for line in file.read_text("utf-8").splitlines()]
    return any(len(row["words"]) == LENGTH and row["entities"][-1]["end"] == LENGTH for row in rows)


def of_reviewed(out: str) -> bool:
    return any(r.sentence and r.sentence.labels == (END,) for r in io.read_rejects(Path("checked.jsonl.rejects.jsonl")))


def last_link(out: str) -> bool:
    return any(line.endswith(f"{LENGTH - 1}-{LENGTH - 1}") for line in Path("found.align").read_text().splitlines())


def augmented(out: str) -> bool:
    return any(len(s) > LENGTH - 3 and s.labels[-1][1:] == (len(s), "LOC") for s in io.read("augmented.jsonl"))


CASES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "grow": ("train.jsonl --raw raw.jsonl --out grow --minutes 20 --language xx -q", has_end("grow/corpus.jsonl")),
    "run": ("recipe.toml --out run --set sample.size=25 -q", has_end("run/seed-0/one/predicted.jsonl")),
    "dataset convert": ("gold.jsonl converted.conll -q", has_end("converted.conll")),
    "augment": ("gold.jsonl augmented.jsonl --method mention_replacement --set rate=1 -q", augmented),
    "annotate": (
        "raw.jsonl annotated.jsonl --method tagger_labels --set tagger=my-tagger -q",
        has_end("annotated.jsonl"),
    ),
    "select": ("gold.jsonl selected.jsonl --method duplicates --gold train.jsonl -q", has_end("selected.jsonl")),
    "label next": ("raw.jsonl next.jsonl --tagger my-tagger --count 25 -q", has_end("next.jsonl")),
    "label review": ("gold.jsonl checked.jsonl --no-page", of_reviewed),
    "crosslingual align": (
        "gold.jsonl raw.jsonl found.align --plain --pair-by order --set max_words=3000 -q",
        last_link,
    ),
    "crosslingual project": (
        "gold.jsonl raw.jsonl projected.jsonl --alignments gold.align --pair-by order -q",
        has_end("projected.jsonl"),
    ),
    "dataset publish": ("gold.jsonl data --no-parquet -q", published),
    "dataset sample": ("gold.jsonl sample.jsonl --size 25 -q", has_end("sample.jsonl")),
    "train": ("train.jsonl --dev dev.jsonl other --method memory -q", lambda out: Path("other/nersery.json").exists()),
    "predict": ("my-tagger raw.jsonl predicted.jsonl -q", has_end("predicted.jsonl")),
    "evaluate": ("gold.jsonl lost.jsonl --json", one_is_missed),
    "inspect agreement": ("gold.jsonl lost.jsonl --json", lambda out: json.loads(out)["entities"]["micro"]["f1"] < 1),
    "inspect alignments": ("gold.align gold.align --json", says("alignment_error_rate", equals=0.0)),
    "inspect novelty": ("gold.jsonl --gold lost.jsonl --json", lambda out: bool(json.loads(out))),
    "inspect quality": ("gold.jsonl --gold train.jsonl --model MODEL --json", lambda out: "NaN" not in out),
    "inspect results": ("run --json", says(0, "Run", equals="small")),
    "inspect stats": ("gold.jsonl --json", says(0, "words", equals=LENGTH + sum(map(len, sentences(24, 200))))),
    "inspect suggestions": ("gold.jsonl --model MODEL --id test --json", lambda out: '"York"' in out),
    "inspect templates": ("gold.jsonl --tagger my-tagger --sentence test --json", lambda out: '"York"' in out),
}
"""For each command, its arguments and a check that its output or files include the end of the sentence."""


def test_every_command_has_a_case() -> None:
    assert set(CASES) | WITHOUT_SENTENCES == set(COMMANDS)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", CASES)
def test_output_has_the_entity_at_the_end(command: str, tiny_masked_lm: str) -> None:
    args, check = CASES[command]
    if command == "inspect results" and not Path("run/report.json").exists():  # another worker may have made it
        assert call("run", *CASES["run"][0].split()).code == 0
    result = call(*command.split(), *args.replace("MODEL", tiny_masked_lm).split())
    assert result.code == 0, result.err
    assert check(result.out), result.out[:2000]
