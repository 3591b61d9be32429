"""What commands write, and what they never overwrite."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from pathlib import Path

import pytest

from nersery import Entity, Sentence, example, io
from nersery.pipeline.job import BATCH_SIZE, FileJob
from tests.cli.calls import AUGMENT, call, interrupted_once
from tests.standins import files, sentences, write_recipe


@pytest.mark.usefixtures("folder")
class TestOutputs:
    WRITERS = (
        ["dataset", "convert", "train.conll", "OUT.jsonl"],
        ["dataset", "sample", "train.conll", "OUT.jsonl", "--size", "3"],
        ["augment", "train.conll", "OUT.jsonl", *AUGMENT],
        ["select", "train.conll", "OUT.jsonl", "--method", "duplicates", "--gold", "dev.conll"],
        ["copy", "demo", "OUT.jsonl"],
    )

    @pytest.mark.parametrize("args", WRITERS, ids=lambda args: args[0])
    def test_an_existing_output_is_kept_unless_forced(self, args: list[str]):
        Path("OUT.jsonl").write_text("precious")
        result = call(*args)
        assert result.code == 2
        assert "OUT.jsonl exists already. Choose another name, or overwrite it (--force)" in result.err
        assert Path("OUT.jsonl").read_text() == "precious"
        assert call(*args, "--force").code == 0
        assert Path("OUT.jsonl").read_text() != "precious"

    @pytest.mark.parametrize("args", WRITERS[:4], ids=lambda args: args[0])
    def test_the_advice_for_an_unknown_extension_works(self, args: list[str]):
        advice = call(*["OUT.json" if arg == "OUT.jsonl" else arg for arg in args]).err.partition(". ")[2]
        if "convert" in args:
            convert = [*args[:3], "OUT.json", *advice.rpartition("e.g. ")[2].split()]
        else:
            assert call(*args).code == 0
            convert = advice.rpartition(": nersery ")[2].replace("FILE", "OUT.json").split()
        assert call(*convert).code == 0
        assert '"predictions"' in Path("OUT.json").read_text("utf-8")

    @pytest.mark.parametrize("args", WRITERS, ids=lambda args: args[0])
    def test_a_link_is_kept_unless_forced_even_if_broken(self, args: list[str]):
        for is_there in (False, True):
            if is_there:
                Path("real.jsonl").write_text("precious")
            Path("OUT.jsonl").unlink(missing_ok=True)
            Path("OUT.jsonl").symlink_to("real.jsonl")
            result = call(*args)
            assert result.code == 2
            assert "OUT.jsonl exists already. Choose another name, or overwrite it (--force)" in result.err
            assert os.readlink("OUT.jsonl") == "real.jsonl"
            assert call(*args, "--force").code == 0
            assert not Path("OUT.jsonl").is_symlink()
        assert Path("real.jsonl").read_text() == "precious"

    @pytest.mark.parametrize("force", [[], ["--force"]])
    @pytest.mark.parametrize(
        "args",
        [
            *WRITERS,
            ["train", "train.conll", "OUT.jsonl"],
            ["dataset", "publish", "train.conll", "OUT.jsonl"],
            [*WRITERS[2], "--shards", "9"],
        ],
        ids=lambda args: " ".join((args[0], *args[5:])),
    )
    def test_an_output_that_links_to_itself_is_refused(self, args: list[str], force: list[str]):
        Path("OUT.jsonl").symlink_to("OUT.jsonl")
        result = call(*args, *force)
        assert result.code == 2
        assert result.err == (
            "error: OUT.jsonl cannot be written: Too many levels of symbolic links. "
            "Remove the link, or choose another output\n"
        )

    @pytest.mark.parametrize("args", [("run", "demo"), ("grow", "example:train.conll")], ids=" ".join)
    def test_a_folder_that_is_a_broken_link_is_refused(self, args: tuple[str, ...]):
        Path("loop").symlink_to("loop")
        result = call(*args, "--out", "loop")
        assert result.code == 2
        assert "loop cannot be written: Too many levels of symbolic links. Remove the link" in result.err
        Path("broken").symlink_to("missing")
        result = call(*args, "--out", "broken")
        assert result.code == 5
        assert "cannot read or write broken: File exists. A file or a broken link has" in result.err

    @pytest.mark.parametrize("command", ["convert", "publish"])
    def test_an_input_that_links_to_itself_is_refused(self, command: str):
        Path("loop.conll").symlink_to("loop.conll")
        result = call("dataset", command, "loop.conll", "OUT.jsonl")
        assert result.code == 3
        assert "loop.conll: cannot be read: Too many levels of symbolic links" in result.err

    @pytest.mark.parametrize("args", WRITERS, ids=lambda args: args[0])
    def test_missing_folders_are_made(self, args: list[str]):
        args = [arg.replace("OUT", "new/folder/OUT") for arg in args]
        assert call(*args).code == 0
        assert Path("new/folder/OUT.jsonl").exists()

    @pytest.mark.parametrize("force", [[], ["--force"]])
    @pytest.mark.parametrize(
        "args",
        [
            ["dataset", "convert", "train.conll", "train.conll"],
            ["dataset", "convert", "train.conll", "./link.conll"],
            ["dataset", "convert", "train.conll", "no-such-folder/../train.conll"],
            ["dataset", "convert", "a.jsonl.rejects.jsonl", "a.jsonl"],
            ["dataset", "sample", "train.conll", "train.conll", "--size", "3"],
            ["dataset", "sample", "train.conll", "x.conll", "--size", "3", "--ids", "train.conll"],
            ["augment", "train.conll", "train.conll", *AUGMENT],
            ["augment", "train.conll", "dev.conll", *AUGMENT, "--gold", "dev.conll"],
            ["select", "train.conll", "train.conll", "--method", "duplicates", "--gold", "dev.conll"],
            ["select", "train.conll", "dev.conll", "--method", "duplicates", "--gold", "dev.conll"],
            [
                *("select", "train.conll", "test.conll", "--method", "duplicates"),
                *("--gold", "dev.conll", "--held-out", "test.conll"),
            ],
            ["predict", "my-tagger", "train.conll", "train.conll"],
            ["copy", "train.conll", "train.conll"],
        ],
        ids=" ".join,
    )
    def test_an_input_is_never_overwritten(self, args: list[str], force: list[str]):
        os.link("train.conll", "link.conll")
        io.write(sentences(3), "a.jsonl.rejects.jsonl")
        before = files(Path())
        result = call(*args, *force)
        assert result.code == 2
        assert "is an input and would be overwritten" in result.err
        assert files(Path()) == before

    def test_the_ids_are_an_output_too(self):
        sample = ["dataset", "sample", "train.conll", "x.jsonl", "--size", "3", "--ids"]
        result = call(*sample, "dev.conll")
        assert result.code == 2
        assert "dev.conll exists already" in result.err
        Path("sub").mkdir()
        for same in ("x.jsonl", "x.jsonl.rejects.jsonl", "sub/../x.jsonl"):
            result = call(*sample, same)
            assert result.code == 2
            assert "is already an output" in result.err
        assert "not written to standard output" in call(*sample, "-").err
        assert call(*sample, "new/ids.txt").code == 0
        assert Path("new/ids.txt").read_text().splitlines() == [s.id for s in io.read("x.jsonl")]

    def test_files_named_like_temporary_ones_stay(self):
        names = ["ids.txt.tmp", "x.jsonl.rejects.jsonl.tmp", "copied.toml.tmp"]
        for name in names:
            Path(name).write_text("precious")
        Path("broken.conll").write_text(Path("train.conll").read_text("utf-8") + "x I-PER\n", "utf-8")
        sample = ["dataset", "sample", "broken.conll", "x.jsonl", "--size", "3", "--ids", "ids.txt"]
        assert call(*sample, "--repair", "drop-sentence", "--scheme-in", "IOB2").code == 0
        assert Path("x.jsonl.rejects.jsonl").exists()
        assert call("copy", "demo", "copied.toml").code == 0
        assert [Path(name).read_text() for name in names] == ["precious"] * len(names)
        assert {path.name for path in Path().glob("*.tmp")} == {*names}, "nothing is left over"

    def test_an_example_is_copied_by_its_bare_name_unless_a_file_has_it(self):
        assert call("copy", "unlabelled.txt", "raw.txt").code == 0
        assert Path("raw.txt").read_bytes() == example("unlabelled.txt").read_bytes()
        assert call("copy", "train.conll", "own.conll").code == 0
        assert Path("own.conll").read_bytes() == Path("train.conll").read_bytes()

    @pytest.mark.parametrize(("name", "close"), [("dmo", "demo"), ("dev.conl", "example:dev.conll")])
    def test_lists_what_can_be_copied(self, name: str, close: str):
        result = call("copy", name, "x")
        assert (result.code, f'there is no recipe or example file "{name}"; did you mean "{close}"' in result.err) == (
            2,
            True,
        )
        assert all(known in result.err for known in ("naamapadam_paper", "example:unlabelled.txt"))

    def test_refuses_a_sample_of_each_language_without_languages(self):
        io.write(sentences(5), "no-language.conll")
        result = call("dataset", "sample", "no-language.conll", "x.conll", "--size", "2", "--each-language")
        assert (result.code, "no sentence has a language" in result.err) == (2, True)

    def test_draws_a_sample_of_each_language(self):
        both = [replace(s, id=f"{n}/{i}", language=n) for n in ("en", "hi") for i, s in enumerate(sentences(6))]
        io.write(both, "both.jsonl")
        size = ("--size", "2", "--protocol", "random", "--each-language")
        assert call("dataset", "sample", "both.jsonl", "x.jsonl", *size).code == 0
        assert [sentence.language for sentence in io.read("x.jsonl")] == ["en", "en", "hi", "hi"]
        result = call("dataset", "sample", "both.jsonl", "y.jsonl", "--size", "7", "--each-language")
        assert result.code == 2
        assert "en: cannot sample 7 of 6 sentences" in result.err

    @pytest.mark.parametrize("name", [".", "thesis", "my.conll"])
    def test_train_never_overwrites_what_is_not_a_tagger(self, name: str):
        Path("thesis").mkdir()
        Path("thesis/thesis.tex").write_text("precious")
        Path("my.conll").write_text("precious")
        before = files(Path())
        for force in ([], ["--force"]):
            result = call("train", "train.conll", name, "--method", "memory", *force)
            assert result.code == 2
            assert name in result.err
        assert files(Path()) == before

    def test_train_replaces_a_tagger_when_forced(self, memory: list[tuple[int, int]]):
        train = ["train", "train.conll", "deep/tagger", "--method", "memory"]
        assert call(*train, "--seed", "1").out == "deep/tagger: 24 sentences, 1 step\n"
        result = call(*train)
        assert result.code == 2
        assert "deep/tagger exists already" in result.err
        assert call(*train, "dev.conll", "--force").code == 2
        assert call("train", "train.conll", "dev.conll", "deep/tagger", "--method", "memory", "--force").code == 0
        assert memory == [(1, 24), (0, 30)]
        assert set(os.listdir("deep")) == {"tagger"}

    def test_a_failed_training_leaves_no_files(self):
        io.write(sentences(1, 3), "none.conll")
        assert call("train", "none.conll", "tagger").code == 3
        assert not list(Path().glob("tagger*"))

    def test_a_run_refuses_a_folder_with_other_settings_or_files(self, memory: object):
        write_recipe(Path())
        assert call("run", "recipe.toml", "--out", "run", "-q").code == 0
        result = call("run", "recipe.toml", "--out", "run", "--set", "sample.size=15", "-q")
        assert result.code == 2
        assert "run holds a run with other settings:\n  recipe.sample.size: was 16, now 15\n" in result.err
        result = call("run", "recipe.toml", "--out", ".", "-q")
        assert result.code == 2
        assert "is not empty and holds no run" in result.err

    @pytest.mark.usefixtures("saves_each_batch")
    def test_an_unfinished_job_resumes_only_with_the_same_settings_and_input(self, monkeypatch: pytest.MonkeyPatch):
        augment = ["augment", "train.conll", "x.jsonl", *AUGMENT, "--batch-size", "4"]
        assert call(*augment[:2], "whole.jsonl", *augment[3:]).code == 0
        monkeypatch.setattr("nersery.pipeline.job.FileJob._publish", interrupted_once(FileJob._publish))
        assert call(*augment).code == 130
        for other in (["--language", "en"], ["--seed", "1"], ["--set", "rate=0.4"], ["--repair", "underscore"]):
            result = call(*augment, *other)
            assert result.code == 2
            assert "x.jsonl.part holds an unfinished job with other settings" in result.err
        content = Path("train.conll").read_text()
        Path("train.conll").write_text(content.replace("lives", "dwells"))
        assert "rows.content: the content has changed" in call(*augment).err
        assert "unfinished job" in call("augment", "-", *augment[2:], stdin=b"Ada\tB-PER\nran\tO\n").err
        Path("train.conll").write_text(content)
        assert call(*augment).code == 0
        assert Path("x.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()

    @pytest.mark.usefixtures("saves_each_batch")
    def test_a_resumed_conversion_writes_the_same_columns(self, monkeypatch: pytest.MonkeyPatch):
        tagged = Sentence(("Ada", "ran"), (Entity(0, 1, "PER"),), columns=(("NNP", "VBD"),))
        io.write([*[tagged] * BATCH_SIZE, *[replace(tagged, columns=())] * 2], "mixed.jsonl")
        convert = ("dataset", "convert", "mixed.jsonl", "out.conll", "--type", "PER=PERSON")
        whole = call(*convert)
        assert f"wrote {BATCH_SIZE}, rejected 2" in whole.out
        renamed, calls = Sentence.with_types, itertools.count()

        def interrupted(sentence: Sentence, names: dict[str, str]) -> Sentence:
            if next(calls) == BATCH_SIZE:
                raise KeyboardInterrupt
            return renamed(sentence, names)

        content = Path("out.conll").read_bytes()
        Path("out.conll").unlink()
        Path("out.conll.rejects.jsonl").unlink()
        monkeypatch.setattr(Sentence, "with_types", interrupted)
        assert call(*convert).code == 130
        assert call(*convert).out == whole.out
        assert Path("out.conll").read_bytes() == content

    def test_what_a_format_does_not_hold_is_noted_once(self):
        line = '{"id": "%s", "words": ["Ada", "wrote"], "language": "en", "scores": {"certainty": 0.5}}'
        Path("rich.jsonl").write_text(f"{line % 'a'}\n{line % 'b'}\n")
        note = "note: {} does not store what these sentences have: {}\n"
        for command in (["dataset", "convert"], ["dataset", "sample", "--size", "2"]):
            result = call(*command, "rich.jsonl", "out.conll", "--force")
            assert result.err.endswith(note.format("conll", "ids, languages, scores"))
            assert result.err.count("note") == 1
        assert "note" not in call("dataset", "convert", "rich.jsonl", "out.conll", "--force", "-q").err
        assert "note" not in call("dataset", "convert", "rich.jsonl", "same.jsonl").err
        assert "note" not in call("dataset", "convert", "train.conll", "other.conll").err
        made = call("augment", "train.conll", "made.conll", *AUGMENT)
        assert made.err.endswith(note.format("conll", "origins"))


@pytest.mark.parametrize(
    "args",
    [
        ["train", "corpus", "OUT", "--method", "bilstm_crf"],
        ["train", "dev.conll", "OUT", "--method", "bilstm_crf", "--dev", "corpus"],
        ["dataset", "publish", "corpus", "OUT", "--no-parquet"],
        ["grow", "corpus", "--out", "OUT"],
        ["run", "recipe.toml", "--out", "OUT"],
    ],
    ids=" ".join,
)
def test_refuses_an_output_inside_a_folder_of_inputs(args: list[str], folder: Path) -> None:
    recipe = write_recipe(folder, 'method = "bilstm_crf"')
    (folder / "corpus").mkdir()
    (folder / "train.conll").rename(folder / "corpus/train.conll")
    recipe.write_text(recipe.read_text("utf-8").replace("train.conll", "corpus"), "utf-8")
    before = files(folder)
    result = call(*["corpus/new/out" if arg == "OUT" else arg for arg in args])
    assert (result.code, 'corpus/new/out is in the folder "corpus' in result.err) == (2, True), result.err
    assert files(folder) == before
