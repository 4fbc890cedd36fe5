"""Answers about large events are sent in parts, in pages, or refused: none fills the memory."""

import gzip
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

from server.events import as_bytes, facet, run_event
from server.process import ServerProcess
from server.stores import KINDS, Stores

_MEMORY = 600 * 2**20
_COUNT, _SIZE = 24, 7_000_000
_AT_ONCE = 4
QUESTIONS = ("/events/lineage?kind=all", "/events/search?q=large&limit=200")


@pytest.fixture(scope="module", params=KINDS)
def server(
    request: pytest.FixtureRequest, stores: Stores, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """A server with events that took a few kilobytes each to send."""
    log: Path = tmp_path_factory.mktemp("large") / "server.log"
    with ServerProcess(stores.new(request.param), log) as found:
        for number in range(_COUNT):
            blob = facet(text="x" * _SIZE, number=number)
            event = run_event("COMPLETE", number, job="large", run=f"{number}", blob=blob)
            packed = gzip.compress(as_bytes(event), 6)
            assert len(packed) < 65_536
            assert found.api.post(packed, content_encoding="gzip").status_code == 201
        yield found


def received(server: ServerProcess, path: str) -> tuple[int, int]:
    """The status and the length of an answer, which is not kept."""
    with httpx.stream("GET", f"{server.url}/api/v1{path}", timeout=300) as answer:
        return answer.status_code, sum(map(len, answer.iter_raw()))


def test_large_answers_at_once_fit_into_memory(server: ServerProcess) -> None:
    assert server.process is not None
    process, peak, ended = psutil.Process(server.process.pid), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.02):
            peak = max(peak, process.memory_info().rss)

    with ThreadPoolExecutor(_AT_ONCE + 1) as pool:
        watching = pool.submit(watch)
        for path in QUESTIONS:
            found = [pool.submit(received, server, path) for _ in range(_AT_ONCE)]
            answers = [each.result() for each in found]
            assert {status for status, _ in answers} == {200}, path
            if path.startswith("/events/lineage"):
                assert all(answer[0] == 200 for answer in answers)
                assert all(answer[1] > _COUNT * _SIZE for answer in answers)
        ended.set()
        watching.result()
    assert peak < _MEMORY


def test_every_page_of_a_search_is_found(server: ServerProcess) -> None:
    numbers: list[int] = []
    place: str | None = ""
    while place is not None:
        params = {"q": "large", "limit": 200} | ({"from": place} if place else {})
        found = server.api.get("/events/search", **params)
        numbers += [e["run"]["facets"]["blob"]["number"] for e in found["events"]]
        place = found["next"]
    assert numbers == [*range(_COUNT)][::-1]
