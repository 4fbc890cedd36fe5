"""The lineage view, as a reader uses it."""

import json
import re
from pathlib import Path

from playwright.sync_api import Page, expect

from page import lab
from page.graph import BATCH_JOB, STATS_JOB, dataset_id, field_id, lineage, lit, node


def test_it_opens_on_the_whole_graph(page: Page) -> None:
    page.goto("/")
    expect(page.locator(".node")).to_have_count(10)
    expect(node(page, STATS_JOB)).to_contain_text("/s")
    expect(node(page, BATCH_JOB)).to_contain_text("took")
    expect(node(page, dataset_id(lab.TABLE))).to_contain_text("warehouse/default/orders")


def test_from_search_to_the_lit_path_in_two_clicks(page: Page) -> None:
    page.goto("/")
    page.get_by_role("button", name="Search").click()
    page.keyboard.type("total_price")
    page.get_by_role("option", name=re.compile("total_price in supplier-stats")).click()
    expect(lit(page, lab.STATS)).to_have_text(["total_price"])
    expect(lit(page, lab.ORDERS)).to_have_text(["price"])
    expect(node(page, STATS_JOB)).not_to_have_class(re.compile("faded"))
    expect(page.get_by_label("Details", exact=True)).to_contain_text("aggregation into total_price")


def test_a_column_s_path_crosses_several_jobs_and_fades_the_rest(page: Page) -> None:
    page.goto(lineage(column=field_id(lab.DAILY, "total_price")))
    for place, field in ((lab.DAILY, "total_price"), (lab.TABLE, "price"), (lab.ORDERS, "price")):
        expect(lit(page, place)).to_have_text([field])
    expect(node(page, STATS_JOB)).to_have_class(re.compile("faded"))
    expect(page.locator(".column-edge")).to_have_count(2)
    page.get_by_role("button", name="Isolate path").click()
    expect(page.locator(".node")).to_have_count(5)


def test_indirect_influences_are_hidden_until_asked_for(page: Page) -> None:
    page.goto(lineage(column=field_id(lab.STATS, "total_price")))
    expect(lit(page, lab.ORDERS)).to_have_text(["price"])
    page.get_by_role("button", name="Indirect", exact=True).click()
    expect(lit(page, lab.ORDERS)).to_have_text(["bid_time", "price", "supplier"])
    expect(page.locator(".column-edge.indirect")).to_have_count(2)


def test_the_expression_that_makes_a_column_is_on_its_edge_and_in_the_panel(page: Page) -> None:
    page.goto(lineage(column=field_id(lab.DAILY, "total_price")))
    expect(page.locator(".column-edge .formula").first).to_be_visible()
    on_edges = page.locator(".column-edge .formula").all_text_contents()
    assert "total_price = sum(price)" in on_edges
    assert "price = cast(price AS decimal(10,2))" in on_edges
    expect(page.locator(".panel .formula").first).to_have_text("total_price = sum(price)")


def test_columns_open_in_place_and_what_stands_elsewhere_stays(page: Page) -> None:
    page.goto("/lineage")
    before = node(page, STATS_JOB).bounding_box()
    card = node(page, dataset_id(lab.ORDERS))
    card.get_by_role("button", name="Open the 5 columns").click()
    expect(card.locator(".column")).to_have_count(5)
    assert node(page, STATS_JOB).bounding_box() == before
    card.get_by_role("button", name=re.compile("^price")).click()
    expect(lit(page, lab.STATS)).to_have_text(["total_price"])


def test_the_graph_is_walked_by_keyboard(page: Page) -> None:
    page.goto("/lineage")
    expect(page.locator(".node")).to_have_count(10)
    page.keyboard.press("ArrowRight")  # the leftmost node
    page.keyboard.press("ArrowRight")
    expect(node(page, dataset_id(lab.ORDERS))).to_have_class(re.compile("selected"))
    page.keyboard.press("c")
    expect(node(page, dataset_id(lab.ORDERS)).locator(".column")).to_have_count(5)
    page.keyboard.press("Enter")
    expect(page.locator(".where")).to_contain_text("around orders")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("isolate the path")


def test_depth_cuts_the_graph_and_hidden_neighbours_are_one_click_away(page: Page) -> None:
    page.goto(lineage(node=dataset_id(lab.DAILY), up="1", down="0"))
    expect(page.locator(".node")).to_have_count(3)
    page.get_by_role("button", name="More upstream", exact=True).click()
    expect(page.locator(".node")).to_have_count(5)
    expect(page).to_have_url(re.compile("up=2"))
    page.get_by_role("button", name=re.compile("Show 2 more downstream of orders")).click()
    expect(node(page, STATS_JOB)).to_be_visible()


def test_a_namespace_is_drawn_as_one_node_and_opens_again(page: Page) -> None:
    page.goto("/lineage")
    expect(page.locator(".node.job")).to_have_count(5)
    page.get_by_text("Namespaces", exact=True).click()
    page.get_by_role("button", name=re.compile("^5 jobs of .* as one node$")).click()
    expect(page.locator(".node.job")).to_have_count(1)
    expect(page.locator(".node.dataset")).to_have_count(5)
    assert "together=job" in page.url
    page.locator(".node.job .head").click()
    expect(page.locator(".node.job")).to_have_count(5)


def test_details_of_a_job_show_its_runs_its_sql_and_its_owners(page: Page) -> None:
    page.goto("/lineage")
    node(page, BATCH_JOB).get_by_role("button").click()
    details = page.get_by_label("Details", exact=True)
    expect(details).to_contain_text("INSERT OVERWRITE default.supplier_stats")
    expect(details).to_contain_text("team:orders")
    expect(details.locator(".strip .failed")).to_have_count(1)


def test_back_and_forward_return_to_what_was_shown(page: Page) -> None:
    page.goto("/lineage")
    node(page, BATCH_JOB).get_by_role("button").click()
    page.get_by_role("button", name="Centre here").click()
    expect(page.locator(".where")).to_contain_text("around supplier_stats")
    page.go_back()
    expect(page.locator(".where")).to_contain_text("10 nodes")
    page.go_forward()
    expect(page.locator(".where")).to_contain_text("around supplier_stats")


def test_the_graph_is_saved_as_json_svg_and_png(page: Page) -> None:
    page.goto("/lineage")
    expect(page.locator(".node")).to_have_count(10)
    saved: dict[str, bytes] = {}
    for kind in ("JSON", "SVG", "PNG"):
        page.get_by_text("Share", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save as {kind}").click()
        saved[kind] = Path(download.value.path()).read_bytes()
        page.get_by_text("Share", exact=True).click()
    assert len(json.loads(saved["JSON"])["nodes"]) == 10
    assert b"warehouse/default/orders" in saved["SVG"]
    assert saved["PNG"].startswith(b"\x89PNG")
