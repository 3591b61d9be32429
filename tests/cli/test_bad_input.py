"""Bad input is reported with its place and a way to fix it."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Literal
from unicodedata import normalize

import pytest
from rich.cells import cell_len

from nersery import Entity, Sentence, io
from nersery.pipeline.job import FileJob
from tests.cli.calls import AUGMENT, call, interrupted_once
from tests.standins import files, sentences, tiny

BAD = {
    "columns": ("Ada\tB-PER\n" + 15 * "a\tO\n" + "a\tO\tx\ty\n" + "b\tO\n").encode(),
    "tags": b"Ada\tB_PER\nx\t-NEL\ny\t-\nz\tO\nBo\tB-PER\n",
    "latin": "Ada\tO\nJosé\tB-PER\n".encode("latin-1"),
    "broken": b"Ada\tI-PER\nx\tB-LOC\nBo\tB-PER\ny\tI-LOC\n",
    "binary": bytes(range(256)) * 4,
}
COLUMNS = ["bad.conll:17 (sentence bad:1): the number of columns is 4, expected 2", "Fix: "]
TAGS = [
    "3 issues:",
    "bad.conll:1 (sentence bad:1): the tag 'B_PER' cannot be read",
    "bad.conll:2 (sentence bad:1): the tag '-NEL' cannot be read",
    "bad.conll:3 (sentence bad:1): the tag '-' cannot be read",
    "--repair underscore",
    "--repair lost-prefix",
    "--repair bare-dash",
]
LATIN = ["bad.conll:2: the byte 0xe9 is not utf-8", "--encoding latin-1"]
READERS: dict[str, list[str]] = {
    "stats": ["inspect", "stats", "bad.conll"],
    "convert": ["dataset", "convert", "bad.conll", "x.jsonl"],
    "sample": ["dataset", "sample", "bad.conll", "x.jsonl", "--size", "1"],
    "augment": ["augment", "bad.conll", "x.jsonl", *AUGMENT],
    "learn": ["augment", "train.conll", "x.jsonl", *AUGMENT, "--gold", "bad.conll"],
    "select": ["select", "bad.conll", "x.jsonl", "--method", "duplicates", "--gold", "train.conll"],
    "gold": ["select", "train.conll", "x.jsonl", "--method", "duplicates", "--gold", "bad.conll"],
    "train": ["train", "bad.conll", "x"],
    "dev": ["train", "train.conll", "x", "--dev", "bad.conll"],
    "predict": ["predict", "none", "bad.conll", "x.jsonl"],
    "evaluate": ["evaluate", "test.conll", "bad.conll"],
    "run": ["run", "demo", "--out", "x", "--set", "data.train=bad.conll"],
}


class TestBadInput:
    @pytest.mark.parametrize(("kind", "parts"), [("columns", COLUMNS), ("tags", TAGS), ("latin", LATIN)])
    @pytest.mark.parametrize("reader", READERS)
    def test_every_reader_names_file_line_and_fix(self, folder: Path, reader: str, kind: str, parts: list[str]):
        Path("bad.conll").write_bytes(BAD[kind])
        before = set(files(folder))
        result = call(*READERS[reader])
        assert result.code == 3
        for part in parts:
            assert part in result.err
        assert result.out == ""
        assert set(files(folder)) == before

    @pytest.mark.parametrize("kind", ["broken", "binary"])
    def test_broken_and_binary_files_are_refused(self, folder: Path, kind: str):
        Path("bad.conll").write_bytes(BAD[kind])
        result = call("inspect", "stats", "bad.conll")
        assert result.code == 3
        assert "bad.conll" in result.err

    def test_types_of_many_files_are_in_several_tables(self, folder: Path):
        names = [f"part{number}.conll" for number in range(10)]
        for name in names:
            Path(name).write_text("Bo\tB-PER\n")
        heads = [line.split() for line in call("inspect", "stats", *names).out.splitlines() if line.startswith("type")]
        assert heads == [["type", *names[:4]], ["type", *names[4:8]], ["type", *names[8:]]]

    def test_a_long_type_leaves_the_figures_in_the_terminal(self, folder: Path):
        long = "A" * 300
        Path("long.conll").write_text(f"Ada\tB-{long}\n\nBo\tB-PER\n", "utf-8")
        for command in (
            ["inspect", "stats", "long.conll", "long.conll"],
            ["evaluate", "long.conll", "long.conll", "--errors"],
            ["inspect", "agreement", "long.conll", "long.conll"],
            ["inspect", "novelty", "long.conll", "--gold", "long.conll"],
        ):
            result = call(*command)
            assert (result.code, "A" * 39 + "…" in result.out) == (0, True)
            assert max(map(len, result.out.splitlines())) < 110
            assert long in call(*command, "--json").out

    @pytest.mark.filterwarnings("always")
    def test_warnings_of_python_for_each_sentence_are_counted(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(
            "nersery.cli.app.refuse_removed_folder",
            lambda: [warnings.warn(f"sentence {number} is odd", stacklevel=1) for number in range(9)],
        )
        first, others = call("list", "types").err.splitlines()
        assert first.endswith(": UserWarning: sentence 0 is odd")
        assert others.endswith(": 8 more, the first was UserWarning: sentence 0 is odd")

    def test_fixes_of_several_files_are_separated(self, folder: Path):
        Path("bad.conll").write_bytes(BAD["broken"])
        assert "check the name and the folder; " in call("inspect", "stats", "xyzzy", "bad.conll").err

    def test_the_suggested_repairs_fix_the_file(self, folder: Path):
        Path("bad.conll").write_bytes(BAD["tags"])
        repairs = [f"--repair={name}" for name in ("underscore", "lost-prefix", "bare-dash")]
        assert call("dataset", "convert", "bad.conll", "x.jsonl", *repairs).code == 0
        assert [entity.type for entity in io.read("x.jsonl")[0].entities] == ["PER", "NEL", "PER"]

    def test_sentences_that_a_repair_drops_are_counted(self, folder: Path):
        Path("bad.conll").write_bytes(b"Bo\tB-PER\n\n" + BAD["columns"])
        result = call("dataset", "convert", "bad.conll", "x.jsonl", "--repair", "drop-sentence")
        assert "read 2, wrote 1, rejected 1 (wrong number of columns: 1)" in result.out
        assert "bad.conll: 1 sentence rejected by the repair drop-sentence" in result.err

    def test_nothing_left_by_a_repair_is_an_error(self, folder: Path):
        Path("bad.conll").write_bytes(BAD["columns"])
        result = call("dataset", "convert", "bad.conll", "x.jsonl", "--repair", "drop-sentence")
        assert result.code == 3
        assert "x.jsonl is empty: all sentences are broken" in result.err
        assert Path("x.jsonl.rejects.jsonl").exists()

    @pytest.mark.parametrize("stale", [False, True])
    @pytest.mark.parametrize(
        ("args", "read"),
        [
            (["dataset", "convert", "bad.conll", "x.jsonl"], 2),
            (["dataset", "sample", "bad.conll", "x.jsonl", "--size", "1"], 2),
            (["augment", "bad.conll", "x.jsonl", *AUGMENT, "--gold", "train.conll", "--set", "rate=1"], 2),
            (["augment", "bad.conll", "x.jsonl", *AUGMENT, "--gold", "train.conll", "--copies", "3"], 4),
            (["select", "bad.conll", "x.jsonl", "--method", "duplicates", "--gold", "train.conll"], 2),
            (["predict", "TAGGER", "bad.conll", "x.jsonl"], 2),
        ],
        ids=lambda value: value[0] if isinstance(value, list) else str(value),
    )
    def test_every_command_keeps_what_a_repair_rejects(
        self, folder: Path, tagger: Path, args: list[str], read: int, stale: bool
    ):
        Path("bad.conll").write_bytes(b"Bo\tB-PER\n\n" + BAD["columns"])
        if stale:
            Path("x.jsonl.rejects.jsonl").write_text("precious")
        args = [arg.replace("TAGGER", str(tagger)) for arg in args] + ["--repair", "drop-sentence", "--json"]
        result = call(*args)
        if stale:
            assert (result.code, result.out) == (2, "")
            assert "x.jsonl.rejects.jsonl exists already" in result.err
            assert Path("x.jsonl.rejects.jsonl").read_text() == "precious"
            result = call(*args, "--force")
        tally = json.loads(result.out)
        assert (tally["output"], tally["read"]) == ("x.jsonl", read)
        assert tally["written"] == len(io.read("x.jsonl"))
        rejects = list(io.read_rejects(Path("x.jsonl.rejects.jsonl")))
        assert tally["rejected"] == len(rejects) == read - tally["written"]
        assert tally["reasons"]["wrong number of columns"] == 1
        (dropped,) = (reject for reject in rejects if reject.reason == "wrong number of columns")
        assert dropped.sentence is not None
        assert dropped.sentence.id == "bad:2"

    def test_a_sample_without_rejects_removes_stale_ones(self, folder: Path):
        Path("x.jsonl.rejects.jsonl").write_text("stale")
        assert call("dataset", "sample", "train.conll", "x.jsonl", "--size", "3", "--force").code == 0
        assert not Path("x.jsonl.rejects.jsonl").exists()

    @pytest.mark.parametrize("content", [b"", b"\n\n\n", b"\xef\xbb\xbf"])
    def test_an_empty_file_can_be_read_but_not_learnt_from(self, folder: Path, content: bytes):
        Path("empty.conll").write_bytes(content)
        assert "0 sentences, 0 words" in call("inspect", "stats", "empty.conll").out
        assert "read 0, wrote 0" in call("dataset", "convert", "empty.conll", "x.jsonl").out
        assert Path("x.jsonl").read_bytes() == b""
        for args, part in (
            (["augment", "empty.conll", "y.jsonl", *AUGMENT], "no training sentence has an entity"),
            (["train", "empty.conll", "y"], "there is no training sentence"),
            (
                ["dataset", "sample", "empty.conll", "y.jsonl", "--size", "1"],
                "empty.conll: there is no sentence to draw",
            ),
            (["run", "demo", "--out", "y", "--set", "data.train=empty.conll"], "the train file has no sentence"),
            (["run", "demo", "--out", "y", "--set", "data.test=empty.conll"], "the test file has no sentence"),
        ):
            result = call(*args)
            assert result.code == 3
            assert part in result.err
        assert call("evaluate", "test.conll", "empty.conll").code == 3

    def test_a_file_without_entities_can_be_scored_but_not_learnt_from(self, folder: Path):
        io.write(sentences(1, 3), "none.conll")
        for args in (["augment", "none.conll", "x.jsonl", *AUGMENT], ["train", "none.conll", "x"]):
            result = call(*args)
            assert result.code == 3
            assert "entity" in result.err
            assert "Fix: " in result.err
        assert call("evaluate", "none.conll", "none.conll").code == 0

    def test_every_command_takes_a_sentence_of_two_thousand_words(self, folder: Path, tiny_model: str):
        words = tuple(f"w{number}" for number in range(1998))
        long = Sentence((*words, "Ada", "Lovelace"), (Entity(1998, 2000, "PER"),))
        io.write([long, *sentences(8)], "long.conll")
        assert call("dataset", "convert", "long.conll", "x.jsonl").code == 0
        assert io.read("x.jsonl")[0].labels == ((1998, 2000, "PER"),)
        assert call("augment", "long.conll", "y.jsonl", *AUGMENT, "--set", "rate=1", "--copies", "4").code == 0
        made = [s for s in io.read("y.jsonl") if len(s) > 1000]
        assert made
        assert all(s.words[:1998] == words and s.entities[-1].end == len(s) for s in made)
        settings = [f"--set={line.replace(' = ', '=')}" for line in tiny(tiny_model, steps=2).split("\n")]
        assert call("train", "long.conll", "tagger", *settings).code == 0
        assert call("predict", "tagger", "long.conll", "z.jsonl").code == 0
        assert [len(sentence) for sentence in io.read("z.jsonl")] == [len(s) for s in io.read("long.conll")]

    def test_odd_names_of_files_types_and_ids_work(self, folder: Path):
        name = "a file\n🚀 हिन्दी.jsonl"
        ids = ["a/b", "two\nlines", "../..", "x" * 10_000, '"']
        made = [
            Sentence(("Ada", "Lovelace", "ran", str(number)), (Entity(0, 2, kind),), id=id)
            for number, (id, kind) in enumerate(zip(ids, ["place name", "जगह", "PER", "PER", "जगह"], strict=True))
        ]
        io.write(made, name)
        assert call("inspect", "stats", name).code == 0
        assert call("dataset", "convert", name, "out dir/ü\n.conll").code == 0
        assert [s.labels for s in io.read("out dir/ü\n.conll")] == [s.labels for s in made]
        assert call("augment", name, "more.jsonl", "--method", "shuffle_within_segments", "--copies", "9").code == 0
        assert call("dataset", "sample", name, "s.jsonl", "--size", "5", "--ids", "i.txt").code == 0
        listed = Path("i.txt").read_text("utf-8").split("\n")[:-1]
        assert [json.loads(id) if id[0] == '"' else id for id in listed] == ids

    def test_control_characters_in_file_names_are_escaped(self, folder: Path):
        shutil.copy("train.conll", "a\n\x1b[2J.conll")
        result = call("dataset", "convert", "a\n\x1b[2J.conll", "b\x1b[2J.jsonl")
        assert result.code == 0
        assert "\x1b" not in result.out + result.err
        assert result.err.startswith("a\\n\\x1b[2J.conll: conll, IOB2")

    def test_a_job_does_not_resume_with_another_input_file(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("nersery.pipeline.job.FileJob._publish", interrupted_once(FileJob._publish))
        shutil.copy("train.conll", "other.conll")
        assert call("dataset", "convert", "train.conll", "x.jsonl").code == 130
        result = call("dataset", "convert", "other.conll", "x.jsonl")
        assert result.code == 2
        assert "unfinished job with other settings" in result.err

    def test_refuses_a_type_that_columns_cannot_hold(self, folder: Path):
        placed = Sentence(("Ada",), (Entity(0, 1, "place name"),), "b")
        io.write([Sentence(("Ada",), id="a"), placed, Sentence(("Bo",), placed.entities[:1], "c")], "x.jsonl")
        result = call("dataset", "convert", "x.jsonl", "x.conll", "--separator", "space")
        assert result.code == 3
        assert "sentence b: the type 'place name' cannot be written with spaces as separators" in result.err
        assert "--type 'place name=place_name'" in result.err
        assert not Path("x.conll").exists(), "not without these sentences"


@pytest.mark.usefixtures("folder")
def test_types_are_renamed_or_dropped():
    assert call("dataset", "convert", "train.conll", "out.jsonl", "--type", "PER=PERSON", "--type", "LOC=").code == 0
    for before, after in zip(io.read("train.conll"), io.read("out.jsonl"), strict=True):
        assert after.words == before.words
        assert after.labels == tuple((start, end, "PERSON") for start, end, type_ in before.labels if type_ == "PER")


@pytest.mark.usefixtures("folder")
class TestMissingSentences:
    @pytest.fixture(autouse=True)
    def _some(self, folder: Path):
        io.write(list(io.read("test.conll"))[:6], "some.jsonl")
        io.write(io.read("test.conll"), "test.jsonl")

    def f1(self, *options: str):
        result = call("evaluate", "test.conll", "some.jsonl", "--json", *options)
        assert result.code == 0, result.err
        assert "6 of 12 gold sentences are not in some.jsonl" in result.err
        return json.loads(result.out)["micro"]

    def test_a_complete_file_gets_no_note(self):
        assert "not in test.jsonl" not in call("evaluate", "test.conll", "test.jsonl", "--missing", "missed").err

    def test_missing_sentences_are_refused_by_default(self):
        assert call("evaluate", "test.conll", "some.jsonl").code == 3

    def test_missing_sentences_can_be_left_out(self):
        assert self.f1("--missing", "leave-out")["f1"] == 1

    def test_missing_sentences_can_count_as_missed(self):
        micro = self.f1("--missing", "missed")
        assert micro["precision"] == 1
        assert micro["gold"] == sum(len(s.entities) for s in io.read("test.conll"))
        assert micro["recall"] < 1

    def test_both_taggers_may_lack_sentences(self):
        io.write(list(io.read("test.conll"))[4:9], "other.jsonl")
        options = ("--missing", "leave-out", "--against", "other.jsonl", "--json")
        result = call("evaluate", "test.conll", "some.jsonl", *options)
        assert result.code == 0, result.err
        both = list(io.read("test.conll"))[4:6]
        assert json.loads(result.out)["micro"]["gold"] == sum(len(sentence.entities) for sentence in both)
        assert "7 of 12 gold sentences are not in other.jsonl" in result.err

    def test_sentences_that_are_not_in_gold_are_counted(self):
        result = call("evaluate", "some.jsonl", "test.jsonl", "--missing", "leave-out")
        assert "note: 6 sentences of test.jsonl are not in gold and are not scored\n" in result.err

    def test_a_format_without_ids_is_named_as_the_cause(self):
        Path("a").mkdir()
        io.write(list(io.read("test.conll"))[3:], "a/test.conll")
        for missing in ("leave-out", "missed"):
            result = call("evaluate", "test.conll", "a/test.conll", "--missing", missing)
            assert result.code == 3
            assert result.err.endswith("use JSONL, which keeps the ids of the original sentences\n")

    def test_suggests_leaving_out_only_if_it_helps(self):
        gold = list(io.read("test.conll"))
        other_words = Sentence(("other", "words"), id=gold[0].id)
        several = {
            "more": [*gold, Sentence(("more",))],
            "fewer": gold[:-1],
            "other": [*gold[:5], other_words, *gold[6:]],
        }
        for name, predicted in several.items():
            io.write(predicted, f"{name}.conll")
        io.write([other_words, *gold[1:]], "words.jsonl")
        io.write([other_words, *gold[1:6]], "both.jsonl")
        helped = call("evaluate", "test.conll", "some.jsonl").err
        assert "If a file lacks sentences, use --missing leave-out or missed\n" in helped
        for name in ("more.conll", "fewer.conll", "other.conll", "words.jsonl", "both.jsonl"):
            result = call("evaluate", "test.conll", name)
            assert result.code == 3
            assert "--missing" not in result.err, name
            assert call("evaluate", "test.conll", name, "--missing", "leave-out").code == 3

    def test_files_without_ids_are_compared_in_order(self):
        gold = list(io.read("test.conll"))
        io.write([*gold[:5], *gold[6:]], "fewer.conll")
        assert (
            "fewer.conll: no id is in both the 12 gold and the 11 predicted ids; in file order, the words match up to "
            "sentence 5\nFix: give both with the same sentences. They are paired by id; CoNLL and text have no "
            "ids, so both files need all sentences in the same order. If some are missing, use JSONL, "
            "which keeps the ids of the original sentences\n"
        ) in call("evaluate", "test.conll", "fewer.conll").err

    @pytest.mark.parametrize("missing", ["leave-out", "missed"])
    def test_refuses_a_file_that_lacks_all_sentences(self, missing: str):
        result = call("evaluate", "test.conll", "dev.conll", "--missing", missing)
        assert result.code == 3
        assert "dev.conll: no gold sentence can be scored" in result.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", [".", "..", "/"])
def test_a_folder_is_not_an_output_file(name: str):
    result = call("dataset", "convert", "train.conll", name)
    assert (result.code, "names no format" in result.err) == (2, True)
    assert f"{name} is a folder" in call("dataset", "convert", "train.conll", name, "--to", "jsonl").err


def test_the_current_folder_can_be_an_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    io.write(sentences(3), tmp_path / "data" / "a.conll")
    (tmp_path / "data.rejects.jsonl").write_text('{"reason": "odd"}\n', "utf-8")
    monkeypatch.chdir(tmp_path / "data")
    (found,) = json.loads(call("inspect", "stats", ".", "--json").out)
    assert (found["sentences"], found["dropped"]) == (3, {"odd": 1})


def test_stats_say_why_sentences_were_rejected(tmp_path: Path):
    answers = [{"text": "Ada .", "spans": [], "answer": answer} for answer in ("accept", "reject", "ignore", "ignore")]
    path = tmp_path / "prodigy.jsonl"
    path.write_text("".join(f"{json.dumps(answer)}\n" for answer in answers), "utf-8")
    (found,) = json.loads(call("inspect", "stats", str(path), "--json").out)
    assert (found["sentences"], found["rejected"]) == (1, 3)
    assert found["reasons"] == {"answered ignore": 2, "answered reject": 1}
    assert "rejected: 3 sentences\n          2  answered ignore\n" in call("inspect", "stats", str(path)).out


def test_notes_types_that_differ_in_case_or_separators(tmp_path: Path):
    names = ("Trade name", "trade_name", "Trade name", "Per", "C", "C++")
    path = tmp_path / "types.jsonl"
    io.write([Sentence(("a",), (Entity(0, 1, name),)) for name in names], path)
    result = call("inspect", "stats", str(path))
    assert 'note: "trade_name" may be a typo of "Trade name"' in result.err
    (found,) = json.loads(call("inspect", "stats", str(path), "--json").out)
    assert found["similar_types"] == [["Trade name", "trade_name"]]


def test_stats_note_texts_that_several_people_have_labelled(tmp_path: Path):
    """As in Label Studio's CoNLL, where the labels of each annotator follow each other."""
    path, name = tmp_path / "a.jsonl", (Entity(0, 1, "PER"),)
    pairs = [("Ada", name), ("Bo", name), ("Ada", ()), ("Bo", name), ("Ada", (Entity(0, 1, "LOC"),))]
    io.write([Sentence((word,), entities) for word, entities in pairs], path)
    result = call("inspect", "stats", str(path))
    assert "a.jsonl labels 1 text in several ways: keep one labelling of each" in result.err
    assert "nersery inspect agreement" in result.err
    (found,) = json.loads(call("inspect", "stats", str(path), "--json").out)
    assert found["texts_with_different_labels"] == 1
    io.write([Sentence((word,), entities) for word, entities in pairs[:2] * 2], path)
    assert "several ways" not in call("inspect", "stats", str(path)).err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("files", "note"), [(["NFC", "NFD"], True), (["NFC", "NFC"], False)])
def test_notes_types_in_two_unicode_forms(files: list[Literal["NFC", "NFD"]], note: bool):
    for form in files:
        Path(form).write_text(f"Lan\tB-{normalize(form, 'Người')}\nđi\tO\n", "utf-8")
    notes = call("inspect", "stats", *files).err
    assert ('"Người" is written in 2 Unicode forms' in notes) == note
    assert "slips" not in notes
    assert "Unicode" not in call("inspect", "stats", *files, "--repair", "nfc").err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("form", "note"), [("NFD", True), ("NFC", False)])
def test_notes_words_in_several_unicode_forms(form: Literal["NFC", "NFD"], note: bool):
    """Not words that occur in one form only, as in a corpus in NFD."""
    text = f"Người B-PER\nđi O\n\n{normalize(form, 'Người')} B-PER\n{normalize('NFD', 'đến')} O\n"
    Path("a.conll").write_text(text, "utf-8")
    notes = call("inspect", "stats", "a.conll").err
    assert ('Unicode forms of 1 word, such as "Người", which count as different words: --repair nfc' in notes) == note
    result = call("inspect", "stats", "a.conll", "--repair", "nfc")
    assert "Unicode" not in result.err
    assert f"repaired: nfc {1 + note}\n" in result.out


@pytest.mark.usefixtures("folder")
def test_notes_types_to_rename_that_no_entity_has():
    result = call("dataset", "convert", "train.conll", "out.jsonl", "--type", "PRE=PERSON", "--type", "LOC=PLACE")
    assert result.code == 0
    assert "note: no entity has the type PRE that --type names" in result.err
    wrong = call("dataset", "convert", "train.conll", "out2.jsonl", "--type", "PER=a\tb")
    assert wrong.code == 2
    assert wrong.err.startswith("error: --type has the type 'a\\tb': ")
    tag = call("dataset", "convert", "train.conll", "out2.jsonl", "--type", "PER=O")
    assert tag.code == 2
    assert '--type has the type "O", which is the tag of words outside entities' in tag.err


@pytest.mark.usefixtures("folder")
def test_refuses_dev_without_entities():
    io.write([sentence.with_entities(()) for sentence in io.read("dev.conll")], "none.conll")
    result = call("train", "train.conll", "out", "--dev", "none.conll", "--set", "steps=1")
    assert result.code == 3
    assert "none.conll: no sentence of the dev file has an entity" in result.err


@pytest.mark.usefixtures("folder")
def test_notes_unknown_types_and_train_sentences_in_dev():
    strange = Sentence(("Rex", "barks"), (Entity(0, 1, "DOG"),))
    train = [*io.read("train.conll"), Sentence(("Zo\u00eb", "wrote"))]
    io.write(train, "more.conll")
    io.write([train[0], Sentence(("Zoe\u0308", "wrote")), strange], "odd.conll")  # another Unicode form
    result = call("train", "more.conll", "out", "--dev", "odd.conll", "--method", "bilstm_crf", "--set", "steps=1")
    assert result.code == 0
    assert (
        "note: dev has types that do not occur in train, so all their mentions count as missed: DOG (1 mention)"
        in result.err
    )
    assert "note: 2 of 3 dev sentences also occur in train, word for word" in result.err


def test_columns_are_aligned_in_every_script(tmp_path: Path):
    names = ("व्यक्ति", "人物", "🧬 gene", "PER")
    io.write([Sentence(("a",), (Entity(0, 1, name),)) for name in names], tmp_path / "types.jsonl")
    for lines in (
        call("inspect", "stats", str(tmp_path / "types.jsonl")).out.splitlines()[3:],
        call("evaluate", str(tmp_path / "types.jsonl"), str(tmp_path / "types.jsonl")).out.splitlines()[2:6],
    ):
        shown = [line for line in lines if any(name in line for name in names)]
        assert len(shown) == len(names)
        assert len({cell_len(line) for line in shown}) == 1


def test_copies_as_a_setting_names_the_option(folder: Path) -> None:
    result = call("augment", "train.conll", "x.jsonl", *AUGMENT, "--set", "copies=3")
    assert (result.code, "but an option: --copies 3" in result.err) == (2, True)
