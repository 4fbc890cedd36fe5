"""Everything that is answered from a store and remembered in it, to compare two of them."""

from typing import Any

import msgspec

from headwater.openlineage.names import NodeId
from headwater.server.lineage.columns import ColumnWalk
from headwater.server.lineage.facets import FacetBook, job_facets, run_facets
from headwater.server.lineage.runs import LISTED
from headwater.server.lineage.search import Wanted
from headwater.server.lineage.upstream import runs_upstream
from headwater.server.lineage.view import StoreView, StoreViews, uuid_text
from headwater.server.lineage.walk import Walk
from headwater.server.marquez import dataset_versions, datasets, jobs
from headwater.server.marquez.column_graph import column_graph
from headwater.server.marquez.graph import GraphOptions, lineage_graph
from headwater.server.marquez.runs import RunWriter
from headwater.server.marquez.search import search
from headwater.server.store.log import read_bodies
from headwater.server.store.rows import RunRow
from headwater.server.store.store import Store
from server.tables import read_rows

_VIEWS = {
    "": GraphOptions(),
    " by parent": GraphOptions(by_parent=True),
    " in detail": GraphOptions(detail=True),
}


def snapshot(store: Store, views: StoreViews | None = None) -> dict[str, Any]:
    """What the store says of every node that it knows, as JSON, and what it remembers."""
    told: dict[str, Any] = {}
    with (views or StoreViews(store.database, store.rules)).open_view() as view:
        session = view.session
        told["namespaces"] = session.all(
            "SELECT name, owner, created_at, updated_at FROM namespace ORDER BY name"
        )
        told["sources"] = session.all("SELECT * FROM source ORDER BY name")
        told["jobs"] = jobs.list_jobs(view, None, [], 100, 0)
        told["search"] = search(view, Wanted("d"), 100)
        told["columns found"] = search(view, Wanted("a", "FIELD"), 100)
        seqs = [row[0] for row in session.all("SELECT seq FROM event")]
        told["events"] = sorted(read_bodies(session, seqs).values())
        for number, name in _jobs(view):
            told |= _job(view, number, name)
        for found in session.all(f"SELECT * FROM run WHERE {LISTED}"):
            told |= _run(view, RunRow.of(found))
        for number, name in _datasets(view):
            told |= _dataset(view, number, name)
        plain = {
            key: msgspec.json.decode(msgspec.json.encode(value)) for key, value in told.items()
        }
        spans = {
            table: read_rows(session, table) for table in ("edge", "schema_span", "mapping_span")
        }
    return {**plain, **spans}


def _jobs(view: StoreView) -> list[tuple[int, str]]:
    rows = view.session.all("SELECT id, name FROM job ORDER BY name")
    return [(row[0], row[1]) for row in rows]


def _job(view: StoreView, number: int, name: str) -> dict[str, Any]:
    told: dict[str, Any] = {f"job {name}, versions": jobs.versions(view, number, None, 100, 0)}
    for words, options in _VIEWS.items():
        walk = Walk(view)
        walk.from_jobs({number}, 20)
        told[f"lineage of {name}{words}"] = lineage_graph(view, walk, options)
    return told


def _run(view: StoreView, row: RunRow) -> dict[str, Any]:
    name, wanted = (
        f"run {uuid_text(row.uuid)}",
        (run_facets(row.facets), job_facets(row.job_facets)),
    )
    book = FacetBook(view, wanted)
    return {
        name: RunWriter(view, [row]).write(row),
        f"{name}, facets": [*map(book.get, wanted)],
        f"{name}, upstream": runs_upstream(view, row.uuid, 20),
    }


def _datasets(view: StoreView) -> list[tuple[int, str]]:
    rows = view.session.all(
        "SELECT d.root, n.name, d.name FROM dataset d JOIN namespace n ON n.id = d.namespace"
    )
    return [(row[0], f"{row[1]}:{row[2]}") for row in rows]


def _dataset(view: StoreView, number: int, name: str) -> dict[str, Any]:
    around = Walk(view)
    around.from_dataset(number, 20)
    told: dict[str, Any] = {
        f"dataset {name}": datasets.datasets(view, [number]),
        f"dataset {name}, versions": dataset_versions.list_versions(view, number, 100, 0),
        f"lineage of {name}": lineage_graph(view, around, GraphOptions()),
    }
    node = NodeId.parse(f"dataset:{name}")
    assert node is not None
    assert view.find_dataset(node) == number
    for detailed in (False, True):
        walk = ColumnWalk(view)
        start = walk.outputs_of(number)
        walk.upstream(start, 20)
        walk.downstream(start, 20)
        words = " in detail" if detailed else ""
        told[f"columns of {name}{words}"] = column_graph(view, walk, is_detailed=detailed)
    return told


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Where two snapshots differ, a line each."""
    return [
        f"{key}: {line}"
        for key in sorted(one.keys() | other.keys())
        for line in _differ(one.get(key), other.get(key), "")
    ]


def _differ(a: Any, b: Any, path: str) -> list[str]:
    if a == b:
        return []
    if isinstance(a, dict) and isinstance(b, dict):
        keys = a.keys() | b.keys()
        return [x for k in sorted(keys) for x in _differ(a.get(k), b.get(k), f"{path}.{k}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = enumerate(zip(a, b, strict=True))
        return [x for i, (c, d) in pairs for x in _differ(c, d, f"{path}[{i}]")]
    if isinstance(a, set) and isinstance(b, set):
        return [f"{path} {a - b!r} ≠ {b - a!r}"]
    return [f"{path} {a!r} ≠ {b!r}"]
