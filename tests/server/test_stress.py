"""Many threads read and write everything at once, and every request is answered.

HEADWATER_STRESS_SECONDS sets how long, for each kind of store; `make stress` takes a minute.
"""

import itertools
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psutil
import pytest

from headwater.server.store.database import open_database
from server.api import Api
from server.events import (
    as_bytes,
    comes_from,
    dataset,
    facet,
    lineage,
    minute,
    run_event,
    run_id,
    schema,
)
from server.process import ServerProcess
from server.questions import questions

_SECONDS = float(os.environ.get("HEADWATER_STRESS_SECONDS", "6"))
_READERS, _WRITERS = 8, 2
_JOBS = 4
_COLUMNS = 1200  # makes an event of about 110 KB
_VARIED = ("/api/v1/events/lineage?limit=20", "/api/v1/events/search?q=column_7&limit=50")


def _large(number: int) -> dict[str, Any]:
    """An event of 110 KB, which the store keeps as its difference to an earlier one."""
    job, names = f"job_{number % _JOBS}", [f"column_{i}" for i in range(_COLUMNS)]
    names[0] = f"revision_{number // 50}"
    mapped = {name: [comes_from("source", name)] for name in names[:200]}
    table = dataset("table", schema=schema(*names), columnLineage=lineage(**mapped))
    progress = facet(rows=number, snapshots=[str(number % 7)])
    return run_event(
        "COMPLETE" if number % 3 else "RUNNING", number / 60, run=f"run {number // 3}", job=job,
        inputs=[dataset("source", schema=schema(*names))], outputs=[table],
        headwater_progress=progress,
    )  # fmt: skip


def _known(api: Api) -> dict[str, str]:
    versions = {
        f"version /{kind}/": api.get(f"/namespaces/{path}/versions")["versions"][0]["version"]
        for kind, path in (("jobs", "jobs/jobs/job_0"), ("datasets", "db/datasets/table"))
    }
    return {
        **versions, "namespace /jobs": "jobs", "namespace /datasets": "db",
        "name /namespaces/{name}": "db", "name /sources/": "default", "name /resolve": "table",
        "name /pipelines/": "none",
        "name /jobs/": "job_0", "name /datasets/": "table", "run_id": run_id("run 0"),
        "runId": run_id("run 0"), "nodeId /column-lineage": "datasetField:db:table:column_7",
        "nodeId": "dataset:db:table", "type": "run", "q": "column", "snapshot": "1",
        "partition": "0", "firstOffset": "0", "lastOffset": "9",
        "asset": "jobs", "rest": "connectors", "cluster": "none", "topic": "none",
    }  # fmt: skip


class _Crowd:
    """Threads that send requests until the time is up or one of them fails."""

    def __init__(self, url: str) -> None:
        self._url, self._stop = url, threading.Event()
        self.statuses: Counter[int] = Counter()
        self.failures: list[str] = []

    def run(self, tasks: list[Callable[[httpx.Client], httpx.Response]], seconds: float) -> None:
        threads = [threading.Thread(target=self._repeat, args=[task]) for task in tasks]
        for thread in threads:
            thread.start()
        self._stop.wait(seconds)
        self._stop.set()
        for thread in threads:
            thread.join()

    def _repeat(self, task: Callable[[httpx.Client], httpx.Response]) -> None:
        with httpx.Client(base_url=self._url, timeout=120) as client:
            while not self._stop.is_set():
                try:
                    answer = task(client)
                except httpx.HTTPError as error:
                    self._fail(f"no answer: {error!r}")
                    return
                self.statuses[answer.status_code] += 1
                if answer.status_code > 499:
                    self._fail(f"{answer.request.url}: {answer.status_code} {answer.text[:200]}")

    def _fail(self, failure: str) -> None:
        self.failures.append(failure)
        self._stop.set()


def _reader(paths: Iterator[str]) -> Callable[[httpx.Client], httpx.Response]:
    return lambda client: client.get(next(paths))


def _writer(numbers: Iterator[int]) -> Callable[[httpx.Client], httpx.Response]:
    def write(client: httpx.Client) -> httpx.Response:
        number = next(numbers)
        headers = {"content-type": "application/json"}
        if number % 5 == 0:
            body = {"description": f"said at {minute(number)}"}
            return client.put(f"/api/v1/tags/tag_{number % 9}", json=body)
        return client.post("/api/v1/lineage", content=as_bytes(_large(number)), headers=headers)

    return write


def test_many_threads_read_and_write_everything(
    server: ServerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    server.api.send(*map(_large, range(60)))
    asked = questions(server.api, _known(server.api))
    assert len(asked) > 40
    # Each reader begins elsewhere, and every other question is one that opens many events.
    shares = [
        itertools.chain.from_iterable(
            (path, _VARIED[n % 2]) for n, path in enumerate(itertools.cycle(asked[i:] + asked[:i]))
        )
        for i in range(0, _READERS * 5, 5)
    ]
    numbers = itertools.count(60)
    crowd, begun = _Crowd(server.url), time.monotonic()
    crowd.run(
        [*map(_reader, shares), *([_writer(numbers)] * _WRITERS)],
        _SECONDS,
    )
    said = ", ".join(f"{count} with {code}" for code, count in sorted(crowd.statuses.items()))
    with capsys.disabled():
        sys.stdout.write(f"\nanswers in {time.monotonic() - begun:.0f} s: {said}\n")
    assert not crowd.failures, crowd.failures[:3]
    assert server.process is not None
    assert server.process.poll() is None, "the server has died"
    assert crowd.statuses[200] > len(asked)
    assert crowd.statuses[201] > 0


def test_threads_that_end_leave_no_connection_open(store_url: str) -> None:
    database = open_database(store_url)
    process = psutil.Process()

    def read() -> None:
        with database.reading() as session:
            session.all("SELECT generation FROM clock")

    read()
    before = process.num_fds()
    for _ in range(20):
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    assert process.num_fds() <= before + 2
    database.close()
