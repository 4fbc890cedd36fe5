"""Changes reach those who watch, once each and in order, through restarts and to everyone."""

import asyncio
import signal
import socket
import time
from pathlib import Path

import pytest

from server.events import as_bytes, comes_from, dataset, facet, lineage, run_event, run_id, schema
from server.process import ServerProcess
from server.streams import Watcher

_LINES = {"content_type": "application/x-ndjson"}


def test_runs_progress_and_graph_are_told_as_they_happen(server: ServerProcess) -> None:
    columns = lineage(x=[comes_from("a", "x")])
    with Watcher(server.url) as all_, Watcher(server.url, types="run") as runs:
        server.api.send(
            run_event("START", 0, inputs=["a"],
                      outputs=[dataset("t", schema=schema("x"), columnLineage=columns)]),
            run_event("RUNNING", 1, headwater_progress=facet(
                rows=70, processedRowsPerSecond=7.5, watermark="2026-03-02T08:00:30Z",
                sources=[{"lag": 3}, {"lag": 5}, {"lag": None}])),
            run_event("FAIL", 2, errorMessage=facet(message="no room")),
        )  # fmt: skip
        told = all_.wait_for(4)
        failed = runs.wait_for(2)[1]
    assert [t.event for t in told] == ["run", "graph", "progress", "run"]
    ids = [t.id or 0 for t in told]
    assert ids == sorted({*ids})
    started = told[0].data
    assert started == {
        "runId": run_id("run"), "job": {"namespace": "jobs", "name": "job"},
        "nodeId": "job:jobs:job", "state": "RUNNING", "at": "2026-03-02T08:00:00Z", "error": None,
    }  # fmt: skip
    graph = told[1].data
    assert {*graph["kinds"]} == {"EDGE_ADDED", "SCHEMA_CHANGED", "COLUMNS_CHANGED"}
    assert graph["nodeIds"] == ["dataset:db:a", "dataset:db:t", "job:jobs:job"]
    progress = told[2].data
    assert (progress["rows"], progress["rowsPerSecond"], progress["lagRows"]) == (70, 7.5, 5)
    assert progress["lagSeconds"] == 30
    assert (failed.data["state"], failed.data["error"]) == ("FAILED", "no room")


def test_a_filter_by_dataset_means_its_jobs_too(server: ServerProcess) -> None:
    server.api.send(
        run_event("START", 0, run="w", job="writer", outputs=["t"]),
        run_event("START", 0, run="r", job="reader", inputs=["t"]),
        run_event("START", 0, run="o", job="other", inputs=["u"]),
    )
    with Watcher(server.url, nodeId="dataset:db:t") as watcher:
        for name in ("o", "r", "w"):
            job = {"o": "other", "r": "reader", "w": "writer"}[name]
            server.api.send(run_event("COMPLETE", 1, run=name, job=job))
        told = watcher.wait_for(2)
        runs = [t.data["nodeId"] for t in told if t.event == "run"]
    assert runs == ["job:jobs:reader", "job:jobs:writer"]
    for params in ({"nodeId": "job:no:such"}, {"nodeId": "dataset:no:such"}):
        assert server.api.status("/stream", **params) == 404
    assert server.api.status("/stream", types="weather") == 400


def test_a_client_that_comes_back_misses_nothing(server: ServerProcess) -> None:
    with Watcher(server.url, types="run") as watcher:
        server.api.send(*[run_event("START", n, run=f"r{n}") for n in range(5)])
        last = watcher.wait_for(3)[2].id
    server.api.send(*[run_event("START", n, run=f"r{n}") for n in range(5, 10)])
    server.end(signal.SIGKILL)
    server.start()
    server.api.send(*[run_event("START", n, run=f"r{n}") for n in range(10, 15)])
    with Watcher(server.url, after=last, types="run") as watcher:
        server.api.send(run_event("START", 15, run="r15"))
        told = watcher.wait_for(13)
    assert [t.data["runId"] for t in told] == [run_id(f"r{n}") for n in range(3, 16)]
    with Watcher(server.url, after=10**9) as watcher:
        assert watcher.wait_for(1)[0].event == "lost"
    assert (
        server.api.client.get("/api/v1/stream", headers={"Last-Event-ID": "x"}).status_code == 400
    )


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_a_slow_client_is_let_go_and_the_server_goes_on(server: ServerProcess) -> None:
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", server.port))
        slow.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        words = "x" * 1900
        for part in range(10):
            lines = b"\n".join(
                as_bytes(run_event("FAIL", 1, run=f"{part}-{n}", errorMessage=facet(message=words)))
                for n in range(600)
            )
            assert server.api.post(lines, "/api/v1/lineage/batch", **_LINES).status_code == 201
        until = time.monotonic() + 120
        while "headwater_watching_dropped_total 1.0" not in _metrics(server):
            assert time.monotonic() < until
            time.sleep(0.1)
    with Watcher(server.url, types="run") as watcher:
        server.api.send(run_event("START", 2, run="after"))
        assert watcher.wait_for(1)[0].data["runId"] == run_id("after")


def _metrics(server: ServerProcess) -> str:
    return server.api.client.get("/metrics").text


def test_five_hundred_clients_are_each_told_everything(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/lineage.db"
    with ServerProcess(store, tmp_path / "log", max_streams="500") as server:
        _all_are_told_everything(server)


def _all_are_told_everything(server: ServerProcess) -> None:
    async def received(reader: asyncio.StreamReader) -> bytes:
        part = await reader.read(65536)
        assert part, "the server closed the stream"
        return part

    async def watch(ready: asyncio.Semaphore) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /api/v1/stream?types=run HTTP/1.1\r\nHost: localhost\r\n\r\n")
        seen = b""
        while b"retry" not in seen:
            seen += await received(reader)
        ready.release()
        while seen.count(b"event: run") < 20:
            seen += await asyncio.wait_for(received(reader), 60)
        writer.close()
        return seen

    async def all_of_them() -> list[bytes]:
        ready = asyncio.Semaphore(0)
        watching = [asyncio.create_task(watch(ready)) for _ in range(500)]
        for _ in watching:
            await asyncio.wait_for(ready.acquire(), 60)
        events = [run_event("START", n, run=f"r{n}") for n in range(20)]
        await asyncio.to_thread(server.api.send, *events)
        return await asyncio.gather(*watching)

    for seen in asyncio.run(all_of_them()):
        places = [seen.index(run_id(f"r{n}").encode()) for n in range(20)]
        assert places == sorted(places)
        assert seen.count(b"event: run") == 20


def test_the_server_ends_while_someone_watches(server: ServerProcess) -> None:
    with Watcher(server.url) as watcher:
        server.end(signal.SIGTERM)
        assert watcher.ended.wait(120)
    assert "graceful shutdown exceeded" not in server.log()
