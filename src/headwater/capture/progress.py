"""Spark's progress reports, gathered into the facet that a heartbeat carries."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from headwater.capture import facets
from headwater.openlineage.facets import positions

# A micro-batch that has ended: its number, what it read of each topic and partition (from and to),
# and the Iceberg snapshot that it was committed as, with its sequence number.
Commit = dict[str, Any]


class Progress:
    """What happened in one query since its last event, and in all."""

    def __init__(self, query_id: str) -> None:
        self._query_id = query_id
        self._rows = self._batches = 0
        self._report: Mapping[str, Any] | None = None
        self._started: dict[int, Any] = {}
        self._commits: list[Commit] = []

    def add(self, report: Mapping[str, Any]) -> None:
        """Take in one of Spark's reports."""
        self._report = report
        self._batches += 1
        self._rows += int(_total(report, "numInputRows") or 0)
        for number, source in enumerate(_list(report, "sources")):
            self._started.setdefault(number, source.get("startOffset"))

    def committed(self, commits: Sequence[Commit]) -> None:
        """Take in what the query committed."""
        self._commits.extend(commits)

    def facet(self) -> dict[str, Any] | None:
        """The facet for the next event; the offsets after it start where these end."""
        report = self._report or {}
        if not report and not self._commits:
            return None
        found = facets.own_facet(
            "progress",
            queryId=self._query_id,
            batchId=report.get("batchId"),
            batches=self._batches,
            rows=self._rows,
            inputRows=_total(report, "numInputRows"),
            inputRowsPerSecond=_number(_total(report, "inputRowsPerSecond")),
            processedRowsPerSecond=_number(_total(report, "processedRowsPerSecond")),
            batchDurationMs=_duration(report),
            watermark=(report.get("eventTime") or {}).get("watermark"),
            stateRows=_sum(report, "numRowsTotal"),
            stateBytes=_sum(report, "memoryUsedBytes"),
            sources=[self._source(n, s) for n, s in enumerate(_list(report, "sources"))],
            commits=self._commits,
            snapshots=[one["snapshot"] for one in self._commits if "snapshot" in one],
        )
        self._started, self._commits = {}, []
        return found

    def _source(self, number: int, source: Mapping[str, Any]) -> dict[str, Any]:
        metrics = source.get("metrics") or {}
        return {
            "description": source.get("description"),
            "rows": source.get("numInputRows"),
            "startOffset": _offset(self._started.get(number, source.get("startOffset"))),
            "endOffset": _offset(source.get("endOffset")),
            "latestOffset": _offset(source.get("latestOffset")),
            "lag": _number(metrics.get("maxOffsetsBehindLatest")),
        }


def ran(report: Mapping[str, Any]) -> bool:
    """Whether a report is on a micro-batch that ran, and not on a query that waits for data."""
    return "addBatch" in (report.get("durationMs") or {})


def offsets_of(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a micro-batch read of Kafka: from and to for each topic and partition.

    The report on a query's first micro-batch does not tell from where: None.
    """
    sources = _list(report, "sources")
    starts = [source.get("startOffset") for source in sources]
    if None in starts:
        return None
    return offsets_between(starts, [source.get("endOffset") for source in sources])


def offsets_between(starts: Sequence[Any], ends: Sequence[Any]) -> dict[str, Any]:
    """What lies between two positions of the same sources; only Kafka's are understood.

    A partition that was not there before is read from its beginning.
    """
    found: dict[str, Any] = {}
    for start, end in zip(starts, ends, strict=False):
        begun = {
            (topic, partition): offset for topic, partition, offset in positions(_offset(start))
        }
        for topic, partition, offset in positions(_offset(end)):
            since = begun.get((topic, partition), 0)
            if since != offset:
                found.setdefault(topic, {})[partition] = [since, offset]
    return found


def _total(report: Mapping[str, Any], key: str) -> Any:
    """A figure of all sources together; in Spark Connect only each has its own."""
    if key in report:
        return report[key]
    return sum((source[key] for source in _list(report, "sources") if source.get(key)), start=0)


def _duration(report: Mapping[str, Any]) -> int | None:
    measured = report.get("batchDuration")
    return measured or (report.get("durationMs") or {}).get("triggerExecution")


def _sum(report: Mapping[str, Any], key: str) -> int:
    return sum(int(state.get(key) or 0) for state in _list(report, "stateOperators"))


def _list(report: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return list(report.get(key) or ())


def _offset(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if number == number and abs(number) != float("inf") else None
