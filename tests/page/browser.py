"""A real Chromium for tests: the system's, else one from npm, else Playwright's own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Error, Page, Playwright, expect, sync_playwright

_ROOT = Path(__file__).parent.parent.parent
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# On a busy machine a start or a layout takes a while; nothing here measures time.
PATIENCE = 60_000  # milliseconds
expect.set_options(timeout=PATIENCE)


class NoBrowser(Exception):
    """No Chromium starts on this machine; each attempt is named with its reason."""

    def __init__(self, attempts: dict[str, str]) -> None:
        listed = "".join(f"\n- {name}: {reason}" for name, reason in attempts.items())
        super().__init__(f"The page's tests need a Chromium, and none starts.{listed}")


@contextmanager
def launched() -> Iterator[Browser]:
    """The first browser that starts.

    Raises:
        NoBrowser: none does.

    """
    with sync_playwright() as playwright:
        browser = _launch(playwright)
        yield browser
        browser.close()


def _launch(playwright: Playwright) -> Browser:
    attempts: dict[str, str] = {}
    for name, find in _SOURCES.items():
        try:
            return playwright.chromium.launch(
                executable_path=find(), args=_options(), timeout=PATIENCE
            )
        except (Error, LookupError) as error:
            attempts[name] = str(error)
    raise NoBrowser(attempts)


def _options() -> list[str]:
    # The sandbox works neither for root nor in most containers; the pages are our own.
    return ["--no-sandbox"] if os.name == "posix" else []


def _system() -> str:
    for name in _NAMES:
        path = shutil.which(name)
        if path:
            return path
    raise LookupError(f"none of {', '.join(_NAMES)} is on PATH")


def _packaged() -> str:
    done = _run("tools/browser.py")
    if done.returncode:
        raise LookupError(done.stderr.strip())
    return done.stdout.strip()


def _of_playwright() -> None:
    done = _run("-m", "playwright", "install", "chromium-headless-shell")
    if done.returncode:
        raise LookupError(done.stderr.strip())


def _run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)


_SOURCES: dict[str, Callable[[], str | None]] = {
    "the system": _system,
    "npm": _packaged,
    "Playwright": _of_playwright,
}


def axe_script() -> str:
    """The accessibility checker."""
    return (_ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text()


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
