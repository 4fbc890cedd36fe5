"""The documents say what the code does: commands, settings, facets, links."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headwater.capture.settings import Settings as CaptureSettings
from headwater.openlineage.facets import LeaseFacet
from headwater.server.settings import DEFAULT_ALIASES, Settings
from headwater.version import __version__

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.mark.parametrize("name", [field.name for field in msgspec.structs.fields(Settings)])
def test_every_server_setting_is_documented(name: str) -> None:
    assert f"| `HEADWATER_{name.upper()}` |" in (DOCS / "server" / "configure.md").read_text()


@pytest.mark.parametrize("name", ["host", "port", "store", "max_body", "lease_check", "log_level"])
def test_defaults_in_the_page_are_those_of_the_code(name: str) -> None:
    page = (DOCS / "server" / "configure.md").read_text().splitlines()
    row = next(line for line in page if line.startswith(f"| `HEADWATER_{name.upper()}` |"))
    assert row.split("|")[3].strip() == f"`{getattr(Settings(), name)}`"


def test_default_alias_rules_are_those_of_the_code() -> None:
    rules = ",".join(f"{name}={other}" for name, other in DEFAULT_ALIASES)
    assert f"| `{rules}` |" in (DOCS / "server" / "configure.md").read_text()
    assert f"HEADWATER_ALIASES; default: ({rules})]" in (DOCS / "reference" / "cli.md").read_text()


def schema(name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((DOCS / "facets" / f"{name}.json").read_text())
    return told


def test_the_lease_schema_names_what_the_server_reads() -> None:
    told = schema("headwater_lease")
    assert told["required"] == [field.name for field in msgspec.structs.fields(LeaseFacet)]
    example = {"seconds": told["properties"]["seconds"]["examples"][0]}
    assert msgspec.convert(example, LeaseFacet).seconds == 30


@pytest.mark.parametrize("name", CaptureSettings.__struct_fields__)
def test_every_setting_of_capture_is_told(name: str) -> None:
    assert f"`{name}`" in (DOCS / "capture.md").read_text()


def test_wheels_are_named_as_make_dist_names_them() -> None:
    named = {
        name for page in PAGES for name in re.findall(r"headwater-\d[\w.-]*whl", page.read_text())
    }
    assert named == {f"headwater-{__version__}-py3-none-any.whl"}


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    lost = []
    for link in _LINK.findall(page.read_text()):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            lost.append(link)
    assert not lost


def _anchors(page: Path) -> set[str]:
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in _HEADING.findall(page.read_text())
    }


def test_the_site_builds(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "total_price" in (tmp_path / "tutorial" / "index.html").read_text()
    assert "dead-letter topic" in (tmp_path / "search" / "search_index.json").read_text()


def test_the_reference_is_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "reference.py", "--check"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", sorted((DOCS / "benchmarks").glob("*.md")), ids=_name)
def test_missed_targets_are_marked(page: Path) -> None:
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        goal = next((cell for cell in cells if cell[:2] in ("≤ ", "≥ ")), None)
        if goal is None:
            continue
        for cell in cells[cells.index(goal) + 1 :]:
            if cell.removesuffix(" **missed**").endswith(goal.split()[-1]):
                met = _number(cell) <= _number(goal[2:])
                met = met if goal[0] == "≤" else _number(cell) >= _number(goal[2:])
                assert met != cell.endswith("**missed**"), f"{cells[0]}: {cell}"


def _number(cell: str) -> float:
    return float(cell.split(maxsplit=1)[0].replace(",", ""))
