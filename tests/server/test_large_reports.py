"""Reports of progress that take far more memory or work than they seem to."""

import gzip
import tracemalloc
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from headwater.server.lineage import budget
from headwater.server.store.postgres import PostgresSession
from headwater.server.store.sqlite import SqliteSession
from server.api import Api
from server.conftest import OpenApi
from server.events import Event, as_bytes, dataset, facet, minute, run_event, run_id
from server.questions import operations
from server.stores import Stores

Report = Callable[[int], dict[str, Any]]

_KAFKA, _LAKE = "kafka://b:9092", "s3://lake"
_TOPIC, _TABLE = dataset("orders", _KAFKA), dataset("orders", _LAKE)
_EVENTS = 12
_VALUES = 16_000
_MEMORY = 16 * 2**20  # bytes that one answer may take: one report, and what is kept of all
_KEPT = 4 * 2**20
_VAST = 96 * 2**20  # the same of an event of 8 MB
_SNAPSHOTS = "/namespaces/s3%3A%2F%2Flake/datasets/orders/snapshots"
# The other questions send what events hold, and have limits of their own.
_ANSWERED = ("/reached", "/why", "/tables", "/progress", "}/lineage", "/snapshots", "/offsets")
_OFFSETS = {"orders": {"0": [0, 9]}}


def _empty_commits(_: int) -> dict[str, Any]:
    return {"commits": [{"offsets": _OFFSETS}] + [{}] * _VALUES}


def _partitions(number: int) -> dict[str, Any]:
    parts = {f"{number}.{part}": [0, 9] for part in range(_VALUES // 3)}
    return {"commits": [{"offsets": {"orders": {"0": [0, 9]} | parts}, "snapshot": f"{number}"}]}


def _positions(number: int) -> dict[str, Any]:
    ends = {f"{number}.{part}": 9 for part in range(_VALUES // 2)} | {"0": 9}
    return {"sources": [{"endOffset": {"orders": ends}}]}


def _nested(_: int) -> dict[str, Any]:
    return {"sources": [{"startOffset": [[]] * _VALUES, "endOffset": {"orders": {"0": 9}}}]}


def _snapshots(number: int) -> dict[str, Any]:
    names = [f"{number}.{i}".ljust(120, "s") for i in range(_VALUES // 6)]
    commits = [{"offsets": _OFFSETS, "snapshot": one} for one in names]
    return {"snapshots": names, "commits": commits}


def _recovered(number: int) -> dict[str, Any]:
    told = _snapshots(number % 2)
    return {**told, "commits": [{**one, "recovered": True} for one in told["commits"]]}


_REPORTS: tuple[Report, ...] = (
    _empty_commits, _partitions, _positions, _nested, _snapshots, _recovered,
)  # fmt: skip


def _event(report: Report, number: int, run: str) -> Event:
    told = {"watermark": minute(0), "snapshots": [f"{number}"], **report(number)}
    return run_event("RUNNING", 1, run=run, job="sink", inputs=[_TOPIC], outputs=[_TABLE],
                     headwater_progress=facet(rows=1, **told))  # fmt: skip


def _send(api: Api, event: bytes) -> None:
    answer = api.post(gzip.compress(event, 6), content_encoding="gzip")
    assert answer.status_code == 201, answer.text


def _questions(api: Api, run: str) -> list[str]:
    """Every question that reports answer, about a run, its topic, its table and a snapshot."""
    found = []
    for asked in operations(api):
        for namespace, name in ((_KAFKA, "orders"), (_LAKE, "orders"), ("jobs", "sink")):
            kind = "job" if namespace == "jobs" else "dataset"
            known = {
                "namespace": namespace, "name": name, "run_id": run_id(run), "runId": run_id(run),
                "nodeId": f"{kind}:{namespace}:{name}", "snapshot": "0", "type": "run",
                "partition": "0", "firstOffset": "0", "lastOffset": "5", "q": "orders",
                "watermark": minute(0),
            }  # fmt: skip
            if asked.method == "GET" and asked.path.endswith(_ANSWERED):
                path = asked.path.format(
                    **{n: urlencode({"": known.get(n, "x")})[1:] for n in asked.names("path")}
                )
                query = {n: known[n] for n in asked.names("query") if n in known}
                found.append(f"{path}?{urlencode(query)}")
    return sorted({*found})


def _peaks(api: Api, paths: list[str]) -> dict[str, int]:
    """How many bytes each answer took at once."""
    found = {}
    tracemalloc.start(1)
    try:
        for path in paths:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            status = api.client.get(path).status_code
            assert status < 500 or "pipelines" in path or "kafka" in path, (path, status)
            found[path] = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    return found


@pytest.mark.parametrize(
    ("report", "runs"),
    [*((report, 1) for report in _REPORTS), (_empty_commits, _EVENTS), (_snapshots, _EVENTS)],
)
def test_no_answer_holds_many_decoded_reports(
    open_api: OpenApi, stores: Stores, monkeypatch: pytest.MonkeyPatch, report: Report, runs: int
) -> None:
    monkeypatch.setattr(budget, "_KEPT", _KEPT)
    with open_api(stores.new("sqlite")) as api:
        for number in range(_EVENTS):
            _send(api, as_bytes(_event(report, number, f"run {number % runs}")))
        peaks = _peaks(api, _questions(api, "run 0"))
    assert max(peaks.values()) > 2**20
    assert not {path: peak for path, peak in peaks.items() if peak > _MEMORY}


def test_a_report_with_more_values_than_a_query_reports_is_kept_and_not_read(
    open_api: OpenApi, stores: Stores
) -> None:
    event = as_bytes(_event(lambda _: {"commits": ["HERE"]}, 0, "run"))
    vast = event.replace(b'"HERE"', b",".join([b"{       }"] * 800_000))
    with open_api(stores.new("sqlite")) as api:
        tracemalloc.start(1)
        try:
            _send(api, vast)
            assert tracemalloc.get_traced_memory()[1] < _VAST
        finally:
            tracemalloc.stop()
        assert max(_peaks(api, _questions(api, "run")).values()) < _VAST
        assert api.event_count() == 1
        assert api.run("run")["state"] == "RUNNING"
        assert api.get(f"/runs/{run_id('run')}/progress") == {"points": []}
        _send(api, as_bytes(_event(lambda _: {}, 1, "run")))
        assert [one["id"] for one in api.get(_SNAPSHOTS)["snapshots"]] == ["1"]
        assert [one["rows"] for one in api.get(f"/runs/{run_id('run')}/progress")["points"]] == [1]


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that questions ask."""
    found: list[str] = []
    for session in (SqliteSession, PostgresSession):
        ask = session.ask

        def counted(self: Any, sql: str, *params: Any, ask: Any = ask) -> Any:
            found.append(sql)
            return ask(self, sql, *params)

        monkeypatch.setattr(session, "ask", counted)
    return found


def test_repeated_snapshots_are_resolved_together(api: Api, statements: list[str]) -> None:
    """Each event is opened once, however many of its snapshots the next run repeats."""
    asked = []
    for count in (10, 400):
        names = [f"{count}.{i}" for i in range(count)]
        commits = [{"snapshot": one, "batch": i} for i, one in enumerate(names)]
        again = [{**one, "recovered": True} for one in commits]
        for at, told in enumerate((commits, again)):
            report = facet(rows=0, snapshots=names, commits=told)
            _send(api, as_bytes(run_event(
                "RUNNING", count + at, run=f"{count}.{at}", job="sink", outputs=[_TABLE],
                headwater_progress=report)))  # fmt: skip
        statements.clear()
        found = api.get(_SNAPSHOTS)["snapshots"]
        asked.append(len(statements))
        assert [one["id"] for one in found[:10]] == names[-10:][::-1]
        assert {one["runId"] for one in found[:10]} == {run_id(f"{count}.0")}
    assert asked[1] <= asked[0] + 5
