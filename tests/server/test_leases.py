"""Runs that promise to be heard from again, and fall silent."""

import itertools
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headwater.openlineage.times import now
from headwater.server.settings import DEFAULT_ALIASES
from headwater.server.store.aliases import AliasRules
from headwater.server.store.database import open_database
from headwater.server.store.leases import Leases
from headwater.server.store.store import Store
from server.api import Api
from server.conftest import open_api
from server.events import Event, as_bytes, facet, run_event, run_id
from server.process import ServerProcess
from server.stores import KINDS, Stores


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
    leases = Leases(store, 1.0)
    try:
        told = [leased(seconds=0.001), now_event("COMPLETE")]
        store.ingest([store.read(as_bytes(event)) for event in told]).result()
        time.sleep(0.01)
        assert leases.expire() == 0
    finally:
        store.close()


def test_a_run_without_lease_or_within_it_is_left_alone(store_url: str) -> None:
    store = Store(store_url, AliasRules(DEFAULT_ALIASES))
    leases = Leases(store, 1.0)
    try:
        other = run_event("START", 1, run="other")
        store.ingest([store.read(as_bytes(e)) for e in (leased(seconds=3600), other)]).result()
        assert leases.expire() == 0
    finally:
        store.close()


def test_a_lapse_is_reported_once(store_url: str) -> None:
    store = Store(store_url, AliasRules(DEFAULT_ALIASES))
    leases = Leases(store, 1.0)
    try:
        store.ingest([store.read(as_bytes(leased(seconds=0.001)))]).result()
        time.sleep(0.01)
        assert (leases.expire(), leases.expire()) == (1, 0)
    finally:
        store.close()


def test_a_lease_outlives_the_server(store_url: str, tmp_path: Path) -> None:
    with ServerProcess(store_url, tmp_path / "server.log") as server:
        server.api.send(leased(seconds=2))
        server.end()
        server.start()
        eventually(is_in(server.api, "ABORTED"))


_SECOND = 1_000_000
_HOUR = 3600 * _SECOND


def _let_an_hour_pass(url: str) -> None:
    """Date what was received an hour back, as if the store had been left alone since."""
    database = open_database(url)
    with database.writing() as session:
        session.run("UPDATE run SET heard_at = heard_at - ?, deadline = deadline - ?",
                    _HOUR, _HOUR)  # fmt: skip
    database.close()


def test_a_server_that_was_away_gives_each_run_its_lease_again(store_url: str) -> None:
    """After its start, a stop of its process and an outage of its store; then it ends the run."""
    store = Store(store_url, AliasRules(DEFAULT_ALIASES))
    try:
        store.ingest([store.read(as_bytes(leased(seconds=5)))]).result()
        _let_an_hour_pass(store_url)
        leases, at = Leases(store, 1.0), int(now())
        assert leases.expire(at) == 0, "after its start"
        for second in range(1, 5):
            assert leases.expire(at + second * _SECOND) == 0
        at += _HOUR
        for second in range(6):
            assert leases.expire(at + second * _SECOND) == 0, "after a gap"
        store.writer.failed_at = at + 6 * _SECOND
        for second in range(6, 12):
            assert leases.expire(at + second * _SECOND) == 0, "after an outage"
        assert leases.expire(at + 12 * _SECOND) == 1
    finally:
        store.close()


def test_a_clock_that_is_set_ends_no_run(store_url: str) -> None:
    store = Store(store_url, AliasRules(DEFAULT_ALIASES))
    try:
        store.ingest([store.read(as_bytes(leased(seconds=5)))]).result()
        leases, at = Leases(store, 1.0), now()
        assert [leases.expire(at + hours * _HOUR) for hours in (1, 0, 9)] == [0, 0, 0]
    finally:
        store.close()


def test_a_server_that_stood_still_ends_no_live_run(store_url: str, tmp_path: Path) -> None:
    with ServerProcess(store_url, tmp_path / "log", lease_check="0.1") as server:
        assert server.process is not None
        server.api.send(leased(seconds=600))
        server.process.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        try:
            _let_an_hour_pass(store_url)
            eventually(lambda: time.monotonic() > stopped + 2)
        finally:
            server.process.send_signal(signal.SIGCONT)
        _ends_another(server.api)
        assert server.api.run("run")["state"] == "RUNNING"


def test_a_server_that_comes_back_ends_no_live_run(store_url: str, tmp_path: Path) -> None:
    with ServerProcess(store_url, tmp_path / "log", lease_check="0.1") as server:
        server.api.send(leased(seconds=600))
        server.end()
        _let_an_hour_pass(store_url)
        server.start()
        _ends_another(server.api)
        assert server.api.run("run")["state"] == "RUNNING"


def _ends_another(api: Api) -> None:
    """A run whose lease expires now is ended: leases have been checked."""
    other = leased(seconds=0.5)
    api.send(other | {"run": other["run"] | {"runId": run_id("other")}})
    eventually(lambda: bool(api.run("other")["state"] == "ABORTED"))


def test_a_lapsed_run_that_is_imported_stays_aborted(stores: Stores, store_url: str) -> None:
    with open_api(store_url, lease_check=0.05) as api:
        api.send(leased())
        eventually(is_in(api, "ABORTED"))
        before = api.run("run")
        exported = api.get("/events/lineage", kind="all")["events"]
    for kind, order in itertools.product(KINDS, (1, -1)):
        url = stores.new(kind)
        with open_api(url) as api:
            api.send(*exported[::order])
            assert api.run("run") == before
        stores.drop(url)
