"""A graph that is asked for again is not written again, however its runs were reported."""

from typing import Any

from headwater.server.lineage.view import StoreViews
from headwater.server.lineage.walk import Walk
from headwater.server.marquez.graph import GraphOptions, lineage_graph
from headwater.server.store.aliases import AliasRules
from headwater.server.store.store import Store
from server.events import as_bytes, dataset, run_event, schema

_REPORTS = (["START"], ["COMPLETE"], ["FAIL"], ["START", "RUNNING"], ["START", "COMPLETE"],
            ["RUNNING", "ABORT"], ["OTHER"], ["START", "COMPLETE", "START"])  # fmt: skip


def test_nodes_of_all_kinds_of_runs_are_kept(store_url: str) -> None:
    store = Store(store_url, AliasRules(()))
    try:
        for number, kinds in enumerate(_REPORTS):
            for at, kind in enumerate(kinds):
                told = run_event(
                    kind, at, run=f"run {number}", job=f"job {number}", inputs=["source"],
                    outputs=[dataset(f"target {number}", schema=schema("a", "b"))],
                )  # fmt: skip
                store.ingest([store.read(as_bytes(told))]).result()
        views = StoreViews(store.database, store.rules)
        first, second = _nodes(views), _nodes(views)
    finally:
        store.close()
    assert first.keys() == second.keys()
    assert len(first) == 2 * len(_REPORTS) + 1
    assert [name for name, data in first.items() if second[name] is not data] == []


def _nodes(views: StoreViews) -> dict[str, Any]:
    """The data of every node around a dataset that all jobs read."""
    with views.open_view() as view:
        walk = Walk(view)
        found = view.dataset_id("db", "source")
        assert found is not None
        walk.from_dataset(found, 5)
        graph = lineage_graph(view, walk, GraphOptions()).graph
        return {node.id: node.data for node in graph}
