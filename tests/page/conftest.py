"""A real Chromium before a real server that has the lab's events."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser, Page

from page import lab
from page.browser import axe_script, launched, opened
from server.process import ServerProcess


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser of all tests."""
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with the lab's events, the same for the tests of a module."""
    folder = tmp_path_factory.mktemp("page")
    with ServerProcess(f"sqlite:///{folder}/page.db", folder / "server.log") as found:
        now = datetime.now(UTC)
        lab.post(found.url, lab.started(now))
        lab.post(found.url, lab.evolved(now))
        yield found


@pytest.fixture
def page(browser: Browser, server: ServerProcess) -> Iterator[Page]:
    """A page of the server's, motion reduced."""
    with opened(browser, server.url, reduced_motion="reduce") as found:
        yield found


@pytest.fixture(scope="session")
def axe() -> str:
    """The accessibility checker, as a script."""
    return axe_script()
