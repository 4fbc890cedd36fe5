"""Few columns by few columns are many column edges: too many are refused, and none is looked up
on its own."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headwater.openlineage.times import FOREVER
from headwater.server.lineage.diff import diff_everywhere
from headwater.server.lineage.view import StoreView, StoreViews
from headwater.server.store.aliases import AliasRules
from headwater.server.store.database import Row, Session, open_database
from server.api import Api
from server.events import (
    Event,
    as_bytes,
    comes_from,
    dataset,
    facet,
    lineage,
    minute,
    run_event,
    schema,
)
from server.process import ServerProcess
from server.test_large_answers import memory_within_limits

_WIDE = 3000
_WAYS = (
    "/lineage/diff",
    "/lineage/diff?nodeId=dataset:db:out",
    "/column-lineage?nodeId=dataset:db:out",
    "/column-lineage?nodeId=job:jobs:product&detail=true",
    "/column-lineage?nodeId=datasetField:db:in:c1&withDownstream=true&depth=2",
    "/impact?nodeId=dataset:db:in&depth=2",
)


def _filter(field: str) -> dict[str, Any]:
    return comes_from("in", field, transformations=[{"type": "INDIRECT", "subtype": "FILTER"}])


def _product(width: int) -> Event:
    """Every column of a dataset decides over every column of another."""
    names = [f"c{i}" for i in range(width)]
    columns = facet(fields={}, dataset=[_filter(name) for name in names])
    out = dataset("out", schema=schema(*names), columnLineage=columns)
    return run_event(job="product", inputs=[dataset("in", schema=schema(*names))], outputs=[out])


def _send(api: Api, event: Event) -> None:
    packed = gzip.compress(as_bytes(event))
    assert api.post(packed, content_encoding="gzip").status_code == 201


def test_too_many_column_edges_are_refused(server: ServerProcess) -> None:
    _send(server.api, _product(_WIDE))
    with memory_within_limits(server):
        for path in _WAYS:
            answer = server.api.client.get(f"/api/v1{path}", timeout=60)
            assert answer.status_code in (200, 413), (path, answer.text)
        assert server.api.status("/lineage/diff", to=minute(-1)) == 200
    assert server.api.client.get(f"/api/v1{_WAYS[0]}").status_code == 413


def test_steps_of_one_column_edge_are_told_once_each(api: Api) -> None:
    """However often a facet repeats them: the work is linear in the facet."""
    given = [
        comes_from("in", "a", transformations=[{"type": "DIRECT", "description": f"{i % 20_000}"}])
        for i in range(40_000)
    ]
    _send(api, run_event(inputs=["in"], outputs=[dataset("out", columnLineage=lineage(b=given))]))
    node = api.columns("datasetField:db:out:b", detail="true")["datasetField:db:out:b"]
    assert len(node["data"]["inputFields"][0]["transformations"]) == 20_000
    [edge] = api.get("/lineage/diff")["columnEdges"]["added"]
    assert len(edge["transformations"]) == 20_000


class _Counted:
    """A session that counts the statements it runs."""

    def __init__(self, session: Session) -> None:
        self._session, self.dialect, self.count = session, session.dialect, 0

    def all(self, sql: str, *params: Any) -> list[Row]:
        self.count += 1
        return self._session.all(sql, *params)

    def many(self, sql: str, rows: Any) -> None:
        raise AssertionError("a diff only reads")

    def run(self, sql: str, *params: Any) -> None:
        raise AssertionError("a diff only reads")


@contextmanager
def _counted(url: str) -> Iterator[tuple[StoreView, _Counted]]:
    database = open_database(url)
    with StoreViews(database, AliasRules(())).open_view() as view:
        session = _Counted(view.session)
        counted = StoreView(session, view.rules, view.contents, view.at, view.budget)
        yield counted, session
    database.close()


def _moved(number: int, minutes: float, to: str) -> Event:
    """A job that takes columns from one table to another, and at a later time to a third."""
    table, columns = f"{to}_{number}", schema("a", "b")
    given = {name: [comes_from(f"in_{number}", name)] for name in ("a", "b")}
    return run_event(
        "COMPLETE", minutes + number / 1000, job=f"job_{number}", run=f"{to}_{number}",
        inputs=[dataset(f"in_{number}", schema=columns)],
        outputs=[dataset(table, schema=columns, columnLineage=lineage(**given))],
    )  # fmt: skip


def test_changes_are_looked_up_together(api: Api) -> None:
    statements = []
    for first, last in ((0, 20), (20, 420)):
        for number in range(first, last):
            api.send(_moved(number, 1, "first"), _moved(number, 10, "second"))
        with _counted(api.store_url) as (view, session):
            found = diff_everywhere(view.at_moment(-FOREVER), view)
            statements.append(session.count)
        assert len(found.column_edges.added) == 2 * last
        assert all(edge.run_id for edge in found.column_edges.added)
    few, many = statements
    assert many < few + 40, statements
