"""The command annotate: what it reads, what it passes to a method, and how it resumes after a kill."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nersery
from nersery import io
from nersery.annotate import tagger_labels
from nersery.annotate.tagger_labels import TaggerLabels
from nersery.core.sentence import Entity, Origin, Sentence
from nersery.experiments.data import text_profile
from nersery.io import text
from nersery.models.question_answering import QuestionAnswerer
from tests.annotate.answerer import build_answerer
from tests.cli.calls import call
from tests.forks import Server
from tests.killing import KilledError
from tests.standins import Memory, files, sentences, write_data

TEACHER = ("annotate", "raw.txt", "out.jsonl", "--method", "tagger_labels", "--set", "tagger=teacher")
AGREEMENT = ("select", "raw.txt", "out.jsonl", "--method", "agreement", "--set", "tagger=teacher")
NEXT = ("label", "next", "raw.txt", "out.jsonl", "--tagger", "teacher")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: object) -> Path:
    """The current folder: raw text, data files and a tagger."""
    write_data(tmp_path)
    io.write(sentences(30, 300), tmp_path / "raw.txt", format="words")
    tagger = Memory()
    tagger.fit(sentences(24))
    tagger.save(tmp_path / "teacher")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def answerer(tmp_path_factory: pytest.TempPathFactory) -> str:
    return build_answerer(tmp_path_factory.mktemp("answerer"))


@pytest.fixture
def ask(folder: Path, answerer: str) -> list[str]:
    """A command that asks a tiny model, without its output file."""
    settings = [f"model={answerer}", 'definitions={PER = "Who?", LOC = "Where?"}', "threshold=0.0", "precision=fp32"]
    named = [part for setting in settings for part in ("--set", setting)]
    return ["annotate", "raw.txt", *named, "--method", "qa_prompting", "--batch-size", "4"]


@pytest.mark.usefixtures("folder")
class TestLabels:
    def test_the_option_that_a_note_suggests_drops_a_type(self) -> None:
        io.write([Sentence(("Ada",), (Entity(0, 1, "PER"),), id="a")], "people.conll")
        result = call(*TEACHER, "--gold", "people.conll")
        assert "Rename or drop LOC, e.g. --set types.LOC=\n" in result.err
        again = call(*TEACHER, "--gold", "people.conll", "--set", "types.LOC=", "--force")
        assert (again.code, "note" in again.err) == (0, False), again.err
        assert {entity.type for sentence in io.read("out.jsonl") for entity in sentence.entities} == {"PER"}

    def test_raw_text_becomes_a_corpus_with_scores_and_origin(self) -> None:
        result = call(*TEACHER)
        assert result.code == 0, result.err
        assert result.out == "out.jsonl: read 30, wrote 30, rejected 0\n"
        assert "tagger_labels: 30/30" in result.err
        assert call("predict", "teacher", "raw.txt", "predicted.jsonl").code == 0
        labelled = io.read("out.jsonl")
        assert [s.labels for s in labelled] == [s.labels for s in io.read("predicted.jsonl")]
        assert {s.origin for s in labelled} == {Origin("tagger_labels")}
        assert all(e.score == 1.0 for s in labelled for e in s.entities)

    @pytest.mark.parametrize(
        ("share", "text", "advice"),
        [
            (1.0, "Oslo , Bonn\n", "that the tagger learnt from: split it the same way with --split spaces"),
            (0.0, "Oslo, Bonn\n", ""),
            (0.0, "Oslo , Bonn\n", ""),
            (None, "Oslo, Bonn\n", ""),
        ],
    )
    @pytest.mark.parametrize("command", [("predict", "teacher", "raw.txt", "out.jsonl"), TEACHER, AGREEMENT])
    def test_notes_text_that_is_split_differently_from_training(
        self, share: float | None, text: str, advice: str, command: tuple[str, ...]
    ) -> None:
        tagger = Memory.load("teacher")
        tagger.history["attached_signs"] = share
        tagger.save(Path("teacher"))
        Path("raw.txt").write_text(text * 10)
        result = call(*command)
        assert result.code == 0
        assert advice in result.err
        assert ("that the tagger learnt from" in result.err) == bool(advice)

    @pytest.mark.parametrize(
        ("learnt", "text", "advice"),
        [
            (
                False,
                "東 京 に 行 く\n",
                "each character is a word, but words are longer in the sentences that the tagger",
            ),
            (True, "東京 に 行く\n", 'longer than a character, as in "東京", unlike in the sentences that the tagger'),
            (True, "東 京 に 行 く\n", ""),
            (True, "Oslo and Bonn\n", ""),
            (None, "東 京 に 行 く\n", ""),
        ],
    )
    def test_notes_text_in_characters_if_the_tagger_learnt_words(
        self, learnt: bool | None, text: str, advice: str
    ) -> None:
        tagger = Memory.load("teacher")
        tagger.history["in_characters"] = learnt
        tagger.save(Path("teacher"))
        Path("raw.txt").write_text(text * 10, "utf-8")
        result = call("predict", "teacher", "raw.txt", "out.jsonl", "--split", "spaces")
        assert result.code == 0
        assert advice in result.err
        assert ("that the tagger learnt from" in result.err) == bool(advice)

    def test_notes_text_that_is_split_differently_from_gold(self) -> None:
        io.write([Sentence(("東京", "に", "行く"), (Entity(0, 1, "LOC"),), id="a")], "gold.conll")
        Path("raw.txt").write_text("東京に行く\n" * 10, "utf-8")
        command = ("annotate", "raw.txt", "out.jsonl", "--method", "gazetteer_labels", "--gold", "gold.conll")
        result = call(*command, "--split", "characters")
        assert result.err.count('are longer, as in "東京": put spaces between the words') == 1, result.err

    @pytest.mark.parametrize("command", [("predict", "teacher", "raw.txt", "out.jsonl"), TEACHER])
    def test_text_is_split_like_the_training_sentences_of_the_tagger(self, command: tuple[str, ...]) -> None:
        Path("raw.txt").write_text("Oslo, Bonn\n" * 10)
        tagger = Memory.load("teacher")
        for share, words in {0.0: ("Oslo", ",", "Bonn"), None: ("Oslo", ",", "Bonn"), 0.9: ("Oslo,", "Bonn")}.items():
            tagger.history["attached_signs"] = share
            tagger.save(Path("teacher"))
            assert call(*command, "--force").code == 0
            assert {sentence.words for sentence in io.read("out.jsonl")} == {words}
        tagger.history["attached_signs"] = 0.0
        tagger.save(Path("teacher"))
        result = call(*command, "--force", "--split", "spaces")
        assert (
            'part of the words, as in "Oslo,", but separate in the sentences that the tagger learnt from' in result.err
        )

    @pytest.mark.parametrize(
        "label",
        [
            lambda tagger: nersery.predict("raw.txt", tagger).corpus,
            lambda tagger: nersery.annotate("raw.txt", "tagger_labels", tagger=tagger).corpus,
            lambda tagger: (
                tagger.save(Path("teacher")) or nersery.annotate("raw.txt", TaggerLabels(tagger="teacher")).corpus
            ),
            lambda tagger: nersery.next_sentences("raw.txt", tagger, quiet=True).corpus,
        ],
    )
    def test_the_library_splits_text_like_the_training_sentences(self, label: Callable[[Any], Any]) -> None:
        Path("raw.txt").write_text("Oslo, Bonn\n" * 10)
        tagger = Memory.load("teacher")
        for share, words in {0.0: ("Oslo", ",", "Bonn"), 0.9: ("Oslo,", "Bonn")}.items():
            tagger.history["attached_signs"] = share
            assert {sentence.words for sentence in label(tagger)} == {words}

    @pytest.mark.parametrize("command", [("predict", "teacher", "raw.txt", "out.jsonl"), TEACHER, AGREEMENT, NEXT])
    def test_notes_text_that_is_not_english_for_the_english_tagger(
        self, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(text_profile, "ENGLISH_NER", "teacher")
        Path("raw.txt").write_text("अब वह दिल्ली में रहता है\n" * 3)
        result = call(*command)
        assert result.code == 0, result.err
        assert "note: teacher covers only English, but the text does not look like English (Devan" in result.err

    @pytest.mark.parametrize("target", ["dev.conll/out.jsonl", "dev.conll/deep/out.jsonl", "/proc/out.jsonl"])
    def test_refuses_an_unwritable_output_before_predicting(self, target: str) -> None:
        before = files(Path())
        result = call(*NEXT[:3], target, *NEXT[4:])
        assert result.code == 5
        assert f"cannot read or write {target}: " in result.err
        assert "predict teacher" not in result.err
        assert files(Path()) == before

    @pytest.mark.parametrize("command", [("predict", "teacher", "raw.txt", "out.jsonl"), TEACHER, AGREEMENT])
    def test_an_empty_text_gets_no_note_on_its_language(
        self, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(text_profile, "ENGLISH_NER", "teacher")
        Path("raw.txt").write_text("")
        result = call(*command)
        assert result.code == 0, result.err
        assert "covers only English" not in result.err

    def test_text_may_have_any_extension(self) -> None:
        assert call(*TEACHER).code == 0
        Path("raw.txt").rename("raw.de")
        result = call("annotate", "raw.de", "again.jsonl", *TEACHER[3:])
        assert result.code == 0, result.err
        assert [s.labels for s in io.read("again.jsonl")] == [s.labels for s in io.read("out.jsonl")]
        assert "raw.de: text" in result.err

    def test_quiet_json_has_only_the_counts(self) -> None:
        result = call(*TEACHER, "--json", "--quiet")
        assert json.loads(result.out) | {"output": "", "reasons": {}} == {
            "output": "", "read": 30, "written": 30, "rejected": 0, "reasons": {}
        }  # fmt: skip
        assert result.err == ""

    def test_gold_dev_and_seed_reach_the_method(self, monkeypatch: pytest.MonkeyPatch) -> None:
        given: list[Any] = []
        teacher = Memory.load("teacher")
        monkeypatch.setattr(tagger_labels, "gold_tagger", lambda *args: given.append(args) or teacher)
        learning = ("--gold", "train.conll", "--dev", "dev.conll", "--seed", "7")
        result = call("annotate", "raw.txt", "out.jsonl", "--method", "tagger_labels", *learning)
        assert result.code == 0, result.err
        ((_, _, gold, training),) = given
        assert [s.labels for s in gold] == [s.labels for s in sentences(24)]
        assert (len(training.dev), training.seed, training.folder) == (6, 7, Path("out.jsonl.training"))

    def test_format_applies_to_the_text_and_not_to_gold(self, monkeypatch: pytest.MonkeyPatch) -> None:
        given: list[Any] = []
        teacher = Memory.load("teacher")
        monkeypatch.setattr(tagger_labels, "gold_tagger", lambda *args: given.append(args) or teacher)
        Path("raw.txt").write_text("Ada B-PER\n" * 30, "utf-8")
        result = call(
            "annotate", "raw.txt", "out.jsonl", "--method", "tagger_labels", "--gold", "train.conll", "--format", "text"
        )
        assert result.code == 0, result.err
        assert len(io.read("out.jsonl")) == 30
        assert given[0][2][0].labels

    def test_a_line_that_is_too_long_is_rejected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(text, "MAX_LINE_LENGTH", 100)
        with Path("raw.txt").open("a", encoding="utf-8") as stream:
            stream.write("Oslo . " * 1000 + "\n")
        refused = call(*TEACHER)
        assert refused.code == 3
        assert "raw.txt:31" in refused.err
        result = call(*TEACHER, "--repair", "drop-sentence", "-q")
        assert result.out == "out.jsonl: read 31, wrote 30, rejected 1 (line too long, its beginning kept: 1)\n"
        (reject,) = io.read_rejects(Path("out.jsonl.rejects.jsonl"))
        assert reject.sentence is not None
        assert reject.sentence.id == "raw:31"

    @pytest.mark.parametrize(
        ("code", "args", "message"),
        [
            (2, ["tager_labels", "raw.txt", "x.jsonl"], 'no annotate method is called "tager_labels"; did you mean'),
            (2, ["tagger_labels", "raw.txt", "x.jsonl"], "Name one as tagger"),
            (2, ["qa_prompting", "raw.txt", "x.jsonl", "--set", "max_answers=0"], "max_answers is 0"),
            (2, ["tagger_labels", "raw.txt", "x.jsonl", "--set", "teachers=1"], 'has no setting "teachers"'),
            (2, ["tagger_labels", "raw.txt", "x.jsonl", "--set", "teacher=1"], "teacher is 1: expected a table"),
            (
                2,
                ["tagger_labels", "raw.txt", "x.jsonl", "--set", "teacher.stpes=1"],
                "teacher: transformer has no setting",
            ),
            (
                4,
                ["tagger_labels", "raw.txt", "x.jsonl", "--set", "teacher.model=./no"],
                "there is no model folder ./no",
            ),
            (3, ["tagger_labels", "raw.txt", "x.jsonl", "--set", "teacher.method=bilstm_crf"], "no training sentence"),
            (2, ["tagger_labels", "raw.txt", "raw.txt", "--set", "tagger=teacher"], "would be overwritten"),
            (2, ["tagger_labels", "raw.txt", "x.jsonl", "--gold", "x.jsonl"], "x.jsonl"),
            (4, ["tagger_labels", "raw.txt", "x.jsonl", "--set", "tagger=./nowhere"], "nowhere"),
            (3, ["tagger_labels", "rew.txt", "x.jsonl", "--set", "tagger=teacher"], "did you mean raw.txt?"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_errors_have_code_and_message(self, code: int, args: list[str], message: str) -> None:
        if "--gold" in args:
            Path("x.jsonl").write_text("precious")
        before = files(Path())
        result = call("annotate", *args[1:], "--method", args[0])
        assert (result.code, message in result.err) == (code, True), result.err
        assert files(Path()) == before


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, saves_each_batch: None) -> Callable[..., list[int]]:
    """Counts the pairs of each batch, and kills before a given one; all work is saved at once."""
    original = QuestionAnswerer.answers

    def start(kill_at: int = 0) -> list[int]:
        pairs: list[int] = []

        def answers(self: QuestionAnswerer, questions: Any, *args: Any, **limits: Any) -> Any:
            pairs.append(len(questions))
            if len(pairs) == kill_at:
                raise KilledError
            return original(self, questions, *args, **limits)

        monkeypatch.setattr(QuestionAnswerer, "answers", answers)
        return pairs

    return start


class TestResume:
    def test_resumes_with_the_batch_in_which_it_was_killed(
        self, ask: list[str], counted: Callable[..., list[int]]
    ) -> None:
        whole = counted()
        assert call(*ask, "whole.jsonl").code == 0
        assert whole == [8] * 7 + [4], "two questions for each of 30 sentences"
        counted(kill_at=4)
        with pytest.raises(KilledError):
            call(*ask, "out.jsonl")
        rest = counted()
        assert call(*ask, "out.jsonl").code == 0
        assert rest == [8] * 4 + [4]
        assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
        assert any(s.entities for s in io.read("out.jsonl"))
        assert not [name for name in files(Path()) if name.startswith("out.jsonl.")]

    @pytest.mark.parametrize("change", ["settings", "text", "gold"])
    def test_does_not_resume_with_other_settings_text_or_gold(
        self, ask: list[str], counted: Callable[..., list[int]], change: str
    ) -> None:
        counted(kill_at=3)
        with pytest.raises(KilledError):
            call(*ask, "out.jsonl")
        if change == "text":
            io.write(sentences(30, 400), "raw.txt", format="words")
        other = {"settings": ["--set", "max_answers=1"], "gold": ["--gold", "train.conll"], "text": []}[change]
        result = call(*ask, "out.jsonl", *other)
        assert result.code == 2
        assert "holds an unfinished job with other settings" in result.err

    def test_resumes_with_the_same_bytes_after_a_real_kill(self, folder: Path, ask: list[str], server: Server) -> None:
        assert call(*ask, "whole.jsonl").code == 0
        process = server.start(*ask, "out.jsonl", cwd=folder)
        process.kill_when_there_is(folder / "out.jsonl.part" / "journal.json", delay=0.05)
        assert process.wait() in (0, -signal.SIGKILL)
        if not Path("out.jsonl").exists():
            code, _, err = server.run(*ask, "out.jsonl", cwd=folder)
            assert code == 0, err
        assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
