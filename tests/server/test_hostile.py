"""Small requests that ask for far more than they seem to are answered or refused, within limits.

How long /health takes meanwhile is measured by `make hostile`; here only what does not depend on
the machine's pace is asserted: the statuses, the limits, and the memory that the server holds.
"""

import gzip
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

from headwater.errors import BodyRejected, EventRejected, EventTooLarge
from headwater.openlineage.sizes import check_size
from headwater.server.ingest.bodies import inflate, split_array, split_lines
from headwater.server.store.database import open_database
from headwater.server.store.keys import create_key
from server.events import as_bytes, dataset, run_event, schema
from server.hostile import Hostile, bodies, questions, varied
from server.process import ServerProcess
from server.stores import KINDS, Stores

_MEMORY = 600 * 2**20
_AT_ONCE = 24


@pytest.fixture(scope="module", params=KINDS)
def server(
    request: pytest.FixtureRequest, stores: Stores, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """One server that gets all of these."""
    log: Path = tmp_path_factory.mktemp("hostile") / "server.log"
    with ServerProcess(stores.new(request.param), log) as found:
        yield found


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client with as many connections as wanted."""
    with httpx.Client(timeout=300, verify=False) as found:
        yield found


@pytest.fixture(scope="module")
def hostile() -> list[Hostile]:
    """The bodies, made once."""
    return [*bodies()]


def send(client: httpx.Client, server: ServerProcess, request: Hostile) -> int:
    """The status of the answer, all of which is read."""
    answer = client.request(
        request.method, server.url + request.path, content=request.body or None,
        headers=request.headers,
    )  # fmt: skip
    return answer.status_code


def memory(server: ServerProcess) -> int:
    """Bytes that the server holds."""
    assert server.process is not None
    held: int = psutil.Process(server.process.pid).memory_info().rss
    return held


def test_each_is_answered_or_refused(
    server: ServerProcess, client: httpx.Client, hostile: list[Hostile]
) -> None:
    # What is refused before it reaches the store is the same on both.
    kept = hostile if "sqlite" in server.store_url else [h for h in hostile if 201 in h.allowed]
    for request in (*kept, *questions()):
        assert send(client, server, request) in request.allowed, request.name
        assert memory(server) < _MEMORY, request.name
    assert client.get(f"{server.url}/health").status_code == 200


@pytest.mark.parametrize("server", ["sqlite"], indirect=True)
def test_many_at_once_are_answered_or_refused(
    server: ServerProcess, client: httpx.Client, hostile: list[Hostile]
) -> None:
    peak, ended = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.05):
            peak = max(peak, memory(server))
            assert client.get(f"{server.url}/health").status_code == 200

    with ThreadPoolExecutor(_AT_ONCE + 1) as pool:
        watching = pool.submit(watch)
        sent = [(each, pool.submit(send, client, server, varied(each, 1))) for each in hostile]
        failed = [
            (each.name, got.result()) for each, got in sent if got.result() not in each.allowed
        ]
        ended.set()
        watching.result()
    assert not failed
    assert peak < _MEMORY


@pytest.mark.parametrize("path", ["search?q={}", "search?a={}&q=a", "namespaces/{}", "jobs?a={}"])
def test_long_addresses_are_not_kept(
    stores: Stores, client: httpx.Client, tmp_path: Path, path: str
) -> None:
    # The framework caches a thousand addresses; a refused request is garbage unless it is freed.
    url = stores.new("sqlite")
    with ServerProcess(url, tmp_path / "server.log") as server:
        filler = "&b=1" * 15_000 if path.startswith("jobs") else "abcdefghij" * 6_000

        def ask(number: int) -> int:
            address = f"{server.url}/api/v1/{path.format(f'{number}{filler}')}"
            return client.get(address).status_code

        with ThreadPoolExecutor(8) as pool:
            assert {*pool.map(ask, range(100))} <= {200, 400}
            before = memory(server)
            assert {*pool.map(ask, range(1000, 1500))} <= {200, 400}
        assert memory(server) - before < 500 * 60_000
    stores.drop(url)


def test_a_key_with_namespaces_gets_the_same_limits(
    stores: Stores, client: httpx.Client, hostile: list[Hostile], tmp_path: Path
) -> None:
    url = stores.new("sqlite")
    database = open_database(url)
    key = create_key(database, "team", ["read", "write"], ["jobs", "db"])
    database.close()
    with ServerProcess(url, tmp_path / "server.log") as server:
        signed = {"authorization": f"Bearer {key}"}
        peak, ended = 0, threading.Event()

        def watch() -> None:
            nonlocal peak
            while not ended.wait(0.02):
                peak = max(peak, memory(server))

        with ThreadPoolExecutor(1) as pool:
            watching = pool.submit(watch)
            try:
                for request in (each for each in hostile if 413 in each.allowed):
                    asked = request._replace(headers=request.headers | signed)
                    assert send(client, server, asked) in request.allowed, request.name
            finally:
                ended.set()
            watching.result()
    assert peak < _MEMORY
    stores.drop(url)


def test_all_members_of_gzip_are_read() -> None:
    parts = [b"one ", b"two ", b"three"]
    assert inflate(b"".join(map(gzip.compress, parts)), 100) == b"one two three"
    assert inflate(b"".join(map(gzip.compress, parts)) + b"\0" * 512, 100) == b"one two three"
    with pytest.raises(BodyRejected, match="over 12 bytes"):
        inflate(b"".join(map(gzip.compress, parts)), 12)
    with pytest.raises(BodyRejected, match="not gzip"):
        inflate(gzip.compress(b"one") + b"rest", 100)
    with pytest.raises(BodyRejected, match="too early"):
        inflate(gzip.compress(b"one")[:-3], 100)


@pytest.mark.parametrize("count", [1, 10, 10_000])
def test_lines_and_arrays_are_taken_apart(count: int) -> None:
    events = [b'{"a":[1,2,"],["],"b":{"c":"\\\\"}}'] * count
    assert [*split_lines(b"\n\n\r\n".join(events))] == events
    assert [*split_array(b" [ " + b" , ".join(events) + b" ] ")] == events


def test_a_large_array_is_taken_apart_in_the_same_way() -> None:
    events = [b'{"text":"],[\\"","numbers":[%s]}' % b", ".join([b"12345678901"] * 60)] * 4000
    assert [each.strip() for each in split_array(b"[" + b" , ".join(events) + b"]")] == events
    with pytest.raises(EventRejected, match="not JSON"):
        [*split_array(b"[" + b" , ".join(events))]


@pytest.mark.parametrize("line", [b"{}", b"1", b'{"a":1}'])
def test_more_than_10000_events_are_refused(line: bytes) -> None:
    with pytest.raises(BodyRejected, match="over 10,000 events"):
        split_lines(b"\n".join([line] * 10_001))
    with pytest.raises(BodyRejected, match="over 10,000 events"):
        split_array(b"[" + b",".join([line] * 10_001) + b"]")


def test_the_largest_ordinary_events_are_not_too_large() -> None:
    columns = schema(*[f"c{i}" for i in range(50_000)])
    check_size(as_bytes(run_event(outputs=[dataset("t", schema=columns)])))
    check_size(as_bytes(run_event(inputs=[dataset(f"{i}") for i in range(50_000)])))
    with pytest.raises(EventTooLarge, match="values"):
        check_size(b"[" + b"1," * 2_000_000 + b"1]")
    with pytest.raises(EventTooLarge, match="bytes"):
        check_size(b'"' + b"x" * 9_000_000 + b'"')
