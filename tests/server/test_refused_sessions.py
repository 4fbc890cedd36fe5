"""PostgreSQL answers, but gives the server no session: an outage as any other, told with its cause.

Where the server has sessions, or a busy machine is slow to begin them, there is no outage.
"""

import asyncio
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import aiohttp
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from headwater.server.store.postgres_attempts import Attempts
from headwater.server.store.postgres_watch import DatabaseAway, WatchedPool
from server.events import as_bytes, run_event
from server.process import ServerProcess
from server.stores import Stores, open_stores
from server.test_leases import eventually

# Seconds. A quiet machine takes four for the first answers, and two to notice the end.
_SOON, _AT_ONCE, _RECOVERY = 8.0, 2.0, 8.0
_TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'hw'"


class Cluster:
    """A PostgreSQL server of our own, and a role that is not a superuser."""

    def __init__(self, stores: Stores) -> None:
        url = stores.new_empty("postgresql")
        self.database = str(conninfo_to_dict(url)["dbname"])
        self._admin = make_conninfo(url, dbname="postgres")
        self.url = re.sub(r"//[^/@]*@", "//hw:first@", url)
        (hba,) = self.run("SHOW hba_file")
        rules = Path(hba[0])
        if "hw" not in rules.read_text():
            rules.write_text(f"local all hw scram-sha-256\n{rules.read_text()}")
            self.run("SELECT pg_reload_conf()")
            self.run("CREATE ROLE hw LOGIN PASSWORD 'first'")
        self.run(f"ALTER DATABASE {self.database} OWNER TO hw")

    def run(self, sql: str) -> list[tuple[str, ...]]:
        with psycopg.connect(self._admin, autocommit=True) as admin:
            answer = admin.execute(sql.encode())
            return answer.fetchall() if answer.description else []

    @contextmanager
    def altered(self, away: str, back: str) -> Iterator[None]:
        """Something is changed, and all sessions of the server end."""
        self.run(away)
        self.run(_TERMINATE)
        try:
            yield
        finally:
            self.run(back)

    def closed(self) -> AbstractContextManager[None]:
        change = f"ALTER DATABASE {self.database} ALLOW_CONNECTIONS"
        return self.altered(f"{change} false", f"{change} true")

    def without_login(self) -> AbstractContextManager[None]:
        return self.altered("ALTER ROLE hw NOLOGIN", "ALTER ROLE hw LOGIN")

    def other_password(self) -> AbstractContextManager[None]:
        change = "ALTER ROLE hw PASSWORD"
        return self.altered(f"{change} 'second'", f"{change} 'first'")

    @contextmanager
    def renamed(self) -> Iterator[None]:
        rename = "ALTER DATABASE {} RENAME TO {}"
        with self.closed():
            self.run(rename.format(self.database, "other"))
            self.run("ALTER DATABASE other ALLOW_CONNECTIONS true")
            try:
                yield
            finally:
                self.run(rename.format("other", self.database))

    @contextmanager
    def used_up(self) -> Iterator[None]:
        """Others have all connections that are not kept for superusers."""
        with ExitStack() as others:
            conninfo = make_conninfo(self.url, application_name="other", dbname="template1")
            of_server = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'headwater'"
            while self.run(of_server):
                self.run(f"{_TERMINATE} AND application_name = 'headwater'")
                try:
                    while True:
                        others.enter_context(psycopg.connect(conninfo))
                except psycopg.OperationalError:
                    continue
            yield


@pytest.fixture(scope="module")
def own() -> Iterator[Stores]:
    """Stores of a PostgreSQL server that others need not share."""
    with open_stores() as found:
        yield found


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        ("closed", "is not currently accepting connections"),
        ("without_login", "is not permitted to log in"),
        ("other_password", "password authentication failed"),
        ("renamed", "does not exist"),
        ("used_up", "connection slots"),
    ],
)
def test_a_database_that_gives_no_session_is_told_soon_with_the_cause(
    own: Stores, cause: str, reason: str, tmp_path: Path
) -> None:
    cluster = Cluster(own)
    with ServerProcess(cluster.url, tmp_path / "log") as server:
        assert {status for _, status, _ in asyncio.run(_ask(server.url, 4))} <= {200, 201}
        away: Callable[[], AbstractContextManager[None]] = getattr(cluster, cause)
        with away():
            for _ in range(2):  # the first find connections that were cut off
                answers = asyncio.run(_ask(server.url, 4))
                assert {status for _, status, _ in answers} == {503}
                assert max(seconds for seconds, _, _ in answers) < _SOON
            for _ in range(2):
                known = asyncio.run(_ask(server.url, 8))
                assert {status for _, status, _ in known} == {503}
                assert max(seconds for seconds, _, _ in known) < _AT_ONCE
                assert all(reason in text for *_, text in known), known
                assert not any("first" in text for *_, text in known)
        ended = time.monotonic()
        while {status for _, status, _ in asyncio.run(_ask(server.url, 1))} != {200, 201}:
            assert time.monotonic() - ended < _RECOVERY
            time.sleep(0.1)
        log = server.log()
    assert "Traceback" not in log, log
    assert "error connecting" not in log, "the pool tells of each attempt"
    cluster.run(f"DROP DATABASE {cluster.database} WITH (FORCE)")


async def _ask(url: str, count: int) -> list[tuple[float, int, str]]:
    """The seconds, statuses and bodies of answers to so many of each request, all at once."""
    headers = {"content-type": "application/json"}
    async with aiohttp.ClientSession(url, headers=headers) as session:

        async def ask(method: str, path: str, body: bytes | None = None) -> tuple[float, int, str]:
            began = time.monotonic()
            async with session.request(method, path, data=body) as answer:
                text = await answer.text()
                return time.monotonic() - began, answer.status, text

        asked = [
            (ask("GET", "/ready"), ask("GET", "/api/v1/jobs"),
             ask("POST", "/api/v1/lineage", as_bytes(run_event("START", number))))
            for number in range(count)
        ]  # fmt: skip
        return await asyncio.gather(*(one for some in asked for one in some))


class Pooler:
    """Passes on what is said to PostgreSQL, like PgBouncer; while its backend is away, no statement
    is answered, but sessions begin."""

    def __init__(self, url: str) -> None:
        params = conninfo_to_dict(url)
        self._path = f"{params['host']}/.s.PGSQL.{params.get('port') or 5432}"
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.url = make_conninfo(url, host="127.0.0.1", port=port, sslmode="disable")
        self.is_away = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._path)
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if not (self.is_away and data[:1] in (b"Q", b"P", b"B")):
                    target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@contextmanager
def _watched(url: str) -> Iterator[WatchedPool]:
    attempts = Attempts()
    kwargs = {"autocommit": True, "connect_timeout": 2}
    with ConnectionPool(
        url, kwargs=kwargs, connection_class=attempts.connection_class(), reconnect_timeout=1,
        min_size=1, max_size=2, open=True,
    ) as pool:  # fmt: skip
        pool.wait()
        watched = WatchedPool(url, pool, attempts)
        yield watched
        watched.close()


def test_sessions_that_there_are_go_on_while_others_are_refused(own: Stores) -> None:
    cluster = Cluster(own)
    with _watched(cluster.url) as watched, watched.connection() as connection:
        cluster.run("ALTER ROLE hw NOLOGIN")
        try:
            with pytest.raises(DatabaseAway, match="not permitted"), watched.connection():
                pass
            assert connection.execute("SELECT 1 FROM pg_sleep(2)").fetchone() == (1,)
        finally:
            cluster.run("ALTER ROLE hw LOGIN")


def test_a_session_that_is_given_back_ends_the_outage(own: Stores) -> None:
    """New ones are still refused."""
    cluster = Cluster(own)
    with _watched(cluster.url) as watched:
        with watched.connection():
            cluster.run("ALTER ROLE hw NOLOGIN")
            with pytest.raises(DatabaseAway), watched.connection():
                pass
        try:
            eventually(lambda: watched.away is None)
            with watched.connection() as connection:
                assert connection.execute("SELECT 1").fetchone() == (1,)
        finally:
            cluster.run("ALTER ROLE hw LOGIN")


def test_a_pool_that_is_in_use_is_no_outage(own: Stores) -> None:
    """Nothing was refused, so the wait is for other requests and not for the database."""
    cluster = Cluster(own)
    with _watched(cluster.url) as watched, ExitStack() as stack:
        sessions = [stack.enter_context(watched.connection()) for _ in range(2)]
        with pytest.raises(psycopg.OperationalError, match="no connection was free"):
            stack.enter_context(watched.connection())
        assert watched.away is None
        assert all(one.execute("SELECT 1").fetchone() == (1,) for one in sessions)


def test_one_failure_to_connect_is_no_outage() -> None:
    """A busy machine refuses a connection once, or takes too long for it."""
    attempts, since = Attempts(), time.monotonic()
    for failures in (1, 2):
        with pytest.raises(psycopg.OperationalError), attempts.noted():
            raise psycopg.OperationalError("connection refused")
        assert attempts.have_failed(since) == (failures == 2)
    assert not attempts.have_failed(time.monotonic())


def test_sessions_that_answer_nothing_are_cut_off_and_told(own: Stores) -> None:
    pooler = Pooler(Cluster(own).url)
    with _watched(pooler.url) as watched:
        pooler.is_away = True
        began = time.monotonic()
        with pytest.raises(psycopg.OperationalError), watched.connection() as connection:
            connection.execute("SELECT 1")
        assert time.monotonic() - began < _SOON
        eventually(lambda: watched.away is not None)
        with pytest.raises(DatabaseAway, match="no answer"), watched.connection():
            pass
        pooler.is_away = False
        eventually(lambda: watched.away is None)
        with watched.connection() as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    pooler.close()
