"""A graph of hundreds of nodes: all of it from afar, cards from near, columns once opened."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from page import lab
from page.browser import opened
from page.graph import dataset_id, node
from server.process import ServerProcess

JOBS = 210
FIELDS = {"id": "string", "price": "double"}


def place(number: int) -> tuple[str, str]:
    return "postgres://warehouse:5432", f"db.step_{number:03}"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with a chain of jobs."""
    folder: Path = tmp_path_factory.mktemp("large")
    now = datetime.now(UTC)
    events = [
        lab.event("COMPLETE", f"step-{number:03}", lab.run_id(number), now, streaming=False,
                  inputs=(lab.dataset(place(number), FIELDS),),
                  outputs=(lab.dataset(place(number + 1), FIELDS),))
        for number in range(JOBS)
    ]  # fmt: skip
    with ServerProcess(f"sqlite:///{folder}/page.db", folder / "server.log") as found:
        lab.post(found.url, events)
        yield found


def test_all_of_a_large_graph_is_drawn_and_what_is_near_becomes_cards(
    browser: Browser, large: ServerProcess
) -> None:
    with opened(browser, large.url, reduced_motion="reduce") as page:
        page.goto("/lineage")
        page.get_by_role("button", name="show all").click()
        expect(page.locator("canvas.far")).to_be_visible()
        expect(page.get_by_text(f"{2 * JOBS + 1} nodes")).to_be_visible()
        # The layout came from the worker; nothing is an element while all of it is in sight.
        assert page.evaluate("performance.getEntriesByName('layered').length") > 0
        expect(page.locator(".node")).to_have_count(0)
        page.reload()
        expect(page.locator("canvas.far")).to_be_visible()
        _look_at(page, dataset_id(place(100)))


def _look_at(page: Page, wanted: str) -> None:
    page.goto(f"/lineage?everything=1&select={wanted}")
    expect(page.locator("canvas.far")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    card = node(page, wanted)
    expect(card).to_be_visible()
    assert page.locator(".node").count() < JOBS
    card.get_by_role("button", name="Open the columns").click()
    expect(card.locator(".column .name")).to_have_text(["id", "price"])
