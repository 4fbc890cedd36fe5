"""What other producers report: tasks of DAGs, documentation, logs, checks, unlisted columns."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from page import lab
from page.browser import opened, violations
from page.graph import lineage
from server.events import comes_from, dataset, facet, parent, run_event, run_id, schema
from server.events import lineage as column_lineage
from server.process import ServerProcess

NOTES = "Daily **orders**, see [wiki](https://wiki.example/orders) <img src=x onerror=alert(1)>"
LOG = "https://airflow.example/log?dag=a"


@pytest.fixture(scope="module")
def dags(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with two DAGs that have a task of the same name."""
    folder = tmp_path_factory.mktemp("dags")
    made = dataset(
        "mid",
        schema=schema("id"),
        documentation=facet(description=NOTES),
        columnLineage=column_lineage(total=[comes_from("raw", "price")]),
    )
    checks = facet(assertions=[{"assertion": "unique", "success": False, "column": "id"}])
    tested = dataset("mid") | {"inputFacets": {"dataQualityAssertions": checks}}
    task = facet(taskInstance={"log_url": LOG})
    events = [
        run_event("COMPLETE", 1, run="a", job="dag_a.query.10", inputs=["raw"], outputs=[made],
                  parent=parent("run a", "dag_a"), airflow=task,
                  job_facets={"documentation": facet(description=NOTES)}),
        run_event("FAIL", 2, run="b", job="dag_b.query.10", inputs=[tested], outputs=["end"],
                  parent=parent("run b", "dag_b")),
    ]  # fmt: skip
    with ServerProcess(f"sqlite:///{folder}/page.db", folder / "server.log") as found:
        lab.post(found.url, events)
        yield found


@pytest.fixture
def page(browser: Browser, dags: ServerProcess) -> Iterator[Page]:
    with opened(browser, dags.url, reduced_motion="reduce", bypass_csp=True) as found:
        yield found


def _view(kind: str, namespace: str, name: str) -> str:
    return f"/{kind}/view?namespace={namespace}&name={quote(name, '')}"


def test_tasks_with_one_name_are_shown_with_their_dags(page: Page) -> None:
    page.goto(lineage())
    for name in ("dag_a.query.10", "dag_b.query.10"):
        card = page.locator(f"[data-node='job:jobs:{name}']")
        expect(card.locator(".name")).to_have_attribute("title", name)


def test_a_dag_shows_its_tasks(page: Page) -> None:
    page.goto(_view("jobs", "jobs", "dag_a"))
    expect(page.get_by_role("heading", name="Child jobs (1)")).to_be_visible()
    page.get_by_role("link", name="query.10", exact=True).click()
    expect(page.locator("h1")).to_contain_text("dag_a.query.10")


def test_documentation_is_markdown_and_never_html(page: Page, axe: str) -> None:
    for path in (_view("datasets", "db", "mid"), _view("jobs", "jobs", "dag_a.query.10")):
        page.goto(path)
        told = page.locator(".markdown")
        expect(told.locator("strong")).to_have_text("orders")
        link = told.get_by_role("link", name="wiki")
        expect(link).to_have_attribute("href", "https://wiki.example/orders")
        expect(told).to_contain_text("<img src=x")
        assert told.locator("img").count() == 0
        assert violations(page, axe) == []


def test_columns_that_are_not_in_the_schema_are_marked_and_failed_checks_told(page: Page) -> None:
    page.goto(_view("datasets", "db", "mid"))
    expect(page.get_by_role("row", name="total")).to_contain_text("not in the schema")
    expect(page.get_by_role("row", name="id")).not_to_contain_text("not in the schema")
    expect(page.get_by_role("heading", name="Checks (1 of 1 failed)")).to_be_visible()
    page.goto(_view("jobs", "jobs", "dag_b.query.10"))
    expect(page.locator("td.why")).to_have_text("failed checks: unique (id)")


def test_the_log_of_a_run_is_a_link(page: Page) -> None:
    page.goto(f"/runs/view?id={run_id('a')}")
    expect(page.get_by_role("link", name="Log")).to_have_attribute("href", LOG)
