"""The Iceberg snapshots that a streaming query commits: which micro-batch went into which."""

from typing import NamedTuple, Self

from headwater.capture.spark.jvm import Java, call

_QUERY = "spark.sql.streaming.queryId"
_BATCH = "spark.sql.streaming.epochId"
_APPLICATION = "spark.app.id"
_MOST = 50  # snapshots of the query that are given at once
_LOOKED_AT = 200  # those of other writers included


class Snapshot(NamedTuple):
    """One snapshot, the micro-batch that it holds, and which application made it when."""

    id: str
    sequence: int
    batch: int
    application: str | None
    made_at: int  # milliseconds since 1970


class Snapshots:
    """Watches one table for the snapshots of one query.

    The first look gives the latest ones there are: a driver that was killed may not have told them.
    """

    def __init__(self, table: Java, query_id: str) -> None:
        self._table, self._query_id = table, query_id
        self._last: int | None = None

    @classmethod
    def of(cls, execution: Java, query_id: str) -> Self | None:
        """A watch on the sink of a query, if that is an Iceberg table."""
        table = call(execution.sink(), "table")
        return cls(table, query_id) if call(table, "location") is not None else None

    def new(self) -> list[Snapshot]:
        """Snapshots of this query since the last call, oldest first.

        Asked after each micro-batch, so every question to the JVM counts.
        """
        self._table.refresh()
        snapshot = self._table.currentSnapshot()
        if snapshot is None:
            return []
        newest = identity = int(snapshot.snapshotId())
        found: list[Snapshot] = []
        for _ in range(_LOOKED_AT):
            if identity == self._last or len(found) == _MOST:
                break
            summary = snapshot.summary()
            if summary.get(_QUERY) == self._query_id:
                found.append(
                    Snapshot(
                        str(identity),
                        int(snapshot.sequenceNumber()),
                        int(summary.get(_BATCH)),
                        summary.get(_APPLICATION),
                        int(snapshot.timestampMillis()),
                    )
                )
            parent = snapshot.parentId()
            if parent is None or int(parent) == self._last:
                break
            identity, snapshot = int(parent), self._table.snapshot(parent)
            if snapshot is None:
                break  # it has expired
        self._last = newest
        return found[::-1]
