"""The Iceberg snapshots that a streaming query commits: which micro-batch went into which."""

from typing import NamedTuple, Self

from headwater.capture.spark.history import History, extended, history_of, uuid_of
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
    history: History
    table: str | None  # its UUID


class Snapshots:
    """Watches one table for the snapshots of one query.

    The first look gives the latest ones there are: a driver that was killed may not have told them.
    """

    def __init__(self, table: Java, query_id: str) -> None:
        self._table, self._query_id = table, query_id
        self._last: int | None = None
        self._history: History = ()  # of the last one
        self._uuid: str | None = None

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
        current = self._table.currentSnapshot()
        if current is None:
            return []
        self._uuid = self._uuid or uuid_of(self._table)
        seen, is_linked = self._since_last(current)
        history = self._history if is_linked else None
        found: list[Snapshot] = []
        for snapshot, summary in reversed(seen):
            identity, number = int(snapshot.snapshotId()), int(snapshot.sequenceNumber())
            history = (
                extended(history, number)
                if history is not None
                else history_of(self._table, identity)
            )
            if summary.get(_QUERY) == self._query_id:
                batch, application = int(summary.get(_BATCH)), summary.get(_APPLICATION)
                made_at = int(snapshot.timestampMillis())
                told = Snapshot(
                    str(identity), number, batch, application, made_at, history, self._uuid
                )
                found.append(told)
        self._last, self._history = int(current.snapshotId()), history or ()
        return found

    def _since_last(self, snapshot: Java) -> tuple[list[tuple[Java, Java]], bool]:
        """Snapshots since the last call with their summaries, latest first.

        With them, whether the earliest was made from the last snapshot that is known. It was not
        if the table was rolled back since.
        """
        seen: list[tuple[Java, Java]] = []
        own, last = 0, self._history[-1][1] if self._history else 0
        while snapshot is not None and len(seen) < _LOOKED_AT and own < _MOST:
            if int(snapshot.snapshotId()) == self._last:
                return seen, True
            if 0 < int(snapshot.sequenceNumber()) <= last:
                break  # it was there at the last call
            summary = snapshot.summary()
            seen.append((snapshot, summary))
            own += summary.get(_QUERY) == self._query_id
            parent = snapshot.parentId()
            if parent is not None and int(parent) == self._last:
                return seen, True
            snapshot = None if parent is None else self._table.snapshot(parent)
        return seen, False
