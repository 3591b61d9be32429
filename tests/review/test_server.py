"""Requests and answers of the page, over a real connection."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from nersery import Entity, Sentence, io
from nersery.core.entity import Origin
from nersery.io.temporary_tables.sentence_table import SentenceTable
from nersery.review import server as review_server
from nersery.review.decisions import VERDICTS, Decision, Decisions
from nersery.review.review_loader import ReviewLoader
from nersery.review.server import HOST, MAX_BODY_BYTES, PAGE, Review, ReviewServer

MADE = Origin("melm", ("o",))
ADA = Sentence(("Ada", "</script>", "lives"), (Entity(0, 1, "PER"),), id="a", origin=MADE, scores={"sure": 0.5})
OSLO = Sentence(("Oslo",), (Entity(0, 1, "LOC"),), id="o", language="no", scores={"sure": 0.1})
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ReviewServer]:
    with Decisions.opened(SentenceTable(searchable=True), tmp_path / "review") as decisions:
        io.write([ADA, OSLO], tmp_path / "in.jsonl")
        io.write([OSLO], tmp_path / "beside.jsonl")
        corpus, beside = (io.open_corpus(tmp_path / f"{name}.jsonl") for name in ("in", "beside"))
        loader = ReviewLoader(corpus, decisions, beside, by="sure")
        loader.start()
        server = ReviewServer(Review(decisions, loader, ["ORG", "PER"], "a.jsonl"))
        with server:
            yield server


def ask(server: ReviewServer, path: str, body: Any = None, **headers: str) -> tuple[int, Any, Any]:
    connection = http.client.HTTPConnection(HOST, server.server_port, timeout=10)
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    connection.request("GET" if body is None else "POST", path, content, {**(JSON if content else {}), **headers})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    value = json.loads(text) if answer.headers.get_content_type() == "application/json" else text
    return answer.status, value, answer.headers


def test_the_page_runs_nothing_but_its_own_script(server: ReviewServer) -> None:
    status, page, headers = ask(server, f"/{server.secret}/")
    assert status == 200
    assert b"<script src=" in page
    assert "default-src 'none'; script-src 'self'" in headers["Content-Security-Policy"]
    assert ask(server, f"/{server.secret}/page.js")[2].get_content_type() == "text/javascript"
    assert ask(server, f"/{server.secret}/page.css")[0] == 200


def test_text_is_never_read_as_html() -> None:
    scripts = (files("nersery.review").joinpath("page", name) for name in PAGE if name.endswith(".js"))
    script = "".join(script.read_text("utf-8") for script in scripts)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", script)


def test_the_page_gets_the_overview_and_the_sentences(server: ReviewServer) -> None:
    overview = ask(server, f"/{server.secret}/overview")[1]
    assert overview == {
        "name": "a.jsonl",
        "types": ["LOC", "PER", "ORG"],
        "methods": [MADE.method],
        "verdicts": ["", ""],
        "isWhole": True,
    }
    shown = ask(server, f"/{server.secret}/sentence/1")[1]
    assert shown["words"] == ["Ada", "</script>", "lives"]
    assert (shown["labels"], shown["corrected"]) == ([[0, 1, "PER"]], [[0, 1, "PER"]])
    assert [other["id"] for other in shown["beside"]] == ["o"]
    assert shown["scores"] == {"sure": 0.5}


def test_a_decision_is_written_down(server: ReviewServer) -> None:
    decision = {"verdict": "accept", "labels": [[0, 2, "PER"]], "note": "whole", "version": 0}
    status, shown, _ = ask(server, f"/{server.secret}/sentence/1", decision)
    assert (status, shown["verdict"], shown["corrected"]) == (200, "accept", [[0, 2, "PER"]])
    assert server.review.decisions["a"] == Decision("accept", ((0, 2, "PER"),), "whole")
    assert ask(server, f"/{server.secret}/overview")[1]["verdicts"] == ["", "accept"]


def test_a_decision_of_another_page_is_not_overwritten(server: ReviewServer) -> None:
    path = f"/{server.secret}/sentence/1"
    mine = {"verdict": "accept", "labels": [[0, 2, "PER"]], "note": "", "version": 0}
    theirs = {"verdict": "reject", "labels": [], "note": "no", "version": 0}
    assert ask(server, path, theirs)[1]["version"] == 1
    status, answer, _ = ask(server, path, mine)
    assert status == 409
    assert "another person or tab" in answer["error"]
    assert (answer["now"]["verdict"], answer["now"]["note"], answer["now"]["version"]) == ("reject", "no", 1)
    assert server.review.decisions["a"] == Decision("reject", (), "no")
    assert ask(server, path, {**mine, "version": 1})[0] == 200
    assert server.review.decisions["a"].verdict == "accept"


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        ({"verdict": "accept", "labels": [[0, 9, "PER"]], "version": 0}, "does not lie within the 3 words"),
        ({"verdict": "maybe", "labels": [], "version": 0}, "expected one of accept, reject"),
        ({"labels": []}, "expected an object with verdict"),
        ([], "expected an object with verdict"),
        ({"verdict": "accept", "labels": [["x", 2, "B"]]}, "expected an object with verdict"),
        ({"verdict": "accept", "labels": [[1, 2, ["x"]]]}, "expected an object with verdict"),
        ({"verdict": ["x"], "labels": [], "version": 0}, "expected one of accept, reject"),
        ({"verdict": "accept", "labels": [[False, 1, "PER"]], "version": 0}, "expected an object with verdict"),
        ({"verdict": "accept", "labels": [[0, True, "PER"]], "version": 0}, "expected an object with verdict"),
        ({"verdict": "accept", "labels": [[0, 1.0, "PER"]], "version": 0}, "expected an object with verdict"),
        ({"verdict": "accept", "labels": [], "version": False}, "expected an object with verdict"),
        ({"verdict": "accept", "labels": []}, "and version"),
        ({"verdict": "accept", "labels": [], "note": "x" * 501, "version": 0}, "501 characters, expected at most 500"),
        *[
            ({"verdict": verdict, "labels": [[0, 1, name]], "version": 0}, "a type is a name without tabs")
            for verdict in VERDICTS
            for name in ("", " PER", "P\tR", "P\nR")
        ],
        (b"{", "expected JSON: Expecting"),
        (b"\xff\xfe", "expected JSON: "),
        pytest.param(b"[" * 50_000, "expected JSON: ", id="deep"),
    ],
)
def test_nonsense_is_refused(server: ReviewServer, decision: Any, message: str) -> None:
    status, answer, _ = ask(server, f"/{server.secret}/sentence/1", decision)
    assert status == 400
    assert message in answer["error"]
    assert server.review.decisions["a"].verdict == ""


@pytest.mark.parametrize("path", ["sentence/2", "sentence/-1", "sentence/x", "sentence/", "../../etc/passwd", "page"])
def test_unknown_addresses_are_not_found(server: ReviewServer, path: str) -> None:
    assert ask(server, f"/{server.secret}/{path}")[0] == 404


def test_many_pages_may_ask_at_the_same_moment(server: ReviewServer) -> None:
    busy = ReviewServer(server.review)  # serves none until all have connected
    connections = [http.client.HTTPConnection(HOST, busy.server_port, timeout=10) for _ in range(40)]
    for connection in connections:
        connection.request("GET", f"/{busy.secret}/overview")
    with busy:
        assert {connection.getresponse().status for connection in connections} == {200}
    for connection in connections:
        connection.close()


def test_the_overview_is_consistent_while_somebody_decides(
    server: ReviewServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    decisions = server.review.decisions
    number_of = decisions.corpus.number_of
    decisions.decide("a", Decision("reject", ()))

    def meanwhile(id: str) -> int | None:
        if id == "a":
            Decisions.decide(decisions, "o", Decision("accept", ()))
        return number_of(id)

    monkeypatch.setattr(decisions.corpus, "number_of", meanwhile)
    assert ask(server, f"/{server.secret}/overview")[1]["verdicts"] == ["", "reject"]


def test_an_answer_has_the_version_of_the_decision_that_it_shows(
    server: ReviewServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = server.review
    shown = review.shown
    decision = {"verdict": "accept", "labels": [], "version": 0}
    other = threading.Thread(target=review.decide, args=(1, {"verdict": "reject", "labels": [], "version": 1}))

    def late(number: int) -> dict[str, Any]:
        monkeypatch.setattr(review, "shown", shown)
        other.start()
        other.join(0.2)  # seconds in which another page would be faster
        return shown(number)

    monkeypatch.setattr(review, "shown", late)
    answer = review.decide(1, decision)
    other.join()
    assert (answer["verdict"], answer["version"]) == ("accept", 1)
    assert review.shown(1)["verdict"] == "reject"


def test_a_search_gives_places_in_the_order_shown(server: ReviewServer) -> None:
    assert ask(server, f"/{server.secret}/search?text=ADA%20%3C")[1] == [1]
    assert ask(server, f"/{server.secret}/search?text=o")[1] == [0]
    assert ask(server, f"/{server.secret}/search?text=%FF")[0] == 200


def test_a_search_may_name_a_type_and_a_method(server: ReviewServer) -> None:
    def found(query: str) -> Any:
        return ask(server, f"/{server.secret}/search?{query}")[1]

    assert (found("type=PER"), found("type=LOC"), found("type=PE"), found("type=LOC&text=ada")) == ([1], [0], [], [])
    assert (found(f"method={MADE.method}"), found(f"method={MADE.method}&type=LOC"), found("text=o")) == ([1], [], [0])
    correction = {"verdict": "accept", "labels": [[0, 1, "ORG"]], "note": "", "version": 0}
    assert ask(server, f"/{server.secret}/sentence/0", correction)[0] == 200
    assert (found("type=ORG"), found("type=LOC")) == ([0], []), "types as corrected"


def test_the_host_header_may_omit_the_http_port(server: ReviewServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_server, "HTTP_PORT", server.server_port)
    for host in ("127.0.0.1", "localhost", f"127.0.0.1:{server.server_port}"):
        assert ask(server, f"/{server.secret}/overview", Host=host)[0] == 200


def test_strangers_get_nothing(server: ReviewServer) -> None:
    decision = {"verdict": "reject", "labels": []}
    for path in ("/", "//[", "/overview", "/wrong/overview", f"/{server.secret[:-1]}/overview"):
        assert ask(server, path)[0] == 404
    assert ask(server, f"/{server.secret}/overview", Host=f"evil.example:{server.server_port}")[0] == 404
    assert ask(server, f"/{server.secret}/overview", Host="127.0.0.1")[0] == 404
    assert ask(server, "/wrong/sentence/0", decision)[0] == 404
    plain = {"Content-Type": "text/plain"}  # which another site's form could send
    assert ask(server, f"/{server.secret}/sentence/0", decision, **plain)[0] == 400
    for length, status in ((str(MAX_BODY_BYTES + 1), 413), ("9" * 5000, 400), ("-1", 400), ("x", 400)):
        connection = http.client.HTTPConnection(HOST, server.server_port, timeout=10)
        connection.putrequest("POST", f"/{server.secret}/sentence/0")
        connection.putheader("Content-Length", length)
        connection.endheaders()
        assert connection.getresponse().status == status, "before it is sent"
        connection.close()
    assert server.review.decisions["o"].verdict == ""


def test_the_page_ends_the_review(server: ReviewServer) -> None:
    assert not server.review.ended.is_set()
    assert ask(server, f"/{server.secret}/over", {})[0] == 200
    assert server.review.ended.wait(10)
    late = ask(server, f"/{server.secret}/sentence/0", {"verdict": "reject", "labels": [], "version": 0})[:2]
    assert late == (400, {"error": "the review has ended; start it again to continue"})
    assert server.review.decisions["o"].verdict == "", "what is decided after the end would not be in the output"
