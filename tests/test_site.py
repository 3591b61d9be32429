"""The documentation site builds without a warning, and works from its folder without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import Window, in_browser, sync_api

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(
        build, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_has_all_pages(site: Path) -> None:
    start = (site / "index.html").read_text("utf-8")
    assert 'href="methods.html#melm"' in start
    assert (site / "models" / "qa_head.html").exists()
    assert '<div class="language-sh highlight">' in start, "site.css wraps long commands by this class"
    for card in ROOT.glob("models/*/README.md"):
        assert f'href="models/{card.parent.name}.html" class="md-nav__link"' in start, "mkdocs.yml lists each card"


@pytest.mark.parametrize("name", [pytest.param(name, marks=in_browser) for name in ("index.html", "models/ner.html")])
def test_a_page_opened_from_the_folder_can_be_searched(site: Path, name: str) -> None:
    requests: list[str] = []
    with sync_api.sync_playwright() as playwright:
        page = Window(playwright, request=lambda request: requests.append(request.url)).page
        page.goto((site / name).as_uri())
        page.keyboard.press("/")
        page.keyboard.type("melm")
        page.wait_for_selector(".md-search-result__item")
    assert [url for url in requests if not url.startswith("file:")] == []
