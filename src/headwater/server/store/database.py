"""Connections to SQLite or PostgreSQL, and the thin layer in which the store speaks SQL.

Statements are written once, with `?` for a value and `= ANY(?)` for a list of numbers, and
translated for the driver (docs/adr/0003).
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from headwater.errors import UnknownStore

Row = tuple[Any, ...]
Errors = tuple[type[Exception], ...]
T = TypeVar("T")
_AMONG = 8192  # values in one list; SQLite takes 32,766


class Session(Protocol):
    """One connection, inside a transaction or reading."""

    dialect: str

    def all(self, sql: str, *params: Any) -> list[Row]:
        """Every row of an answer."""

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run one statement for each row."""

    def run(self, sql: str, *params: Any) -> None:
        """Run one statement."""


class Cursor(Protocol):
    """The rows of an answer that are still to be read."""

    def fetchmany(self, size: int, /) -> list[Row]:
        """The next rows, so many at the most."""


class ReadSession(Session, Protocol):
    """A session whose answers can be read a part at a time."""

    def ask(self, sql: str, *params: Any) -> Cursor:
        """The rows of an answer, none of which is read yet."""


class Database(Protocol):
    """A place that holds the tables, for one writer and many readers."""

    url: str
    name: str  # the address without a password
    dialect: str
    # Which database answers. After a failover or a restore it is another one, which may have other
    # rows under the same numbers: whatever was cached by number is dropped.
    instance: str
    errors: Errors  # of the database itself, when a question cannot be answered
    refusal: type[Exception]  # whatever it says no to

    def outage(self, error: Exception) -> str | None:
        """Why the database takes no writes at the moment; None if what was written is at fault."""

    def recover(self) -> bool:
        """Mend what made the last write fail, if it can be; whether to write again at once."""

    def reading(self) -> AbstractContextManager[ReadSession]:
        """A connection that sees one moment of the store."""

    def writing(self) -> AbstractContextManager[Session]:
        """A transaction, committed to disk on leaving; one at a time over all servers."""

    def tend(self) -> None:
        """Look how the tables have grown, where the planner goes by that."""

    def rest(self) -> None:
        """Put things away, when for a while there was nothing to write."""

    def size(self) -> int:
        """Bytes on disk."""

    def close(self) -> None:
        """Give back every connection."""


def first(rows: list[Row]) -> Row | None:
    """The first row, if there is one."""
    return rows[0] if rows else None


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
    # The driver of the other takes a fifth of a second to import.
    scheme = url.partition(":")[0]
    if scheme == "sqlite" and url.startswith("sqlite:///"):
        from headwater.server.store.sqlite import SqliteDatabase  # noqa: PLC0415

        return SqliteDatabase(url)
    if scheme in ("postgresql", "postgres"):
        from headwater.server.store.postgres import PostgresDatabase  # noqa: PLC0415

        return PostgresDatabase(url)
    raise UnknownStore(url)
