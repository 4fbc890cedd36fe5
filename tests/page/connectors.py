"""The page's way of running connectors, the same before a worker and before Kafka Connect."""

import json
import re

from playwright.sync_api import Locator, Page, expect

DEEDS = (
    ("Pause", "paused"),
    ("Resume", "running"),
    ("Stop", "stopped"),
    ("Resume", "running"),
    ("Restart", "running"),
)
_CONFIRMED = ("Stop", "Restart", "Delete")


def deployed(page: Page, name: str, config: dict[str, str], missing: dict[str, str]) -> Locator:
    """Deploy a connector once checking it has told what is missing; give its panel."""
    page.get_by_role("button", name="Deploy …").click()
    editor = page.get_by_role("dialog")
    text = editor.get_by_label("Definition, as JSON")
    text.fill(json.dumps({"name": name, "config": config}))
    editor.get_by_role("button", name="Check").click()
    expect(editor.get_by_role("alert")).to_contain_text(*missing)
    text.fill(json.dumps({"name": name, "config": {**config, **missing}}))
    editor.get_by_role("button", name="Deploy", exact=True).click()
    row = row_of(page, name)
    expect(row).to_contain_text("running")
    row.get_by_role("button", name=name).click()
    return page.get_by_label(f"Connector {name}")


def row_of(page: Page, name: str) -> Locator:
    """The row of a connector."""
    return page.get_by_role("row", name=re.compile(f"^{name}"))


def run_through(page: Page, name: str) -> None:
    """Pause it, resume it, stop it, restart it, delete it."""
    panel, row = page.get_by_label(f"Connector {name}"), row_of(page, name)
    for deed, state in DEEDS:
        _do(page, panel, deed)
        expect(row).to_contain_text(state)
    expect(row.get_by_label("task running")).to_be_visible()
    _do(page, panel, "Delete")
    expect(row).to_have_count(0)


def _do(page: Page, panel: Locator, deed: str) -> None:
    panel.get_by_role("button", name=deed).click()
    if deed in _CONFIRMED:
        page.get_by_role("dialog").get_by_role("button", name=deed).click()
