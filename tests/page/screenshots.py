"""Make the pictures of docs/images: `make screenshots`."""

import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, expect

from page import lab
from page.browser import launched, opened
from page.graph import dataset_id, lineage
from page.test_views import VIEWS
from server.process import ServerProcess

IMAGES = Path(__file__).parent.parent.parent / "docs" / "images"
EXTRA = {
    "columns": (lineage(open=dataset_id(lab.ORDERS)), "10 nodes"),
    "search": ("/lineage", "10 nodes"),
}
WIDE, HIGH = 1200, 640
TALL = {"why": 1100}
SHOWN = ("graph", "column", "details", "time", "jobs", "job", "dataset", "impact", "reached", "why")


def shoot(browser: Browser, url: str, scheme: Literal["light", "dark"]) -> None:
    with opened(
        browser, url, color_scheme=scheme, reduced_motion="reduce",
        viewport={"width": WIDE, "height": HIGH},
    ) as page:  # fmt: skip
        for name, (path, text) in {**VIEWS, **EXTRA}.items():
            if name not in SHOWN and name not in EXTRA:
                continue
            lab.post(url, lab.heartbeats(datetime.now(UTC), 7_200_000))
            page.set_viewport_size({"width": WIDE, "height": TALL.get(name, HIGH)})
            page.goto(path)
            expect(page.locator("main")).to_contain_text(text)
            if name == "time":
                page.get_by_role("button", name="Compare").click()
                expect(page.get_by_label("Time", exact=True)).to_contain_text("changed")
            if name == "search":
                page.keyboard.press("Control+k")
                page.keyboard.type("price")
                expect(page.get_by_role("option").first).to_be_visible()
            time.sleep(1)
            page.screenshot(path=IMAGES / f"{name}-{scheme}.png")


def main() -> int:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        store, log = f"sqlite:///{folder}/page.db", Path(folder) / "server.log"
        kafka = ("--kafka", "kafka=127.0.0.1:1")  # a cluster of which no view here asks anything
        with ServerProcess(store, log, *kafka) as server, launched() as browser:
            now = datetime.now(UTC)
            lab.post(server.url, lab.started(now))
            lab.post(server.url, lab.evolved(now))
            shoot(browser, server.url, "light")
            shoot(browser, server.url, "dark")
    return 0


if __name__ == "__main__":
    sys.exit(main())
