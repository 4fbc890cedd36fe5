"""Runs that promise to be heard from again, and fall silent."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headwater.server.settings import DEFAULT_ALIASES
from headwater.server.store.aliases import AliasRules
from headwater.server.store.store import Store
from server.api import Api
from server.conftest import open_api
from server.events import Event, as_bytes, facet, run_event
from server.process import ServerProcess


def now_event(kind: str, **facets: Any) -> Event:
    """An event of this moment, as a producer sends it."""
    event = run_event(kind, **facets)
    event["eventTime"] = datetime.now(UTC).isoformat()
    return event


def leased(kind: str = "START", seconds: float = 1) -> Event:
    return now_event(kind, headwater_lease=facet(seconds=seconds))


def eventually(is_so: Callable[[], bool], patience: float = 60) -> None:
    until = time.monotonic() + patience
    while not is_so():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.05)


def is_in(api: Api, state: str) -> Callable[[], bool]:
    return lambda: bool(api.run("run")["state"] == state)


def test_a_run_that_falls_silent_is_aborted_with_the_reason(store_url: str) -> None:
    with open_api(store_url, lease_check=0.05) as api:
        api.send(leased())
        eventually(is_in(api, "ABORTED"))
        run = api.run("run")
        assert "1 s" in run["facets"]["headwater_lapse"]["reason"]
        assert run["endedAt"] is not None
        told = api.get("/events/lineage")["events"][0]
        assert (told["eventType"], told["run"]["runId"]) == ("ABORT", run["id"])


def test_a_run_that_speaks_again_is_running_again(store_url: str) -> None:
    with open_api(store_url, lease_check=0.05) as api:
        api.send(leased())
        eventually(is_in(api, "ABORTED"))
        api.send(leased("RUNNING", seconds=3600))
        assert api.run("run")["state"] == "RUNNING"
        assert api.run("run")["endedAt"] is None


def test_a_real_ending_wins_over_a_lapsed_lease(store_url: str) -> None:
    with open_api(store_url, lease_check=0.05) as api:
        api.send(leased())
        eventually(is_in(api, "ABORTED"))
        api.send(now_event("COMPLETE"))
        assert api.run("run")["state"] == "COMPLETED"


def test_a_run_that_ended_is_left_alone(store_url: str) -> None:
    store = Store(store_url, AliasRules(DEFAULT_ALIASES))
    try:
        told = [leased(seconds=0.001), now_event("COMPLETE")]
        store.ingest([store.read(as_bytes(event)) for event in told]).result()
        time.sleep(0.01)
        assert store.expire_leases() == 0
    finally:
        store.close()


def test_a_run_without_lease_or_within_it_is_left_alone(store_url: str) -> None:
    store = Store(store_url, AliasRules(DEFAULT_ALIASES))
    try:
        other = run_event("START", 1, run="other")
        store.ingest([store.read(as_bytes(e)) for e in (leased(seconds=3600), other)]).result()
        assert store.expire_leases() == 0
    finally:
        store.close()


def test_a_lapse_is_reported_once(store_url: str) -> None:
    store = Store(store_url, AliasRules(DEFAULT_ALIASES))
    try:
        store.ingest([store.read(as_bytes(leased(seconds=0.001)))]).result()
        time.sleep(0.01)
        assert (store.expire_leases(), store.expire_leases()) == (1, 0)
    finally:
        store.close()


def test_a_lease_outlives_the_server(store_url: str, tmp_path: Path) -> None:
    with ServerProcess(store_url, tmp_path / "server.log") as server:
        server.api.send(leased(seconds=2))
        server.end()
        server.start()
        eventually(is_in(server.api, "ABORTED"))
