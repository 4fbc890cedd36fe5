"""Documentation that must keep up with the code."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headwater.model.facets import LeaseFacet
from headwater.server.settings import Settings

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("name", [field.name for field in msgspec.structs.fields(Settings)])
def test_every_setting_stands_in_the_server_s_page(name: str) -> None:
    assert f"| `HEADWATER_{name.upper()}` |" in (DOCS / "server.md").read_text()


@pytest.mark.parametrize("name", ["host", "port", "store", "max_body", "lease_check", "log_level"])
def test_defaults_in_the_page_are_those_of_the_code(name: str) -> None:
    page = (DOCS / "server.md").read_text().splitlines()
    row = next(line for line in page if line.startswith(f"| `HEADWATER_{name.upper()}` |"))
    assert row.split("|")[3].strip() == f"`{getattr(Settings(), name)}`"


def schema(name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((DOCS / "facets" / f"{name}.json").read_text())
    return told


def test_the_lease_schema_names_what_the_server_reads() -> None:
    told = schema("headwater_lease")
    assert told["required"] == [field.name for field in msgspec.structs.fields(LeaseFacet)]
    example = {"seconds": told["properties"]["seconds"]["examples"][0]}
    assert msgspec.convert(example, LeaseFacet).seconds == 30


def test_links_between_pages_lead_somewhere() -> None:
    root = DOCS.parent
    pages = [root / "README.md", *DOCS.rglob("*.md")]
    for page in pages:
        for target in _links(page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def _links(text: str) -> list[str]:
    targets = [part.partition(")")[0] for part in text.split("](")[1:]]
    return [t.partition("#")[0] for t in targets if t.partition("#")[0] and "://" not in t]
