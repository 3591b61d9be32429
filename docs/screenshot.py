"""Takes the picture of a report for the README: ``make picture``, after ``make demo``.

Another report: ``python docs/screenshot.py runs/mine/report.html picture.png``.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

SIZE = {"width": 1100, "height": 1010}
"""In CSS pixels: the verdict, the first chart and the table of scores."""


def main(report: str, picture: str) -> None:
    """Save the top of a report as a picture."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
        page.goto(Path(report).absolute().as_uri())
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
