"""The Iceberg snapshots that a streaming query commits: which offsets went into which."""

from typing import Self

from headwater.capture.spark.jvm import Java, call

_QUERY = "spark.sql.streaming.queryId"
_MOST = 50


class Snapshots:
    """Watches one table for the snapshots of one query."""

    def __init__(self, table: Java, query_id: str) -> None:
        self._table, self._query_id = table, query_id
        self._last = self._current()

    @classmethod
    def of(cls, execution: Java, query_id: str) -> Self | None:
        """A watch on the sink of a query, if that is an Iceberg table."""
        table = call(execution.sink(), "table")
        return cls(table, query_id) if call(table, "location") is not None else None

    def new(self) -> list[str]:
        """Snapshots of this query since the last call, oldest first.

        Asked after each micro-batch, so every question to the JVM counts.
        """
        self._table.refresh()
        snapshot = self._table.currentSnapshot()
        if snapshot is None:
            return []
        newest = identity = int(snapshot.snapshotId())
        found: list[str] = []
        while identity != self._last and len(found) < _MOST:
            if snapshot.summary().get(_QUERY) == self._query_id:
                found.append(str(identity))
            parent = snapshot.parentId()
            if parent is None or int(parent) == self._last:
                break
            identity, snapshot = int(parent), self._table.snapshot(parent)
            if snapshot is None:
                break  # it has expired
        self._last = newest
        return found[::-1]

    def _current(self) -> int | None:
        snapshot = self._table.currentSnapshot()
        return int(snapshot.snapshotId()) if snapshot is not None else None
