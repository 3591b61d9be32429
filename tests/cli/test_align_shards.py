"""`align` over shards, with an aligner that learns: one worker learns, all align, and a kill costs one shard."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from nersery.pipeline.shards import MANIFEST
from tests.cli.calls import call
from tests.forks import Process, Server
from tests.killing import KilledError
from tests.standins import files

WORDS = {"the": "el", "house": "casa", "river": "río", "big": "grande", "Ada": "Ada", "sees": "ve", "1,000": "1.000"}
PAIRS = 200
ALIGN = ("crosslingual", "align", "en.txt", "es.txt")
SHARDS = ("--shards", "20", "--batch-size", "10")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with parallel text in which two lines are empty on one side and one is too long."""
    rng = random.Random(0)
    sentences = [rng.sample(list(WORDS), rng.randint(1, len(WORDS))) for _ in range(PAIRS)]
    sources, targets = [" ".join(s) for s in sentences], [" ".join(WORDS[w] for w in reversed(s)) for s in sentences]
    sources[30], targets[31], sources[99] = "", "", "the " * 1001
    monkeypatch.chdir(tmp_path)
    Path("en.txt").write_text("".join(f"{line}\n" for line in sources))
    Path("es.txt").write_text("".join(f"{line}\n" for line in targets))
    return tmp_path


def joined(folder: Path, kind: str) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob(f"{kind}-*")))


def wait_for(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until
        time.sleep(0.001)


def children(process: Process) -> list[int]:
    """The worker processes that the process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == process.pid and b"spawn_main" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:  # it has ended in the meantime
            continue
    return found


def test_shards_together_equal_one_file_with_any_number_of_workers(folder: Path) -> None:
    whole = call(*ALIGN, "whole", "--split", "punctuation", "--target-split", "punctuation")
    assert whole.code == 0, whole.err
    for workers in ("1", "2"):
        cut = call(
            *ALIGN, f"cut{workers}", *SHARDS, "--workers", workers, "--split", "punctuation",
            "--target-split", "punctuation", "--json",
        )  # fmt: skip
        assert cut.code == 0, cut.err
        assert joined(folder / f"cut{workers}", "part") == (folder / "whole").read_bytes()
        assert joined(folder / f"cut{workers}", "rejects") == (folder / "whole.rejects.jsonl").read_bytes()
        tally = json.loads(cut.out)
        assert (tally["read"], tally["rejected"]) == (PAIRS, 3)
        assert not (folder / f"cut{workers}.training").exists()
    assert files(folder / "cut1") == files(folder / "cut2")
    assert (folder / "whole").read_bytes().count(b"\n") == PAIRS
    assert {path.name for path in (folder / "cut1").glob("part-*")} == {f"part-{n:05}.align" for n in range(10)}


def named_in(folder: Path) -> list[str]:
    """The finished shards of an unfinished job."""
    *lines, _ = (folder / MANIFEST).read_text().split("\n")
    return [file["name"] for line in lines[1:] for file in json.loads(line)["files"]]


def test_resumes_after_a_kill_without_learning_again(folder: Path, server: Server) -> None:
    command = (*ALIGN, "cut", "--shards", "5", "--batch-size", "1")
    process = server.start(*command, cwd=folder)
    process.kill_when_there_is(folder / "cut.part" / "part-00003.align")
    process.wait()
    before = {  # a shard that was moved, but not yet in the manifest when killed, does not count
        name: (folder / "cut.part" / name).stat().st_mtime_ns for name in named_in(folder / "cut.part")
    }
    assert len(before) >= 3
    again = call(*command)
    assert again.code == 0, again.err
    assert "statistical: learn" not in again.err
    assert before.items() <= {path.name: path.stat().st_mtime_ns for path in (folder / "cut").glob("part-*")}.items()
    assert call(*ALIGN, "whole").code == 0
    assert joined(folder / "cut", "part") == (folder / "whole").read_bytes()


def test_a_killed_worker_does_not_change_the_result(folder: Path, server: Server) -> None:
    process = server.start(*ALIGN, "cut", "--shards", "5", "--batch-size", "1", "--workers", "2", cwd=folder)
    wait_for(folder / "cut.part" / "part-00001.align")
    killed = children(process)
    assert killed
    os.kill(killed[0], signal.SIGKILL)
    assert process.wait() == 0, process.err
    assert "killed by signal 9" in process.err
    assert call(*ALIGN, "whole").code == 0
    assert joined(folder / "cut", "part") == (folder / "whole").read_bytes()


def test_refuses_what_was_learnt_with_other_settings_or_text(folder: Path, server: Server) -> None:
    """Even if no shard was finished when the first call was killed, so that its manifest lists none."""
    process = server.start(*ALIGN, "cut", "--shards", "200", cwd=folder)
    process.kill_when_there_is(folder / "cut.training" / "learnt" / "lexicon.json")
    process.wait()
    assert '"shards": []' not in (folder / "cut.part" / MANIFEST).read_text()
    assert (folder / "cut.training").exists()
    Path("es.txt").write_text(Path("es.txt").read_text().replace("casa", "hogar"))
    other = call(*ALIGN, "cut", *SHARDS, "--set", "prefix=3")
    assert other.code == 2
    assert "cut.training holds an unfinished training with other settings" in other.err
    assert "aligner.prefix: was 4, now 3" in other.err
    assert "pairs: the content has changed" in other.err
    forced = call(*ALIGN, "cut", *SHARDS, "--force")
    assert forced.code == 0, forced.err
    assert call(*ALIGN, "whole").code == 0
    assert joined(folder / "cut", "part") == (folder / "whole").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("cut --workers 2", "--workers and --engine need shards"),
        ("cut.parquet --shards 5", "shards cannot be parquet, expected align"),
        (
            "cut.align.gz",
            "cut.align.gz: links are not compressed when they are written. Write cut.align, then compress",
        ),
        ("cut.jsonl", "cut.jsonl: links are not jsonl. Choose another extension, as in cut.align"),
        ("cut.IOB2", "cut.IOB2: links are not conll. Choose another extension, as in cut.align"),
        ("en.txt --shards 5", "en.txt is an input and would be overwritten"),
        ("cut --shards 5 --set prefiks=3", 'no setting "prefiks"'),
    ],
)
def test_impossible_options_are_refused(options: str, message: str, folder: Path) -> None:
    before = files(folder)
    result = call(*ALIGN, *options.split())
    assert (result.code, message in result.err) == (2, True), result.err
    assert files(folder) == before


def test_a_folder_of_shards_is_projected_as_one_file(folder: Path) -> None:
    assert call(*ALIGN, "whole.align").code == 0
    assert call(*ALIGN, "cut.align", "--shards", "7").code == 0
    for name in ("whole", "cut"):
        options = ("--alignments", f"{name}.align", "--target-split", "spaces")
        result = call("crosslingual", "project", "en.txt", "es.txt", f"{name}.jsonl", *options)
        assert result.code == 0, result.err
    assert Path("cut.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    Path("cut.align/part-00003.align").unlink()
    result = call("crosslingual", "project", "en.txt", "es.txt", "cut.jsonl", "--force", "--alignments", "cut.align")
    assert f"cut.align: {PAIRS - 7} lines of alignments, expected {PAIRS}" in result.err


def test_keeps_what_was_learnt_for_later_calls(folder: Path) -> None:
    """It is the same for a whole file and for shards, and a later call that is given it need not learn."""
    whole = call(*ALIGN, "whole", "--keep", "known")
    cut = call(*ALIGN, "cut", *SHARDS, "--keep", "known-too")
    assert (whole.code, cut.code) == (0, 0), (whole.err, cut.err)
    assert files(folder / "known") == files(folder / "known-too") != {}
    again = call(*ALIGN, "again", "--set", "priors=known", "--set", "learn=false")
    assert again.code == 0, again.err
    assert (folder / "again").read_bytes() == (folder / "whole").read_bytes()
    assert not [path for path in folder.iterdir() if ".training" in path.name or ".part" in path.name]


def test_a_failure_to_keep_loses_nothing_that_was_learnt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*paths: object, **options: object) -> None:
        raise shutil.Error([("from", "to", "[Errno 28] No space left on device")])

    with monkeypatch.context() as patch:
        patch.setattr("nersery.crosslingual.aligner_components.keep_lexicon.shutil.copytree", full)
        result = call(*ALIGN, "links", "--keep", "known")
    assert result.code == 5
    assert "links is written, but what was learnt could not be saved in known: [Errno 28] No space left" in result.err
    assert not (folder / "known").exists()
    again = call(*ALIGN, "again", "--set", "priors=links.training/learnt", "--set", "learn=false")
    assert again.code == 0, again.err
    assert (folder / "again").read_bytes() == (folder / "links").read_bytes()


@pytest.mark.parametrize("shards", [(), pytest.param(SHARDS, marks=pytest.mark.torture)], ids=["file", "shards"])
def test_resumes_after_a_kill_before_the_lexicon_is_kept(
    shards: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*paths: object, **options: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr("nersery.crosslingual.aligner_components.keep_lexicon.shutil.copytree", killed)
        with pytest.raises(KilledError):
            call(*ALIGN, "links", *shards, "--keep", "known")
    assert (folder / "links").exists()
    other = call(*ALIGN, "links", *shards, "--keep", "known", "--set", "hmm_steps=2")
    assert (other.code, "links" in other.err) == (2, True), "another job overwrites nothing"
    again, whole = call(*ALIGN, "links", *shards, "--keep", "known"), call(*ALIGN, "w", *shards, "--keep", "known-too")
    assert (again.code, whole.code) == (0, 0), (again.err, whole.err)
    assert files(folder / "known") == files(folder / "known-too") != {}
    if shards:
        assert files(folder / "links") == files(folder / "w") != {}
    else:
        assert (folder / "links").read_bytes() == (folder / "w").read_bytes()
    assert not (folder / "links.training").exists()


def test_existing_alignments_are_not_overwritten(folder: Path) -> None:
    """Not even by the same command with the same settings."""
    assert call(*ALIGN, "links", "--keep", "known").code == 0
    shutil.rmtree(folder / "known")
    refused = call(*ALIGN, "links", "--keep", "known")
    assert (refused.code, "links" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--keep", "there"), "there exists already"),
        (("--keep", "notes", "--force"), "notes holds no priors, so even --force does not overwrite it"),
        (("--keep", "en.txt", "--force"), "en.txt is an input"),
        (("--keep", "links", "--force"), "the alignments, or files that belong to them, are written there"),
        (
            ("--keep", "new", "--method", "external"),
            "external cannot reuse what it learnt, because it has no setting priors",
        ),
        (("--keep", "new", "--set", "learn=false", "--set", "priors=there"), "nothing is learnt"),
    ],
)
def test_refuses_wrong_options_of_keep_before_any_work(options: tuple[str, ...], message: str, folder: Path) -> None:
    (folder / "there").mkdir()
    (folder / "notes").mkdir()
    (folder / "notes" / "thesis.tex").write_text("precious")
    before = files(folder)
    refused = call(*ALIGN, "links", *options)
    assert refused.code == 2
    assert message in refused.err
    assert files(folder) == before


def test_refuses_an_unwritable_place_to_keep_before_any_work(folder: Path) -> None:
    refused = call(*ALIGN, "links", "--keep", "en.txt/known")
    assert refused.code in (2, 5), refused.err
    assert "en.txt" in refused.err
    assert not (folder / "links").exists()
