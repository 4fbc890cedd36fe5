"""A real Chromium before a real server that has the lab's events."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, Playwright, expect, sync_playwright

from page import lab
from server.process import ServerProcess

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_MISSING = (
    "No Chromium: install Debian's package `chromium`, or let "
    "`.venv/bin/playwright install chromium` fetch one. The page was NOT tested."
)
# On a busy machine a start or a layout takes a while; nothing here measures time.
expect.set_options(timeout=8_000)

OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, else Playwright's own."""
    with sync_playwright() as playwright:
        found = _launch(playwright)
        if found is None:
            _give_up()
        else:
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


def _give_up() -> None:
    if os.environ.get("CI"):
        pytest.fail(_MISSING)
    pytest.skip(_MISSING)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with the lab's events, the same for the tests of a module."""
    folder = tmp_path_factory.mktemp("page")
    with ServerProcess(f"sqlite:///{folder}/page.db", folder / "server.log") as found:
        now = datetime.now(UTC)
        lab.post(found.url, lab.started(now))
        lab.post(found.url, lab.evolved(now))
        yield found


@contextmanager
def opened(browser: Browser, url: str, **options: object) -> Iterator[Page]:
    """A page in a context of its own; what goes wrong inside it fails the test."""
    size = {"width": 1280, "height": 800}
    context = browser.new_context(**{"viewport": size, "base_url": url, **options})  # type: ignore[arg-type]
    faults: list[str] = []
    found = context.new_page()
    found.set_default_timeout(8_000)
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.on(
        "console",
        lambda told: faults.append(told.text) if "Content Security Policy" in told.text else None,
    )
    yield found
    context.close()
    assert faults == []


@pytest.fixture
def page(browser: Browser, server: ServerProcess) -> Iterator[Page]:
    """A page of the server's, motion reduced."""
    with opened(browser, server.url, reduced_motion="reduce") as found:
        yield found


@pytest.fixture(scope="session")
def axe() -> str:
    """The accessibility checker, as a script."""
    root = Path(__file__).parent.parent.parent
    return (root / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text()
