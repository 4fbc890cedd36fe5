"""Tables, details and links: each view by its own address, in light and dark."""

import re
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from page import lab
from page.browser import opened, violations
from page.graph import dataset_id, field_id, lineage, node
from server.process import ServerProcess


def named(namespace: str, name: str) -> str:
    return f"namespace={quote(namespace, '')}&name={quote(name, '')}"


VIEWS = {
    "graph": ("/lineage", "10 nodes"),
    "details": (lineage(select=dataset_id(lab.TABLE)), "Written by"),
    "column": (lineage(column=field_id(lab.DAILY, "total_price")), "Comes from"),
    "time": (lineage(time="1"), "Compare"),
    "jobs": ("/jobs", "supplier-stats"),
    "job": (f"/jobs/view?{named(lab.JOBS, 'supplier_stats')}", "Duration of runs"),
    "datasets": ("/datasets", "warehouse/default/orders"),
    "dataset": (f"/datasets/view?{named(*lab.TABLE)}", "Versions, latest first"),
    "runs": ("/runs", "completed"),
    "run": (f"/runs/view?id={lab.run_id('supplier-stats', 'now')}", "Events"),
    "events": ("/events", "RUNNING"),
    "impact": (
        f"/impact?node={quote(field_id(lab.ORDERS, 'price'), '')}",
        "supplier_stats.total_price",
    ),
    "reached": (
        lineage(records=dataset_id(lab.ORDERS), partition="0", offsets="7179500-7179600"),
        "Run again, in this order",
    ),
    "records": (
        f"/records?node={quote(dataset_id(lab.ORDERS), '')}&offsets=0-99999999",
        "iceberg-ingestion",
    ),
    "why": (f"/why?node={quote(dataset_id(lab.DAILY), '')}", "total_price = sum(price)"),
    "pipelines": ("/pipelines", "No pipelines"),
    "topics": ("/pipelines/topics", "No topics"),
    "tables": ("/pipelines/tables", "warehouse/default/orders"),
    "nowhere": ("/nowhere", "Page not found"),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_opens_by_its_address_and_is_accessible(
    browser: Browser, server: ServerProcess, axe: str, scheme: Literal["light", "dark"]
) -> None:
    found: dict[str, list[str]] = {}
    with opened(browser, server.url, color_scheme=scheme, bypass_csp=True) as page:
        for name, (path, text) in VIEWS.items():
            page.goto(path)
            expect(page.locator("main")).to_contain_text(text)
            if told := violations(page, axe):
                found[name] = told
    assert found == {}


def test_a_table_leads_to_details_and_to_the_graph(page: Page) -> None:
    page.goto("/jobs")
    row = page.get_by_role("row", name=re.compile("iceberg-ingestion"))
    row.get_by_role("link", name="graph").click()
    expect(page.locator(".where")).to_contain_text("around iceberg-ingestion")
    page.goto("/runs?state=FAILED")
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("link", name="failed").click()
    expect(page.locator("main")).to_contain_text("is being replaced by another writer")
    page.goto("/runs?state=COMPLETED")
    page.get_by_role("link", name="completed").first.click()
    expect(page.locator("main")).to_contain_text("240 rows, 18.4 KB in 2 files")


def test_a_job_shows_its_throughput_and_a_table_its_snapshots_with_their_offsets(
    page: Page,
) -> None:
    page.goto(f"/jobs/view?namespace={lab.JOBS}&name=iceberg-ingestion")
    expect(page.get_by_role("heading", name="Throughput")).to_be_visible()
    expect(page.get_by_role("img", name="Rows per second: maximum")).to_be_visible()
    page.goto(f"/datasets/view?namespace={quote(lab.TABLE[0], '')}&name={quote(lab.TABLE[1], '')}")
    newest = lab.snapshot(7_185_000)[0]
    page.get_by_role("button", name=newest).click()
    expect(page.get_by_text("orders, partition 0: ")).to_be_visible()


def test_jobs_are_filtered_by_name_on_the_server(page: Page) -> None:
    page.goto("/jobs")
    page.get_by_label("Filter by name").fill("s3-SINK")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.goto("/jobs?q=nothing-like-it")
    expect(page.get_by_text("No job matches")).to_be_visible()


def test_datasets_are_filtered_by_name(page: Page) -> None:
    page.goto("/datasets")
    page.get_by_label("Filter by name").fill("supplier")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page).to_have_url(re.compile("q=supplier"))


def test_impact_lists_what_depends_on_a_column_and_saves_it(page: Page) -> None:
    page.goto(VIEWS["impact"][0])
    expect(page.locator("tbody")).to_contain_text("warehouse/default/orders.price")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert any("total_price" in line for line in lines[1:])


def test_an_event_can_be_read_whole(page: Page) -> None:
    page.goto("/events?q=is+being+replaced")
    page.locator(".events summary").first.click()
    expect(page.locator(".events pre")).to_contain_text('"eventType": "FAIL"')
    expect(page.get_by_role("status").last).to_contain_text("1 found in")
    page.get_by_label("Search event text").fill("nowhere at all")
    expect(page.get_by_text("No event matches")).to_be_visible()
    page.get_by_label("Search event text").fill("")
    page.get_by_label("Type", exact=True).select_option("FAIL")
    expect(page.locator(".events li")).to_have_count(1)


def test_an_empty_server_teaches_how_to_send_a_first_event(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("empty")
    with (
        ServerProcess(f"sqlite:///{folder}/page.db", folder / "server.log") as server,
        opened(browser, server.url) as page,
    ):
        page.goto("/")
        expect(page.locator("main")).to_contain_text(f"OPENLINEAGE_URL={server.url}")
        lab.post(server.url, lab.batch(datetime.now(UTC)))
        expect(page.locator(".node")).to_have_count(3)


def test_the_theme_can_be_chosen_and_is_remembered(page: Page) -> None:
    page.goto("/jobs")
    button = page.get_by_role("button", name=re.compile("^Theme"))
    button.click()
    button.click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.parametrize("view", ["jobs", "datasets", "dataset", "run", "why"])
def test_a_phone_shows_no_view_wider_than_itself(
    browser: Browser, server: ServerProcess, view: str
) -> None:
    size = {"width": 390, "height": 844}
    with opened(browser, server.url, viewport=size, reduced_motion="reduce") as page:
        address, told = VIEWS[view]
        page.goto(address)
        expect(page.get_by_text(told).first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"]


def test_a_phone_shows_the_graph_and_its_details(browser: Browser, server: ServerProcess) -> None:
    with opened(browser, server.url, viewport={"width": 390, "height": 780}) as page:
        page.goto("/lineage")
        node(page, dataset_id(lab.ORDERS)).get_by_role("button").first.click()
        expect(page.get_by_label("Details", exact=True)).to_contain_text("Columns (5)")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390
