"""What a person does on the page, in a browser."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.review.decisions import Decision, Decisions
from nersery.review.server import Review, ReviewServer
from tests.evaluate.test_report_browser import FLAGS

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (pip install playwright)")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's package chromium (apt-get install chromium)")

EVIL = "<img/src=x/onerror=alert(1)>"
CORPUS = Corpus(
    [
        Sentence((EVIL, "&amp;", "Ada", "Lovelace"), (Entity(2, 3, "PER"),), id=EVIL),
        Sentence(("זה", "שר", "בירושלים"), (Entity(2, 3, "LOC"),), id="he"),
        Sentence(("👩‍👩‍👧", "in", "Oslo"), id="emoji"),
    ]
)


@pytest.fixture
def review(tmp_path: Path) -> Iterator[tuple[sync_api.Page, Decisions]]:
    """The page and the decisions that are made on it; afterwards nothing odd may have happened."""
    faults: list[str] = []
    with Decisions.opened(CORPUS, tmp_path) as decisions, sync_api.sync_playwright() as playwright:
        server = ReviewServer(Review(decisions, [sentence.id for sentence in CORPUS], {}, name=EVIL))
        thread = threading.Thread(target=server.until_over)
        thread.start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.on("console", lambda message: faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.goto(server.address)
        page.wait_for_selector(".word")
        yield page, decisions
        browser.close()
        server.review.over.set()
        thread.join(10)
    assert [fault for fault in faults if "favicon" not in fault and "404" not in fault] == []


def press(page: sync_api.Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_timeout(200)


def test_keys_label_words_and_accept(review) -> None:
    page, decisions = review
    assert page.inner_text(".word >> nth=0") == EVIL
    assert page.query_selector("img") is None
    press(page, *["ArrowRight"] * 3, "Shift+ArrowRight", "2", "a")
    assert decisions[EVIL] == Decision("accept", ((2, 4, "PER"),))
    assert page.inner_text("#place") == "2 of 3"
    assert page.inner_text("#counts") == "1 accepted, 0 rejected, 2 to go"


def test_arrows_follow_the_script(review) -> None:
    page, decisions = review
    press(page, "j", "ArrowLeft", "ArrowLeft", "1")
    assert decisions["he"].labels == ((1, 2, "LOC"), (2, 3, "LOC"))
    press(page, "o")
    assert decisions["he"].labels == ((2, 3, "LOC"),)


def test_the_mouse_labels_and_a_note_is_kept(review) -> None:
    page, decisions = review
    press(page, "k")
    page.hover(".word >> nth=1")
    page.mouse.down()
    page.hover(".word >> nth=2")
    page.mouse.up()
    page.click("#types button >> nth=0")
    page.fill("#note", "where?")
    press(page, "Enter", "r")
    assert decisions["emoji"] == Decision("reject", ((1, 3, "LOC"),), "where?")
    page.select_option("#filter", "reject")
    press(page)
    page.click("mark button")
    press(page, "u")
    assert decisions["emoji"] == Decision("", (), "where?")


def test_the_end(review) -> None:
    page, _ = review
    page.click("#over")
    page.wait_for_selector("text=The review has ended")
