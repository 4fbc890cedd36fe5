"""Answers about large events are sent in parts, in pages, or refused: none fills the memory."""

import gzip
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil
import pytest

from headwater.server.lineage.cache import BoundedCache
from headwater.server.store.database import open_database
from headwater.server.store.keys import create_key
from server.events import Event, as_bytes, dataset, facet, minute, run_event, run_id, schema
from server.process import ServerProcess
from server.stores import KINDS, Stores

_MEMORY = 600 * 2**20
_LARGEST = 40 * 2**20  # bytes of an answer
_COUNT, _SIZE, _PART = 24, 7_000_000, 1_700_000
_WIDE, _COLUMNS = 12, 20_000
_LONG, _VALUES = 8, 36_000
_AT_ONCE, _MANY = 8, 60
_LARGE_JOB, _OUT = "/namespaces/jobs/jobs/large", "/namespaces/db/datasets/out"
_RUN = f"/jobs/runs/{run_id('0')}"
# Where lists are found in answers, and how many things are in each.
LISTS = {
    "/runs?limit=10000": ("runs", _COUNT + _WIDE + 2),
    "/jobs?limit=10000": ("jobs", 3 + _WIDE),
    "/namespaces/jobs/jobs": ("jobs", 3 + _WIDE),
    f"{_LARGE_JOB}/runs": ("runs", _COUNT),
    f"{_LARGE_JOB}/versions": ("versions", _COUNT),
    "/namespaces/db/datasets": ("datasets", _COUNT + _WIDE + 3),
    f"{_OUT}/versions": ("versions", _COUNT),
    "/lineage?nodeId=job:jobs:large&depth=5": ("graph", 5),
    "/lineage?nodeId=job:jobs:large&mode=cumulative": ("graph", _COUNT + 4),
    f"{_OUT}/snapshots": ("snapshots", _COUNT),
    "/tables": ("tables", _COUNT + 1),
    f"/runs/{run_id('0')}/progress": ("points", 1),
}
# Wide schemas: an answer may be refused, with what to do.
WIDE = ("/namespaces/db/datasets", "/datasets", "/lineage?nodeId=dataset:db:wide&depth=5")
ONES = (
    _RUN, f"{_RUN}/facets?type=run", f"{_RUN}/facets?type=job", _LARGE_JOB, _OUT,
    f"/runs/{run_id('0')}/lineage", "/impact?nodeId=dataset:db:in&depth=10",
)  # fmt: skip
EVENTS = ("/events/lineage?kind=all", "/events/search?q=large&limit=200")
_LONG_RUN = f"/events/lineage?runId={run_id('long')}"


class _Keyed(NamedTuple):
    """A store with the key of an operator, and one that is limited to namespaces."""

    url: str
    operator: str
    team: str


@pytest.fixture(scope="module", params=KINDS)
def keyed(request: pytest.FixtureRequest, stores: Stores) -> _Keyed:
    """An empty store with keys."""
    url = stores.new(request.param)
    database = open_database(url)
    operator = create_key(database, "operator", ["read", "write"])
    team = create_key(database, "team", ["read"], ["jobs", "db"])
    database.close()
    return _Keyed(url, f"Bearer {operator}", f"Bearer {team}")


@pytest.fixture(scope="module")
def server(keyed: _Keyed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with events that took a few kilobytes each to send, and an operator's client."""
    log: Path = tmp_path_factory.mktemp("large") / "server.log"
    with ServerProcess(keyed.url, log) as found:
        found.api.client.headers["authorization"] = keyed.operator
        events = *map(large_event, range(_COUNT)), *map(wide_event, range(_WIDE))
        for event in (*events, *map(long_event, range(_LONG))):
            packed = gzip.compress(as_bytes(event), 6)
            assert len(packed) < 131_072
            assert found.api.post(packed, content_encoding="gzip").status_code == 201
        found.api.send(run_event("COMPLETE", 100, job="last", inputs=["out"]))
        yield found


def large_event(number: int) -> Event:
    """An event with a megabyte or two in every kind of facet."""
    blob = facet(text="x" * _PART, number=number)
    out = {**dataset("out", blob=blob), "outputFacets": {"blob": blob}}
    progress = facet(rows=number, snapshots=[f"{number}"])
    return run_event(
        "COMPLETE", number, job="large", run=f"{number}", inputs=["in"],
        outputs=[out, dataset(f"out_{number}")], job_facets={"blob": blob}, blob=blob,
        headwater_progress=progress,
    )  # fmt: skip


def wide_event(number: int) -> Event:
    """An event of a dataset with many columns, none of which another has."""
    columns = schema(*[f"column_{number}_{i}" for i in range(_COLUMNS)])
    wide = dataset(f"wide_{number}", schema=columns)
    return run_event("COMPLETE", 50 + number, job=f"wide_{number}", run=f"w{number}",
                     inputs=["wide"], outputs=[wide])  # fmt: skip


def long_event(number: int) -> Event:
    """An event of a run with many, of values that take many times as much when decoded."""
    values = facet(values=[[number, i % 100, "x" * 40] for i in range(_VALUES)])
    return run_event("RUNNING", 200 + number, job="long", run="long", values=values)


def received(server: ServerProcess, path: str, key: str | None = None) -> tuple[int, int]:
    """The status and the length of an answer, which is not kept."""
    headers = {"authorization": key or _operator(server)}
    url = f"{server.url}/api/v1{path}"
    with httpx.stream("GET", url, headers=headers, timeout=300) as answer:
        return answer.status_code, sum(map(len, answer.iter_raw()))


def _operator(server: ServerProcess) -> str:
    return server.api.client.headers["authorization"]


@contextmanager
def memory_within_limits(server: ServerProcess) -> Iterator[None]:
    """Watch a server, which must answer /health and hold less than its limit."""
    assert server.process is not None
    process, peak, ended = psutil.Process(server.process.pid), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        with httpx.Client(base_url=server.url, timeout=300) as client:
            while not ended.wait(0.02):
                peak = max(peak, process.memory_info().rss)
                assert client.get("/health").status_code == 200

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        try:
            yield
        finally:
            ended.set()
        watching.result()
    assert peak < _MEMORY, f"{peak / 2**20:.0f} MB"


@pytest.mark.parametrize("path", EVENTS)
def test_events_are_sent_in_parts(server: ServerProcess, path: str) -> None:
    with memory_within_limits(server), ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = [*pool.map(lambda _: received(server, path), range(_AT_ONCE))]
    assert {status for status, _ in answers} == {200}
    if path.startswith("/events/lineage"):
        assert all(size > _COUNT * _SIZE * 0.9 for _, size in answers)


def test_lists_hold_everything_but_facets_that_are_too_large(server: ServerProcess) -> None:
    with memory_within_limits(server):
        for path, (key, count) in LISTS.items():
            found = server.api.client.get(f"/api/v1{path}", timeout=300)
            assert found.status_code == 200, path
            assert len(found.json()[key]) == count, path
            assert len(found.content) < _LARGEST, path


def test_lists_read_at_once_fit_into_memory(server: ServerProcess) -> None:
    paths = [path for path in WIDE for _ in range(_AT_ONCE)] + [*LISTS, *ONES] * 3
    with memory_within_limits(server), ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = [*pool.map(lambda path: (path, *received(server, path)), paths)]
    refused = {(path, status) for path, status, _ in answers if status != 200}
    assert all(path in WIDE and status == 413 for path, status in refused), refused


def test_limited_keys_that_ask_at_once_fit_into_memory(
    server: ServerProcess, keyed: _Keyed
) -> None:
    """Large answers are held whole to be reduced, one at a time; others wait, or get 503."""
    asked = [_LONG_RUN, *EVENTS, *WIDE, *LISTS, *ONES, "/datasets?namespace=db"]
    paths = [path for path in asked if received(server, path, keyed.team)[0] != 403]
    assert {_LONG_RUN, *ONES, "/datasets?namespace=db"} <= {*paths}
    requests = [_LONG_RUN] * _MANY + [path for path in paths for _ in range(2)]
    with memory_within_limits(server), ThreadPoolExecutor(_MANY) as pool:
        answers = {*pool.map(lambda path: (path, received(server, path, keyed.team)[0]), requests)}
    statuses = {status for _, status in answers}
    assert 200 in statuses, answers
    assert statuses <= {200, 413, 503}, answers
    assert received(server, _LONG_RUN, keyed.team)[0] == 200


def test_diffs_asked_for_at_once_fit_into_memory(server: ServerProcess) -> None:
    """Large ones are made one at a time, and too large ones refused with what to do."""
    path = "/api/v1/lineage/diff"
    with memory_within_limits(server), ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda _: server.api.client.get(path, timeout=300), range(4))]
    assert {answer.status_code for answer in answers} <= {413, 503}
    assert any("a shorter time span" in answer.json()["hint"] for answer in answers)
    assert server.api.status("/lineage/diff", to=minute(51)) == 200


def test_what_is_left_out_is_named_and_found_among_the_events(server: ServerProcess) -> None:
    runs = server.api.get(f"{_LARGE_JOB}/runs")["runs"]
    assert "blob" in runs[0]["facets"]
    left_out = [run for run in runs if "headwater_omitted" in run["facets"]]
    assert left_out
    for run in left_out:
        assert run["facets"]["headwater_omitted"]["facets"] == ["blob"]
        assert run["facets"]["headwater_progress"]["rows"] >= 0
    events = server.api.get("/events/lineage", runId=left_out[-1]["id"])["events"]
    assert len(events[0]["run"]["facets"]["blob"]["text"]) == _PART


def test_clients_that_do_not_take_their_answers_fit_into_memory(server: ServerProcess) -> None:
    """What cannot be held for them is refused with 503."""
    with memory_within_limits(server), ExitStack() as stack:
        statuses = set()
        for path in [f"{_LARGE_JOB}/runs", "/events/lineage", f"{_OUT}/versions"] * 40:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            client.settimeout(300)
            headers = f"host: localhost\r\nauthorization: {_operator(server)}\r\n"
            client.sendall(f"GET /api/v1{path} HTTP/1.1\r\n{headers}\r\n".encode())
            statuses.add(client.recv(12))
        assert statuses <= {b"HTTP/1.1 200", b"HTTP/1.1 503"}
        assert received(server, "/namespaces")[0] == 200
    assert received(server, f"{_LARGE_JOB}/runs")[0] == 200


def test_every_page_of_a_search_is_found(server: ServerProcess) -> None:
    numbers: list[int] = []
    place: str | None = ""
    while place is not None:
        params = {"q": "large", "limit": 200} | ({"from": place} if place else {})
        found = server.api.get("/events/search", **params)
        numbers += [e["run"]["facets"]["blob"]["number"] for e in found["events"]]
        place = found["next"]
    assert numbers == [*range(_COUNT)][::-1]


def test_what_is_kept_at_hand_is_bounded_by_bytes() -> None:
    kept: BoundedCache[int, bytes] = BoundedCache(1000, lambda _, value: len(value), most=250)
    for number in range(100):
        kept.put(number, bytes(number))
        assert kept.size <= 1000
    found = [number for number in range(100) if kept.get(number) is not None]
    assert found == [*range(found[0], 100)]  # the oldest have made room
    assert kept.size == sum(found)
    kept.put(99, b"")
    assert kept.size == sum(found) - 99
    assert kept.put(5, bytes(600)) == bytes(600)
    assert kept.get(5) is None  # it is larger than what is kept
