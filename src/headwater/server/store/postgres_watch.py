"""Notices that PostgreSQL cannot be used, so that requests fail at once instead of waiting.

A connection to a host that is gone, or to a server that stands still, waits for ever: PostgreSQL's
own timeouts run on its side. Whenever a session has waited for a while, the database is pinged and
asked something by a session of the pool. The database is away

- if it does not answer twice in a row: the sessions that wait are cut off;
- if for some seconds nobody got a connection of the pool, and new ones failed: the database takes
  no sessions, or not those of this user. Sessions that have a connection go on.

Others are refused until a session answers again.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum, auto
from time import monotonic

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Ping
from psycopg_pool import ConnectionPool, PoolTimeout

from headwater.server.store.database import Row
from headwater.server.store.postgres_attempts import CONNECT, Attempts, answered_soon, cut_off
from headwater.server.store.postgres_ping import Params, ping

_EVERY = 0.5  # seconds between two looks
_WAITED = 0.5  # seconds after which a session makes one ask whether the database is there
_REFUSED = 3.0  # seconds without a session for anyone, after which the database is away
_PATIENCE = 10.0  # seconds to wait for a connection of the pool, while others get one
_TRIES = 2  # a busy machine may take longer once
_log = logging.getLogger(__name__)


class DatabaseAway(psycopg.OperationalError):
    """The database does not answer or takes no sessions, as the last look has shown."""


class _Outcome(Enum):
    ANSWERED = auto()
    NONE = auto()  # no connection was to be had, or it was lost
    SILENT = auto()


class _Session:
    """A session in use since a moment; it has no connection before the pool gives it one."""

    __slots__ = ("connection", "since")

    def __init__(self) -> None:
        self.connection: psycopg.Connection[Row] | None = None
        self.since = monotonic()


class WatchedPool:
    """A pool of connections to one database that is known to answer, or known to be away."""

    def __init__(
        self, url: str, pool: "ConnectionPool[psycopg.Connection[Row]]", attempts: Attempts
    ) -> None:
        self._params = _params(url, pool)
        self._pool, self._attempts = pool, attempts
        self._sessions: set[_Session] = set()
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._had_at = monotonic()  # when anyone last got a connection
        self.away: str | None = None  # why the database cannot be used
        self._has_cut_off = False  # in this outage: what is left in the pool may be dead, too
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
                session.connection, self._had_at = connection, monotonic()
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
        since = monotonic()
        while True:
            try:
                return stack.enter_context(self._pool.connection(timeout=_EVERY))
            except PoolTimeout:
                if self.away is not None:
                    raise DatabaseAway(self.away) from None
                if monotonic() < since + _PATIENCE:
                    continue
                if self._attempts.have_failed(since):
                    raise DatabaseAway(self._attempts.message) from None
                raise PoolTimeout(f"no connection was free within {_PATIENCE:.0f} s") from None

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
            if self.away is not None and was_away is None:
                _log.warning("PostgreSQL cannot be used: %s", self.away)
            elif self.away is None and was_away is not None:
                _log.warning("PostgreSQL can be used again")
                if self._has_cut_off:
                    self._pool.drain()
                self._has_cut_off = False

    def _has_slow(self) -> bool:
        before = monotonic() - _WAITED
        with self._lock:
            return any(session.since < before for session in self._sessions)

    def _why_away(self) -> str | None:
        """Why the database cannot be used; None if it can, or if that is not certain yet."""
        for _ in range(_TRIES):
            pinged = ping(self._params, CONNECT)
            outcome = self._ask() if pinged == Ping.OK else _Outcome.SILENT
            if outcome is not _Outcome.SILENT:
                return None if outcome is _Outcome.ANSWERED else self._why_refused()
        self._cut_off()
        what = "to statements" if pinged == Ping.OK else f"({pinged.name})"
        return f"no answer from PostgreSQL {what}"

    def _ask(self) -> _Outcome:
        """Ask something by a session of the pool, as requests do."""
        try:
            with self._pool.connection(timeout=_EVERY) as connection, answered_soon(connection):
                connection.execute("SELECT 1")
        except psycopg.errors.ConnectionTimeout:
            return _Outcome.SILENT
        except psycopg.Error:
            return _Outcome.NONE
        self._had_at = monotonic()
        return _Outcome.ANSWERED

    def _why_refused(self) -> str | None:
        """Why nobody gets a session; None as long as someone does, or nobody waits for one.

        A pool all of whose connections are in use is no outage: only failures to connect are.
        """
        if self.away is not None:
            return self._attempts.message or self.away
        with self._lock:
            waiting = [one.since for one in self._sessions if one.connection is None]
        since = max(min(waiting, default=monotonic()), self._had_at)
        is_away = monotonic() - since > _REFUSED and self._attempts.have_failed(since)
        return self._attempts.message if is_away else None

    def _cut_off(self) -> None:
        self._has_cut_off = True
        with self._lock:
            for session in self._sessions:
                if session.connection is not None:
                    cut_off(session.connection)


def _params(url: str, pool: "ConnectionPool[psycopg.Connection[Row]]") -> Params:
    """Where the database is: as libpq resolved it for the pool, from services and variables too."""
    with pool.connection() as connection:
        made = connection.pgconn
        used = {one.keyword.decode(): one.val.decode() for one in made.info if one.val is not None}
        place = {"host": made.host.decode(), "port": made.port.decode(), "user": made.user.decode()}
    used.pop("hostaddr", None)  # what a name meant then; after a failover it may mean another host
    return {**place, **used, **conninfo_to_dict(url)}
