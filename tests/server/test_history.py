"""The graph at a moment is that of a server which knows only the events until then."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headwater.api.base import Answer
from headwater.api.graph import ColumnGraph, Graph
from headwater.openlineage.names import NodeId
from headwater.openlineage.times import parse_moment
from headwater.server.lineage import datasets
from headwater.server.lineage.columns import ColumnWalk
from headwater.server.lineage.diff import diff_around, diff_everywhere
from headwater.server.lineage.schemas import schemas_of
from headwater.server.lineage.view import NOW, StoreView, StoreViews
from headwater.server.lineage.walk import Walk, walk_around
from headwater.server.marquez.column_graph import column_graph
from headwater.server.marquez.graph import GraphOptions, lineage_graph
from headwater.server.settings import DEFAULT_ALIASES
from headwater.server.store.aliases import AliasRules
from headwater.server.store.store import Store
from server.api import Api
from server.events import (
    Event,
    as_bytes,
    comes_from,
    dataset,
    lineage,
    minute,
    run_event,
    run_id,
    schema,
)
from server.histories import JOBS, NAMES, histories
from server.stores import Stores

_EXAMPLES = int(os.environ.get("HEADWATER_TEST_EXAMPLES", "40"))
_NODES = [f"job:jobs:{job}" for job in JOBS] + [f"dataset:{n}:{d}" for n, d in NAMES]


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize="CI" in os.environ,
        database=None,
        print_blob=True,
        report_multiple_bugs=False,
        suppress_health_check=[*HealthCheck],
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
    )


_times = st.lists(st.integers(-1, 6), min_size=2, max_size=2, unique=True).map(sorted)


@_settings(_EXAMPLES)
@given(events=histories, order=st.randoms(), times=_times)
def test_the_past_is_what_was_known_around(
    stores: Stores, events: list[Event], order: Any, times: list[int]
) -> None:
    order.shuffle(events)
    _compare(stores, "sqlite", events, times)


@_settings(max(1, _EXAMPLES // 5))
@given(events=histories, order=st.randoms(), times=_times)
def test_postgresql_tells_the_past_as_well(
    stores: Stores, events: list[Event], order: Any, times: list[int]
) -> None:
    order.shuffle(events)
    _compare(stores, "postgresql", events, times)


def _compare(stores: Stores, kind: str, events: list[Event], times: list[int]) -> None:
    with _reading(stores, kind, events) as whole:
        known, pictures = [], []
        for time in times:
            at = whole.at_moment(parse_moment(minute(time)))
            early = [e for e in events if e["eventTime"] <= minute(time)]
            with _reading(stores, "sqlite", early) as partly:
                now = {node: _around(partly, node) for node in _NODES}
                pictures.append(_whole_graph(partly))
            then = {node: _around(at, node) for node in _NODES}
            for node in _NODES:
                assert then[node] == now[node], (node, time)
            known.append(now)
        before, after = (whole.at_moment(parse_moment(minute(time))) for time in times)
        _check_diff(_decoded(diff_everywhere(before, after)), *pictures)
        for node in _NODES:
            parsed = NodeId.parse(node)
            assert parsed is not None
            found = diff_around(before, after, parsed, 20)
            one, two = known[0][node], known[1][node]
            assert (found is None) == (one is None and two is None)
            if found is not None:
                _check_around(_decoded(found), one or {}, two or {})


@contextmanager
def _reading(stores: Stores, kind: str, events: list[Event]) -> Iterator[StoreView]:
    url = stores.new(kind)
    store = Store(url, AliasRules(DEFAULT_ALIASES))
    try:
        for event in events:
            store.ingest([store.read(as_bytes(event))]).result()
        with StoreViews(store.database, store.rules).open_view() as view:
            yield view
    finally:
        store.close()
        stores.drop(url)


def _decoded(found: Answer) -> Any:
    return msgspec.json.decode(msgspec.json.encode(found))


def _plain(found: Graph) -> dict[str, Any]:
    """Nodes by id: edges, and the fields of a dataset."""
    nodes = _decoded(found)["graph"]
    return {
        n["id"]: (n["inEdges"], n["outEdges"], n["data"].get("fields"), n["data"].get("inputs"))
        for n in nodes
    }


def _plain_columns(found: ColumnGraph) -> dict[str, Any]:
    nodes = _decoded(found)["graph"]
    for node in nodes:
        del node["data"]["datasetVersion"]
        for given_ in node["data"]["inputFields"]:
            del given_["datasetVersion"]
    return {n["id"]: (n["inEdges"], n["outEdges"], n["data"]) for n in nodes}


def _around(view: StoreView, text: str) -> Any:
    node = NodeId.parse(text)
    assert node is not None
    walk = walk_around(view, node, 20)
    if walk is None:
        return None
    told: dict[str, Any] = {"graph": _plain(lineage_graph(view, walk, GraphOptions()))}
    if (root := view.find_dataset(node)) is not None and not text.startswith("job:"):
        told["columns"] = _columns(view, ColumnWalk(view), root)
    return told


def _columns(view: StoreView, walk: ColumnWalk, root: int) -> dict[str, Any]:
    start = walk.outputs_of(root)
    walk.upstream(start, 20)
    walk.downstream(start, 20)
    return _plain_columns(column_graph(view, walk, is_detailed=True))


def _whole_graph(view: StoreView) -> dict[str, Any]:
    """Every edge, field and column edge of a store, as it is now."""
    nodes: dict[str, Any] = {}
    for (job,) in view.session.all("SELECT id FROM job"):
        walk = Walk(view)
        walk.take({job})
        nodes |= _plain(lineage_graph(view, walk, GraphOptions()))
    roots = [row[0] for row in view.session.all("SELECT id FROM dataset WHERE id = root")]
    shown, schemas = datasets.rows_of(view, roots), schemas_of(view, roots)
    columns_of = ColumnWalk(view)
    # Every column that a dataset is known to have, and what leads into it.
    columns_of.upstream([c for root in roots for c in columns_of.outputs_of(root)], 1)
    columns = _plain_columns(column_graph(view, columns_of, is_detailed=True))
    return {
        "edges": _pairs(nodes),
        "fields": {
            (f"dataset:{shown[root].namespace}:{shown[root].name}", field.name)
            for root, found in schemas.items()
            for field in found.fields
        },
        "columns": {(e["destination"], e["origin"]) for n in columns.values() for e in n[0]},
    }


def _pairs(nodes: dict[str, Any]) -> set[tuple[str, str]]:
    return {(e["origin"], e["destination"]) for n in nodes.values() for e in [*n[0], *n[1]]}


def _told(diff: dict[str, Any], kind: str, change: str) -> set[tuple[str, str]]:
    return {(edge["origin"], edge["destination"]) for edge in diff[kind][change]}


def _check_diff(diff: dict[str, Any], one: dict[str, Any], two: dict[str, Any]) -> None:
    for kind, key in (("edges", "edges"), ("columnEdges", "columns")):
        assert _told(diff, kind, "added") == two[key] - one[key]
        assert _told(diff, kind, "removed") == one[key] - two[key]
    ends = [{end for pair in known["edges"] for end in pair} for known in (one, two)]
    assert {*diff["nodes"]["added"]} == ends[1] - ends[0]
    assert {*diff["nodes"]["removed"]} == ends[0] - ends[1]
    for change, fields in (("added", two["fields"] - one["fields"]),
                           ("removed", one["fields"] - two["fields"])):  # fmt: skip
        told = {(f["nodeId"], f["name"]) for f in diff["fields"] if f["change"] == change}
        assert told == fields


def _check_around(diff: dict[str, Any], one: dict[str, Any], two: dict[str, Any]) -> None:
    before, after = one.get("graph", {}), two.get("graph", {})
    assert {*diff["nodes"]["added"]} == after.keys() - before.keys()
    assert {*diff["nodes"]["removed"]} == before.keys() - after.keys()
    assert _told(diff, "edges", "added") == _pairs(after) - _pairs(before)
    assert _told(diff, "edges", "removed") == _pairs(before) - _pairs(after)


def _story(api: Api) -> None:
    """A job that reads one table, then another, and whose table changes a column."""
    from_a = lineage(x=[comes_from("a", "x")])
    from_b = lineage(x=[comes_from("b", "y")], z=[comes_from("b", "y")])
    api.send(
        run_event("START", 0, run="one", inputs=[dataset("a", schema=schema("x"))],
                  outputs=[dataset("t", schema=schema("x:int"), columnLineage=from_a)]),
        run_event("COMPLETE", 1, run="one"),
        run_event("START", 5, run="two", inputs=[dataset("b", schema=schema("y"))],
                  outputs=[dataset("t", schema=schema("x:long", "z"), columnLineage=from_b)]),
        run_event("FAIL", 6, run="two"),
    )  # fmt: skip


def test_lineage_as_of_a_time(api: Api) -> None:
    _story(api)
    then = api.lineage("dataset:db:t", asOf=minute(2))
    assert {*then} == {"dataset:db:a", "dataset:db:t", "job:jobs:job"}
    assert [f["type"] for f in then["dataset:db:t"]["data"]["fields"]] == ["int"]
    assert then["job:jobs:job"]["data"]["latestRun"]["state"] == "COMPLETED"
    assert api.lineage("job:jobs:job", asOf=minute(0))["job:jobs:job"]["data"]["latestRun"][
        "state"
    ] == "RUNNING"  # fmt: skip
    assert api.lineage("dataset:db:t", asOf=minute(9)) == api.lineage("dataset:db:t")
    assert api.status("/lineage", nodeId="dataset:db:b", asOf=minute(2)) == 404
    assert api.status("/lineage", nodeId="dataset:db:t", asOf="yesterday") == 400
    columns = api.columns("datasetField:db:t:x", asOf=minute(2))
    assert {*columns} == {"datasetField:db:t:x", "datasetField:db:a:x"}
    assert {*api.columns("datasetField:db:t:x")} == {"datasetField:db:t:x", "datasetField:db:b:y"}
    assert api.status("/column-lineage", nodeId="datasetField:db:t:z", asOf=minute(2)) == 404


def test_a_rerun_does_not_change_what_its_first_try_defined(api: Api) -> None:
    """The second run reads nothing since it completed, also after it has started again."""
    api.send(run_event("COMPLETE", 0, run="one", job="load", inputs=["a"], outputs=["b"]))
    api.send(run_event("COMPLETE", 1, run="two", job="load", outputs=["b"]))
    api.send(run_event("START", 2, run="two", job="load", outputs=["b"]))
    for at in ({"asOf": minute(1)}, {}):
        assert api.lineage("job:jobs:load", **at)["job:jobs:load"]["inEdges"] == []


def test_cumulative_lineage_has_every_edge_with_its_times(api: Api) -> None:
    _story(api)
    ever = api.lineage("dataset:db:t", mode="cumulative")
    assert {*ever} == {"dataset:db:a", "dataset:db:b", "dataset:db:t", "job:jobs:job"}
    (was,) = ever["dataset:db:a"]["outEdges"]
    assert (was["first"], was["last"]) == (minute(0), minute(5))
    (stands,) = ever["dataset:db:b"]["outEdges"]
    assert (stands["first"], stands["last"]) == (minute(5), None)


def test_changes_are_the_moments_at_which_something_changed(api: Api) -> None:
    _story(api)
    told = api.get("/lineage/changes", nodeId="dataset:db:t")["changes"]
    assert [change["at"] for change in told] == [minute(0), minute(5)]
    assert {*told[1]["kinds"]} == {"EDGE_ADDED", "EDGE_REMOVED", "SCHEMA_CHANGED",
                                   "COLUMNS_CHANGED"}  # fmt: skip
    assert told[1]["runId"] == run_id("two")
    assert "dataset:db:b" in told[1]["nodeIds"]
    assert api.get("/lineage/changes")["changes"] == told
    late = api.get("/lineage/changes", **{"from": minute(0), "to": minute(4)})
    assert late["changes"] == []


@pytest.mark.parametrize("node", [{}, {"nodeId": "job:jobs:job"}])
def test_diff_tells_what_changed_when_and_by_whom(api: Api, node: dict[str, str]) -> None:
    _story(api)
    diff = api.get("/lineage/diff", **node, **{"from": minute(2), "to": minute(8)})
    assert diff["nodes"] == {"added": ["dataset:db:b"], "removed": ["dataset:db:a"]}
    two = {"at": minute(5), "runId": run_id("two")}
    job = "job:jobs:job"
    assert diff["edges"] == {
        "added": [{"origin": "dataset:db:b", "destination": job, **two}],
        "removed": [{"origin": "dataset:db:a", "destination": job, **two}],
    }
    fields = {(f["nodeId"], f["name"]): f for f in diff["fields"]}
    changed = fields["dataset:db:t", "x"]
    assert (changed["change"], changed["before"]["type"], changed["after"]["type"]) == (
        "changed", "int", "long")  # fmt: skip
    assert changed["runId"] == run_id("two")
    assert fields["dataset:db:t", "z"]["change"] == "added"
    removed = diff["columnEdges"]["removed"]
    assert [(e["origin"], e["destination"], e["runId"]) for e in removed] == [
        ("datasetField:db:a:x", "datasetField:db:t:x", run_id("two"))
    ]
    assert api.status("/lineage/diff", **{"from": minute(3), "to": minute(2)}) == 400


@pytest.mark.parametrize("node", [{}, {"nodeId": "job:jobs:job"}])
def test_diff_dates_what_a_later_schema_kept_by_its_first_appearance(
    api: Api, node: dict[str, str]
) -> None:
    columns = {1: ("x",), 3: ("x", "y"), 5: ("x", "y", "z")}
    for at, names in columns.items():
        told = {name: [comes_from("a", name)] for name in names}
        source = dataset("a", schema=schema(*names))
        written = dataset("t", schema=schema(*names), columnLineage=lineage(**told))
        api.send(run_event("COMPLETE", at, run=f"r{at}", inputs=[source], outputs=[written]))
    for start, expected in ((0, {"x": 1, "y": 3, "z": 5}), (2, {"y": 3, "z": 5})):
        diff = api.get("/lineage/diff", **node, **{"from": minute(start), "to": minute(8)})
        edges = {
            edge["destination"].rpartition(":")[2]: (edge["at"], edge["runId"])
            for edge in diff["columnEdges"]["added"]
        }
        fields = {
            field["name"]: (field["at"], field["runId"])
            for field in diff["fields"]
            if field["nodeId"] == "dataset:db:t"
        }
        dated = {name: (minute(at), run_id(f"r{at}")) for name, at in expected.items()}
        assert edges == fields == dated


def test_now_is_the_end_of_history() -> None:
    assert parse_moment("9999-12-31") < NOW


def test_a_changed_formula_is_a_change(api: Api) -> None:
    for at, text in ((1, "sum(price)"), (2, "sum(price)"), (5, "avg(price)")):
        how = [{"type": "DIRECT", "subtype": "AGGREGATION", "description": text}]
        told = lineage(total=[comes_from("orders", "price", transformations=how)])
        made = dataset("stats", columnLineage=told)
        api.send(run_event("COMPLETE", at, run=f"run {at}", inputs=["orders"], outputs=[made]))
    (edge,) = api.get("/lineage/diff", **{"from": minute(1)})["columnEdges"]["changed"]
    assert [one["description"] for one in edge["before"]] == ["sum(price)"]
    assert [one["description"] for one in edge["after"]] == ["avg(price)"]
    assert (edge["at"], edge["runId"]) == (minute(5), run_id("run 5"))
    same = api.get("/lineage/diff", **{"from": minute(1), "to": minute(2)})["columnEdges"]
    assert same["changed"] == []
