"""What `headwater why` answers."""

from datetime import datetime
from typing import Any

from msgspec import Struct


class SnapshotTold(Struct, rename="camel"):
    """The snapshot that wrote a row, as the table has it; without times where it has expired."""

    id: str
    sequence: int | None
    at: datetime | None = None
    operation: str | None = None
    query_id: str | None = None
    batch: int | None = None


class Record(Struct, rename="camel"):
    """A record of a topic; its message is there for those who may read it."""

    topic: str
    partition: int
    offset: int
    message: Any = None


class SourceRow(Struct, rename="camel"):
    """A row of a table that a row was computed from, with its records."""

    values: dict[str, Any]
    snapshot: str | None
    records: list[Record]
    table: str | None = None


class Records(Struct, rename="camel"):
    """The records that a row came from, and whether these are exactly those.

    If they are not exact there may be more than those; if not complete, some may be missing.
    """

    exact: bool
    complete: bool
    reason: str
    records: list[Record] = []
    table: str | None = None  # whose rows the row was computed from
    rows: list[SourceRow] = []
    row_count: int = 0


class RowStory(Struct, rename="camel"):
    """Where one row came from."""

    values: dict[str, Any]
    row_id: int | None
    snapshot: SnapshotTold | None
    exact: bool
    reason: str | None
    writes: list[dict[str, Any]]  # as the server tells them
    records: Records | None = None


class Formula(Struct, rename="camel"):
    """What a column is computed from."""

    column: str
    formula: str | None
    direct: bool  # otherwise the inputs only decide on its value: groups, filters, joins
    inputs: list[str]


class Story(Struct, rename="camel"):
    """Where the rows came from that a predicate holds for."""

    table: str
    node_id: str
    predicate: str
    format_version: int
    row_count: int
    rows: list[RowStory]
    formulas: list[Formula]
    notes: list[str]
    complete: bool  # whether the server could be asked
