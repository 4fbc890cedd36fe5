"""A server that asks for a key, and a reader who has one."""

from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import Browser, expect

from headwater.server.store.database import open_database
from headwater.server.store.keys import create_key
from page import lab
from page.browser import opened
from server.process import ServerProcess


def test_the_page_asks_for_a_key_and_never_puts_it_in_an_address(
    browser: Browser, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/page.db"
    with ServerProcess(store, tmp_path / "server.log") as server:
        lab.post(server.url, lab.started(datetime.now(UTC)))
        server.end()
        database = open_database(store)
        key = create_key(database, "reader", ["read"])
        database.close()
        server.start()
        with opened(browser, server.url, reduced_motion="reduce") as page:
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            page.goto("/lineage")
            dialog = page.get_by_role("dialog", name="Sign in")
            dialog.get_by_label("API key").fill("not-a-key")
            dialog.get_by_role("button", name="Sign in").click()
            expect(dialog).to_contain_text("not accepted")
            dialog.get_by_label("API key").fill(key)
            dialog.get_by_role("button", name="Sign in").click()
            expect(page.locator(".node")).to_have_count(10)
            expect(page.get_by_role("status")).to_contain_text("live")
            assert not any(key in url for url in asked)
            page.get_by_role("button", name="Sign out").click()
            expect(dialog).to_be_visible()
