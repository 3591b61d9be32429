"""A page of Chromium for tests of HTML pages."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright (pip install playwright)")
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
in_browser = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's package chromium (apt-get install chromium)"),
    pytest.mark.flaky(reruns=2, only_rerun=["TargetClosedError", "Target crashed", "Page crashed"]),
]
"""Marks of a module; a busy machine can end a browser at any time, which is not a fault of a page."""


class Window:
    """A page for all tests of a module, because its start takes longer than most of them.

    Args:
        playwright: Starts the browser, and restarts it if it has died.
        listeners: Callbacks for the events of the page.
    """

    def __init__(self, playwright: sync_api.Playwright, **listeners: Callable[[Any], object]) -> None:
        self._playwright = playwright
        self._listeners = listeners
        self._page = self._opened()

    @property
    def page(self) -> sync_api.Page:
        """A page that works, usually the same one."""
        try:
            self._page.evaluate("0")
        except sync_api.Error:
            self._page = self._opened()
        return self._page

    def _opened(self) -> sync_api.Page:
        page = self._playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS).new_context().new_page()
        for event, listener in self._listeners.items():
            page.on(event, listener)
        return page
