"""An output depends on the inputs that its lineage names, and the two graphs never disagree."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from headwater.openlineage.graph import Way
from headwater.openlineage.names import NodeId
from headwater.server.lineage.columns import ColumnWalk
from headwater.server.lineage.dependencies import declared_beside
from headwater.server.lineage.impact import reached
from headwater.server.lineage.mappings import mappings_into
from headwater.server.lineage.view import StoreView, StoreViews
from headwater.server.lineage.walk import Walk
from headwater.server.settings import DEFAULT_ALIASES
from headwater.server.store.aliases import AliasRules
from headwater.server.store.store import Store
from server.api import Api
from server.events import (
    Event,
    as_bytes,
    comes_from,
    dataset,
    dataset_event,
    facet,
    job_event,
    lineage,
    minute,
    run_event,
    symlinks,
)
from server.histories import histories
from server.stores import Stores


def _reached(api: Api, path: str, node: str, **params: Any) -> set[str]:
    return {item["nodeId"] for item in api.get(path, nodeId=node, **params)["items"]}


def _explicit(*inputs: str, **fields: list[dict[str, Any]]) -> dict[str, Any]:
    """A `lineage` facet of OpenLineage's spec of 2026."""
    told = {name: {"inputs": [{**one, "type": "DATASET"} for one in given]}
            for name, given in fields.items()}  # fmt: skip
    given = [{"namespace": "db", "name": name, "type": "DATASET"} for name in inputs]
    return facet(inputs=given, fields=told)


def _split(**facets: dict[str, Any]) -> Event:
    """A run that reads a and b, and writes c and d, each with one facet."""
    outputs = [
        dataset(name, **{kind: told[name] for kind, told in facets.items()}) for name in "cd"
    ]
    return run_event("COMPLETE", 1, job="split", inputs=["a", "b"], outputs=outputs)


@pytest.mark.parametrize(
    "facets",
    [
        {"columnLineage": {"c": lineage(x=[comes_from("a", "x")]),
                           "d": lineage(x=[comes_from("b", "x")])}},
        {"lineage": {"c": _explicit("a"), "d": _explicit("b")}},
        {"lineage": {"c": _explicit(x=[comes_from("a", "x")]),
                     "d": _explicit(x=[comes_from("b", "x")])}},
    ],
    ids=["columnLineage", "lineage", "lineage of fields"],
)  # fmt: skip
def test_impact_follows_only_the_inputs_that_an_output_names(
    api: Api, facets: dict[str, dict[str, Any]]
) -> None:
    api.send(_split(**facets), run_event("COMPLETE", 2, run="next", job="next", inputs=["d"],
                                         outputs=["e"]))  # fmt: skip
    assert _reached(api, "/impact", "dataset:db:a") == {"job:jobs:split", "dataset:db:c"}
    assert _reached(api, "/impact", "dataset:db:b") == {
        "job:jobs:split", "dataset:db:d", "job:jobs:next", "dataset:db:e",
    }  # fmt: skip
    assert _reached(api, "/origin", "dataset:db:c") == {"job:jobs:split", "dataset:db:a"}
    assert _reached(api, "/impact", "dataset:db:a", asOf=minute(1)) == {
        "job:jobs:split", "dataset:db:c",
    }  # fmt: skip
    # The graph of jobs keeps every edge of the job.
    job = api.lineage("job:jobs:split")["job:jobs:split"]
    assert len(job["inEdges"]) == len(job["outEdges"]) == 2


def test_an_output_that_names_nothing_depends_on_all_inputs(api: Api) -> None:
    told = dataset("c", columnLineage=lineage(x=[comes_from("a", "x")]))
    api.send(run_event("COMPLETE", 1, job="split", inputs=["a", "b"], outputs=[told, "d"]))
    assert _reached(api, "/impact", "dataset:db:b") == {"job:jobs:split", "dataset:db:d"}
    assert _reached(api, "/origin", "dataset:db:d") == {
        "job:jobs:split", "dataset:db:a", "dataset:db:b",
    }  # fmt: skip


def test_an_output_that_explicitly_has_no_inputs_depends_on_none(api: Api) -> None:
    outputs = [dataset("c", lineage=_explicit()), "d"]
    api.send(run_event("COMPLETE", 1, job="split", inputs=["a"], outputs=outputs))
    assert _reached(api, "/impact", "dataset:db:a") == {"job:jobs:split", "dataset:db:d"}


def test_a_job_that_is_passed_from_two_inputs_leads_to_what_each_feeds(api: Api) -> None:
    """a → split → c → back → b → split → d: the job is met twice."""
    columns = {"c": lineage(x=[comes_from("a", "x")]), "d": lineage(x=[comes_from("b", "x")])}
    back = run_event("COMPLETE", 2, run="back", job="back", inputs=["c"], outputs=["b"])
    api.send(_split(columnLineage=columns), back)
    found = {item["nodeId"]: item["distance"]
             for item in api.get("/impact", nodeId="dataset:db:a")["items"]}  # fmt: skip
    assert found == {
        "job:jobs:split": 1, "dataset:db:c": 1, "job:jobs:back": 2, "dataset:db:b": 2,
        "dataset:db:d": 3,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["run", "job"])
def test_a_table_that_only_column_lineage_names_is_an_input(api: Api, kind: str) -> None:
    outputs = [dataset("c", columnLineage=lineage(x=[comes_from("hidden", "x")]))]
    if kind == "run":
        api.send(run_event("COMPLETE", 1, job="load", inputs=["a"], outputs=outputs))
    else:
        api.send(job_event(1, job="load", inputs=["a"], outputs=outputs))
    graph = api.lineage("dataset:db:c")
    assert {edge["origin"] for edge in graph["job:jobs:load"]["inEdges"]} == {
        "dataset:db:a", "dataset:db:hidden",
    }  # fmt: skip
    assert "dataset:db:c" in _reached(api, "/impact", "dataset:db:hidden")
    assert "datasetField:db:hidden:x" in api.columns("datasetField:db:c:x")


def test_column_lineage_ends_when_the_job_reads_other_tables(api: Api) -> None:
    told = dataset("c", columnLineage=lineage(x=[comes_from("a", "x")]))
    api.send(run_event("COMPLETE", 1, run="one", job="load", inputs=["a"], outputs=[told]))
    api.send(run_event("COMPLETE", 2, run="two", job="load", inputs=["b"], outputs=["c"]))
    assert api.columns("dataset:db:c") == {}
    assert "datasetField:db:a:x" in api.columns("dataset:db:c", asOf=minute(1))
    assert _reached(api, "/origin", "dataset:db:c") == {"job:jobs:load", "dataset:db:b"}


def test_an_output_that_is_read_by_another_name_depends_on_what_its_lineage_names(api: Api) -> None:
    """The job reads its own output as `old` and names it `c` in column lineage."""
    told = dataset("c", columnLineage=lineage(x=[comes_from("c", "x")]))
    api.send(dataset_event(1, dataset("c", symlinks=symlinks(("db", "old")))))
    api.send(run_event("COMPLETE", 2, job="load", inputs=["old", "b"], outputs=[told]))
    assert _reached(api, "/impact", "dataset:db:b") == {"job:jobs:load"}


def test_lineage_of_a_dataset_event_is_followed_without_a_job(api: Api) -> None:
    told = dataset("c", columnLineage=lineage(x=[comes_from("a", "x")]))
    api.send(dataset_event(1, told))
    assert _reached(api, "/impact", "dataset:db:a") == {"dataset:db:c"}
    assert _reached(api, "/origin", "dataset:db:c") == {"dataset:db:a"}


_settings = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@_settings
@given(events=histories)
def test_the_graphs_of_columns_and_of_datasets_agree(stores: Stores, events: list[Event]) -> None:
    _check(stores, "sqlite", events)


@settings(_settings, max_examples=10)
@given(events=histories)
def test_they_agree_on_postgresql(stores: Stores, events: list[Event]) -> None:
    _check(stores, "postgresql", events)


def _check(stores: Stores, kind: str, events: list[Event]) -> None:
    url = stores.new(kind)
    store = Store(url, AliasRules(DEFAULT_ALIASES))
    try:
        for event in events:
            store.ingest([store.read(as_bytes(event))]).result()
        with StoreViews(store.database, store.rules).open_view() as view:
            _check_view(view)
    finally:
        store.close()
        stores.drop(url)


def _check_view(view: StoreView) -> None:
    roots = [row[0] for row in view.session.all("SELECT id FROM dataset WHERE id = root")]
    columns, walk = ColumnWalk(view), Walk(view)
    columns.upstream([c for root in roots for c in columns.outputs_of(root)], 1)
    walk.take({row[0] for row in view.session.all("SELECT id FROM job WHERE NOT hidden")})
    fed: dict[int, set[int]] = {}  # output → inputs of its columns
    for (to, origin), steps in columns.steps.items():
        for step in steps:
            if to[0] == origin[0]:
                continue
            fed.setdefault(to[0], set()).add(origin[0])
            if step.job:
                assert origin[0] in walk.inputs[step.job], (to, origin)
                assert to[0] in walk.outputs[step.job], (to, origin)
            else:
                assert to[0] in declared_beside(view, {origin[0]}, Way.DOWNSTREAM), (to, origin)
    names, named = view.names.of(roots), _named(view, roots)
    ids = {str(name): root for root, name in names.items()}
    jobs = {f"job:jobs:{row[1]}": row[0] for row in view.session.all("SELECT id, name FROM job")}
    for root in roots:
        node = NodeId.parse(str(names[root]))
        assert node is not None
        items = reached(view, node, Way.DOWNSTREAM, 1) or []
        found = {ids[item.node_id]: item.via for item in items if item.type == "DATASET"}
        for output, inputs in fed.items():
            assert root not in inputs or output in found or output == root
        for output, via in found.items():
            for job in (jobs[job] for job in via):
                read = walk.inputs[job]
                assert root in (named.get((job, output), set()) & read or read), (root, output)


def _named(view: StoreView, roots: list[int]) -> dict[tuple[int, int], set[int]]:
    """The datasets that the lineage of each job's outputs names, in whatever words."""
    rows = mappings_into(view, roots)
    mappings = view.mappings({row[1] for row in rows})
    members = view.names.roots({d for mapping in mappings.values() for d in mapping.inputs})
    found: dict[tuple[int, int], set[int]] = {}
    for output, mapping, job in rows:
        inputs = {members[dataset] for dataset in mappings[mapping].inputs}
        found.setdefault((job, output), set()).update(inputs)
    return found
