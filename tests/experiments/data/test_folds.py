"""Cross-validation, and systems with their own tagger."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from nersery import Corpus, Entity, Sentence, io
from nersery.core.entity import Origin
from nersery.core.errors import DataError, OutOfTimeError, SettingsError
from nersery.core.progress import Progress, time_limit
from nersery.evaluate.scores import Counts
from nersery.experiments.analysis import group_scores
from nersery.experiments.data.folds import fold, note_of_documents
from nersery.experiments.recipe import load
from nersery.experiments.run_state.run_folder import RunFolder
from tests.experiments.run_helpers import append_system, execute, ids, system

FOLDS = "[sample]\nfolds = 3"


def cross_validated() -> None:
    text = Path("recipe.toml").read_text("utf-8")
    text = text.replace('test = "test.conll"\n', "").replace("[sample]\nsize = 16", FOLDS)
    Path("recipe.toml").write_text(text.replace("seeds = [0]", "seeds = [0, 1, 2]"), "utf-8")


def test_every_sentence_is_held_out_once(folder: Path) -> None:
    cross_validated()
    report = execute()
    everything = ids(io.read("train.conll"))
    held_out = [id for seed in range(3) for id in ids(f"run/seed-{seed}/gold/predicted.jsonl")]
    assert sorted(held_out) == sorted(everything)
    for seed in range(3):
        learnt, scored = ids(f"run/seed-{seed}/gold/train.jsonl"), ids(f"run/seed-{seed}/gold/predicted.jsonl")
        assert sorted([*learnt, *scored]) == sorted(everything)
    assert system(report, "one")["against_gold"]["sentences"] == len(everything)
    assert "test" not in report["data"]


def written(texts: list[str], documents: list[str] | None = None) -> Corpus:
    return Corpus(
        Sentence(tuple(text.split()), (Entity(0, 1, "A"),), id=f"s{number}", document=document)
        for number, (text, document) in enumerate(zip(texts, documents or [""] * len(texts), strict=True))
    )


def folds_of(corpus: Corpus, folds: int) -> list[Corpus]:
    parts = [fold(corpus, folds, number) for number in range(folds)]
    assert sorted(id for part in parts for id in ids(part)) == sorted(ids(corpus))
    return parts


def test_equal_sentences_share_a_fold_and_count_once() -> None:
    corpus = written(["caf\u00e9 x", "cafe\u0301 x"] * 10 + [f"text {number}" for number in range(11)])
    texts = [{sentence.words[-1] for sentence in part} for part in folds_of(corpus, 3)]
    assert [len(part) for part in texts] == [4, 4, 4]
    assert not texts[0] & texts[1] | texts[0] & texts[2] | texts[1] & texts[2]
    assert note_of_documents(corpus, 3) == ""


def test_documents_stay_whole_if_there_are_enough() -> None:
    documents = [f"d{number % 9}" for number in range(45)]
    corpus = written([f"text {number}" for number in range(45)], documents)
    there = [{sentence.document for sentence in part} for part in folds_of(corpus, 3)]
    assert [*map(len, there)] == [3, 3, 3]
    assert len(set.union(*there)) == 9
    assert note_of_documents(corpus, 3) == ""
    assert "9 of 9 documents of train are split across folds" in note_of_documents(corpus, 4)
    plain = written([f"text {number}" for number in range(45)])
    assert [*map(ids, folds_of(corpus, 4))] == [*map(ids, folds_of(plain, 4))]


def test_generated_sentences_are_held_out_with_their_parents() -> None:
    gold = written([f"text {number}" for number in range(12)])
    made = [replace(s, words=("new", *s.words[1:]), id=f"{s.id}~x-1", origin=Origin("x", (s.id,))) for s in gold]
    for part in folds_of(Corpus([*gold, *made]), 3):
        assert {f"{id}~x-1" for id in ids(part) if "~" not in id} == {id for id in ids(part) if "~" in id}
    more = [replace(s, words=("more", *s.words[1:]), id=f"{s.id}~y-1", origin=Origin("y", (s.id,))) for s in made]
    for part in folds_of(Corpus([*made, *more]), 3):  # gold is in another file
        assert {f"{id}~y-1" for id in ids(part) if "~y" not in id} == {id for id in ids(part) if "~y" in id}
    siblings = [replace(s, words=("two", *s.words[1:]), id=f"{s.id}~x-2", origin=Origin("x", (s.id,))) for s in gold]
    for part in folds_of(Corpus([*made, *siblings]), 3):
        assert {id[:-1] for id in ids(part) if id.endswith("1")} == {id[:-1] for id in ids(part) if id.endswith("2")}
    of_one = [replace(s, origin=Origin("x", ("s0",))) for s in made]
    assert all(len(part) == 8 for part in folds_of(Corpus([*gold, *of_one]), 3))


def test_documents_with_common_sentences_or_one_large_document_are_split() -> None:
    texts = [f"text {number}" for number in range(44)]
    shared = written(["head", *texts[:43], "head"], [f"d{number % 10}" for number in range(45)])
    assert not note_of_documents(shared, 3)
    headed = written(
        [text for number in range(22) for text in ("head", texts[number])], [f"d{n // 2}" for n in range(44)]
    )
    assert "or share sentences" in note_of_documents(headed, 3)
    large = written(texts, ["large" if number < 30 else f"d{number}" for number in range(44)])
    assert "1 of 15 documents" in note_of_documents(large, 3)
    assert [len(part) for part in folds_of(large, 3)] == [15, 15, 14]


def test_a_run_notes_that_documents_are_split(folder: Path) -> None:
    cross_validated()
    io.write(
        [replace(s, document=f"d{n % 4}", columns=()) for n, s in enumerate(io.read("train.conll"))], "train.jsonl"
    )
    Path("recipe.toml").write_text(
        Path("recipe.toml").read_text("utf-8").replace("train.conll", "train.jsonl"), "utf-8"
    )
    run = RunFolder(load("recipe.toml"), Path("run"), quiet=True)
    run.read_corpora()
    assert [note for note in run.notes if "documents" in note] == [note_of_documents(run.corpora["train"], 3)]


def test_a_type_is_scored_only_on_folds_that_contain_it(folder: Path) -> None:
    cross_validated()
    dogs = [Sentence(("Rex", "barks", str(n)), (Entity(0, 1, "DOG"),)) for n in range(2)]
    io.write([*io.read("train.conll"), *dogs], "train.conll")
    types = system(execute(), "gold")["per_type"]
    assert types["DOG"]["f1"] == {"mean": 1.0, "std": 0.0, "values": [1.0, 1.0]}
    mentions = [entity.type for sentence in io.read("train.conll") for entity in sentence.entities]
    assert {type_: scores["gold"] for type_, scores in types.items()} == Counter(mentions)


def test_a_type_that_a_fold_lacks_is_not_scored_by_its_wrong_predictions(folder: Path) -> None:
    cross_validated()
    run = RunFolder(load("recipe.toml"), Path("run"), quiet=True)
    right, wrong = Counts(5, 5, 5).as_dict(), Counts(0, 1, 0).as_dict()
    scores = group_scores(run, [{"DOG": right, "CAT": wrong}, {"DOG": wrong}, {}])
    assert scores["DOG"]["f1"].values == [1.0]
    assert scores["DOG"]["gold"] == 5
    assert scores["CAT"]["f1"].values == [0.0]


def test_refuses_more_folds_than_different_sentences(folder: Path) -> None:
    cross_validated()
    one, *others = io.read("train.conll")
    io.write([one, *(replace(one, id=other.id) for other in others)], "train.conll")
    with pytest.raises(DataError, match=r"sample\.folds is 3, but train has 1 different sentences"):
        execute()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("data.test=test.conll", "leave out data.test"),
        ("sample.size=4", "leave out sample.size"),
        ("seeds=[3]", "folds have the numbers 0 to 2"),
        ("sample={folds=3.0, size=4}", "leave out sample.size"),
        ("sample.folds=1", "2 or more"),
    ],
)
def test_refuses_settings_that_conflict_with_folds(folder: Path, override: str, message: str) -> None:
    cross_validated()
    with pytest.raises(SettingsError, match=message):
        load("recipe.toml", [override])


def test_refuses_more_folds_than_sentences(folder: Path) -> None:
    cross_validated()
    with pytest.raises(DataError, match=r"sample\.folds is 30, but train has 24 sentences"):
        execute("sample.folds=30", "seeds=[29]")


def test_a_system_can_train_another_tagger(folder: Path) -> None:
    append_system('name = "short names"\ntagger_settings = { longest = 1 }')
    report = execute()
    assert system(report, "short names")["kept_sentences"] == [0]
    assert system(report, "short names")["settings"]["tagger_settings"] == {"longest": 1}
    assert not any("no sentence was kept" in note for note in report["notes"])
    assert system(report, "short names")["f1"] != system(report, "gold")["f1"]


def test_refuses_wrong_tagger_settings_of_a_system(folder: Path) -> None:
    append_system('name = "wrong"\ntagger_settings = { longer = 1 }')
    with pytest.raises(SettingsError, match=r'system "wrong": tagger_settings: .*no setting "longer"'):
        load("recipe.toml")


def test_a_job_stops_when_its_time_is_up() -> None:
    progress = Progress("steps", quiet=True)
    with time_limit(0.01):
        time.sleep(0.02)
        with pytest.raises(OutOfTimeError):
            progress.advance()
    progress.advance()


def test_a_part_of_a_folder_finds_generated_sentences_that_systems_share(folder: Path) -> None:
    append_system('name = "again"\nmethod = "mention_replacement"\ntagger_settings = { longest = 1 }')
    append_system('name = "and again"\nmethod = "mention_replacement"\ntagger_settings = { longest = 2 }')
    recipe = load("recipe.toml")
    whole = RunFolder(recipe, Path("run"))
    first, second = (system for system in recipe.systems if system.name in ("again", "and again"))
    assert whole.generated(0, second) == whole.generated(0, first) == whole.path(0, first, "generated.jsonl")
    assert whole.restricted_to([0], [second]).generated(0, second) == whole.generated(0, first)
