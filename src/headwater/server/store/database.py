"""Connections to SQLite or PostgreSQL, and the thin layer in which the store speaks SQL.

Statements are written once, with `?` for a value and `= ANY(?)` for a list of numbers, and
translated for the driver. SQLAlchemy describes the tables and Alembic changes them, but a
statement on the hot path goes straight to the driver (docs/adr/0003).
"""

import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec
import psycopg
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from psycopg_pool import ConnectionPool, PoolTimeout
from sqlalchemy import Table

from headwater.errors import StoreUnreachable, UnknownStore

Row = tuple[Any, ...]
DATABASE_ERRORS = (sqlite3.OperationalError, psycopg.OperationalError, PoolTimeout)
T = TypeVar("T")
_AMONG = 8192  # values in one list; SQLite takes 32,766
_AT_ONCE = 256  # rows in one statement; PostgreSQL takes 65,535 values
_VALUES = re.compile(r"VALUES (\([?, ]+\))")
# Every question is made to go by index, whatever the tables hold: planning it anew, compiling
# it, or scanning a table for it would take longer than the answer.
_OPTIONS = " ".join(
    f"-c {setting}"
    for setting in (
        "jit=off", "plan_cache_mode=force_generic_plan",
        "enable_seqscan=off", "enable_hashjoin=off", "enable_mergejoin=off",
        "enable_material=off", "random_page_cost=1",
    )
)  # fmt: skip
_CACHE_KIB = 16384  # of each SQLite connection; the system's own cache stands behind it


class Session(Protocol):
    """One connection, inside a transaction or reading."""

    dialect: str

    def all(self, sql: str, *params: Any) -> list[Row]:
        """Every row of an answer."""

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run one statement for each row."""

    def run(self, sql: str, *params: Any) -> None:
        """Run one statement."""


class Database(Protocol):
    """A place that holds the tables, for one writer and many readers."""

    url: str
    name: str  # the address without a password
    dialect: str

    def reading(self) -> AbstractContextManager[Session]:
        """A connection that sees one moment of the store."""

    def writing(self) -> AbstractContextManager[Session]:
        """A transaction, committed to disk on leaving; one at a time over all servers."""

    def tend(self) -> None:
        """Look how the tables have grown, where the planner goes by that."""

    def size(self) -> int:
        """Bytes on disk."""

    def close(self) -> None:
        """Give back every connection."""


def first(rows: list[Row]) -> Row | None:
    """The first row, if there is one."""
    return rows[0] if rows else None


def upsert(table: Table, *fixed: str) -> str:
    """A statement that adds a row, or writes it over what is there but for what is fixed.

    SQLite writes every index anew that holds a column which is set, changed or not.
    """
    keys = [c.name for c in table.primary_key]
    rest = [c.name for c in table.columns if c.name not in keys and c.name not in fixed]
    sets = ", ".join(f"{name} = excluded.{name}" for name in rest)
    return f"{insert(table)} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {sets}"


def insert(table: Table) -> str:
    """A statement that adds a row."""
    names = [c.name for c in table.columns]
    marks = ", ".join("?" * len(names))
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks})"


def add(table: Table) -> str:
    """A statement that adds a row unless it is there."""
    return insert(table) + " ON CONFLICT DO NOTHING"


def among(session: "Session", sql: str, values: Iterable[bytes]) -> list[Row]:
    """The rows of a statement that ends in IN, of any number of values.

    Lists are filled up to a power of two, so that a few statements, once prepared, do for all.
    """
    rows: list[Row] = []
    for part in batched([*values], _AMONG):
        some = [*part, *[part[-1]] * (_power(len(part)) - len(part))]
        rows += session.all(f"{sql} ({', '.join('?' * len(some))})", *some)
    return rows


def batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Items in order, so many at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _power(number: int) -> int:
    """The least power of two that is not less."""
    return 1 << (number - 1).bit_length()


def open_database(url: str) -> Database:
    """Connect to the store at an address.

    Raises: UnknownStore, StoreUnreachable.
    """
    scheme = url.partition(":")[0]
    if scheme == "sqlite" and url.startswith("sqlite:///"):
        return SqliteDatabase(url)
    if scheme in ("postgresql", "postgres"):
        return PostgresDatabase(url)
    raise UnknownStore(url)


@cache
def _for_sqlite(sql: str) -> str:
    return sql.replace("= ANY(?)", "IN (SELECT value FROM json_each(?))")


def _plain(params: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(msgspec.json.encode(p) if type(p) is list else p for p in params)


class SqliteSession:
    """One SQLite connection."""

    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def all(self, sql: str, *params: Any) -> list[Row]:
        """Every row of an answer."""
        return self.connection.execute(_for_sqlite(sql), _plain(params)).fetchall()

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run one statement for each row."""
        self.connection.executemany(sql, rows)

    def run(self, sql: str, *params: Any) -> None:
        """Run one statement."""
        self.connection.execute(_for_sqlite(sql), _plain(params))


class SqliteDatabase:
    """One file, one writer, any number of readers beside it (write-ahead log)."""

    dialect = "sqlite"

    def __init__(self, url: str) -> None:
        self.url = self.name = url
        self.path = Path(unquote(url.removeprefix("sqlite:///")))
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._writer = self._connect()
        self._writing = threading.Lock()

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                self.path, timeout=30, isolation_level=None, check_same_thread=False,
                cached_statements=512,
            )  # fmt: skip
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            connection.execute("PRAGMA temp_store = MEMORY")
        except (OSError, sqlite3.Error) as error:
            raise StoreUnreachable(self.url, str(error)) from error
        with self._lock:
            self._open.append(connection)
        return connection

    @contextmanager
    def reading(self) -> Iterator[SqliteSession]:
        """A connection of this thread, in a transaction that sees one moment."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        connection.execute("BEGIN")
        try:
            yield SqliteSession(connection)
        finally:
            connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[SqliteSession]:
        """The one writing connection, in a transaction."""
        with self._writing:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteSession(self._writer)
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise
            self._writer.execute("COMMIT")

    def tend(self) -> None:
        """Nothing to do: every question goes by the same indexes at any size."""

    def size(self) -> int:
        """Bytes of the file and of its log."""
        names = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(path.stat().st_size for path in names if path.exists())

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            while self._open:
                self._open.pop().close()


@cache
def _for_postgres(sql: str) -> str:
    return sql.replace("%", "%%").replace("?", "%s")


@cache
def _for_many(sql: str, count: int) -> str:
    """A statement that adds one row, made to add some."""
    before, values, after = _VALUES.split(sql)
    return _for_postgres(before + "VALUES " + ", ".join([values] * count) + after)


class PostgresSession:
    """One PostgreSQL connection."""

    dialect = "postgresql"

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self.connection = connection

    def all(self, sql: str, *params: Any) -> list[Row]:
        """Every row of an answer."""
        return self.connection.execute(_for_postgres(sql), params, binary=True).fetchall()

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        """Add each row; many in one statement, of a few lengths that are soon prepared."""
        done = 0
        while done < len(rows):
            left = min(len(rows) - done, _AT_ONCE)
            count = left if left == _AT_ONCE else 1 << (left.bit_length() - 1)
            some = rows[done : done + count]
            self.connection.execute(_for_many(sql, count), [*chain.from_iterable(some)])
            done += count

    def run(self, sql: str, *params: Any) -> None:
        """Run one statement."""
        self.connection.execute(_for_postgres(sql), params)


def _configure(connection: psycopg.Connection[Row]) -> None:
    """Let every number be a bigint: by its size it would make another statement to prepare."""
    connection.adapters.register_dumper(int, Int8Dumper)
    connection.adapters.register_dumper(int, Int8BinaryDumper)


class PostgresDatabase:
    """A PostgreSQL database that several servers may share."""

    dialect = "postgresql"

    def __init__(self, url: str) -> None:
        self.url, self.name = url, _without_password(url)
        self._pool = ConnectionPool(
            url, min_size=1, max_size=16, timeout=10, open=False,
            kwargs={"autocommit": True, "application_name": "headwater", "options": _OPTIONS},
            configure=_configure,
        )  # fmt: skip
        try:
            # A pool would try again and again, and then not say why.
            psycopg.connect(url, connect_timeout=10).close()
            self._pool.open(wait=True, timeout=10)
        except (PoolTimeout, psycopg.Error) as error:
            self._pool.close()
            raise StoreUnreachable(self.name, str(error).partition("\n")[0]) from error

    @contextmanager
    def reading(self) -> Iterator[PostgresSession]:
        """A connection in a transaction that sees one moment."""
        with self._pool.connection() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield PostgresSession(connection)
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[PostgresSession]:
        """A connection in a transaction; the row of `clock` keeps other writers waiting."""
        with (
            self._pool.connection() as connection,
            connection.pipeline(),
            connection.transaction(),
        ):
            yield PostgresSession(connection)

    def tend(self) -> None:
        """Gather statistics, which the server itself does within minutes: plans of before then
        take a hundred times as long.
        """
        with self._pool.connection() as connection:
            connection.execute("ANALYZE")

    def size(self) -> int:
        """Bytes of the database."""
        with self._pool.connection() as connection:
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return url.replace(f":{parts.password}@", ":***@")
