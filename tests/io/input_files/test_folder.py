from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nersery import Sentence, io
from nersery.core.errors import DataError
from nersery.core.warnings import forget_notes
from nersery.core.wording import command_line
from nersery.io import ReadOptions, open_corpus, open_text, read


def write(folder: Path, **files: str) -> Path:
    """Files by name, with a dot for each underscore."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, "utf-8")
    return folder


def test_reads_files_as_one_corpus_ordered_by_name(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", b_txt="two words\n\nthree\n", a_conll="Ada B-PER\n\n", c_jsonl='{"words": ["x"]}\n')
    corpus = open_corpus(folder)
    assert [(s.id, s.text) for s in corpus] == [("a:1", "Ada"), ("b:1", "two words"), ("b:3", "three"), ("c:1", "x")]
    assert [s.text for s in corpus] == ["Ada", "two words", "three", "x"], "it can be read again"
    assert corpus.description == "3 files, the first: conll, IOB2, 2 columns: word 1, tag 2"


def test_numbers_in_file_names_are_ordered_by_value(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in (1, 2, 10, 12):
        (folder / f"{number}.txt").write_text("Ada ran\n", "utf-8")
        (folder / f"{number}.ann").write_text("T1\tPER 0 3\tAda\n", "utf-8")
    assert [sentence.document for sentence in read(folder)] == ["1", "2", "10", "12"]


def test_options_hold_for_every_file(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", a_log="a\n", b_log="b\n")
    corpus = open_corpus(folder, ReadOptions(format="text", language="hi"))
    assert [(s.text, s.language) for s in corpus] == [("a", "hi"), ("b", "hi")]


def test_reports_an_id_that_another_file_uses(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", a_jsonl='{"id": "x", "words": ["a"]}\n', b_jsonl='\n{"id": "x", "words": ["b"]}\n')
    with pytest.raises(DataError, match=r'b\.jsonl:2 .*the id "x" is already used in line 1 of .*a\.jsonl'):
        read(folder)


def test_reports_or_rejects_broken_sentences_of_all_files(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", a_jsonl='{"words": []}\n', b_jsonl='{"words": ["b"]}\nno\n')
    with pytest.raises(DataError, match=r"(?s)a\.jsonl:1.*b\.jsonl:2"):
        read(folder)
    corpus = open_corpus(folder, ReadOptions(repair=("drop-sentence",)))
    assert [s.text for s in corpus] == ["b"]
    assert len(corpus.rejects) == 2


def test_skips_files_that_a_job_leaves_beside_its_output(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", a_jsonl='{"words": ["a"]}\n', a_jsonl_rejects_jsonl="{}\n", _hidden="?")
    assert len(read(folder)) == 1
    write(folder, **{"rejects-00000_jsonl": "{}\n", "manifest_jsonl": '{"job": {}}\n{"total": {}}\n'})
    assert len(read(folder)) == 1


@pytest.mark.parametrize("manifest", ["", '{"job": {}}\n', '{"job": {}}\n{"tot'])
def test_an_unfinished_folder_of_shards_is_refused(manifest: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "in", **{"part-00000_jsonl": '{"words": ["a"]}\n', "manifest_jsonl": manifest})
    with pytest.raises(DataError, match="the job that writes the folder is not finished"):
        open_corpus(folder)


def test_what_cannot_be_one_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file in the folder"):
        open_corpus(write(tmp_path / "empty"))
    (write(tmp_path / "nested", a_txt="a\n") / "more").mkdir()
    with pytest.raises(DataError, match=r"more: this is not a file\n.*only files of one corpus"):
        open_corpus(tmp_path / "nested")
    with pytest.raises(DataError, match=r"a\.txt: sentences without ids .* as those of a\.conll"):
        open_corpus(write(tmp_path / "twins", a_txt="a\n", a_conll="a O\n"))
    with pytest.raises(DataError, match=r"b\.xyz: neither the extension"):
        read(write(tmp_path / "odd", a_txt="a\n", b_xyz="a,b\n"))


def test_explains_folders_exported_by_inception(tmp_path: Path) -> None:
    path = write(write(tmp_path / "annotation") / "one.txt", admin_tsv="#FORMAT=WebAnno TSV 3.3\n") / "admin.tsv"
    with pytest.raises(DataError) as caught:
        open_corpus(tmp_path / "annotation")
    assert str(caught.value) == (
        f"{path.parent}: this is not a file\n"
        f"Fix: copy one file of each folder into a new folder and name it after its document: {path} to one.tsv"
    )


def test_refuses_a_model_as_a_corpus(tmp_path: Path) -> None:
    for name in ("config_json", "nersery_json"):
        folder = write(tmp_path / name, **{name: "{}"})
        with pytest.raises(DataError, match=r"holds a model, expected a corpus\n.*predict takes the sentences first"):
            open_corpus(folder)
        with command_line(), pytest.raises(DataError, match=r"`nersery predict` takes the tagger first"):
            open_corpus(folder)


def test_reads_a_folder_of_one_file_like_the_file(tmp_path: Path) -> None:
    sentences = [Sentence(("a", "b"), id="x", scores={"s": 0.5}), Sentence(("c",), id="y", comments=("# c",))]
    (tmp_path / "in").mkdir()
    io.write(sentences, tmp_path / "in" / "one.jsonl")
    assert read(tmp_path / "in").sentences == tuple(sentences)


def test_skips_and_names_documentation_files(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", a_jsonl='{"words": ["a"]}\n', README_md="# About\n", NOTE_rst="From\nthere\n")
    (folder / "LICENSE").write_text("Permission is granted\n")
    assert len(read(folder)) == 1
    assert open_corpus(folder).description == "1 file: jsonl; not read: LICENSE, NOTE.rst, README.md"


@pytest.mark.parametrize("call", ["is_dir", "iterdir"])
def test_reports_a_folder_without_read_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """The system refuses to open or to list it. Root may do both, so the refusal is simulated."""
    folder, allowed = write(tmp_path / "in", a_txt="a\n"), getattr(Path, call)

    def refuse(path: Path) -> Any:
        if path == (folder / "spans" if call == "is_dir" else folder):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return allowed(path)

    monkeypatch.setattr(Path, call, refuse)
    with pytest.raises(DataError) as caught:
        open_corpus(folder)
    assert str(caught.value) == (
        f"{folder}: the folder cannot be read: Permission denied\nFix: allow reading it, or name another folder"
    )


def test_plain_text_beside_labelled_files_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "in", a_conll="Ada\tB-PER\n\n", raw_txt="Grace wrote .\n")
    assert len(read(folder)) == 2
    assert "raw.txt is plain text beside labelled files" in capsys.readouterr().err
    forget_notes()
    assert len(list(open_text(folder))) == 2
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("mark", "split"), [("dataset_info.json", ""), ("dataset_dict.json", "['train']")])
def test_suggests_parquet_for_folders_saved_by_datasets(tmp_path: Path, mark: str, split: str) -> None:
    folder = write(tmp_path / "in", state_json="{}")
    (folder / mark).write_text("{}", "utf-8")
    with pytest.raises(DataError, match="has saved, in Arrow") as caught:
        open_corpus(folder)
    assert f"datasets.load_from_disk({str(folder)!r}){split}.to_parquet('train.parquet')" in str(caught.value)


def test_splits_that_are_read_together_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise a tagger learns from the test set of a dataset whose folder is named."""
    sentence = '{"words": ["a"]}\n'
    read(write(tmp_path / "data", train_jsonl=sentence, test_jsonl=sentence, more_jsonl=sentence))
    assert "data: test, train are read together; to keep them separate, name the files" in capsys.readouterr().err
    hub = {f"{split}-0000{n}-of-00002_jsonl": sentence for split in ("test", "train") for n in (0, 1)}
    read(write(tmp_path / "hub", **hub))
    assert "hub: test, train are read together" in capsys.readouterr().err
    named = {f"{split}-00000-of-00001-{'0a' * 8}_jsonl": sentence for split in ("test", "train")}
    read(write(tmp_path / "old", **named))
    assert "old: test, train are read together" in capsys.readouterr().err
    read(write(tmp_path / "one", **{name: text for name, text in hub.items() if name.startswith("train")}))
    list(open_text(tmp_path / "data"))
    read(write(tmp_path / "raw", train_jsonl=sentence, more_jsonl=sentence))
    assert not capsys.readouterr().err


def test_fix_converts_bionlp_documents_to_brat(tmp_path: Path) -> None:
    label, event = "T1\tPER 0 3\tAda\n", "T2\tTravel 4 8\tleft\nE1\tTravel:T2 Agent:T1\n"
    folder = write(tmp_path / "my texts", b_txt="Ada left\n", b_a1=label, b_a2=event, a_txt="Bo\n", a_a1="")
    with pytest.raises(DataError, match="make a brat folder of it: mkdir brat") as caught:
        open_corpus(folder)
    subprocess.run(caught.value.fix.partition(": ")[2], shell=True, check=True, cwd=tmp_path)
    assert [(s.text, s.labels) for s in read(tmp_path / "brat")] == [("Bo", ()), ("Ada left", ((0, 1, "PER"),))]


@pytest.mark.parametrize("content", [b"5\n", b"\xff\n", b'{"audio": "a.wav"}\n'])
def test_refuses_a_manifest_of_another_program(tmp_path: Path, content: bytes) -> None:
    folder = write(tmp_path / "in", a_txt="one\n")
    (folder / "manifest.jsonl").write_bytes(content)
    with pytest.raises(DataError, match="not finished"):
        open_corpus(folder)
