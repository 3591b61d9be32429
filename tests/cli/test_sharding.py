"""Commands that work over shards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nersery import io
from tests.cli.calls import call
from tests.forks import Server
from tests.standins import Memory, files, sentences, write_data

AUGMENT = ("--method", "mention_replacement", "--copies", "2", "--gold", "train.conll", "--seed", "3")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a corpus in a folder of two files."""
    write_data(tmp_path)
    (tmp_path / "corpus").mkdir()
    io.write(sentences(20, 300), tmp_path / "corpus" / "a.conll")
    io.write(sentences(11, 400), tmp_path / "corpus" / "b.jsonl")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def joined(folder: Path, kind: str) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob(f"{kind}-*.jsonl")))


def test_shards_together_equal_one_file(folder: Path) -> None:
    whole = call("augment", "corpus", "whole.jsonl", *AUGMENT)
    cut = call("augment", "corpus", "cut", *AUGMENT, "--shards", "7", "--workers", "2", "--json")
    assert (whole.code, cut.code) == (0, 0), whole.err + cut.err
    assert joined(folder / "cut", "part") == (folder / "whole.jsonl").read_bytes()
    assert joined(folder / "cut", "rejects") == (folder / "whole.jsonl.rejects.jsonl").read_bytes()
    assert len(list((folder / "cut").glob("part-*"))) == 9  # of 62: each sentence counts once per copy
    tally = json.loads(cut.out)
    assert f"read {tally['read']}, wrote {tally['written']}, rejected {tally['rejected']} (" in whole.out
    assert tally["read"] == 62
    assert len(io.read("cut")) == tally["written"]
    assert not (folder / "cut.part").exists()


def test_the_same_command_resumes_after_a_kill(folder: Path, server: Server) -> None:
    command = ("augment", "corpus", "cut", *AUGMENT, "--shards", "2", "--batch-size", "1")
    process = server.start(*command, cwd=folder)
    process.kill_when_there_is(folder / "cut.part" / "part-00003.jsonl")
    process.wait()
    other = call(*command, "--set", "rate=0.2")
    assert other.code == 2
    assert "settings.rate: was nothing, now 0.2" in other.err
    assert call(*command).code == 0
    assert call("augment", "corpus", "again", *AUGMENT, "--shards", "2").code == 0
    assert files(folder / "cut") == files(folder / "again")


def test_predict_works_over_shards(folder: Path, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers run in this process, in which the tagger is registered."""
    from tests.pipeline.fakes import Inline

    monkeypatch.setattr("nersery.pipeline.engines.local.LocalEngine", Inline)
    tagger = Memory()
    tagger.fit(sentences(24))
    tagger.save(folder / "tagger")
    assert call("predict", "tagger", "corpus", "whole.jsonl").code == 0
    assert call("predict", "tagger", "corpus", "cut", "--shards", "9", "--workers", "3").code == 0
    assert joined(folder / "cut", "part") == (folder / "whole.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("cut --workers 2", 2, "--workers and --engine need shards: set the rows per shard"),
        ("cut --engine ray", 2, "--workers and --engine need shards"),
        ("cut --shards 5 --engine rai", 2, "engine is 'rai': expected 'local' or 'ray'"),
        ("cut --shards 5 --gpus 1", 2, "--gpus is for --engine ray"),
        ("cut.conll --shards 5", 2, "shards cannot be conll, expected jsonl or parquet"),
        ("train.conll --shards 5", 2, "train.conll is an input and would be overwritten"),
        ("corpus/cut --shards 5", 2, 'corpus/cut is in the folder "corpus", which is read as input'),
        ("corpus --shards 5", 2, "corpus is an input and would be overwritten"),
    ],
)
def test_impossible_options_are_refused(options: str, code: int, message: str, folder: Path) -> None:
    before = files(folder)
    result = call("augment", "corpus", *options.split(), *AUGMENT)
    assert (result.code, message in result.err) == (code, True), result.err
    assert files(folder) == before


@pytest.mark.parametrize(
    ("options", "package"), [("cut --engine ray", "nersery[ray]"), ("cut.parquet", "nersery[parquet]")]
)
def test_a_package_that_is_missing_is_named(
    options: str, package: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ray", "pyarrow"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    result = call("augment", "corpus", *options.split(), "--shards", "5", *AUGMENT)
    assert (result.code, f'pip install "{package}' in result.err) == (4, True), result.err


def test_shards_can_be_parquet(folder: Path) -> None:
    pytest.importorskip("pyarrow")
    assert call("augment", "corpus", "whole.jsonl", *AUGMENT).code == 0
    result = call("augment", "corpus", "cut.parquet", *AUGMENT, "--shards", "16")
    assert result.code == 0, result.err
    assert sorted(path.suffix for path in (folder / "cut.parquet").glob("part-*")) == [".parquet"] * 4
    assert list(io.open_corpus("cut.parquet")) == list(io.open_corpus("whole.jsonl"))
