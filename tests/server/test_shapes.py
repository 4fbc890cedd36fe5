"""Every answer has the shape that the API's description declares for it.

`server.shapes` checks each answer that any test of the server gets; here every route is asked.
"""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any
from urllib.parse import quote

from server.api import Api
from server.events import (
    comes_from,
    dataset,
    dataset_event,
    facet,
    job_event,
    lineage,
    minute,
    parent,
    run_event,
    run_id,
    schema,
    symlinks,
)
from server.shapes import declared_paths
from server.test_contract import RECORDED

_KAFKA, _LAKE = "kafka://b:9092", "s3://lake"
# They are answered by Kafka and by Kafka Connect: tests/stack asks them.
_ELSEWHERE = "/api/v1/kafka/", "/api/v1/pipelines/"


def test_every_answer_has_its_declared_shape(api: Api) -> None:
    events = [json.loads(line) for line in (RECORDED / "events.jsonl").read_text().splitlines()]
    api.send(*events, *_stream(), *_batches())
    _declare(api)
    for line in (RECORDED / "calls.jsonl").read_text().splitlines():
        call = json.loads(line)
        if call["method"] == "GET":
            api.client.get(f"/api/v1{call['path']}")
    asked = {path for path in _questions(api) if api.client.get(path).status_code == 200}
    for path, pattern in declared_paths("GET"):
        if not path.startswith(_ELSEWHERE):
            assert any(pattern.fullmatch(one.partition("?")[0]) for one in asked), path


def _stream() -> Iterator[dict[str, Any]]:
    """A stream that reports offsets and snapshots, and a job that reads one of these."""
    orders, table = dataset("orders", _KAFKA), dataset("t", _LAKE)
    yield run_event("START", 0, run="sink", job="sink", inputs=[orders], outputs=[table])
    for batch in range(3):
        offsets = {"orders": {"0": [10 * batch, 10 * batch + 10]}}
        commit = {"batch": batch, "snapshot": f"{batch}", "sequence": batch, "offsets": offsets}
        source = {"startOffset": {"orders": {"0": 0}}, "endOffset": {"orders": {"0": 30}}, "lag": 2}
        told = facet(rows=10, inputRowsPerSecond=1.5, sources=[source], commits=[commit],
                     snapshots=[f"{batch}"])  # fmt: skip
        yield run_event("RUNNING", batch + 1, run="sink", job="sink", headwater_progress=told)
    read = {**table, "facets": {"version": facet(datasetVersion="1")}}
    yield run_event("COMPLETE", 5, run="daily", job="daily", inputs=[read], outputs=["totals"])


def _batches() -> Iterator[dict[str, Any]]:
    """Jobs with children, tries, checks, other names, and columns that no schema lists."""
    checks = facet(assertions=[{"assertion": "unique", "success": False, "column": "x"}])
    tested = dataset("a", schema=schema("x")) | {"inputFacets": {"dataQualityAssertions": checks}}
    step = facet(type="DIRECT", subtype="AGGREGATION", description="sum(x)", masking=True)
    summed = comes_from("a", "x", transformations=[step])
    named = symlinks(("catalog", "lab.b"))
    for number, columns in enumerate(({"y": [summed]}, {"z": [comes_from("a", "x")]})):
        made = dataset("b", schema=schema("y"), columnLineage=lineage(**columns), symlinks=named)
        at, run = 10 * number, f"task {number}"
        yield run_event("START", at, run=run, job="dag.task", parent=parent("dag run", "dag"))
        yield run_event("FAIL", at + 1, run=run, job="dag.task", inputs=[tested], outputs=[made],
                        errorMessage=facet(message="no", programmingLanguage="PYTHON"))  # fmt: skip
    yield run_event("START", 30, run="task 1", job="dag.task")
    yield dataset_event(31, dataset("declared", schema=schema("x", "y")))
    yield job_event(32, inputs=["a"], outputs=["c"], job="declared")


def _declare(api: Api) -> None:
    """What is declared by hand, changed and deleted: each answer is checked as well."""
    puts = {
        "/namespaces/team": {"ownerName": "me"},
        "/sources/warehouse": {"type": "POSTGRESQL", "connectionUrl": "jdbc:postgresql://h/w"},
        "/tags/private": {"description": "not for all"},
        "/namespaces/team/datasets/people": {"fields": [{"name": "age", "type": "INTEGER"}]},
        "/namespaces/team/jobs/count": {"inputs": [{"namespace": "team", "name": "people"}]},
    }
    for path, body in puts.items():
        assert api.client.put(f"/api/v1{path}", json=body).status_code == 200
    people, count = "/api/v1/namespaces/team/datasets/people", "/api/v1/namespaces/team/jobs/count"
    run = api.client.post(f"{count}/runs", json={"nominalStartTime": minute(0)}).json()["id"]
    tags = [f"{people}/tags/private", f"{people}/fields/age/tags/pii", f"{count}/tags/private"]
    for path in (*tags, *(f"/api/v1/jobs/runs/{run}/{mark}" for mark in ("start", "complete"))):
        assert api.client.post(path).status_code == 200
    for path in (*tags, people, count, "/api/v1/namespaces/team"):
        assert api.client.delete(path).status_code == 200
    answer = api.post(b"[{}]")
    assert answer.json()["stored"] == 0


def _questions(api: Api) -> Iterator[str]:
    """Every route, about everything that the store holds."""
    yield from ("/health", "/ready", "/metrics")
    yield from (f"/api/v1/{name}" for name in ("namespaces", "sources", "tags", "session", "audit"))
    yield from (f"/api/v1/{name}" for name in ("kafka", "pipelines", "tables", "jobs", "runs"))
    yield from ("/api/v1/datasets?q=a", "/api/v1/sources/warehouse", "/api/v1/lineage/changes")
    yield from ("/api/v1/lineage/diff", f"/api/v1/lineage/diff?from={minute(5)}&to={minute(20)}")
    yield from (f"/api/v1/events/lineage?kind={kind}" for kind in ("run", "job", "dataset", "all"))
    yield from ("/api/v1/events/search?q=dag", "/api/v1/events/search?q=nowhere")
    for asset, period in product(
        ("lineage-events", "jobs", "datasets", "sources"), ("DAY", "WEEK")
    ):
        yield f"/api/v1/stats/{asset}?period={period}&timezone=UTC"
    for text in ("a", "t", "dag", "orders", run_id("sink"), "totls"):
        for types in ("", "&types=job,dataset,column,run", "&filter=FIELD", "&filter=JOB"):
            yield f"/api/v1/search?q={text}{types}"
        yield f"/api/v1/resolve?name={text}"
    for brief, fold in product(("true", "false"), repeat=2):
        yield f"/api/v1/lineage/whole?limit=500&brief={brief}&aggregateByParentRun={fold}"
    yield f"/api/v1/why?nodeId=dataset:{_LAKE}:t&snapshot=2"
    offsets = "partition=0&firstOffset=0&lastOffset=25"
    yield f"/api/v1/reached?nodeId=dataset:{_KAFKA}:orders&{offsets}"
    for run in (one["run"]["id"] for one in api.get("/runs", limit=1000)["runs"]):
        yield f"/api/v1/runlineage/upstream?runId={run}"
        yield f"/api/v1/events/lineage?runId={run}"
        yield from (f"/api/v1/runs/{run}/{part}" for part in ("lineage", "progress"))
        for part in ("", "/facets?type=run", "/facets?type=job", "/tries"):
            yield f"/api/v1/jobs/runs/{run}{part}"
    for space in (one["name"] for one in api.get("/namespaces")["namespaces"]):
        yield from _questions_of_namespace(api, f"/namespaces/{quote(space, '')}")


def _questions_of_namespace(api: Api, space: str) -> Iterator[str]:
    yield from (f"/api/v1{space}{part}" for part in ("", "/datasets", "/jobs"))
    for found, kind in ((api.get(f"{space}/{kind}")[kind], kind) for kind in ("datasets", "jobs")):
        for one in found:
            path = f"{space}/{kind}/{quote(one['name'], '')}"
            parts = (
                ("snapshots", "snapshots/1/offsets") if kind == "datasets" else ("children", "runs")
            )
            yield from (f"/api/v1{path}{part}" for part in ("", "/versions"))
            yield from (f"/api/v1{path}/{part}" for part in parts)
            for version in api.get(f"{path}/versions")["versions"]:
                yield f"/api/v1{path}/versions/{version['version']}"
            yield from _questions_of_node(quote(f"{kind[:-1]}:{one['namespace']}:{one['name']}"))


def _questions_of_node(node: str) -> Iterator[str]:
    for detail, fold in product(("true", "false"), repeat=2):
        yield f"/api/v1/lineage?nodeId={node}&detail={detail}&aggregateByParentRun={fold}"
        yield f"/api/v1/column-lineage?nodeId={node}&detail={detail}&withDownstream={fold}"
    yield f"/api/v1/lineage?nodeId={node}&mode=cumulative"
    yield f"/api/v1/lineage?nodeId={node}&asOf={minute(12)}"
    yield from (f"/api/v1/{way}?nodeId={node}" for way in ("impact", "origin"))
    yield from (f"/api/v1/lineage/{way}?nodeId={node}" for way in ("changes", "diff"))
