"""A store that takes no writes is an outage: nothing is refused for good, and `/ready` says so."""

import asyncio
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import aiohttp
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool

from headwater.server.settings import DEFAULT_ALIASES
from headwater.server.store.aliases import AliasRules
from headwater.server.store.database import Database, open_database
from headwater.server.store.postgres_attempts import Attempts
from headwater.server.store.postgres_watch import WatchedPool
from headwater.server.store.store import Store
from server.conftest import open_api
from server.events import Event, as_bytes, comes_from, dataset, lineage, run_event, schema
from server.process import ServerProcess
from server.stores import Stores, open_stores
from server.test_leases import eventually

_AT_ONCE = 24  # requests that are under way when the store goes away
_END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> %s"
_SOON = 30.0  # seconds: it takes five on a quiet machine
_HEADERS = {"content-type": "application/json"}


def _path(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


@contextmanager
def locked(url: str) -> Iterator[None]:
    """Another program holds the write lock."""
    with closing(sqlite3.connect(_path(url), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def read_only(url: str) -> Iterator[None]:
    """The database turns read-only, as a standby is after a failover."""
    name = url.rpartition("?")[0].rpartition("/")[2]
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("SET default_transaction_read_only = off")
        for is_on in (True, False):
            admin.execute(
                f"ALTER DATABASE {name} SET default_transaction_read_only = {is_on}".encode()
            )
            admin.execute(_END, [name, admin.info.backend_pid])
            if is_on:
                yield


@contextmanager
def upgraded(url: str) -> Iterator[None]:
    """A newer version of Headwater upgrades the store under a running server."""
    store = Store(url, AliasRules(()))
    with store.database.writing() as session:
        session.run("INSERT INTO migration VALUES (9999)")
    yield
    with store.database.writing() as session:
        session.run("DELETE FROM migration WHERE version = 9999")
    store.close()


@contextmanager
def full(server: ServerProcess, size: int = 4096) -> Iterator[None]:
    """No file of the server may grow beyond a size: to it, the disk is full."""
    assert server.process is not None
    pid = server.process.pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))
    yield
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))


async def _post_all(url: str, bodies: list[bytes]) -> list[tuple[int, str]]:
    async with aiohttp.ClientSession(headers=_HEADERS) as session:

        async def post(body: bytes) -> tuple[int, str]:
            async with session.post(f"{url}/api/v1/lineage", data=body) as answer:
                return answer.status, await answer.text()

        return await asyncio.gather(*(post(body) for body in bodies))


def _bodies() -> list[bytes]:
    return [as_bytes(run_event("START", n, run=f"r{n}")) for n in range(_AT_ONCE)]


def _goes_away_and_comes_back(
    server: ServerProcess, away: AbstractContextManager[None], reason: str
) -> None:
    """Post while the store is away and again after it: each is told, and none is lost."""
    with away:
        answers = asyncio.run(_post_all(server.url, _bodies()))
        assert {status for status, _ in answers} == {503}
        assert all("does not accept writes" in text or reason in text for _, text in answers)
        ready = server.api.client.get("/ready")
        assert (ready.status_code, reason in ready.json()["message"]) == (503, True), ready.text
        assert server.api.client.get("/health").status_code == 200
        batch = server.api.post(b"\n".join(_bodies()), "/api/v1/lineage/batch",
                                content_type="application/x-ndjson")  # fmt: skip
        assert (batch.status_code, reason in batch.json()["message"]) == (503, True), batch.text
    answers = asyncio.run(_post_all(server.url, _bodies()))
    assert {status for status, _ in answers} == {201}
    assert server.api.client.get("/ready").status_code == 200
    assert server.api.event_count() == _AT_ONCE


def test_a_locked_sqlite_fails_requests_together(stores: Stores, tmp_path: Path) -> None:
    url = stores.new("sqlite")
    with ServerProcess(url, tmp_path / "log") as server:
        _goes_away_and_comes_back(server, locked(url), "locked")


def test_a_full_disk_is_told_and_the_server_recovers(stores: Stores, tmp_path: Path) -> None:
    with ServerProcess(stores.new("sqlite"), tmp_path / "log") as server:
        _goes_away_and_comes_back(server, full(server), "disk")


def test_a_disk_too_full_for_an_event_is_not_ready(stores: Stores, tmp_path: Path) -> None:
    """Even if it has room for less."""
    url = stores.new("sqlite")
    log = _path(url).with_name(_path(url).name + "-wal")
    with ServerProcess(url, tmp_path / "log") as server:
        server.api.send(run_event())
        eventually(lambda: log.stat().st_size == 0)
        event = as_bytes(run_event(run="large", job="large", outputs=[f"t{n}" for n in range(99)]))
        with full(server, 24_000):
            assert server.api.post(event).status_code == 503
            for _ in range(2):
                assert server.api.client.get("/ready").status_code == 503
        assert server.api.client.get("/ready").status_code == 200
        assert server.api.post(event).status_code == 201


def test_a_probe_frees_the_lock_of_a_server_that_stands_still(stores: Stores) -> None:
    url = stores.new("postgresql")
    store = Store(url, AliasRules(DEFAULT_ALIASES))
    try:
        with psycopg.connect(url) as stalled:
            stalled.execute("UPDATE clock SET generation = generation")
            assert store.writer.probe() is None
    except psycopg.OperationalError:
        pass  # its session was ended
    finally:
        store.close()


def test_a_checkpoint_that_fails_leaves_the_writer_patient(stores: Stores) -> None:
    """It still waits for the lock of another program."""
    database = open_database(stores.new("sqlite"))
    ask = "PRAGMA busy_timeout"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with database.writing() as session:
            before = session.all(ask)
            session.run("CREATE TABLE large AS SELECT zeroblob(100000) AS content")
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        try:
            with pytest.raises(sqlite3.OperationalError):
                database.rest()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        with database.writing() as session:
            assert session.all(ask) == before
    finally:
        database.close()


def test_a_read_only_postgresql_is_told_and_the_server_recovers(
    stores: Stores, tmp_path: Path
) -> None:
    url = stores.new("postgresql")
    with ServerProcess(url, tmp_path / "log") as server:
        _goes_away_and_comes_back(server, read_only(url), "read-only")


def test_a_store_upgraded_under_the_server_takes_no_writes_of_it(
    store_url: str, tmp_path: Path
) -> None:
    with ServerProcess(store_url, tmp_path / "log") as server:
        _goes_away_and_comes_back(server, upgraded(store_url), "schema 9999")


@pytest.mark.parametrize("count", [1, 7])
def test_an_event_that_the_store_cannot_hold_fails_alone(store_url: str, count: int) -> None:
    """Among others of its commit, of its array and of its lines."""
    with open_api(store_url) as api:
        _refuse_jobs_named_poison(store_url)
        events = [as_bytes(run_event(run=f"r{n}", job=f"job{n}")) for n in range(count)]
        events.insert(count // 2, as_bytes(run_event(run="bad", job="poison")))
        told = api.post(b"[" + b",".join(events) + b"]").json()
        expected = [201] * (count + 1)
        expected[count // 2] = 422
        assert [one["status"] for one in told["results"]] == expected
        assert told["stored"] == count == api.event_count()
        answer = api.post(events[count // 2])
        assert answer.status_code == 422
        assert "poison" in answer.json()["errors"][0]
        lines = api.post(b"\n".join(events), "/api/v1/lineage/batch")
        assert (lines.status_code, lines.json()["stored"]) == (207, count)
        assert api.client.get("/ready").status_code == 200


def test_an_event_that_fails_alone_fails_no_other_of_its_commit(store_url: str) -> None:
    store = Store(store_url, AliasRules(DEFAULT_ALIASES))
    try:
        _refuse_jobs_named_poison(store_url)
        jobs = ["poison" if number % 5 == 2 else f"job{number}" for number in range(60)]
        events = [store.read(as_bytes(run_event(run=f"r{n}", job=j))) for n, j in enumerate(jobs)]
        with store.database.writing():  # so that all wait, and share a commit
            futures = [store.ingest([event]) for event in events]
        failed = [future.exception(60) is not None for future in futures]
        assert failed == [job == "poison" for job in jobs]
    finally:
        store.close()


def test_connections_lost_while_idle_cost_no_event(stores: Stores) -> None:
    url = stores.new("postgresql")
    store = Store(url, AliasRules(DEFAULT_ALIASES))
    name = url.rpartition("?")[0].rpartition("/")[2]
    try:
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(_END, [name, admin.info.backend_pid])
        event = store.read(as_bytes(run_event()))
        assert store.ingest([event]).result() == 1
        assert store.write_failure() is None
    finally:
        store.close()


@pytest.mark.parametrize("kind", ["gone", "standing_still"])
def test_a_postgresql_that_is_away_is_told_soon(kind: str, tmp_path: Path) -> None:
    """Reads and writes that are under way are not left waiting, nor are those that follow."""
    with open_stores() as own, ServerProcess(own.new("postgresql"), tmp_path / "log") as server:
        asyncio.run(_post_all(server.url, _bodies()))
        away: AbstractContextManager[None] = getattr(own, kind)()
        with away:
            for _ in range(2):
                assert {*asyncio.run(_ask_all(server.url))} == {503}
            assert server.api.client.get("/health").status_code == 200
        eventually(lambda: server.api.client.get("/ready").status_code == 200)
        late = as_bytes(run_event("START", 99, run="late"))
        eventually(lambda: server.api.post(late).status_code == 201)
        assert server.api.event_count() == _AT_ONCE + 1


def test_health_is_answered_while_postgresql_stands_still(tmp_path: Path) -> None:
    """Again and again, and not only between two looks at the database."""
    with open_stores() as own, ServerProcess(own.new("postgresql"), tmp_path / "log") as server:
        with own.standing_still():
            eventually(lambda: server.api.client.get("/ready").status_code == 503)
            answers = asyncio.run(_count_health(server.url, 12))
        eventually(lambda: server.api.client.get("/ready").status_code == 200)
    assert answers > 60  # of 120 at the most; a frozen server gives two dozen


async def _count_health(url: str, seconds: float) -> int:
    """How often a client that asks ten times a second is answered."""
    count, loop = 0, asyncio.get_running_loop()
    until = loop.time() + seconds
    async with aiohttp.ClientSession(url) as session:
        while loop.time() < until:
            async with session.get("/health") as answer:
                count += answer.status == 200
            await asyncio.sleep(0.1)
    return count


def test_nothing_of_a_database_is_shown_after_another_has_taken_over(
    stores: Stores, tmp_path: Path
) -> None:
    """A failover may lose commits; the numbers of lost rows are given to others."""
    url, backup = (stores.new("postgresql") for _ in range(2))
    with ServerProcess(url, tmp_path / "log") as server:
        server.api.send(_copies("lost", "a", "b"))
        assert _fields(server, "lost") == ["a", "b"]
        assert "a" in _columns(server, "lost", "a")
        stores.replace(url, backup)
        eventually(lambda: server.api.client.get("/ready").status_code == 200)
        server.api.send(_copies("kept", "c", "d"))
        assert _fields(server, "kept") == ["c", "d"]
        assert _columns(server, "kept", "c") == {"c"}
        missing = server.api.client.get("/api/v1/namespaces/db/datasets/lost")
        assert missing.status_code == 404


def test_a_restarted_postgresql_is_another_instance() -> None:
    """It may have come back without its last commits."""
    with open_stores() as own:
        database = open_database(own.new("postgresql"))
        before = database.instance
        with own.gone():
            pass
        eventually(lambda: _can_read(database))
        assert before != database.instance != ""
        database.close()


def _can_read(database: Database) -> bool:
    try:
        with database.reading() as session:
            return session.all("SELECT 1") == [(1,)]
    except database.errors:
        return False


def _copies(name: str, *fields: str) -> Event:
    """An event of a job that copies the fields of a table."""
    source, target = f"{name}_source", dataset(name, schema=schema(*fields))
    copies = {field: [comes_from(source, field)] for field in fields}
    target["facets"]["columnLineage"] = lineage(**copies)
    read = dataset(source, schema=schema(*fields))
    return run_event(job=name, run=name, inputs=[read], outputs=[target])


def _fields(server: ServerProcess, name: str) -> list[str]:
    answer = server.api.client.get(f"/api/v1/namespaces/db/datasets/{name}").json()
    return [field["name"] for field in answer["fields"]]


def _columns(server: ServerProcess, name: str, field: str) -> set[str]:
    """The columns of the lineage of a column."""
    node = {"nodeId": f"datasetField:db:{name}:{field}"}
    answer = server.api.client.get("/api/v1/column-lineage", params=node).json()
    return {node["id"].rpartition(":")[2] for node in answer["graph"]}


def test_a_database_that_refuses_new_connections_is_not_away(stores: Stores) -> None:
    """It has too many, or knows another password by now: the connections that there are go on."""
    url = stores.new("postgresql")
    with ConnectionPool(url, kwargs={"autocommit": True}, open=True) as pool:
        watched = WatchedPool(make_conninfo(url, user="unknown"), pool, Attempts())
        with watched.connection() as connection:
            connection.execute("SELECT pg_sleep(2)")
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert watched.away is None
        watched.close()


async def _ask_all(url: str) -> list[int]:
    """What reads and writes answer, all at once, to a client that does not wait for long."""
    timeout = aiohttp.ClientTimeout(total=_SOON)
    async with aiohttp.ClientSession(url, timeout=timeout) as session:

        async def ask(method: str, path: str, body: bytes | None = None) -> int:
            async with session.request(method, path, data=body, headers=_HEADERS) as answer:
                return answer.status

        return await asyncio.gather(
            *(ask("GET", path) for path in ("/ready", *["/api/v1/namespaces"] * 4)),
            *(ask("GET", "/api/v1/search?q=t") for _ in range(4)),
            *(ask("POST", "/api/v1/lineage", body) for body in _bodies()[:4]),
        )


def _refuse_jobs_named_poison(url: str) -> None:
    """Give the store a rule of its own, for an event that the reader finds in order."""
    rule = "ALTER TABLE job ADD CONSTRAINT no_poison CHECK (name <> 'poison')"
    if url.startswith("sqlite:///"):
        rule = (
            "CREATE TRIGGER no_poison BEFORE INSERT ON job WHEN new.name = 'poison' "
            "BEGIN SELECT RAISE(ABORT, 'no_poison'); END"
        )
        with closing(sqlite3.connect(_path(url))) as connection:
            connection.execute(rule)
        return
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(rule.encode())
