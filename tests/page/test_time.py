"""The graph as it was, and what changed between two moments."""

import re

from playwright.sync_api import Page, expect

from page import lab
from page.graph import dataset_id, lineage, node


def test_the_slider_shows_the_graph_as_it_was(page: Page) -> None:
    table = dataset_id(lab.TABLE)
    page.goto(lineage(open=table, time="1"))
    card = node(page, table)
    expect(card).to_contain_text("currency")
    expect(page.locator(".tick").first).to_be_attached()
    page.get_by_role("button", name="Previous change").click()
    expect(page).to_have_url(re.compile("at="))
    page.get_by_role("slider", name="Point in time").press("ArrowLeft")
    expect(card).to_contain_text("item")
    expect(card).not_to_contain_text("currency")
    page.get_by_role("button", name="Now", exact=True).click()
    expect(card).to_contain_text("currency")


def test_at_the_beginning_only_what_ran_then_is_shown(page: Page) -> None:
    page.goto(lineage(time="1"))
    expect(page.locator(".node")).to_have_count(10)
    slider = page.get_by_role("slider", name="Point in time")
    slider.press("Home")
    for _ in range(120):  # a little after the first change, before the streams began
        slider.press("ArrowRight")
    expect(page.locator(".node")).to_have_count(3)


def test_two_moments_are_compared_by_sign_word_and_colour(page: Page) -> None:
    table = dataset_id(lab.TABLE)
    page.goto(lineage(time="1"))
    page.get_by_role("button", name="Compare").click()
    card = node(page, table)
    expect(card.get_by_role("img", name="changed")).to_have_text("Δ")
    expect(card).to_contain_text("currency")
    expect(page.get_by_label("Time", exact=True)).to_contain_text("Δ 1 changed")
    page.get_by_role("slider", name="Compare with").press("Home")
    expect(node(page, dataset_id(lab.STATS)).get_by_role("img", name="added")).to_have_text("+")
