"""The page of a review, served to this machine alone."""

from __future__ import annotations

import json
import secrets
import sys
import threading
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from itertools import pairwise
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from nersery.core.errors import NerseryError
from nersery.core.sentence import Sentence
from nersery.core.system.files import os_message
from nersery.core.text.definitions import check_types
from nersery.core.text.spacing import are_written_together
from nersery.review.decisions import Decision, Decisions, OutdatedError, checked_integer
from nersery.review.review_loader import ReviewLoader

HOST = "127.0.0.1"
HTTP_PORT = 80
"""The port of addresses that name none; browsers leave it out."""
POLL_SECONDS = 0.05
"""Seconds between two checks whether the server should stop."""
PAGE: Mapping[str, tuple[str, str]] = {
    "": ("index.html", "text/html"),
    "finding.js": ("finding.js", "text/javascript"),
    "page.js": ("page.js", "text/javascript"),
    "changes.js": ("changes.js", "text/javascript"),
    "page.css": ("page.css", "text/css"),
}
"""The path that a browser requests, the file that it gets, and the file's media type."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
MAX_BODY_BYTES = 1_000_000
"""Maximum size of the body of a request, in bytes."""


class Review:
    """Answers what the page asks, and takes what it sends, as JSON values.

    Args:
        decisions: The existing decisions, to which new ones are added.
        loader: The loader, which has started to read the sentences.
        types: Names of entity types to offer besides those of the sentences and of earlier decisions.
        name: Name of what is reviewed.
    """

    def __init__(self, decisions: Decisions, loader: ReviewLoader, types: Sequence[str] = (), name: str = "") -> None:
        self.decisions, self.loader, self.name = decisions, loader, name
        self._types = types
        self.ended = threading.Event()
        self._lock = threading.RLock()
        loader.loaded.add_done_callback(lambda loaded: self.ended.set() if loaded.exception() else None)

    @property
    def order(self) -> Sequence[int]:
        """The numbers of the sentences read so far, in the order in which they are shown."""
        return self.loader.order or range(len(self.decisions.corpus))

    @property
    def types(self) -> list[str]:
        """The types to offer, always in the same order, because each has a key."""
        return list(dict.fromkeys([*self.loader.types, *self._types, *self.decisions.types]))

    def overview(self) -> dict[str, Any]:
        """What the page shows at first. It requests this again until everything is read."""
        is_loaded = self.loader.loaded.done()
        verdicts = self.decisions.verdicts
        shown = [verdicts.get(number, "") for number in self.order]
        methods = list(self.loader.methods)
        return {"name": self.name, "types": self.types, "methods": methods, "verdicts": shown, "isWhole": is_loaded}

    def search(self, text: str = "", type: str = "", method: str = "") -> list[int]:
        """The positions of the sentences with a text, a type and a method, in the order in which they are shown."""
        matching = self.decisions.corpus.containing(text, type, method)
        if self.loader.order is None:
            return matching
        numbers = set(matching)
        return [position for position, number in enumerate(self.order) if number in numbers]

    def shown(self, number: int) -> dict[str, Any]:
        """A sentence by its position in the order, with the decision about it."""
        sentence = self.decisions.corpus[self.order[number]]
        with self._lock:  # otherwise the page could get an old decision with a new version, and overwrite the new one
            decision, version = self.decisions[sentence.id], self.decisions.version(sentence.id)
        return {
            **_sentence_as_json(sentence),
            "corrected": decision.labels,
            "verdict": decision.verdict,
            "note": decision.note,
            "version": version,
            "scores": dict(sentence.scores),
            "method": sentence.origin.method if sentence.origin else "",
            "beside": [_sentence_as_json(other) for other in self.loader.shown_beside(sentence)],
        }

    def decide(self, number: int, answer: Any) -> dict[str, Any]:
        """Write the decision that the page sends about a sentence.

        Raises:
            NerseryError: If the decision is invalid, has a tag in place of a new type, or the review has ended.
            OutdatedError: If another page has decided since the version that this one saw.
        """
        try:
            decision, version = Decision.from_json(answer), checked_integer(answer["version"])
        except (LookupError, TypeError, ValueError, AttributeError):
            raise NerseryError("expected an object with verdict, labels, note and version") from None
        with self._lock:
            if self.ended.is_set():
                raise NerseryError("the review has ended; start it again to continue")
            known = self.types
            check_types((type_ for _, _, type_ in decision.labels if type_ not in known), "the decision", beside=known)
            self.decisions.decide(self.decisions.corpus[self.order[number]].id, decision, version)
            return self.shown(number)

    def end(self) -> None:
        """Take no more decisions. One that is being written is finished first."""
        with self._lock:
            self.ended.set()


def _sentence_as_json(sentence: Sentence) -> dict[str, Any]:
    words = sentence.words
    return {
        "id": sentence.id,
        "words": words,
        "touches": [False, *(are_written_together(*pair) for pair in pairwise(words))],  # whether no space precedes it
        "labels": sentence.labels,
        "language": sentence.language,
    }


def _short_number(digits: str) -> int | None:
    """The number that digits stand for; None for anything else, and for 12 or more digits."""
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 12 else None


class ReviewServer(ThreadingHTTPServer):
    """Serves a review on this machine, to anyone who knows the secret in its address.

    Args:
        port: The port; 0 takes any free one.
    """

    daemon_threads = True
    request_queue_size = 128  # Python's default, 5, resets connections if several pages ask at the same moment

    def __init__(self, review: Review, port: int = 0) -> None:
        self.review, self.secret = review, secrets.token_urlsafe(16)
        super().__init__((HOST, port), _Handler)

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.server_port}/{self.secret}/"

    def __enter__(self) -> Self:
        """Start to serve."""
        threading.Thread(target=self.serve_forever, args=(POLL_SECONDS,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop serving. Decisions that have arrived count; later ones do not."""
        self.review.end()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report nothing if a browser has closed the connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise each answer takes 40 ms, because head and body are two writes

    def do_GET(self) -> None:
        """Answer with the page, or with a sentence."""
        requested = self._requested()
        review = self.server.review
        if requested == "" and self.path.count("/") == 1:  # else the page would look for its files in another folder
            self.send_response(HTTPStatus.MOVED_PERMANENTLY)
            self.send_header("Location", f"/{self.server.secret}/")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif requested is not None and requested in PAGE:
            name, kind = PAGE[requested]
            self._send(HTTPStatus.OK, files("nersery.review").joinpath("page", name).read_bytes(), kind)
        elif requested == "overview":
            self._send_json(review.overview())
        elif requested == "search":
            asked = parse_qs(urlsplit(self.path).query)
            self._send_json(review.search(*(asked.get(name, [""])[0] for name in ("text", "type", "method"))))
        elif (number := self._number(requested)) is not None:
            self._send_json(review.shown(number))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")

    def do_POST(self) -> None:
        """Take a decision, or the end of the review."""
        requested = self._requested()
        length = _short_number(self.headers.get("Content-Length", ""))
        is_too_long = length is not None and length > MAX_BODY_BYTES
        body = None if length is None or is_too_long else self.rfile.read(length)
        if is_too_long:
            self.close_connection = True
            too_long = f"the decision has {length:,} bytes, expected at most {MAX_BODY_BYTES:,}"
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_long)
        elif body is None or self.headers.get_content_type() != "application/json":
            self.close_connection = True
            self._refuse(HTTPStatus.BAD_REQUEST, "expected JSON")
        elif requested == "over":
            self._send_json({})
            self.server.review.end()
        elif (number := self._number(requested)) is not None:
            self._decide(number, body)
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _decide(self, number: int, body: bytes) -> None:
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError) as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"expected JSON: {error}")
            return
        try:
            self._send_json(self.server.review.decide(number, answer))
        except OutdatedError as error:
            self._refuse(HTTPStatus.CONFLICT, str(error), now=self.server.review.shown(number))
        except (NerseryError, ValueError) as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        except OSError as error:
            self._refuse(HTTPStatus.INSUFFICIENT_STORAGE, f"this could not be saved: {os_message(error)}")

    def _requested(self) -> str | None:
        """The path after the secret; None if the secret is wrong, or the request names another host."""
        _, secret, requested = (*self.path.split("?", 1)[0].split("/", 2), "", "")[:3]
        is_known = secrets.compare_digest(secret.encode(), self.server.secret.encode())
        # Under another host name, it is somebody else's page, whose address points to this machine (DNS rebinding).
        names, port = (HOST, "localhost"), self.server.server_port
        hosts = {f"{name}:{port}" for name in names} | ({*names} if port == HTTP_PORT else set())
        return requested if is_known and self.headers.get("Host") in hosts else None

    def _number(self, requested: str | None) -> int | None:
        """The position of the sentence in a path such as ``sentence/7``; None if there is no such sentence."""
        kind, _, digits = (requested or "").partition("/")
        number = _short_number(digits) if kind == "sentence" else None
        return number if number is not None and number < len(self.server.review.order) else None

    def _send_json(self, value: Any) -> None:
        self._send(HTTPStatus.OK, json.dumps(value).encode(), "application/json")

    def _refuse(self, status: HTTPStatus, why: str, **more: Any) -> None:
        self._send(status, json.dumps({"error": why, **more}).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body)), "Cache-Control": "no-store",
            "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
        }  # fmt: skip
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because the address contains a secret."""
