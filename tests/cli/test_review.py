"""A person's review through the command line."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from nersery import Entity, Sentence, io
from nersery.core.sentence import Origin
from nersery.io.temporary_tables.sentence_table import SentenceTable
from nersery.pipeline.job import FileJob
from nersery.review.decisions import Decision, Decisions
from nersery.review.server import ReviewServer
from tests.cli.calls import call, interrupted_once
from tests.standins import environment

SENTENCES = [
    Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),), id="a", scores={"sure": 0.9}),
    Sentence(("Oslo", "is", "cold"), id="o", scores={"sure": 0.1}, origin=Origin("melm", ("a",))),
    Sentence(("no", "name"), id="n"),
]


@pytest.fixture(autouse=True)
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    io.write(SENTENCES, "in.jsonl")


def decides(monkeypatch: pytest.MonkeyPatch, **decisions: Decision) -> list[Any]:
    """Simulate a person who makes these decisions as soon as the page opens."""
    seen: list[Any] = []

    def enter(server: ReviewServer) -> None:
        shown = [server.review.shown(number) for number in range(len(server.review.order))]
        seen.append([server.review.types, {one["id"]: [other["id"] for other in one["beside"]] for one in shown}])
        for id, decision in decisions.items():
            server.review.decisions.decide(id, decision)
        server.review.ended.set()

    monkeypatch.setattr(ReviewServer, "__enter__", enter)
    monkeypatch.setattr(ReviewServer, "__exit__", lambda server, *error: server.server_close())
    return seen


def test_decisions_are_written_and_the_same_command_resumes(monkeypatch: pytest.MonkeyPatch) -> None:
    decides(monkeypatch, o=Decision("accept", ((0, 1, "LOC"),)))
    result = call("label", "review", "in.jsonl", "out.jsonl")
    written, melm = result.out.splitlines()
    assert written == "out.jsonl: read 3, wrote 1, rejected 2 (not reviewed yet: 2)"
    assert melm.startswith("  melm: 100% of 1 accepted, 1 corrected")
    assert "accepted 1 (1 corrected), rejected 0, 2 to go: the same command resumes" in result.err
    assert [sentence.labels for sentence in io.read("out.jsonl")] == [((0, 1, "LOC"),)]
    decides(monkeypatch, a=Decision("accept", ((0, 1, "PER"),)), n=Decision("reject", ()))
    result = call("label", "review", "in.jsonl", "out.jsonl", "--json")
    assert json.loads(result.out)["decisions"] == {"accept": 2, "corrected": 1, "reject": 1}
    assert [sentence.id for sentence in io.read("out.jsonl")] == ["a", "o"]
    assert [reject.reason for reject in io.read_rejects(Path("out.jsonl.rejects.jsonl"))] == ["rejected by hand"]


def test_sentences_that_a_repair_drops_are_among_the_rejects() -> None:
    Path("bad.conll").write_text("Ada\tB-PER\n\nOslo\tX-Y-\n\nBonn\tB-LOC\n")
    command = ("label", "review", "bad.conll", "out.jsonl", "--no-page", "--repair", "drop-sentence")
    assert call(*command).out.startswith("out.jsonl: read 3, wrote 0, rejected 3 (not reviewed yet: 2, ")
    rejects = list(io.read_rejects(Path("out.jsonl.rejects.jsonl")))
    assert [reject.sentence and reject.sentence.words for reject in rejects] == [("Ada",), ("Bonn",), ("Oslo",)]


def test_writes_existing_decisions_without_opening_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    decides(monkeypatch, a=Decision("accept", ()))
    assert call("label", "review", "in.jsonl", "out.jsonl", "-q").code == 0
    Path("out.jsonl").unlink()
    monkeypatch.setattr(ReviewServer, "__init__", lambda *args: pytest.fail("no page was asked for"))
    assert call("label", "review", "in.jsonl", "out.jsonl", "--no-page").code == 0
    assert [sentence.labels for sentence in io.read("out.jsonl")] == [()]


def test_remaining_sentences_are_counted_within_the_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    decides(monkeypatch, a=Decision("accept", ()), n=Decision("reject", ()))
    assert "1 to go" in call("label", "review", "in.jsonl", "out.jsonl").err
    for goal, left in (("1", "none to go"), ("2", "1 to go"), ("3", "1 to go")):  # n, then o, then a
        assert f", {left}" in call("label", "review", "in.jsonl", "out.jsonl", "--no-page", "--goal", goal).err


def test_the_page_gets_types_order_and_originals(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = decides(monkeypatch)
    call("label", "review", "in.jsonl", "out.jsonl", "--by", "sure", "--types", "LOC, ORG", "--beside", "in.jsonl")
    types, beside = seen[0]
    assert types == ["PER", "LOC", "ORG"]
    assert list(beside.items()) == [("o", ["o", "a"]), ("a", ["a"]), ("n", ["n"])]


def test_an_added_type_like_one_of_the_corpus_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    decides(monkeypatch)
    notes = call("label", "review", "in.jsonl", "out.jsonl", "--types", "PERS,WORK").err
    assert 'note: --types adds PERS, which no sentence has; did you mean "PER"? Known: PER\n' in notes
    assert "WORK" not in notes


def test_tags_of_corpus_types_are_refused_as_types() -> None:
    io.write([Sentence(("steel",), (Entity(0, 1, "ALLOY"),), id="a")], "alloys.jsonl")
    result = call("label", "review", "alloys.jsonl", "out.jsonl", "--types", "B-ALLOY")
    assert result.code == 2
    assert 'error: --types has the type "B-ALLOY", which is a tag; did you mean "ALLOY"?' in result.err


def test_tags_are_refused_as_types() -> None:
    result = call("label", "review", "in.jsonl", "out.jsonl", "--types", "PER,B-LOC")
    assert result.code == 2
    assert 'error: --types has the type "B-LOC", which is a tag; did you mean "LOC"?' in result.err


def test_notes_become_comments_and_must_fit_the_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the output cannot store is refused while the person is still reviewing."""
    io.write([*SENTENCES, Sentence(("x",), id="w", comments=("without its sign",))], "in.jsonl")
    decides(monkeypatch, a=Decision("accept", (), "maybe LOC?\nid = x"), n=Decision("reject", (), "no"))
    result = call("label", "review", "in.jsonl", "out.conll")
    assert result.code == 0, result.err
    assert Path("out.conll").read_text().startswith("# review: maybe LOC? id = x\n")
    decides(monkeypatch, w=Decision("accept", ()))
    assert "would not be read as a comment" in call("label", "review", "in.jsonl", "out.conll").err


def test_an_unfinished_output_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It contains the decisions made since then."""
    original = FileJob._publish
    decides(monkeypatch, a=Decision("accept", ()))
    monkeypatch.setattr(FileJob, "_publish", interrupted_once(original))
    assert call("label", "review", "in.jsonl", "out.jsonl").code == 130
    decides(monkeypatch, a=Decision("reject", ()), o=Decision("accept", ()))
    assert call("label", "review", "in.jsonl", "out.jsonl").code == 0
    assert [sentence.id for sentence in io.read("out.jsonl")] == ["o"]


def test_an_output_that_another_command_writes_meanwhile_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    decides(monkeypatch, a=Decision("accept", ()))
    monkeypatch.setattr(ReviewServer, "__exit__", lambda server, *error: io.write(SENTENCES, "out.jsonl"))
    result = call("label", "review", "in.jsonl", "out.jsonl")
    assert (result.code, result.out) == (1, "")
    assert "out.jsonl was changed during the review" in result.err
    assert len(io.read("out.jsonl")) == 3
    assert call("label", "review", "in.jsonl", "out.jsonl", "--no-page").out.startswith("out.jsonl: read 3, wrote 1")


def test_starting_over_keeps_a_copy_of_the_old_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    decides(monkeypatch)
    assert call("label", "review", "in.jsonl", "out.jsonl").code == 0
    assert call("label", "review", "in.jsonl", "out.jsonl").code == 0, (
        "also where nothing was decided the same command goes on"
    )
    decides(monkeypatch, a=Decision("accept", ()))
    assert call("label", "review", "in.jsonl", "out.jsonl").code == 0
    io.write([SENTENCES[1]], "in.jsonl")
    decides(monkeypatch)
    result = call("label", "review", "in.jsonl", "out.jsonl")
    assert result.code == 3
    assert "start over (--force)" in result.err
    result = call("label", "review", "in.jsonl", "out.jsonl", "--force")
    assert result.code == 0
    assert "kept in out.jsonl.review/decisions.jsonl.1.old" in result.err
    assert '"verdict": "accept"' in Path("out.jsonl.review/decisions.jsonl.1.old").read_text()


def test_force_does_not_move_the_decisions_of_a_running_review() -> None:
    """`--force` must not move the file that the running review writes to."""
    file = Path("out.jsonl.review/decisions.jsonl")
    with Decisions.opened(SentenceTable(SENTENCES), file.parent) as running:
        running.decide("a", Decision("accept", ()))
        result = call("label", "review", "in.jsonl", "out.jsonl", "--force", "--no-page")
        assert result.code == 2
        assert "another process is writing" in result.err
        running.decide("n", Decision("reject", ()))
    assert file.read_text().count("verdict") == 2


@pytest.mark.parametrize(
    "options",
    [
        ["missing.jsonl", "out.jsonl"],
        ["in.jsonl", "out.jsonl", "--by", "shure"],
        ["in.jsonl", "out.jsonl", "--beside", "missing.jsonl"],
        ["in.jsonl", "out.jsonl", "--beside", "other.jsonl"],
        ["in.jsonl", "out.jsnol"],
        ["in.jsonl", "out.jsonl", "--port", "1"],
    ],
)
def test_a_failed_command_does_not_move_the_decisions(options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(ReviewServer, "__init__", refuse)
    io.write([Sentence(("x",), id="x")], "other.jsonl")
    file = Path(f"{options[1]}.review/decisions.jsonl")
    with Decisions.opened(SentenceTable(SENTENCES), file.parent) as decisions:
        decisions.decide("a", Decision("accept", ()))
    before = file.read_bytes()
    assert call("label", "review", *options, "--force").code in (2, 3)
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["in.jsonl", "in.jsonl"], "is an input and would be overwritten"),
        (["in.jsonl", "out.jsonl", "--by", "shure"], 'no sentence has the score "shure"; did you mean "sure"?'),
        (["empty.jsonl", "out.jsonl"], "empty.jsonl has no sentence"),
        (["in.jsonl", "there.jsonl"], "there.jsonl exists already"),
        *[(["in.jsonl", target], 'the extension "" names no format') for target in ("", ".", "/")],
        (
            ["in.jsonl", "out.jsonl", "--beside", "other.jsonl"],
            "--beside other.jsonl has no sentence that belongs to one",
        ),
    ],
)
def test_wrong_options_are_refused(options: list[str], message: str) -> None:
    Path("empty.jsonl").touch()
    io.write(SENTENCES, "there.jsonl")
    io.write([Sentence(("x",), id="x")], "other.jsonl")
    result = call("label", "review", *options)
    assert result.code in (2, 3)
    assert message in result.err


def test_a_port_that_is_taken_is_named() -> None:
    import socket

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        result = call("label", "review", "in.jsonl", "out.jsonl", "--port", str(other.getsockname()[1]))
    assert result.code == 2
    assert "cannot be used" in result.err


def _listen_to_hangups() -> None:
    """Under nohup, the tests and all processes that they start ignore hangups."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_kill_loses_no_decision_and_an_interrupt_writes_them() -> None:
    command = [sys.executable, "-m", "nersery", "label", "review", "in.jsonl", "out.jsonl"]
    for number, end, code in ((0, signal.SIGKILL, -signal.SIGKILL), (1, signal.SIGHUP, 129), (1, signal.SIGINT, 0)):
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env=environment(), preexec_fn=_listen_to_hangups
        )
        assert process.stderr is not None
        address = next(line for line in process.stderr if line.startswith("review at ")).split()[-1]
        decision = json.dumps({"verdict": "accept", "labels": [], "version": int(end == signal.SIGINT)}).encode()
        request = urllib.request.Request(f"{address}sentence/{number}", decision, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.status == 200
        process.send_signal(end)
        process.stderr.read()
        assert process.wait(20) == code
        assert Path("out.jsonl").exists() == (end == signal.SIGINT)
    assert [sentence.id for sentence in io.read("out.jsonl")] == ["a", "o"]


def test_the_browser_gets_the_address_from_a_private_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """All users of a machine can read a program's arguments, so these do not contain the secret."""
    servers: list[ReviewServer] = []
    seen: list[Any] = []

    def opened(address: str) -> None:
        redirect = Path(url2pathname(urlsplit(address).path))
        seen.extend(
            [
                redirect.stat().st_mode & 0o777,
                servers[0].address in redirect.read_text("utf-8"),
                servers[0].secret in address,
            ]
        )
        servers[0].review.end()

    monkeypatch.setattr(ReviewServer, "__enter__", lambda server: servers.append(server))
    monkeypatch.setattr(ReviewServer, "__exit__", lambda server, *error: server.server_close())
    monkeypatch.setattr("webbrowser.open", opened)
    assert call("label", "review", "in.jsonl", "out.jsonl", "--open").code == 0
    assert seen == [0o600, True, False]
    assert [path.name for path in Path("out.jsonl.review").glob("*.html")] == []
