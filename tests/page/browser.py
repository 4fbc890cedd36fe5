"""A real Chromium for tests: the system's, else Playwright's own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, Playwright, expect, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_MISSING = (
    "No Chromium: install Debian's package `chromium`, or let "
    "`.venv/bin/playwright install chromium` fetch one. The page was NOT tested."
)
# On a busy machine a start or a layout takes a while; nothing here measures time.
PATIENCE = 20_000  # milliseconds
expect.set_options(timeout=PATIENCE)


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser; without one nothing is skipped under CI."""
    with sync_playwright() as playwright:
        found = _launch(playwright)
        if found is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(_MISSING)
        yield found
        found.close()


def _launch(playwright: Playwright) -> Browser | None:
    options = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path:
        return playwright.chromium.launch(executable_path=path, args=options)
    for _ in range(2):
        try:
            return playwright.chromium.launch(args=options)
        except Error:
            subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    return None


def axe_script() -> str:
    """The accessibility checker."""
    root = Path(__file__).parent.parent.parent
    return (root / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text()


def violations(page: Page, axe: str) -> list[str]:
    """What the checker finds on a page."""
    page.evaluate(axe)
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in result["violations"]]


@contextmanager
def opened(browser: Browser, url: str, **options: object) -> Iterator[Page]:
    """A page in a context of its own; what goes wrong inside it fails the test."""
    size = {"width": 1280, "height": 800}
    context = browser.new_context(**{"viewport": size, "base_url": url, **options})  # type: ignore[arg-type]
    faults: list[str] = []
    found = context.new_page()
    found.set_default_timeout(PATIENCE)
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.on(
        "console",
        lambda told: faults.append(told.text) if "Content Security Policy" in told.text else None,
    )
    yield found
    context.close()
    assert faults == []
