"""Takes the pictures of the report and the review page for the documents: ``make picture``, after ``make demo``.

For another report: ``python docs/screenshot.py runs/mine/report.html``.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import sync_playwright

import nersery
from nersery.io import open_corpus
from nersery.io.input_files.shipped import example
from nersery.io.temporary_tables.sentence_table import SentenceTable
from nersery.review.decisions import Decisions
from nersery.review.review_loader import ReviewLoader
from nersery.review.server import Review, ReviewServer

IMAGES = Path(__file__).parent / "images"
REPORT_SIZE = {"width": 1100, "height": 1010}
"""The size in CSS pixels, with room for the verdict, the first chart and the table of scores."""
REVIEW_SIZE = {"width": 1100, "height": 560}
KEYS = "aaaaarar"
"""The keys that the reviewer presses before the picture is taken."""


@contextmanager
def review_page() -> Iterator[str]:
    """Serve a review of generated sentences beside their gold parents, and yield its address."""
    gold = example("train.conll")
    with TemporaryDirectory() as name:
        folder = Path(name)
        nersery.augment(gold, "mention_replacement", output=folder / "more.jsonl", rate=0.5, quiet=True)
        with Decisions.opened(SentenceTable(searchable=True), folder) as decisions:
            loader = ReviewLoader(open_corpus(folder / "more.jsonl"), decisions, open_corpus(gold))
            loader.start()
            with ReviewServer(Review(decisions, loader, name="more.jsonl")) as server:
                yield server.address


def take(page: Any, address: str, size: dict[str, int], picture: Path, keys: str = "") -> None:
    """Save the top of a page as a picture."""
    page.set_viewport_size(size)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    for key in keys:
        page.keyboard.press(key)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(200)
    page.screenshot(path=picture)


def main(report: str) -> None:
    """Take both pictures."""
    with sync_playwright() as playwright, review_page() as review:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(color_scheme="light")
        take(page, Path(report).absolute().as_uri(), REPORT_SIZE, IMAGES / "report.png")
        take(page, review, REVIEW_SIZE, IMAGES / "review.png", KEYS)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
