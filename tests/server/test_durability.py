"""Whatever got its 201 is there: after kill -9, and after SIGTERM."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import aiohttp

from headwater.server.store.database import open_database
from headwater.server.store.log import read_bodies
from server.events import as_bytes, comes_from, dataset, lineage, run_event, schema
from server.process import ServerProcess

CONNECTIONS = 8
KILLS = int(os.environ.get("HEADWATER_TEST_KILLS", "3"))
_HEADERS = {"content-type": "application/json"}


def an_event(worker: int, number: int) -> bytes:
    table = dataset(
        f"table_{worker}", schema=schema("a", "b"),
        columnLineage=lineage(a=[comes_from("source", "a")]),
    )  # fmt: skip
    event = run_event(
        "RUNNING", number % 600, run=f"{worker} {number // 10}", job=f"job_{worker}",
        inputs=["source"], outputs=[table],
    )  # fmt: skip
    event["nonce"] = str(uuid4())
    return as_bytes(event)


async def _load(url: str, worker: int, acknowledged: list[bytes]) -> int:
    """Send events one after another until the server is gone; tell how many were refused."""
    refused = 0
    async with aiohttp.ClientSession(headers=_HEADERS) as session:
        for number in range(100_000):
            body = an_event(worker, number)
            try:
                async with session.post(f"{url}/api/v1/lineage", data=body) as answer:
                    await answer.read()
                    if answer.status == 201:
                        acknowledged.append(body)
                    else:
                        refused += 1
            except (aiohttp.ClientError, ConnectionError):
                return refused
    return refused


async def _load_until(server: ServerProcess, sign: signal.Signals, after: int) -> list[bytes]:
    """Load from all connections, and send a signal once enough was acknowledged."""
    acknowledged: list[bytes] = []
    loads = [
        asyncio.create_task(_load(server.url, worker, acknowledged))
        for worker in range(CONNECTIONS)
    ]
    while len(acknowledged) < after:
        await asyncio.sleep(0.005)
    assert server.process is not None
    server.process.send_signal(sign)
    await asyncio.gather(*loads)
    await asyncio.to_thread(server.process.wait, 60)
    return acknowledged


def stored(store_url: str) -> set[bytes]:
    database = open_database(store_url)
    try:
        with database.reading() as session:
            seqs = [row[0] for row in session.all("SELECT seq FROM event")]
            return set(read_bodies(session, seqs).values())
    finally:
        database.close()


def test_every_acknowledged_event_survives_kill_9(
    store_url: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(7)
    kept: set[bytes] = set()
    with ServerProcess(store_url, tmp_path / "server.log") as server:
        for _ in range(KILLS):
            after = chance.randrange(50, 400)
            kept.update(asyncio.run(_load_until(server, signal.SIGKILL, after)))
            server.start()
            missing = kept - stored(store_url)
            assert not missing, f"{len(missing)} of {len(kept)} are gone"
            assert server.api.get("/lineage", nodeId="dataset:db:source")["graph"]
        assert server.api.event_count() == len(stored(store_url))
    record_property("kills", KILLS)
    record_property("acknowledged", len(kept))


def test_sigterm_finishes_what_was_accepted(store_url: str, tmp_path: Path) -> None:
    with ServerProcess(store_url, tmp_path / "server.log") as server:
        kept = asyncio.run(_load_until(server, signal.SIGTERM, 200))
        assert server.process is not None
        assert server.process.returncode in (0, -signal.SIGTERM)
        assert not set(kept) - stored(store_url)


def test_a_command_that_uses_the_store_of_a_running_server_loses_nothing(tmp_path: Path) -> None:
    """The last process that closes a SQLite file deletes its log: it must see who is left."""
    url = f"sqlite:///{tmp_path}/lineage.db"
    with ServerProcess(url, tmp_path / "server.log") as server:
        sent = 0
        for number in range(4):
            # Questions at the same time open more connections.
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda _: server.api.get("/lineage/whole"), range(8)))
            command = ["-m", "headwater.cli.main", "key", "list", "--store", url]
            subprocess.run([sys.executable, *command], check=True, capture_output=True)
            server.api.send(run_event("COMPLETE", number, run=f"run-{number}"))
            sent += 1
            assert len(stored(url)) == sent
    assert len(stored(url)) == sent
