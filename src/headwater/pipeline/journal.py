"""The journal of a connector: what happened to it lately, for whoever asks."""

import threading
from collections import deque
from datetime import UTC, datetime

import msgspec
from pyspark.sql.streaming.query import StreamingQuery

_LINES = 1000


class Line(msgspec.Struct, frozen=True):
    """One thing that happened."""

    at: datetime
    level: str
    message: str


def batch_lines(name: str, query: StreamingQuery) -> list[Line]:
    """The micro-batches of a query that Spark still remembers, those without rows left out."""
    found = []
    for progress in query.recentProgress:
        report = msgspec.json.decode(progress.json)
        if report["numInputRows"]:
            took = report["durationMs"].get("triggerExecution", report.get("batchDuration", 0))
            text = f"{name} batch {report['batchId']}: {report['numInputRows']} rows in {took} ms"
            found.append(Line(datetime.fromisoformat(report["timestamp"]), "INFO", text))
    return found


class Journal:
    """The last lines about one connector."""

    def __init__(self) -> None:
        self._lines: deque[Line] = deque(maxlen=_LINES)
        self._lock = threading.Lock()

    def info(self, message: str) -> None:
        """Note something that is as it should be."""
        self._add("INFO", message)

    def warn(self, message: str) -> None:
        """Note something that someone should look at."""
        self._add("WARN", message)

    def error(self, message: str) -> None:
        """Note a failure."""
        self._add("ERROR", message)

    def last(self, count: int) -> list[Line]:
        """The last lines, oldest first."""
        with self._lock:
            return list(self._lines)[-count:] if count > 0 else []

    def _add(self, level: str, message: str) -> None:
        with self._lock:
            self._lines.append(Line(datetime.now(UTC), level, message))
