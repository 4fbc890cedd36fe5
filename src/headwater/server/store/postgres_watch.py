"""Notices that PostgreSQL no longer answers, so that requests fail at once instead of waiting.

A connection to a host that is gone, or to a server that stands still, waits for ever: PostgreSQL's
own timeouts run on its side. Whenever a session has waited for a while, a new connection is tried.
If that is refused, or takes too long twice in a row, the database is away: the sessions that wait
are cut off, and others are refused until a connection succeeds.
"""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from time import monotonic

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from headwater.openlineage.masking import mask_text
from headwater.server.store.database import Row

_EVERY = 0.5  # seconds between two looks
_WAITED = 0.5  # seconds after which a session makes one ask whether the database is there
_PATIENCE = 10.0  # seconds to wait for a connection of the pool, while the database answers
CONNECT = 2  # seconds for a new connection; libpq takes no less


class DatabaseAway(psycopg.OperationalError):
    """The database does not answer, as the last attempt to connect has shown."""


class _Session:
    """A session in use since a moment; it has no connection before the pool gives it one."""

    __slots__ = ("connection", "since")

    def __init__(self) -> None:
        self.connection: psycopg.Connection[Row] | None = None
        self.since = monotonic()


class WatchedPool:
    """A pool of connections to one database that is known to answer, or known to be away."""

    def __init__(self, url: str, pool: "ConnectionPool[psycopg.Connection[Row]]") -> None:
        self._url, self._pool = url, pool
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
        """Why no connection can be made; None if one can, or if the database itself refuses it."""
        try:
            try:
                self._connect()
            except psycopg.errors.ConnectionTimeout:
                self._connect()  # a busy machine may take longer once
        except psycopg.Error as error:
            return None if error.sqlstate else mask_text(str(error).partition("\n")[0])
        return None

    def _connect(self) -> None:
        psycopg.connect(self._url, connect_timeout=CONNECT).close()

    def _cut_off(self) -> None:
        """End the connections under the threads that wait for them."""
        with self._lock, suppress(OSError, psycopg.Error):
            for session in self._sessions:
                if session.connection is not None:
                    with socket.socket(fileno=os.dup(session.connection.fileno())) as end:
                        end.shutdown(socket.SHUT_RDWR)
