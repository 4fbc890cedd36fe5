"""An Iceberg table for tracing: rows with the snapshots that wrote them.

On format v3 each row has the sequence number of its last change, which compaction keeps. On v2 the
file of a row leads to the snapshot that added the file. Rows that were written before a table got
format v3 have the sequence number of their file, which tells no more than the file does.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from headwater.capture.datasets.naming import location
from headwater.errors import BadPredicate, TableUnknown
from headwater.openlineage.names import DatasetName
from headwater.pipeline import sql, tables
from headwater.trace.collecting import collected
from headwater.trace.predicate import reason_of

SEQUENCE, _ROW_ID, _FILE = "_last_updated_sequence_number", "_row_id", "_file"
_V3 = 3
_EXPIRED = "the snapshot that wrote the row has expired"
_REPLACED = (
    "compaction wrote its file with snapshot {}: before format v3 it is not known which earlier "
    "snapshot wrote the row"
)
_COPIED = "formats before v3 do not tell rows that an overwrite wrote from those that it copied"
_EXPIRED_FILE = "the snapshot that wrote its file has expired: it may have copied the row"
_UPGRADED = (
    "the row was written before the table had format v3, and its file has been replaced since: "
    "which snapshot wrote it is not known"
)


class Snapshot(NamedTuple):
    """A snapshot as the table's own metadata has it."""

    id: str
    sequence: int
    at_ms: int
    operation: str
    query_id: str | None  # of the streaming query that made it
    batch: int | None
    is_v3: bool

    @property
    def at(self) -> str:
        """When it was made."""
        return datetime.fromtimestamp(self.at_ms / 1000, UTC).isoformat(timespec="milliseconds")


class TracedRow(NamedTuple):
    """A row, and the snapshot that wrote it as far as that is known."""

    row: Row  # the table's columns
    row_id: int | None
    sequence: int | None
    snapshot_id: str | None
    reason: str | None  # why the snapshot is not certain


class IcebergTable:
    """One table, at its present snapshot or at an earlier one."""

    def __init__(self, spark: SparkSession, name: str, version: str | None = None) -> None:
        """Open a table by `catalog.namespace.table`.

        Raises: TableUnknown.
        """
        self.name, self.version, self._spark = name, version, spark
        catalog, *below = sql.parts(name)
        is_known = catalog == "spark_catalog" or tables.has_catalog(spark, catalog)
        if len(below) > 1 and not is_known:
            reason = f"there is no catalog {catalog}, with which a name of so many parts begins"
            raise TableUnknown(name, reason)
        try:
            if not tables.exists(spark, name):
                raise TableUnknown(name, "it does not exist")
            loader = spark._jvm.org.apache.iceberg.spark.Spark3Util  # type: ignore[union-attr]
            table = loader.loadIcebergTable(spark._jsparkSession, sql.quoted(name))
        except (PySparkException, Py4JError) as error:
            raise TableUnknown(name, reason_of(error)) from None
        try:
            self._operations = table.operations()
            # The catalog keeps what it has read, while others go on writing.
            self._metadata = metadata = self._operations.refresh()
        except Py4JError:  # of `orders.snapshots` and the like, which have no rows of their own
            raise TableUnknown(name, "it shows the metadata of a table; name the table") from None
        self._is_refreshed = False
        newest = metadata.currentSnapshot()
        self.current = None if newest is None else str(newest.snapshotId())
        self.format_version = int(metadata.formatVersion())
        self.node = DatasetName(*location(str(table.location())).key)

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the table, at its version."""
        return self._rows.columns

    @cached_property
    def _rows(self) -> DataFrame:
        return self._read(sql.quoted(self.name))

    def frame(self, *more: str) -> DataFrame:
        """The rows with what tells their snapshots, and other columns of metadata."""
        metadata = [_FILE] + ([SEQUENCE, _ROW_ID] if self.format_version >= _V3 else [])
        return self._rows.select("*", *metadata, *more)

    def matching(self, condition: Column, text: str, most: int) -> tuple[list[TracedRow], int]:
        """Some rows that a predicate holds for, and how many there are.

        Raises: BadPredicate, when it does not fit the table.
        """
        try:
            found = self.frame().where(condition)
            rows = collected(found.limit(most + 1))
            count = len(rows) if len(rows) <= most else found.count()
        except (PySparkException, Py4JError) as error:  # also while rows are compared with it
            raise BadPredicate(text, reason_of(error)) from None
        return self.located(rows[:most]), count

    def located(self, rows: Iterable[Row]) -> list[TracedRow]:
        """Rows of `frame`, each with its snapshot."""
        rows = [*rows]
        made = [self._by_sequence(_sequence(row)) for row in rows]
        needed = {
            row[_FILE] for row, one in zip(rows, made, strict=True) if one is None or not one.is_v3
        }
        entries = self._entries(needed)
        return [
            self._locate(row, one, entries.get(row[_FILE]))
            for row, one in zip(rows, made, strict=True)
        ]

    def snapshot(self, id_: str) -> Snapshot | None:
        """A snapshot by its id, unless it has expired."""
        found = self._metadata.snapshot(int(id_))
        if found is None and self._refresh():
            found = self._metadata.snapshot(int(id_))
        return None if found is None else _snapshot(found)

    def has_columns_of(self, id_: str) -> bool:
        """Whether a snapshot was written with the columns that the table has now."""
        found = self._metadata.snapshot(int(id_))
        own = found.schemaId() if found is not None else None
        return own is not None and int(own) == int(self._metadata.currentSchemaId())

    def _refresh(self) -> bool:
        """Read the table's metadata once more: rows may be newer than it."""
        if self._is_refreshed:
            return False
        self._metadata, self._is_refreshed = self._operations.refresh(), True
        return True

    def _locate(self, row: Row, made: Snapshot | None, entry: tuple[str, int] | None) -> TracedRow:
        own = Row(*self.columns)(*row[: len(self.columns)])
        sequence = _sequence(row)
        row_id = row[_ROW_ID] if self.format_version >= _V3 else None
        if made is not None and made.is_v3:
            return TracedRow(own, row_id, sequence, made.id, None)
        if entry is None or (sequence is not None and entry[1] != sequence):
            return TracedRow(own, row_id, sequence, None, _EXPIRED if made is None else _UPGRADED)
        added = self.snapshot(entry[0])
        if added is None:
            return TracedRow(own, row_id, entry[1], entry[0], _EXPIRED_FILE)
        if added.operation == "replace":  # it copies rows, and writes none
            return TracedRow(own, row_id, sequence, None, _REPLACED.format(added.id))
        reason = None if added.operation == "append" else _COPIED
        return TracedRow(own, row_id, entry[1], entry[0], reason)

    def _by_sequence(self, sequence: int | None) -> Snapshot | None:
        """The snapshot of a sequence number."""
        if sequence is None:
            return None
        found = _search(self._metadata.snapshots(), sequence)
        if found is None and self._refresh():
            found = _search(self._metadata.snapshots(), sequence)
        return found

    def _entries(self, files: set[str]) -> dict[str, tuple[str, int]]:
        """The snapshot that added each file, and its sequence number."""
        if not files:
            return {}
        path, is_live = F.col("data_file.file_path"), F.col("status") < F.lit(2)
        entries = self._read(f"{sql.quoted(self.name)}.entries").where(is_live)
        rows = entries.where(path.isin(*files)).select(path, "snapshot_id", "sequence_number")
        return {row[0]: (str(row[1]), int(row[2])) for row in rows.collect()}

    def _read(self, name: str) -> DataFrame:
        reader = self._spark.read
        return (reader.option("versionAsOf", self.version) if self.version else reader).table(name)


def _sequence(row: Row) -> int | None:
    found = row.asDict().get(SEQUENCE)
    return None if found is None else int(found)


def _search(snapshots: Any, sequence: int) -> Snapshot | None:
    """The snapshot of a sequence number; snapshots stand in the order of theirs."""
    low, high = 0, snapshots.size()
    while low < high:
        middle = (low + high) // 2
        found = snapshots[middle]
        number = int(found.sequenceNumber())
        if number == sequence:
            return _snapshot(found)
        low, high = (middle + 1, high) if number < sequence else (low, middle)
    return None


def _snapshot(found: Any) -> Snapshot:
    summary = found.summary()
    batch = summary.get("spark.sql.streaming.epochId")
    return Snapshot(
        str(found.snapshotId()),
        int(found.sequenceNumber()),
        int(found.timestampMillis()),
        str(found.operation()),
        summary.get("spark.sql.streaming.queryId"),
        None if batch is None else int(batch),
        found.firstRowId() is not None,
    )
