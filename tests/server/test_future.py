"""Events dated in the future are stored, and change the graph only when their time comes."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from litestar.testing import TestClient

from headwater.server.http.app import assemble
from headwater.server.settings import DEFAULT_ALIASES, Settings
from headwater.server.store.aliases import AliasRules
from headwater.server.store.store import Store
from server.api import Api
from server.conftest import open_api
from server.events import Event, as_bytes, dataset, dataset_event, facet, run_event, schema
from server.histories import Arrival, history_and_arrivals
from server.snapshot import differences, snapshot
from server.stores import Stores
from server.test_leases import eventually

_CENTURIES = 10_000 * 365 * 86_400.0  # a tolerance for which nothing is in the future


def _in(seconds: float, event: Event) -> Event:
    return event | {"eventTime": (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()}


def test_an_event_dated_9999_decides_nothing(store_url: str) -> None:
    with open_api(store_url) as api:
        far = "9999-12-30T00:00:00Z"
        api.send(run_event("START", 1, outputs=[dataset("t", schema=schema("a"))]))
        before = api.dataset("t"), api.job("job"), api.run("run")
        for event in (
            run_event("COMPLETE", 2, inputs=["x"], outputs=[dataset("t", schema=schema("z"))]),
            dataset_event(
                2, dataset("t", schema=schema("z"), documentation=facet(description="z"))
            ),
            run_event("START", 2, run="other", job="other"),
        ):
            assert api.post(as_bytes(event | {"eventTime": far})).status_code == 201
        assert (api.dataset("t"), api.job("job"), api.run("run")) == before
        assert api.status("/namespaces/jobs/jobs/other") == 404
        assert api.event_count() == 4
        assert api.raw_events(kind="run").count(far.encode()) == 2
        api.send(run_event("COMPLETE", 5, outputs=[dataset("t", schema=schema("b"))]))
        assert [field["name"] for field in api.dataset("t")["fields"]] == ["b"]
        assert api.run("run")["state"] == "COMPLETED"


def test_an_event_within_the_tolerance_counts_at_once(store_url: str) -> None:
    with open_api(store_url) as api:
        api.send(_in(1800, run_event("START")))
        assert api.run("run")["state"] == "RUNNING"


def test_an_event_counts_when_its_time_comes(store_url: str) -> None:
    with open_api(store_url, clock_tolerance=0.0, lease_check=0.05) as api:
        api.send(_in(2, run_event("START")))
        eventually(lambda: api.status("/namespaces/jobs/jobs/job") == 200)
        assert api.run("run")["state"] == "RUNNING"
        assert len(api.get("/events/lineage", kind="run")["events"]) == 1


@pytest.mark.parametrize("covered", [("lab",), None])
def test_a_deferred_event_may_do_what_its_key_may(
    store_url: str, covered: tuple[str, ...] | None
) -> None:
    app, service = assemble(Settings(store=store_url, clock_tolerance=0.0, lease_check=3600.0))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        api, store = Api(client, store_url), service.store
        api.send(run_event("COMPLETE", 0, outputs=["gone"]))
        assert client.delete("/api/v1/namespaces/db/datasets/gone").status_code == 200
        later = _in(1, run_event("FAIL", run="taken", job="x", outputs=["gone"]))
        later["job"]["namespace"] = "lab"
        event = store.read(as_bytes(later))
        limited = msgspec.structs.replace(event, restores=covered, runs_of=covered)
        store.ingest([limited]).result()
        api.send(run_event("START", 1, run="taken", job="job"))
        eventually(lambda: _is_applied(store))
        assert api.run("taken")["state"] == ("RUNNING" if covered else "FAILED")
        assert api.status("/namespaces/db/datasets/gone") == (404 if covered else 200)


def _is_applied(store: Store) -> bool:
    store.apply_deferred()
    with store.database.reading() as session:
        return not session.all("SELECT 1 FROM deferred")


def test_a_run_planned_for_later_exists_at_once(store_url: str) -> None:
    with open_api(store_url) as api:
        api.send(run_event("COMPLETE", 1))
        body = b'{"nominalStartTime": "2999-01-01T00:00:00Z"}'
        made = api.post(body, "/api/v1/namespaces/jobs/jobs/job/runs")
        assert made.status_code == 201, made.text
        assert made.json()["nominalStartTime"] == "2999-01-01T00:00:00Z"


@settings(
    max_examples=25, deadline=None, derandomize=True, database=None,
    suppress_health_check=[*HealthCheck], phases=[Phase.generate, Phase.shrink],
)  # fmt: skip
@given(told=history_and_arrivals(), which=st.integers(0, 255))
def test_the_order_of_arrival_does_not_matter_before_or_after(
    stores: Stores, told: tuple[list[Event], Arrival], which: int
) -> None:
    """Before its time an event is as if it were not there; afterwards, as if it came then."""
    later = [as_bytes(event) for n, event in enumerate(told[0]) if which >> n & 1]
    arriving = [
        _dated_later(event) if as_bytes(event) in later else event
        for batch in told[1].batches
        for event in batch
    ]
    events = [_dated_later(e) if as_bytes(e) in later else e for e in told[0]]
    present = [event for event in events if not event["eventTime"].startswith("2999")]
    url = stores.new("sqlite")
    try:
        store = _open(url, 3600)
        _ingest(store, arriving)
        _same(_without_events(_state(stores, present)), _without_events(snapshot(store)))
        store.close()
        store = _open(url, _CENTURIES)
        while store.apply_deferred():
            pass
        _same(_state(stores, events), snapshot(store))
        store.close()
    finally:
        stores.drop(url)


def _dated_later(event: Event) -> Event:
    return event | {"eventTime": event["eventTime"].replace("2026-", "2999-")}


def _open(url: str, tolerance: float) -> Store:
    return Store(url, AliasRules(DEFAULT_ALIASES), tolerance=tolerance)


def _ingest(store: Store, events: list[Event]) -> None:
    for event in events:
        store.ingest([store.read(as_bytes(event))]).result()


def _state(stores: Stores, events: list[Event]) -> dict[str, Any]:
    url = stores.new("sqlite")
    store = _open(url, _CENTURIES)
    try:
        _ingest(store, sorted(events, key=lambda event: str(event["eventTime"])))
        return snapshot(store)
    finally:
        store.close()
        stores.drop(url)


def _without_events(told: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in told.items() if key != "events"}


def _same(expected: dict[str, Any], found: dict[str, Any]) -> None:
    lines = differences(expected, found)
    if lines:
        pytest.fail("\n".join(lines[:12]))
