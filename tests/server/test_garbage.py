"""A question leaves nothing behind for the garbage collector, which the server seldom runs.

Objects that refer to each other in a circle stay in memory until it runs: with large answers, many
clients at once would fill the memory.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from server.api import Api
from server.events import comes_from, dataset, lineage, run_event, run_id, schema

_MANY = 400  # datasets of a job, and columns of a dataset
_FEW = 100  # objects that a request and its client may leave, however large the answer is


def test_no_question_leaves_circles_of_objects(api: Api) -> None:
    names = [f"c{i}" for i in range(_MANY)]
    columns = lineage(**{name: [comes_from("deep", name)] for name in names})
    wide = dataset("wide", schema=schema(*names), columnLineage=columns)
    given = [comes_from("base", name) for name in names]
    each = {**lineage(**{name: [] for name in names}), "dataset": given}
    product = dataset("product", schema=schema(*names), columnLineage=each)
    many = [dataset(f"part_{i}") for i in range(_MANY)]
    api.send(
        run_event("COMPLETE", 0, run="first", job="first", outputs=["deep"]),
        run_event("COMPLETE", 1, run="many", job="many", inputs=["deep"], outputs=[*many, wide]),
        run_event("COMPLETE", 2, run="last", job="last", inputs=[*many], outputs=["end"]),
        run_event("COMPLETE", 3, run="each", job="each", inputs=["base"], outputs=[product]),
    )
    left = {path: _left(api, path, 200) for path in _questions()}
    left |= {path: _left(api, path, 413) for path in _refused()}
    assert {path: count for path, count in left.items() if count > _FEW} == {}


def _questions() -> Iterator[str]:
    of_all = ("column-lineage?withDownstream=true&", "impact?", "origin?")
    of_nodes = (
        "lineage?depth=20&", "lineage?asOf=2030-01-01T00:00:00Z&",
        "lineage/diff?from=2020-01-01T00:00:00Z&",
    )  # fmt: skip
    for node in ("dataset:db:deep", "dataset:db:wide", "job:jobs:many"):
        yield from (f"/{question}nodeId={node}" for question in (*of_all, *of_nodes))
    yield from (f"/{question}nodeId=datasetField:db:deep:c1" for question in of_all)
    yield from (
        "/lineage/whole", "/lineage/changes", "/search?q=part", "/search?q=part&types=dataset,job",
        "/resolve?name=part_1", "/jobs", "/namespaces/jobs/jobs/many", "/runs",
        "/namespaces/db/datasets?limit=400", "/namespaces/db/datasets/wide",
        "/namespaces/db/datasets/wide/versions", "/namespaces/jobs/jobs/many/runs",
        "/namespaces/jobs/jobs/many/versions", f"/jobs/runs/{run_id('many')}",
        f"/runs/{run_id('many')}/lineage", f"/runlineage/upstream?runId={run_id('last')}",
        "/events/lineage", "/sources", "/namespaces",
    )  # fmt: skip


def _refused() -> Iterator[str]:
    yield "/column-lineage?nodeId=dataset:db:product"
    yield "/impact?nodeId=dataset:db:base"
    yield "/origin?nodeId=dataset:db:product"


def _left(api: Api, path: str, expected: int) -> int:
    """How many objects a request leaves that only the collector finds."""
    address = f"/api/v1{path}"
    for _ in range(2):  # the first loads caches
        with _uncollected():
            status = api.client.get(address).status_code
            count = gc.collect()
    assert status == expected, path
    return count


@contextmanager
def _uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
