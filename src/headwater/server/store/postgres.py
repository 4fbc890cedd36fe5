"""The store in a PostgreSQL database."""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import Any

import psycopg
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from psycopg_pool import ConnectionPool, PoolTimeout

from headwater.errors import StoreUnreachable
from headwater.openlineage.masking import mask_text
from headwater.server.store.database import Errors, Row
from headwater.server.store.postgres_attempts import CONNECT, Attempts, answered_soon, reason
from headwater.server.store.postgres_watch import WatchedPool

_AT_ONCE = 256  # rows in one statement; PostgreSQL takes 65,535 values
# Seconds after which the pool gives a new connection up. Whoever waits for one makes it try again;
# alone it would wait twice as long each time, and not notice the end of an outage.
_RECONNECT = 2.0
_VALUES = re.compile(r"VALUES (\([?, ]+\))")
# Classes of SQLSTATE that lie in what is written: bad data, a constraint, a limit of size.
_OF_DATA = ("22", "23", "54")
# Every question is made to go by index, whatever the tables hold: planning it anew, compiling
# it, or scanning a table for it would take longer than the answer.
_OPTIONS = " ".join(
    f"-c {setting}"
    for setting in (
        "jit=off", "plan_cache_mode=force_generic_plan",
        "enable_seqscan=off", "enable_hashjoin=off", "enable_mergejoin=off",
        "enable_material=off", "random_page_cost=1",
        "lock_timeout=5s", "idle_in_transaction_session_timeout=60s", "statement_timeout=60s",
    )
)  # fmt: skip

# Sessions of servers that stand still with the write lock. No timeout of PostgreSQL before 17 ends
# them: within a pipeline a session is not idle.
_END_STALLED = """
    SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
    WHERE l.relation = 'clock'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND a.wait_event IN ('ClientRead', 'ClientWrite')
    AND clock_timestamp() - greatest(a.state_change, a.query_start) > interval '4 seconds'
"""
# A standby that takes over, and a server that was restored and started again, began at other times.
_INSTANCE = """
    SELECT pg_postmaster_start_time()::text || ' ' || oid FROM pg_database
    WHERE datname = current_database()
"""


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
        return self.ask(sql, *params).fetchall()

    def ask(self, sql: str, *params: Any) -> psycopg.Cursor[Row]:
        """The rows of an answer; the driver has received all of them, and reads none yet."""
        return self.connection.execute(_for_postgres(sql), params, binary=True)

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


class PostgresDatabase:
    """A PostgreSQL database that several servers may share."""

    dialect = "postgresql"
    errors: Errors = (
        psycopg.OperationalError, psycopg.InternalError, psycopg.InterfaceError, PoolTimeout,
    )  # fmt: skip
    refusal: type[Exception] = psycopg.Error

    def __init__(self, url: str) -> None:
        self.url, self.name = url, mask_text(url)
        self.instance = ""
        # Whether the last write lost its connection, or did not get the lock.
        self._is_lost = self._is_locked = False
        self._attempts = Attempts()
        logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # the watch tells it once
        self._pool = ConnectionPool(
            url, min_size=1, max_size=16, open=False, reconnect_timeout=_RECONNECT,
            connection_class=self._attempts.connection_class(),
            kwargs={
                "autocommit": True, "application_name": "headwater", "options": _OPTIONS,
                "connect_timeout": CONNECT,
            },
            configure=self._configure,
        )  # fmt: skip
        try:
            # A pool would try again and again, and then not say why.
            psycopg.connect(url, connect_timeout=10).close()
            self._pool.open(wait=True, timeout=10)
            self._connections = WatchedPool(url, self._pool, self._attempts)
        except (PoolTimeout, psycopg.Error) as error:
            self._pool.close()
            raise StoreUnreachable(self.name, reason(error)) from error

    def _configure(self, connection: psycopg.Connection[Row]) -> None:
        """Prepare a new connection, and note which database it leads to."""
        # By its size a number would make another statement to prepare: each is a bigint.
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.adapters.register_dumper(int, Int8BinaryDumper)
        with self._attempts.noted(), answered_soon(connection):
            ((self.instance,),) = connection.execute(_INSTANCE).fetchall()

    @contextmanager
    def reading(self) -> Iterator[PostgresSession]:
        """A connection in a transaction that sees one moment."""
        with self._connections.connection() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield PostgresSession(connection)
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[PostgresSession]:
        """A connection in a transaction; the row of `clock` keeps other writers waiting."""
        with self._connections.connection() as connection:
            try:
                with connection.pipeline(), connection.transaction():
                    yield PostgresSession(connection)
            except BaseException as error:
                self._is_lost = connection.closed
                self._is_locked = isinstance(_cause(error), psycopg.errors.LockNotAvailable)
                raise

    def outage(self, error: Exception) -> str | None:
        """Why the database takes no writes: gone, read-only, full, locked."""
        cause = _cause(error)
        if not isinstance(cause, psycopg.Error):
            return None
        of_data = (
            not isinstance(cause, self.errors)
            if cause.sqlstate is None
            else cause.sqlstate.startswith(_OF_DATA)
        )
        return None if of_data else reason(cause)

    def recover(self) -> bool:
        """Replace connections that were lost, and free the lock; whether to write again."""
        was_lost, was_locked = self._is_lost, self._is_locked
        self._is_lost = self._is_locked = False
        if self._connections.away is not None:
            return False
        if was_lost:
            self._pool.drain()
        return was_lost or (was_locked and self._end_stalled())

    def _end_stalled(self) -> bool:
        """End sessions of servers that stand still in a write; whether there were any.

        What such a server was about to write it writes again when it goes on.
        """
        with self._connections.connection() as connection:
            return bool(connection.execute(_END_STALLED).fetchall())

    def tend(self) -> None:
        """Gather statistics, and note which pages all can see: the server itself does so within
        minutes, but plans of before then take a hundred times as long, and counts of names four.
        """
        with self._connections.connection() as connection:
            connection.execute("SET statement_timeout = 0")
            try:
                connection.execute("ANALYZE")
                connection.execute("VACUUM dataset, job")
            finally:
                connection.execute("RESET statement_timeout")

    def rest(self) -> None:
        """Work new names into the index of search: until then each search goes through them."""
        with self._connections.connection() as connection:
            connection.execute("SELECT gin_clean_pending_list('search_grams')")

    def size(self) -> int:
        """Bytes of the database."""
        with self._connections.connection() as connection:
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()


def _cause(error: BaseException) -> BaseException:
    """What made a pipeline fail: later statements in it say only that it did."""
    while isinstance(error, psycopg.errors.PipelineAborted) and error.__context__ is not None:
        error = error.__context__
    return error
