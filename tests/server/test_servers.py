"""Two servers on one PostgreSQL: a client of either sees all, and one may be killed."""

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx
import psycopg
import pytest

from server.events import as_bytes, facet, run_event, run_id
from server.process import ServerProcess
from server.stores import Stores
from server.streams import Told, Watcher

_EVENTS = 400


@pytest.fixture
def pair(stores: Stores, tmp_path: Path) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    url = stores.new("postgresql")
    with (
        ServerProcess(url, tmp_path / "a.log") as one,
        ServerProcess(url, tmp_path / "b.log") as two,
    ):
        yield one, two
    stores.drop(url)


class _Follower:
    """A client that goes to the other server when its own is gone, with the last number."""

    def __init__(self, urls: list[str]) -> None:
        self.urls, self.told, self._is_done = urls, list[Told](), False
        self._watcher: Watcher | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        last, turn = 0, 0
        while not self._is_done:
            url = self.urls[turn % len(self.urls)]
            turn += 1
            with Watcher(url, after=last, types="run") as watcher:
                self._watcher = watcher
                while not watcher.ended.wait(0.05) and not self._is_done:
                    pass
            self._watcher = None
            self.told += watcher.told
            last = max([last, *(t.id or 0 for t in watcher.told)])

    def wait_for(self, count: int) -> None:
        """Wait until so many events came, from one server or the other."""
        until = time.monotonic() + 120
        while len(self.told) + len(self._watcher.told if self._watcher else ()) < count:
            assert time.monotonic() < until, "not all came"
            time.sleep(0.1)

    def stop(self) -> list[Told]:
        self._is_done = True
        self._thread.join(120)
        return self.told


def test_one_server_is_killed_under_load_and_nothing_is_lost_or_doubled(
    pair: tuple[ServerProcess, ServerProcess],
) -> None:
    first, second = pair
    followers = [_Follower([first.url, second.url]), _Follower([second.url, first.url])]
    assert first.process is not None
    killing = threading.Timer(1.0, first.process.kill)
    killing.start()
    resent = 0
    for number in range(_EVENTS):
        body = as_bytes(run_event("START", 0, run=f"r{number}"))
        for url in (first.url, second.url) if number % 2 else (second.url, first.url):
            try:
                headers = {"content-type": "application/json"}
                sent = httpx.post(f"{url}/api/v1/lineage", content=body, headers=headers)
                if sent.status_code == 201:
                    break
            except httpx.TransportError:
                resent += 1  # it may have been stored: sent again, to the other
    killing.join()
    assert first.process.wait(120) == -signal.SIGKILL
    assert resent > 0
    assert second.api.event_count() == _EVENTS
    expected = {run_id(f"r{number}") for number in range(_EVENTS)}
    with Watcher(second.url, after=0, types="run") as watcher:
        everything = watcher.wait_for(_EVENTS)
    assert Counter(t.data["runId"] for t in everything) == Counter(expected)
    for follower in followers:
        follower.wait_for(_EVENTS)
        told = follower.stop()
        assert Counter(t.data["runId"] for t in told) == Counter(expected)
        assert [t.id for t in told] == sorted(t.id or 0 for t in told)


def test_news_of_one_server_reach_the_clients_of_the_other(
    pair: tuple[ServerProcess, ServerProcess],
) -> None:
    first, second = pair
    with Watcher(first.url, types="run") as one, Watcher(second.url, types="run") as two:
        for number, server in enumerate([first, second] * 5):
            server.api.send(run_event("START", number, run=f"r{number}"))
        told = [watcher.wait_for(10) for watcher in (one, two)]
    assert told[0] == told[1]
    assert [t.data["runId"] for t in told[0]] == [run_id(f"r{n}") for n in range(10)]


def test_a_lease_that_runs_out_ends_the_run_once(
    pair: tuple[ServerProcess, ServerProcess],
) -> None:
    first, second = pair
    with Watcher(second.url, types="run") as watcher:
        for number in range(20):
            server = (first, second)[number % 2]
            lease = facet(seconds=1)
            server.api.send(run_event("START", 0, run=f"r{number}", headwater_lease=lease))
        watcher.wait_for(40)
        # Later leases that have ended: the servers have looked at all the earlier ones again.
        for number in (20, 21):
            server = (first, second)[number % 2]
            lease = facet(seconds=1)
            server.api.send(run_event("START", 0, run=f"r{number}", headwater_lease=lease))
            told = watcher.wait_for(2 * number + 2)
        aborted = [t.data["runId"] for t in told if t.data["state"] == "ABORTED"]
    assert Counter(aborted) == Counter(run_id(f"r{n}") for n in range(22))
    assert first.api.event_count() == 44


def test_a_server_stopped_in_a_transaction_stops_no_other(
    pair: tuple[ServerProcess, ServerProcess],
) -> None:
    """It holds the write lock; the other goes on, and so does it when it may."""
    first, second = pair
    assert first.process is not None
    sent: list[int] = []
    is_done = threading.Event()
    load = threading.Thread(target=_send_until, args=(is_done, first.url, sent), daemon=True)
    load.start()
    try:
        _stop_in_transaction(first)
        bodies = [as_bytes(run_event("START", 0, run=f"other{number}")) for number in range(5)]
        for body in bodies:
            _wait_until(partial(_is_stored, second, body))
        assert second.api.client.get("/ready").status_code == 200
    finally:
        first.process.send_signal(signal.SIGCONT)
    is_done.set()
    load.join(120)
    assert not load.is_alive()
    first.api.send(run_event("START", 0, run="after"))
    assert first.api.event_count() == len(sent) + len(bodies) + 1


def _send_until(is_done: threading.Event, url: str, sent: list[int]) -> None:
    """Send events one after another; what is not stored is sent again."""
    while not is_done.is_set():
        body = as_bytes(run_event("START", 0, run=f"first{len(sent)}"))
        while _post(url, body) != 201:
            time.sleep(0.2)
        sent.append(len(sent))


def _is_stored(server: ServerProcess, body: bytes) -> bool:
    return server.api.post(body).status_code == 201


def _post(url: str, body: bytes) -> int:
    headers = {"content-type": "application/json"}
    try:
        found = httpx.post(f"{url}/api/v1/lineage", content=body, headers=headers, timeout=120)
    except httpx.TransportError:
        return 0
    return found.status_code


def _stop_in_transaction(server: ServerProcess) -> None:
    """Stop a server that writes at a moment when it holds the write lock."""
    assert server.process is not None
    holding = (
        "SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
        "WHERE a.datname = current_database() AND a.state = 'idle in transaction' "
        "AND l.relation = 'clock'::regclass AND l.mode = 'RowExclusiveLock'"
    )
    with psycopg.connect(server.store_url, autocommit=True) as connection:
        for _ in range(2000):
            server.process.send_signal(signal.SIGSTOP)
            if connection.execute(holding).fetchone():
                return
            server.process.send_signal(signal.SIGCONT)
            time.sleep(0.003)  # at another moment next time
    pytest.fail("it was never stopped in a transaction")


def _wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.2)
