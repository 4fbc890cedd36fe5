"""Records followed to what they reached, and rows back to the records they came from."""

import re

import msgspec
from playwright.sync_api import Page, expect

from headwater.trace.shapes import Record, Records, RowStory, SnapshotTold, SourceRow, Story
from page import lab
from page.graph import BATCH_JOB, STATS_JOB, dataset_id, lineage, node
from page.test_views import named

INGESTION = f"job:{lab.JOBS}:iceberg-ingestion"
SOURCE = f"job:{lab.JOBS}:orders-source"
FADED = re.compile("faded")
READ = "7179500-7179600"  # of the batch whose snapshot the batch job read last


def test_records_light_what_they_reached_with_counts(page: Page) -> None:
    page.goto(f"/datasets/view?{named(*lab.ORDERS)}")
    page.get_by_role("link", name="Trace records").click()
    offsets = page.get_by_label("Offsets")
    expect(offsets).to_be_focused()
    offsets.fill("9-1")
    offsets.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("a range such as 1000-2000")
    offsets.fill(READ)
    offsets.press("Enter")
    expect(node(page, INGESTION).locator(".stop.exact")).to_have_text("step 1 · batch 7180")
    expect(node(page, dataset_id(lab.TABLE)).locator(".stop")).to_have_text("1 snapshot")
    expect(node(page, STATS_JOB).locator(".stop.superset")).to_be_visible()
    expect(node(page, BATCH_JOB).locator(".stop.exact")).to_have_text("step 2 · 1 run")
    expect(node(page, SOURCE)).to_have_class(FADED)
    expect(page.locator(".edge.reached")).to_have_count(8)
    assert "records=" in page.url
    assert f"offsets={READ}" in page.url
    steps = page.get_by_label("Details", exact=True).locator(".steps > li")
    expect(steps).to_have_count(4)
    expect(steps.last).to_contain_text("supplier_stats")
    offsets.press("Escape")
    expect(page.locator(".stop")).to_have_count(0)
    expect(node(page, SOURCE)).not_to_have_class(FADED)
    assert "records=" not in page.url


def test_records_are_traced_by_keyboard_and_the_list_stays_behind_what_is_selected(
    page: Page,
) -> None:
    page.goto(lineage(select=dataset_id(lab.ORDERS)))
    expect(page.get_by_role("button", name="Trace records")).to_be_visible()
    page.keyboard.press("r")
    expect(page.get_by_label("Offsets")).to_be_focused()
    page.keyboard.type("7179500")
    page.keyboard.press("Enter")
    details = page.get_by_label("Details", exact=True)
    expect(details).to_contain_text("Run again, in this order")
    details.get_by_role("button", name="iceberg-ingestion").click()
    expect(details.get_by_role("heading", name="iceberg-ingestion")).to_be_visible()
    expect(node(page, SOURCE)).to_have_class(FADED)
    page.keyboard.press("Escape")
    expect(details).to_contain_text("Run again, in this order")
    details.get_by_role("button", name="Isolate path").click()
    expect(page.locator(".node")).to_have_count(7)  # the objects hold none of it
    page.get_by_role("button", name="Close details").click()
    expect(page.locator(".node")).to_have_count(10)
    expect(page.locator(".stop")).to_have_count(0)


def test_what_records_reached_is_a_table_too(page: Page) -> None:
    page.goto(lineage(records=dataset_id(lab.ORDERS), partition="0", offsets="0-99999999"))
    page.get_by_role("link", name="As a table").click()
    row = page.get_by_role("row", name=re.compile("iceberg-ingestion"))
    expect(row).to_contain_text("snapshots")
    page.get_by_label("Offsets").fill("99999999")
    page.get_by_role("button", name="Trace").click()
    expect(page.get_by_text("No job has reported that it read these records")).to_be_visible()
    page.get_by_role("link", name="Show in the graph").click()
    expect(page.locator(".stop")).to_have_count(1)


def test_a_row_is_a_story_from_the_records_to_its_table(page: Page) -> None:
    page.goto(f"/datasets/view?{named(*lab.DAILY)}")
    page.get_by_role("link", name="Trace a row").click()
    chapters = page.locator(".chapter")
    expect(chapters).to_have_count(3)
    first, second = chapters.nth(0), chapters.nth(1)
    expect(first).to_contain_text(re.compile(r"partition 0, offsets 7174004\W7179999"))
    expect(first).to_contain_text("(5,996 records)")
    expect(first).to_contain_text("price = cast(price AS decimal(10,2))")
    expect(second).to_contain_text("total_price = sum(price)")
    expect(second).to_contain_text(f"snapshot {lab.DAY}")
    expect(second.get_by_role("link", name="completed")).to_be_visible()
    second.get_by_role("link", name=re.compile("^snapshot 83")).click()
    expect(chapters).to_have_count(2)
    expect(first).to_contain_text("batch 7180")
    expect(first).to_contain_text("exact")
    first.get_by_role("link", name="What they reached").click()
    expect(node(page, INGESTION).locator(".stop")).to_be_visible()
    page.goto("/why")
    expect(page.get_by_text("No table is selected")).to_be_visible()


def _answer() -> bytes:
    """What the command prints of a row, by the command's own shapes."""
    record = Record("orders", 0, 7_179_500, {"price": 12.5})
    source = SourceRow({"order_id": "a1"}, lab.snapshot(7_180_000)[0], [record])
    records = Records(True, True, "the group was computed again", [], "default.orders", [source], 1)
    row = RowStory({"supplier": "ACME", "total_price": "12.50"}, 7, SnapshotTold(lab.DAY, 3), True,
                   None, [], records)  # fmt: skip
    told = Story("demo.default.supplier_stats", dataset_id(lab.DAILY), "supplier = 'ACME'", 3, 1,
                 [row], [], ["a note"], True)  # fmt: skip
    return msgspec.json.encode(told)


def test_the_command_that_finds_a_row_is_there_to_copy_and_its_answer_is_shown(page: Page) -> None:
    page.goto(f"/why?node={dataset_id(lab.DAILY)}")
    page.get_by_label("Condition that selects the row").fill("supplier = 'ACME'")
    command = page.locator(".command code")
    expect(command).to_contain_text("headwater why default.supplier_stats \"supplier = 'ACME'\"")
    page.get_by_text("Show the output here").click()
    expect(command).to_contain_text("--records --json")
    pasted = page.get_by_label(re.compile("Output of the command"))
    pasted.fill('{"rows": []}')
    page.get_by_role("button", name="Show the row").click()
    expect(page.get_by_role("alert")).to_contain_text("Paste all of its output")
    pasted.fill(_answer().decode())
    page.get_by_role("button", name="Show the row").click()
    chapters = page.locator(".chapter")
    expect(chapters.first).to_contain_text("orders/0@7179500")
    expect(chapters.first).to_contain_text("12.5")
    expect(chapters.last).to_contain_text("ACME")
    expect(page.get_by_text("a note")).to_be_visible()
    page.get_by_role("button", name="Back to the snapshot").click()
    expect(chapters.first).to_contain_text("iceberg-ingestion")
