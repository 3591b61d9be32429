"""Sentences to label next: which are chosen, and which input is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import nersery
from nersery import Entity, Sentence, io
from nersery.core.errors import DataError, MissingResourceError, SettingsError
from nersery.core.system.files import write_json
from nersery.core.warnings import forget_notes
from nersery.experiments.active_learning import next_sentences as module
from nersery.experiments.active_learning.next_sentences import taggers_of
from nersery.experiments.data import corpus_notes
from nersery.taggers.base import load_tagger
from tests.cli.calls import call
from tests.standins import Memory, sentences


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory, tiny_models: dict[str, Path]) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "tagger"
    rates = {"learning_rate": 0.005, "head_learning_rate": 0.05}
    nersery.train(sentences(24), output=folder, model=str(tiny_models["wordpiece"]), steps=20, quiet=True, **rates)
    return folder


RAW = [sentence.with_entities(()) for sentence in sentences(40, 300)]


def chosen(*args: object, **options: object) -> list[tuple[str, ...]]:
    found = nersery.next_sentences(*args, quiet=True, **options)
    return [sentence.words for sentence in found.corpus]


def test_chosen_sentences_have_predictions_and_a_score(tagger: Path) -> None:
    found = nersery.next_sentences(RAW, tagger, 5, quiet=True)
    assert (len(found.corpus), found.read, found.known, found.predicted) == (5, 40, 0, 40)
    assert found.types == ("LOC", "PER")
    alone = load_tagger(tagger).predict(found.corpus.sentences)
    assert [s.labels for s in found.corpus] == [s.labels for s in alone]
    worth = [sentence.scores["expected_errors"] for sentence in found.corpus]
    assert worth[0] == max(worth) > 0


def test_a_tagger_in_memory_chooses_the_same_as_its_folder(tagger: Path) -> None:
    by_folder = nersery.next_sentences(RAW, tagger, 5, labelled=RAW[:3], quiet=True)
    assert nersery.next_sentences(RAW, load_tagger(tagger), 5, labelled=RAW[:3], quiet=True) == by_folder
    assert chosen(RAW, [load_tagger(tagger), tagger], 5) == chosen(RAW, [tagger, load_tagger(tagger)], 5)


def test_text_may_have_any_extension(tagger: Path, tmp_path: Path) -> None:
    raw = tmp_path / "raw.de"
    io.write(RAW, raw, format="words")
    assert chosen(raw, tagger, 5) == chosen(RAW, tagger, 5)
    output = tmp_path / "next.jsonl"
    assert call("label", "next", str(raw), str(output), "--tagger", str(tagger), "-n", "5").code == 0
    assert len(io.read(output)) == 5


def test_input_labels_and_file_order_do_not_change_the_choice(tagger: Path) -> None:
    plain = chosen(RAW, tagger, 5, max_sentences=20)
    assert chosen(sentences(40, 300), tagger, 5, max_sentences=20) == plain
    assert sorted(chosen(RAW[::-1], tagger, 5, max_sentences=20)) == sorted(plain)
    assert chosen(RAW, tagger, 5, max_sentences=20, seed=1) != plain


def test_labelled_and_repeated_sentences_are_not_chosen(tagger: Path) -> None:
    found = nersery.next_sentences([*RAW, *RAW], tagger, 80, labelled=RAW[:30], quiet=True)
    assert {sentence.words for sentence in found.corpus} == {sentence.words for sentence in RAW[30:]}
    assert (found.read, found.known, found.predicted) == (80, 70, 10)
    assert "10 of 80 sentences" in str(found)
    with pytest.raises(DataError, match="labelled already"):
        chosen(RAW, tagger, 5, labelled=RAW)


def test_refuses_duplicate_ids_before_predicting(tagger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_readings", lambda *_, **__: pytest.fail("predicted"))
    with pytest.raises(DataError, match="same"):
        chosen([RAW[0], *(replace(sentence, id="same") for sentence in RAW[1:3])], tagger, 1)


def test_recognizes_labelled_sentences_split_into_other_words(tagger: Path) -> None:
    labelled = [Sentence(tuple("".join(sentence.words)), id=sentence.id) for sentence in RAW[:30]]
    assert nersery.next_sentences(RAW, tagger, 80, labelled=labelled, quiet=True).known == 30


def test_samples_a_large_file_in_constant_memory(tagger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = [Sentence(("word", str(number % 5000))) for number in range(10_000)]
    kept, read, _ = module._sample_of_raw_text(raw, set(), 100, 0)
    assert read == 10_000
    assert len({sentence.words for sentence in kept}) == len(kept) == 100
    assert [int(s.words[1]) for s in kept] == sorted(int(s.words[1]) for s in kept), "in the order of the file"
    found = nersery.next_sentences(RAW, tagger, 5, max_sentences=10, quiet=True)
    assert "30 not drawn" in str(found)


def test_notes_taggers_without_soft_labels_or_with_other_types(
    tagger: Path, tmp_path: Path, memory: list[tuple[int, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    other = Memory()
    other.fit(sentences(4))
    other.mentions[("Oslo",)] = "CITY"
    other.save(tmp_path / "memory")
    both = nersery.next_sentences(RAW, [tagger, tmp_path / "memory"], 5, quiet=True)
    assert both.types == ("CITY", "LOC", "PER")
    err = capsys.readouterr().err
    assert "memory has probabilities only for entities that it predicts" in err
    assert "different types" in err
    alone = nersery.next_sentences(RAW, tmp_path / "memory", 40, quiet=True)
    assert {sentence.scores["expected_errors"] for sentence in alone.corpus} == {0.0}, "it is always sure"


def test_a_sentence_without_an_id_gets_its_number_in_the_input(tagger: Path) -> None:
    found = nersery.next_sentences(RAW, tagger, 5, quiet=True).corpus
    assert all(RAW[int(sentence.id) - 1].words == sentence.words for sentence in found)


def test_refuses_wrong_numbers_and_missing_taggers(tagger: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="count is 0"):
        chosen(RAW, tagger, 0)
    with pytest.raises(SettingsError, match="at least as large"):
        chosen(RAW, tagger, 5, max_sentences=4)
    with pytest.raises(SettingsError, match="no tagger"):
        chosen(RAW, [], 5)
    with pytest.raises(SettingsError, match="taggers has 5, expected the folder of a tagger, or a trained tagger"):
        chosen(RAW, [tagger, 5], 5)
    with pytest.raises(MissingResourceError, match="keep_taggers"):
        taggers_of(tmp_path)


def test_finds_the_taggers_of_the_first_seed_that_has_any(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("seed-10/a", "seed-2/b", "seed-2/a", "seed-1/none"):
        (tmp_path / name / "tagger").mkdir(parents=True)
    (tmp_path / "seed-1/none/tagger").rmdir()
    expected = ["seed-2/a/tagger", "seed-2/b/tagger"]
    assert [str(path.relative_to(tmp_path)) for path in taggers_of(tmp_path)] == expected
    assert "has not finished, so only these of its systems are used: a, b" in capsys.readouterr().err
    forget_notes()
    (tmp_path / "report.json").touch()
    assert [str(path.relative_to(tmp_path)) for path in taggers_of(tmp_path)] == expected
    assert capsys.readouterr().err == ""


def test_uses_a_folder_with_a_tagger_only_if_a_job_wrote_it(tmp_path: Path) -> None:
    (tmp_path / "tagger").mkdir()
    with pytest.raises(
        MissingResourceError, match=r"holds no tagger: expected the folder of a finished `nersery\.grow`"
    ):
        taggers_of(tmp_path)
    (tmp_path / "grow.json").write_text("{}")
    assert taggers_of(tmp_path) == [tmp_path / "tagger"]


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    io.write(RAW, "raw.txt", format="text")
    return "raw.txt"


def test_a_sweep_has_taggers_only_in_its_runs(tmp_path: Path):
    (tmp_path / "100-en" / "seed-0" / "gold only" / "tagger").mkdir(parents=True)
    with pytest.raises(MissingResourceError, match=r"is a sweep: name one of its runs, e\.g\. .*100-en$"):
        taggers_of(tmp_path)


def test_an_output_file_that_appears_meanwhile_is_kept(tagger: Path, raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = module.next_sentences

    def disturbed(*args: Any, **options: Any) -> Any:
        Path("next.jsonl").write_text("precious")
        return choose(*args, **options)

    monkeypatch.setattr(module, "next_sentences", disturbed)
    assert "next.jsonl exists already" in call("label", "next", raw, "next.jsonl", "--tagger", str(tagger)).err
    assert Path("next.jsonl").read_text() == "precious"


def test_refuses_text_output_before_predicting(tagger: Path, raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    args = ("label", "next", raw, "next.txt", "--tagger", str(tagger), "-n", "2")
    assert call(*args, "--to", "words").code == 0
    monkeypatch.setattr(module, "next_sentences", None)
    result = call(*args, "--force")
    assert result.code == 2
    assert "--to words" in result.err


def test_existing_rejects_are_kept(tagger: Path, raw: str) -> None:
    Path("next.jsonl.rejects.jsonl").write_text("precious")
    found = call("label", "next", raw, "next.jsonl", "--tagger", str(tagger))
    assert "next.jsonl.rejects.jsonl exists already" in found.err
    assert Path("next.jsonl.rejects.jsonl").read_text() == "precious"


def test_the_command_writes_what_review_and_annotation_tools_read(tagger: Path, raw: str) -> None:
    result = call("label", "next", raw, "next.jsonl", "--tagger", str(tagger), "-n", "7")
    assert result.code == 0, result.err
    assert "7 of 40 sentences" in result.out
    assert "nersery label review next.jsonl labelled.jsonl --types LOC,PER --open" in result.out
    assert f"then: nersery grow TRAIN labelled.jsonl --raw {raw} --out runs/grow" in result.out
    text = Path(raw).read_bytes()
    piped = call("label", "next", "-", "piped.jsonl", "--tagger", str(tagger), "-n", "7", stdin=text)
    assert "then: nersery grow TRAIN labelled.jsonl --raw RAW --out runs/grow" in piped.out
    assert call("label", "next", raw, "spans.jsonl", "--tagger", str(tagger), "-n", "7", "--to", "spans").code == 0
    assert json.loads(Path("spans.jsonl").read_text("utf-8").splitlines()[0]).keys() >= {"text", "label"}
    written = call(
        "label", "next", raw, "more.jsonl", "--tagger", str(tagger), "-n", "7", "--labelled", "next.jsonl", "--json"
    )
    first, second = ({s.words for s in io.read(name)} for name in ("next.jsonl", "more.jsonl"))
    assert not first & second
    found = json.loads(written.out)
    assert found["ids"] == [s.id for s in io.read("more.jsonl")]
    assert found["read"] == found["known"] + found["not_drawn"] + found["predicted"] + found["rejected"]
    assert "the tagger also predicts" not in written.err
    io.write([Sentence(("Ada", "wrote"), (Entity(0, 1, "AUTHOR"),))], "known.jsonl")
    args = ("label", "next", raw, "other.jsonl", "--tagger", str(tagger), "-n", "7", "--labelled", "known.jsonl")
    assert "note: the tagger also predicts LOC, PER, which no labelled sentence has" in call(*args).err


def test_raw_text_is_split_like_the_labelled_sentences(tagger: Path, raw: str) -> None:
    Path(raw).write_text("".join(f"Ada wrote, {n}\n" for n in range(12)), "utf-8")
    args = ("label", "next", raw, "next.jsonl", "--tagger", str(tagger), "-n", "2", "--labelled", "known.jsonl")
    for words in (("Oslo", ","), ("Oslo,",)):
        io.write([Sentence((*words, str(n))) for n in range(12)], "known.jsonl")
        assert call(*args, "--force").code == 0
        assert {len(sentence) for sentence in io.read("next.jsonl")} == {len(words) + 2}
    io.write([Sentence(("Oslo", ",", str(n))) for n in range(12)], "known.jsonl")
    assert "--split punctuation" in call(*args, "--force", "--split", "spaces").err


def test_labelled_sentences_are_read_with_the_same_options(tagger: Path, raw: str) -> None:
    Path("known.conll").write_text("Ada B-PER\nwrote -\n\nLondon I-LOC\n", "utf-8")
    args = ("label", "next", raw, "next.jsonl", "--tagger", str(tagger), "-n", "2", "--labelled", "known.conll")
    options = ("--repair", "bare-dash", "--repair", "orphan-inside")
    result = call(*args, *options)
    assert result.code == 0, result.err
    assert "label review next.jsonl labelled.jsonl --types LOC,PER" in result.out


def test_quotes_the_suggested_command(tagger: Path, raw: str) -> None:
    result = call("label", "next", raw, "my next.jsonl", "--tagger", str(tagger), "-n", "7")
    assert "nersery label review 'my next.jsonl' labelled.jsonl" in result.out


def test_suggested_commands_of_a_second_round_keep_the_files_of_the_first(tagger: Path, raw: str) -> None:
    io.write([Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),))], "labelled.jsonl")
    Path("labelled-2.jsonl.review").mkdir()
    Path("runs/grow").mkdir(parents=True)
    result = call("label", "next", raw, "next.jsonl", "--tagger", str(tagger), "--labelled", "labelled.jsonl")
    assert "label review next.jsonl labelled-3.jsonl --types PER --open" in result.out
    assert f"grow labelled.jsonl labelled-3.jsonl --raw {raw} --out runs/grow-2\n" in result.out


def test_suggested_commands_have_the_labelled_types_and_the_given_options(tagger: Path, raw: str) -> None:
    io.write([Sentence(("Rex", "phone"), (Entity(0, 1, "PROD"),))], "known.jsonl")
    options = ("--labelled", "known.jsonl", "--split", "punctuation", "--language", "en")
    result = call("label", "next", raw, "next.jsonl", "--tagger", str(tagger), "-n", "7", *options)
    assert "label review next.jsonl labelled.jsonl --types PROD --open" in result.out
    grow = f"nersery grow known.jsonl labelled.jsonl --raw {raw} --language en --split punctuation --out runs/grow"
    assert f"then: {grow}\n" in result.out
    shutil.copytree(tagger, "job/tagger")
    reading = {"language": "de", "split": "signs", "encoding": "utf-8", "repair": ["bare-dash"], "tag_column": 3}
    settings = {"model": "my-encoder", "reading": reading, "definitions": {"PER": "named person"}}
    settings["names"] = {"PER": "/lists/people.txt"}
    write_json(Path("job/grow.json"), {"fingerprint": settings})
    options = ("--run", "job", "-n", "7", "--force", "--split", "punctuation", "--repair", "extra-rows")
    result = call("label", "next", raw, "next.jsonl", *options)
    printed = (
        "--language de --split punctuation --tag-column 3 --model my-encoder --repair extra-rows --repair bare-dash "
        "--define 'PER=named person' --names PER=/lists/people.txt --out runs/grow"
    )
    assert f"labelled.jsonl --raw {raw} {printed}\n" in result.out
    for damaged in ("", "{"):  # the sentences are written when this is found
        Path("job/grow.json").write_text(damaged)
        result = call("label", "next", raw, "next.jsonl", "--run", "job", "-n", "7", "--force")
        assert (result.code, f"labelled.jsonl --raw {raw} --out runs/grow\n" in result.out) == (0, True)


def test_notes_that_text_is_split_differently_from_the_training_data(
    tagger: Path, raw: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_notes, "note_of_learnt_words", lambda name, _: "split alike" * (name == str(tagger)))
    assert "note: split alike\n" in call("label", "next", raw, "next.jsonl", "--tagger", str(tagger), "-n", "2").err


def test_sentences_dropped_by_a_repair_are_rejects(tagger: Path, raw: str) -> None:
    Path("bad.conll").write_text("Ada B-PER\nwrote O\n\nOslo I-LOC\n\nGrace B-PER\n", "utf-8")
    args = ["--tagger", str(tagger), "-n", "2", "--repair", "drop-sentence"]
    result = call("label", "next", "bad.conll", "next.jsonl", *args, "--json")
    content = json.loads(result.out)
    assert (content["read"], content["rejected"], len(content["ids"])) == (3, 1, 2)
    assert len(list(io.read_rejects(Path("next.jsonl.rejects.jsonl")))) == 1
    assert "1 rejected when read" in call("label", "next", "bad.conll", "next.jsonl", *args, "--force").out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "with either --tagger"),
        (["--tagger", "x", "--run", "y"], "with either --tagger"),
        (["--tagger", "./nowhere"], "nowhere"),
        (["--run", "."], "holds no tagger"),
        (["--tagger", "x", "--to", "xyz"], "no output format"),
        (["--tagger", "x", "-n", "0"], "Usage"),
    ],
)
def test_the_command_refuses_wrong_arguments(raw: str, args: list[str], message: str) -> None:
    result = call("label", "next", raw, "next.jsonl", *args)
    assert result.code > 1
    assert message in result.err
    assert not Path("next.jsonl").exists()


def test_the_command_overwrites_nothing(tagger: Path, raw: str) -> None:
    assert "is an input" in call("label", "next", raw, raw, "--tagger", str(tagger), "--to", "words").err
    Path("next.jsonl").write_text("mine", "utf-8")
    assert "--force" in call("label", "next", raw, "next.jsonl", "--tagger", str(tagger)).err
    assert Path("next.jsonl").read_text("utf-8") == "mine"
