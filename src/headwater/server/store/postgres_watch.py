"""Notices that PostgreSQL no longer answers, so that requests fail at once instead of waiting.

A connection to a host that is gone, or to a server that stands still, waits for ever: PostgreSQL's
own timeouts run on its side. Whenever a session has waited for a while, the database is pinged. If
it does not answer twice in a row, it is away: the sessions that wait are cut off, and others are
refused until it answers.
"""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from time import monotonic

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Ping
from psycopg_pool import ConnectionPool, PoolTimeout

from headwater.server.store.database import Row
from headwater.server.store.postgres_ping import Params, ping

_EVERY = 0.5  # seconds between two looks
_WAITED = 0.5  # seconds after which a session makes one ask whether the database is there
_PATIENCE = 10.0  # seconds to wait for a connection of the pool, while the database answers
_PINGS = 2  # a busy machine may take longer once
CONNECT = 2  # seconds for a new connection; libpq takes no less


class DatabaseAway(psycopg.OperationalError):
    """The database does not answer, as the last ping has shown."""


class _Session:
    """A session in use since a moment; it has no connection before the pool gives it one."""

    __slots__ = ("connection", "since")

    def __init__(self) -> None:
        self.connection: psycopg.Connection[Row] | None = None
        self.since = monotonic()


class WatchedPool:
    """A pool of connections to one database that is known to answer, or known to be away."""

    def __init__(self, url: str, pool: "ConnectionPool[psycopg.Connection[Row]]") -> None:
        self._params = _params(url, pool)
        self._pool = pool
        self._sessions: set[_Session] = set()
        self._lock, self._closed = threading.Lock(), threading.Event()
        self.away: str | None = None  # why the database cannot be reached
        self._thread = threading.Thread(target=self._loop, name="postgres-watch", daemon=True)
        self._thread.start()

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Row]]:
        """A connection, which is cut off when the database goes away.

        Raises: DatabaseAway, PoolTimeout.
        """
        if self.away is not None:
            raise DatabaseAway(self.away)
        session = _Session()
        with self._lock:
            self._sessions.add(session)
        try:
            with ExitStack() as stack:
                connection = self._take(stack)
                session.connection = connection
                try:
                    yield connection
                finally:
                    with self._lock:
                        session.connection = None
        finally:
            with self._lock:
                self._sessions.discard(session)

    def _take(self, stack: ExitStack) -> psycopg.Connection[Row]:
        """A connection of the pool; waiting for one ends when the database goes away."""
        until = monotonic() + _PATIENCE
        while True:
            try:
                return stack.enter_context(self._pool.connection(timeout=_EVERY))
            except PoolTimeout:
                if self.away is not None:
                    raise DatabaseAway(self.away) from None
                if monotonic() > until:
                    raise

    def close(self) -> None:
        """Stop watching, and close every connection."""
        self._closed.set()
        self._thread.join()
        self._pool.close()

    def _loop(self) -> None:
        while not self._closed.wait(_EVERY):
            if self.away is None and not self._has_slow():
                continue
            was_away, self.away = self.away, self._why_away()
            if self.away is not None:
                self._cut_off()
            elif was_away is not None:
                self._pool.drain()

    def _has_slow(self) -> bool:
        before = monotonic() - _WAITED
        with self._lock:
            return any(session.since < before for session in self._sessions)

    def _why_away(self) -> str | None:
        """Why the database cannot be reached; None if it answers, be it that it takes no more
        connections or not this password: those that there are may still work.
        """
        for _ in range(_PINGS):
            pinged = ping(self._params, CONNECT)
            if pinged == Ping.OK:
                return None
        return f"no answer from PostgreSQL ({pinged.name})"

    def _cut_off(self) -> None:
        """End the connections under the threads that wait for them."""
        with self._lock, suppress(OSError, psycopg.Error):
            for session in self._sessions:
                if session.connection is not None:
                    with socket.socket(fileno=os.dup(session.connection.fileno())) as end:
                        end.shutdown(socket.SHUT_RDWR)


def _params(url: str, pool: "ConnectionPool[psycopg.Connection[Row]]") -> Params:
    """Where the database is: as libpq resolved it for the pool, from services and variables too."""
    with pool.connection() as connection:
        made = connection.pgconn
        used = {one.keyword.decode(): one.val.decode() for one in made.info if one.val is not None}
        place = {"host": made.host.decode(), "port": made.port.decode(), "user": made.user.decode()}
    used.pop("hostaddr", None)  # what a name meant then; after a failover it may mean another host
    return {**place, **used, **conninfo_to_dict(url)}
