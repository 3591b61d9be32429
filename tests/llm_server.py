"""A server process with the interface of OpenAI, which behaves or misbehaves as the text of a request demands.

Words contain their own type (``PER.1 o.2``), and some request a fault: ``!500`` fails twice, ``!truncated`` ends within
its JSON, ``!die`` ends the process. Run: ``python llm_server.py FOLDER [--option value]``; it writes its port and, for
each request that it answers, a line to a log.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

TYPES = {"PER": "PER", "LOC": "LOC", "cre": "creative work", "NEW": "NEW"}


def entities_in(words: list[str]) -> list[dict[str, str]]:
    """The entities that the words themselves name."""
    runs = ((type_, [*run]) for type_, run in groupby(words, lambda word: TYPES.get(word.partition(".")[0])))
    return [{"text": " ".join(run), "type": type_} for type_, run in runs if type_]


def answer_to(messages: list[dict[str, str]], seed: int) -> str:
    """The answer of an ideal model, except that it obeys a text with IGNORE and labels everything."""
    data = json.loads(messages[-1]["content"]) if messages[-1]["content"].startswith("{") else {}
    if "sentence" in data and "entities" in data:
        return json.dumps({"entities": [f"{e['text'].split()[0].split('.')[0]}.{seed % 7}" for e in data["entities"]]})
    if "entities" in data:
        first, *rest = [entity["text"] for entity in data["entities"]]
        return json.dumps({"sentence": " ".join([f"o.{seed % 7}", first, "o.1", *rest])}, ensure_ascii=False)
    words = data.get("sentence", "").split()
    if "IGNORE" in words:
        return json.dumps({"entities": [{"text": word, "type": "PER"} for word in words]})
    return json.dumps({"entities": entities_in(words)}, ensure_ascii=False)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    options: argparse.Namespace
    seen: ClassVar[Counter[str]] = Counter()
    busy = 0.0
    first = last = 0.0
    posts = 0
    lock = threading.Lock()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/stats":
            return self.reply(200, {"busy": Handler.busy, "seconds": Handler.last - Handler.first})
        if self.path == "/forget":
            with self.lock:
                self.seen.clear()
                (self.options.folder / "log").unlink(missing_ok=True)
            return self.reply(200, {})
        if not self.is_allowed():
            return None
        return self.reply(200, {"object": "list", "data": []})

    def is_allowed(self) -> bool:
        given = self.headers.get("Authorization", "")
        if self.options.key and given != f"Bearer {self.options.key}":
            self.reply(401, {"error": {"message": f"Incorrect API key: {given}"}})
            return False
        return True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        started = time.monotonic()
        with self.lock:
            Handler.first = Handler.first or started
        if self.options.html:
            return self.reply(200, "<html>It works!</html>", "text/html")
        if not self.is_allowed():
            return None
        with self.lock:
            Handler.posts += 1
        if Handler.posts <= self.options.busy:
            return self.reply(429, {"error": {"message": "slow down"}}, **{"Retry-After": "0.05"})
        content = json.loads(body)
        if self.options.plain and {"response_format", "seed"} & content.keys():
            return self.reply(422, {"detail": "Unexpected keys in the request: response_format"})
        time.sleep(self.options.latency)
        self.misbehave(content, hashlib.sha256(body).hexdigest())
        with self.lock:
            Handler.busy += time.monotonic() - started
            Handler.last = time.monotonic()
        return None

    def misbehave(self, content: dict[str, Any], key: str) -> None:
        asked = content["messages"][-1]["content"]
        wanted = next((word.strip('"}') for word in asked.split() if word.startswith("!")), "")
        with self.lock:
            self.seen[key] += 1
            times = self.seen[key]
        if wanted == "!die":
            os._exit(1)
        if wanted == "!nan" and times < 2:
            return self.reply(429, {"error": {"message": "slow down"}}, **{"Retry-After": "nan"})
        if wanted == "!429" and times < 3:
            return self.reply(429, {"error": {"message": "slow down"}}, **{"Retry-After": "0.05"})
        if wanted in ("!500", "!always500") and (times < 3 or wanted == "!always500"):
            return self.reply(500, {"error": {"message": "out of memory"}})
        if wanted == "!silence" and times < 2:
            time.sleep(10)
            return None
        text, finish, refusal = answer_to(content["messages"], content.get("seed", 0)), "stop", None
        text = self.changed(wanted, text)
        if wanted == "!truncated":
            text, finish = text[: len(text) // 2], "length"
        if wanted == "!broken" and times < 2:
            text, finish = text[: len(text) // 2], "error"
        if wanted == "!refusal":
            text, refusal = "", "I cannot help with that."
        usage = {"prompt_tokens": len(asked), "completion_tokens": len(text)}
        parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": text}]
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": parts if wanted == "!parts" else text, "refusal": refusal},
            "finish_reason": finish,
        }
        self.log(key, asked)
        usage |= {"!negative": {"prompt_tokens": -(10**8)}, "!huge": {"prompt_tokens": 10**40}}.get(wanted, {})
        answer = {"id": "1", "object": "chat.completion", "choices": [choice]}
        if wanted == "!flood":
            answer["padding"] = "a" * 2**20
        return self.reply(200, answer if self.options.no_usage else {**answer, "usage": usage})

    def changed(self, wanted: str, text: str) -> str:
        return {
            "!words": text.replace("PER.", "Per. "),
            "!german": text.replace("PER.", "PERSON "),
            "!type": text.replace('"PER"', '"PERSON"'),
            "!overlap": '{"entities": [{"text": "PER.1 PER.2", "type": "PER"}, {"text": "PER.2", "type": "LOC"}]}',
            "!prose": "I am sorry, but I see no names in this sentence.",
            "!markdown": f"<think>{{}}</think>Sure! Here it is:\n```json\n{text}\n```\nAnything else?",
            "!key": text.replace("PER", self.headers.get("Authorization", "")),
        }.get(wanted, text)

    def log(self, key: str, asked: str) -> None:
        with self.lock, (self.options.folder / "log").open("a") as stream:
            stream.write(json.dumps([key, asked]) + "\n")

    def reply(self, status: int, content: Any, kind: str = "application/json", **headers: str) -> None:
        body = (content if isinstance(content, str) else json.dumps(content)).encode()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if len(body) > 2**20:
                body, headers = gzip.compress(body), {"Content-Encoding": "gzip", **headers}
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--key", default="")
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--html", action="store_true")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--busy", type=int, default=0, help="Refuse so many requests first.")
    parser.add_argument("--no-usage", action="store_true")
    Handler.options = parser.parse_args()
    server = Server(("127.0.0.1", Handler.options.port), Handler)
    port = Handler.options.folder / "port"
    port.with_suffix(".tmp").write_text(str(server.server_port))
    port.with_suffix(".tmp").rename(port)
    server.serve_forever()


@dataclass
class Running:
    """A server in its own process."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{(self.folder / 'port').read_text()}/v1"

    def answered(self) -> list[str]:
        """The answered requests, without the check."""
        log = self.folder / "log"
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [asked for _, asked in lines if asked.startswith("{")]

    def forget(self) -> None:
        """Let it forget all requests."""
        connection = HTTPConnection("127.0.0.1", int((self.folder / "port").read_text()))
        connection.request("GET", "/forget")
        assert connection.getresponse().status == 200
        connection.close()


@contextlib.contextmanager
def serving(folder: Path, *options: str) -> Iterator[Running]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "port").unlink(missing_ok=True)
    process = subprocess.Popen([sys.executable, "-P", __file__, str(folder), *options])
    try:
        while not (folder / "port").exists():
            assert process.poll() is None
            time.sleep(0.02)
        yield Running(folder, process)
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
