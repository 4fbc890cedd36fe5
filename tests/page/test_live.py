"""What happens shows by itself, and nothing moves under the reader's eyes."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from page import lab
from page.browser import opened
from page.graph import STATS_JOB, node
from server.process import ServerProcess


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server of the test's own."""
    with ServerProcess(f"sqlite:///{tmp_path}/page.db", tmp_path / "server.log") as found:
        lab.post(found.url, lab.started(datetime.now(UTC)))
        yield found


@pytest.fixture
def page(browser: Browser, server: ServerProcess) -> Iterator[Page]:
    """The graph, live; a mark in it would be gone after a reload."""
    with opened(browser, server.url, reduced_motion="reduce") as found:
        found.goto("/lineage")
        expect(found.locator(".node")).to_have_count(10)
        expect(found.get_by_role("status")).to_contain_text("live")
        found.evaluate("window.stayed = true")
        yield found
        assert found.evaluate("window.stayed")


def test_rates_and_ends_show_without_reload_or_move(page: Page, server: ServerProcess) -> None:
    job = node(page, STATS_JOB)
    before = job.bounding_box()
    lab.post(server.url, lab.heartbeats(datetime.now(UTC), 8_000_000))
    expect(job).to_contain_text("999/s")
    run = lab.run_id("supplier-stats", "now")
    why = lab.error("Connection to the broker was lost")
    now = datetime.now(UTC)
    last = lab.progress(now, "supplier-stats", 8_000_007)  # an end tells how far it came
    failed = lab.event(
        "FAIL", "supplier-stats", run, now, errorMessage=why, headwater_progress=last
    )
    lab.post(server.url, [failed])
    expect(job).to_have_class(re.compile("is-failed"))
    other = node(page, f"job:{lab.JOBS}:orders-s3-sink")
    shown = other.inner_text()
    lab.post(server.url, lab.heartbeats(datetime.now(UTC), 9_000_001))  # late ones of it too
    expect(other).not_to_have_text(shown, use_inner_text=True)
    expect(job).to_have_class(re.compile("is-failed"))
    assert job.bounding_box() == before
    job.get_by_role("button").click()
    expect(page.get_by_label("Details", exact=True)).to_contain_text(
        "Connection to the broker was lost"
    )


def test_a_job_that_was_killed_is_shown_aborted(page: Page, server: ServerProcess) -> None:
    now = datetime.now(UTC)
    killed = lab.event("RUNNING", "orders-s3-sink", lab.run_id("orders-s3-sink", "now"), now)
    killed["run"]["facets"]["headwater_lease"]["seconds"] = 1
    lab.post(server.url, [killed])
    expect(node(page, f"job:{lab.JOBS}:orders-s3-sink")).to_have_class(re.compile("is-aborted"))


def test_a_changed_graph_waits_for_the_reader(page: Page, server: ServerProcess) -> None:
    fresh = lab.written((lab.KAFKA, "fresh"), lab.COPIED)
    now = datetime.now(UTC)
    event = lab.event("RUNNING", "new", lab.run_id("new"), now, inputs=(lab.IN,), outputs=(fresh,))
    lab.post(server.url, [event])
    pill = page.get_by_role("button", name="Graph changed · show")
    expect(pill).to_be_visible()
    expect(page.locator(".node")).to_have_count(10)
    pill.click()
    expect(node(page, f"job:{lab.JOBS}:new")).to_be_visible()
    expect(pill).to_have_count(0)


def test_a_lost_connection_is_shown_and_recovers(page: Page, server: ServerProcess) -> None:
    server.end()
    told = page.get_by_role("status")
    expect(told).to_contain_text("connection lost")
    expect(page.locator(".node")).to_have_count(10)
    server.start()
    expect(told).to_contain_text("live")
    lab.post(server.url, lab.heartbeats(datetime.now(UTC), 9_000_003))
    expect(node(page, STATS_JOB)).to_contain_text("1,003/s")
