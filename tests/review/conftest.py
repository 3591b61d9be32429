"""The review page in a browser, for all its tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nersery import Corpus, Entity, Sentence, io
from nersery.io.temporary_tables.sentence_table import SentenceTable
from nersery.review.decisions import Decisions
from nersery.review.review_loader import ReviewLoader
from nersery.review.server import Review, ReviewServer
from tests.browser import Window, sync_api

EVIL = "<img/src=x/onerror=alert(1)>"
CORPUS = Corpus(
    [
        Sentence((EVIL, "&amp;", "Ada", "Lovelace"), (Entity(2, 3, "PER"),), id=EVIL),
        Sentence(("זה", "שר", "בירושלים"), (Entity(2, 3, "LOC"),), id="he"),
        Sentence(("👩‍👩‍👧", "in", "Oslo"), id="emoji"),
    ]
)

LONG = "take({...one, id: 'long', words: Array.from({length: 900}, (_, i) => `w${i}`), labels: [], corrected: []}, at)"
IS_IN_VIEW = (
    "element => element.getBoundingClientRect().top >= 0 && element.getBoundingClientRect().bottom <= innerHeight"
)


@pytest.fixture(scope="package")
def window() -> Iterator[tuple[Window, list[str]]]:
    """A page for all tests, and the errors on it."""
    faults: list[str] = []
    with sync_api.sync_playwright() as playwright:
        yield (
            Window(
                playwright,
                console=lambda message: faults.append(f"console: {message.text}"),
                pageerror=lambda error: faults.append(f"error: {error}"),
            ),
            faults,
        )


@pytest.fixture
def review(window: tuple[Window, list[str]], tmp_path: Path) -> Iterator[tuple[sync_api.Page, Decisions]]:
    """The page and its decisions; afterwards, the page must have had no errors."""
    page, faults = window[0].page, window[1]
    io.write(CORPUS, tmp_path / "in.jsonl")
    table = SentenceTable(searchable=True)
    with Decisions.opened(table, tmp_path) as decisions:
        loader = ReviewLoader(io.open_corpus(tmp_path / "in.jsonl"), decisions)
        loader.start()
        server = ReviewServer(Review(decisions, loader, name=EVIL))
        server.__enter__()
        page.set_viewport_size({"width": 1280, "height": 720})
        page.goto(server.address)  # another port, so that it shares nothing with the page of another test
        faults.clear()
        page.wait_for_selector(".word")
        yield page, decisions
        for other in page.context.pages[1:]:
            other.close()
        page.unroute_all()
        page.goto("about:blank")
        server.__exit__()
    assert [fault for fault in faults if not re.search("favicon|400 .Bad|404|409|ERR_FAILED", fault)] == []


SETTLED = """async () => {
  let before;
  do { before = waiting; await before; await new Promise((done) => setTimeout(done, 5)); } while (before !== waiting);
}"""


def press(page: sync_api.Page, *keys: str) -> None:
    """Press one key after the other, each when the page has finished with the previous one."""
    page.evaluate(SETTLED)
    for key in keys:
        page.keyboard.press(key)
        page.evaluate(SETTLED)


def is_in_view(page: sync_api.Page, selector: str) -> bool:
    """Whether the whole element lies in the window."""
    return bool(page.locator(selector).first.evaluate(IS_IN_VIEW))
