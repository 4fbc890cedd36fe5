"""What depends on a node, and on what it depends, by distance."""

import csv
from io import StringIO
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.api.history import ImpactItem
from headwater.server.http.routes.impact import as_csv
from server.api import Api
from server.events import comes_from, dataset, facet, lineage, minute, run_event, run_id, schema

_OWNED = {"ownership": facet(owners=[{"name": "team:data", "type": "OWNER"}])}


def _pipeline(api: Api) -> None:
    """a → load → t → report → u; `u.n` takes from `t.x`, and `t.k` only decides on it."""
    direct = [{"type": "DIRECT", "subtype": "IDENTITY"}]
    decides = [{"type": "INDIRECT", "subtype": "FILTER"}]
    into_t = lineage(x=[comes_from("a", "x", transformations=direct)],
                     k=[comes_from("a", "k", transformations=direct)])  # fmt: skip
    into_u = lineage(n=[comes_from("t", "x", transformations=direct),
                        comes_from("t", "k", transformations=decides)])  # fmt: skip
    api.send(
        run_event("COMPLETE", 0, run="one", job="load", job_facets=_OWNED, inputs=["a"],
                  outputs=[dataset("t", schema=schema("x", "k"), columnLineage=into_t)]),
        run_event("FAIL", 1, run="two", job="report", inputs=["t"],
                  outputs=[dataset("u", schema=schema("n"), columnLineage=into_u,
                                   ownership=_OWNED["ownership"])]),
    )  # fmt: skip


def _items(api: Api, path: str, node: str, **params: Any) -> dict[str, Any]:
    found = api.get(path, nodeId=node, **params)
    assert found["nodeId"] == node
    return {item["nodeId"]: item for item in found["items"]}


def test_the_impact_of_a_dataset_is_jobs_and_datasets_by_distance(api: Api) -> None:
    _pipeline(api)
    found = _items(api, "/impact", "dataset:db:a")
    assert [(node, item["distance"]) for node, item in found.items()] == [
        ("job:jobs:load", 1), ("dataset:db:t", 1), ("job:jobs:report", 2), ("dataset:db:u", 2),
    ]  # fmt: skip
    assert found["dataset:db:u"] == {
        "nodeId": "dataset:db:u", "type": "DATASET", "namespace": "db", "name": "u",
        "field": None, "distance": 2, "kind": "DIRECT", "via": ["job:jobs:report"],
        "owners": ["team:data"], "tags": [], "lastState": "FAILED",
        "lastRunId": run_id("two"), "lastRunAt": minute(1),
    }  # fmt: skip
    assert found["job:jobs:load"]["owners"] == ["team:data"]
    assert found["job:jobs:report"]["via"] == ["job:jobs:load"]
    assert {*_items(api, "/impact", "dataset:db:a", depth=1)} == {"job:jobs:load", "dataset:db:t"}


def test_the_impact_of_a_column_tells_direct_from_indirect(api: Api) -> None:
    _pipeline(api)
    flows = _items(api, "/impact", "datasetField:db:a:x")
    assert {n: (i["distance"], i["kind"]) for n, i in flows.items()} == {
        "datasetField:db:t:x": (1, "DIRECT"), "datasetField:db:u:n": (2, "DIRECT"),
    }  # fmt: skip
    decides = _items(api, "/impact", "datasetField:db:t:k")
    assert decides["datasetField:db:u:n"]["kind"] == "INDIRECT"
    assert decides["datasetField:db:u:n"]["via"] == ["job:jobs:report"]


def test_the_origin_is_the_same_upstream(api: Api) -> None:
    _pipeline(api)
    assert {n: i["distance"] for n, i in _items(api, "/origin", "dataset:db:u").items()} == {
        "job:jobs:report": 1, "dataset:db:t": 1, "job:jobs:load": 2, "dataset:db:a": 2,
    }  # fmt: skip
    assert [*_items(api, "/origin", "job:jobs:load")] == ["dataset:db:a"]
    columns = _items(api, "/origin", "datasetField:db:u:n")
    assert {n: i["kind"] for n, i in columns.items()} == {
        "datasetField:db:t:x": "DIRECT", "datasetField:db:t:k": "INDIRECT",
        "datasetField:db:a:x": "DIRECT", "datasetField:db:a:k": "INDIRECT",
    }  # fmt: skip


def test_the_list_comes_as_csv_too(api: Api) -> None:
    _pipeline(api)
    api.send(run_event("COMPLETE", 2, run="three", job="=1+1", inputs=["u"], outputs=["v"]))
    by_format = api.client.get("/api/v1/impact", params={"nodeId": "dataset:db:a", "format": "csv"})
    accept = {"accept": "text/csv"}
    by_header = api.client.get("/api/v1/impact", params={"nodeId": "dataset:db:a"}, headers=accept)
    assert by_format.content == by_header.content
    rows = [*csv.DictReader(StringIO(by_format.text))]
    assert [row["nodeId"] for row in rows][:2] == ["job:jobs:load", "dataset:db:t"]
    assert rows[-2]["name"] == "'=1+1"
    assert rows[3]["owners"] == "team:data"


STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
SIGNS = "".join(STARTS)


def _is_formula(cell: str) -> bool:
    """Whether a spreadsheet may evaluate a cell, or a part of it where `;` separates cells."""
    return any(part[:1] in STARTS or part.strip()[:1] in STARTS for part in cell.split(";") if part)


def _filled(text: str, **given: Any) -> ImpactItem:
    """An item with a text wherever one can be."""
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(ImpactItem):
        is_list = field.type == list[str]
        values[field.name] = [text, "x", text] if is_list else text
    return ImpactItem(**values | {"distance": 1, "last_run_at": None} | given)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("before", ["", " ", "x;", "\t", "\r\n", "\x0b", "\xa0", ";;"])
def test_no_cell_of_a_table_is_a_formula(start: str, before: str) -> None:
    text = f'{before}{start}HYPERLINK("http://evil")'
    _, cells = csv.reader(StringIO(as_csv([_filled(text)]).decode(), newline=""))
    assert [cell for cell in cells if _is_formula(cell)] == []
    assert sum("HYPERLINK" in cell for cell in cells) == len(cells) - 2


@given(st.text(alphabet=SIGNS + "; ,\"'a\x0b\xa0\u2028", max_size=8))
def test_a_table_has_every_text(text: str) -> None:
    _, cells = csv.reader(StringIO(as_csv([_filled(text)]).decode(), newline=""))
    assert [cell for cell in cells if _is_formula(cell)] == []
    assert cells[0].replace("'", "") == text.replace("'", "")


def test_owners_and_tags_of_anyone_are_no_formulas(api: Api) -> None:
    owned = facet(owners=[{"name": '=HYPERLINK("http://evil")', "type": "-1+1"}])
    api.send(run_event(job="=CMD()", inputs=["a"], outputs=[dataset("\t=1+1", ownership=owned)]))
    assert api.client.post("/api/v1/namespaces/db/datasets/%09%3D1%2B1/tags/%3DTAG()").is_success
    found = api.client.get("/api/v1/impact", params={"nodeId": "dataset:db:a", "format": "csv"})
    rows = [*csv.reader(StringIO(found.text, newline=""))]
    assert [cell for row in rows for cell in row if _is_formula(cell)] == []
    assert [cell[1:] for cell in rows[-1] if cell[:1] == "'"] == [
        "\t=1+1", '=HYPERLINK("http://evil")', "=TAG()",
    ]  # fmt: skip


def test_what_is_not_there_is_told(api: Api) -> None:
    _pipeline(api)
    for node in ("dataset:db:x", "job:jobs:x", "datasetField:db:t:zzz"):
        assert api.status("/impact", nodeId=node) == 404
    assert api.status("/impact", nodeId="dataset:db:a", format="xml") == 400
    assert api.status("/impact", nodeId="dataset:db:u", asOf=minute(0)) == 404
