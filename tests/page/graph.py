"""What tests look for in the graph."""

from urllib.parse import quote

from playwright.sync_api import Locator, Page

from page import lab

STATS_JOB = f"job:{lab.JOBS}:supplier-stats"
BATCH_JOB = f"job:{lab.JOBS}:supplier_stats"


def dataset_id(place: tuple[str, str]) -> str:
    return f"dataset:{place[0]}:{place[1]}"


def field_id(place: tuple[str, str], field: str) -> str:
    return f"datasetField:{place[0]}:{place[1]}:{field}"


def node(page: Page, node_id: str) -> Locator:
    return page.locator(f'[data-node="{node_id}"]')


def lit(page: Page, place: tuple[str, str]) -> Locator:
    """The lit columns of a dataset."""
    return node(page, dataset_id(place)).locator(".column.lit .name")


def lineage(**params: str) -> str:
    return "/lineage?" + "&".join(f"{name}={quote(value, '')}" for name, value in params.items())
