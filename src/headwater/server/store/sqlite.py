"""The store in one SQLite file."""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import unquote

import msgspec

from headwater.errors import StoreUnreachable
from headwater.server.store.database import Errors, Row

_PATIENCE = 5  # seconds to wait for a lock
# Of the log, after which it is worked into the file: with fewer, pages that many events change
# are written to the file far more often.
_LOG_PAGES = 4000
_DAMAGED = sqlite3.DatabaseError  # itself, and none of those below it
_LONGEST = 60.0  # seconds for which a question may be asked
# Of SQLite's machine, after which the time is looked at. One may search a long name: of a million,
# some took half a minute.
_STEPS = 50_000
_CACHE_KIB = 8192  # of each connection; the system's own cache stands behind it


@cache
def _for_sqlite(sql: str) -> str:
    return sql.replace("= ANY(?)", "IN (SELECT value FROM json_each(?))")


def _plain(params: Sequence[Any]) -> list[Any]:
    return [msgspec.json.encode(p) if type(p) is list else p for p in params]


def _create(path: Path) -> None:
    """Create a file that only its owner may read; its log and index take its mode.

    A file that exists is not opened: closing any descriptor of a file drops every lock that this
    process holds on it, SQLite's included. Another process would then take itself for the last
    one that uses the store, and delete the log with what was written to it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


class SqliteSession:
    """One SQLite connection."""

    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def all(self, sql: str, *params: Any) -> list[Row]:
        """Every row of an answer."""
        return self.ask(sql, *params).fetchall()

    def ask(self, sql: str, *params: Any) -> sqlite3.Cursor:
        """The rows of an answer, none of which is read yet."""
        return self.connection.execute(_for_sqlite(sql), _plain(params))

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run one statement for each row."""
        self.connection.executemany(sql, rows)

    def run(self, sql: str, *params: Any) -> None:
        """Run one statement."""
        self.connection.execute(_for_sqlite(sql), _plain(params))


class SqliteDatabase:
    """One file, one writer, any number of readers beside it (write-ahead log)."""

    dialect = "sqlite"
    instance = ""
    errors: Errors = (sqlite3.OperationalError,)
    refusal: type[Exception] = sqlite3.Error

    def __init__(self, url: str) -> None:
        self.url = self.name = url
        self.path = Path(unquote(url.removeprefix("sqlite:///")))
        self._open: list[sqlite3.Connection] = []
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._writer = self._connect()
        self._writing = threading.Lock()

    def _connect(self) -> sqlite3.Connection:
        try:
            _create(self.path)
            connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False,
                cached_statements=512,
            )  # fmt: skip
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            connection.execute("PRAGMA temp_store = MEMORY")
            # Its own lower() knows ASCII only.
            connection.create_function("casefold", 1, str.casefold, deterministic=True)
        except (OSError, sqlite3.Error) as error:
            raise StoreUnreachable(self.url, str(error)) from error
        with self._lock:
            self._open.append(connection)
        return connection

    @contextmanager
    def reading(self) -> Iterator[SqliteSession]:
        """A connection of its own, in a transaction that sees one moment.

        The one that was used last comes first. Threads come and go, and would leave theirs open.
        """
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._connect()
        try:
            deadline = monotonic() + _LONGEST
            connection.set_progress_handler(lambda: monotonic() > deadline, _STEPS)
            connection.execute("BEGIN")
            try:
                yield SqliteSession(connection)
            finally:
                connection.set_progress_handler(None, 0)
                connection.execute("ROLLBACK")
        finally:
            with self._lock:
                self._idle.append(connection)

    @contextmanager
    def writing(self) -> Iterator[SqliteSession]:
        """The one writing connection, in a transaction."""
        with self._writing:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteSession(self._writer)
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:  # a full disk may have ended it
                    self._writer.execute("ROLLBACK")
                raise

    def outage(self, error: Exception) -> str | None:
        """Why the file takes no writes: locked, read-only, full, damaged."""
        is_outage = isinstance(error, sqlite3.OperationalError) or type(error) is _DAMAGED
        return str(error) if is_outage else None

    def recover(self) -> bool:
        """Nothing to do: the connection to a file is not lost."""
        return False

    def tend(self) -> None:
        """Nothing to do: every question goes by the same indexes at any size."""

    def rest(self) -> None:
        """Work the log into the file and empty it, unless someone reads in it."""
        with self._writing:
            self._writer.execute("PRAGMA busy_timeout = 0")
            try:
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self._writer.execute(f"PRAGMA busy_timeout = {_PATIENCE * 1000}")

    def size(self) -> int:
        """Bytes of the file and of its log."""
        names = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(path.stat().st_size for path in names if path.exists())

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            while self._open:
                self._open.pop().close()
