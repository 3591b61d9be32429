"""The documentation site builds without a warning, and works from its folder without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import Window, in_browser, sync_api

ROOT = Path(__file__).parent.parent
LAYERS = """element => {
  const layers = [getComputedStyle(element).color];
  for (let one = element; one; one = one.parentElement) layers.unshift(getComputedStyle(one).backgroundColor);
  return layers.map((layer) => { const [r, g, b, a = 1] = layer.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; });
}"""
"""The colours behind an element, from the back to its text, which are all grey."""


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


@pytest.mark.parametrize("name", [pytest.param("index.html", marks=in_browser)])
def test_the_footer_has_the_contrast_of_wcag_aa(site: Path, name: str) -> None:
    with sync_api.sync_playwright() as playwright:
        page = Window(playwright).page
        page.goto((site / name).as_uri())
        layers = page.locator(".md-copyright").evaluate(LAYERS)
    behind = 255.0
    for red, _, _, alpha in layers[:-1]:
        behind = red * alpha + behind * (1 - alpha)
    red, _, _, alpha = layers[-1]
    darker, lighter = (_luminance(grey) for grey in (behind, red * alpha + behind * (1 - alpha)))
    assert (lighter + 0.05) / (darker + 0.05) > 4.5


def _luminance(grey: float) -> float:
    return float(((grey / 255 + 0.055) / 1.055) ** 2.4)
