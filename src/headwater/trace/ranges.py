"""Ranges of offsets that runs report, and what topics still hold of them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from headwater.pipeline import kafka

MADE_AGAIN = "the topic was deleted and made again since: its offsets name other records now"
_GONE = "the topic is gone"
_NEWER = (
    "records of these offsets are newer than the run that read them: the topic was deleted and "
    "made again, or clocks differ"
)
_COMPACTED = "the topic is compacted, and {} of the offsets that the batch read hold no record"
_RETENTION = "retention has removed {} of the records that the batch read"

Ranges = dict[int, tuple[int, int]]  # by partition, from and to


def spans_of(write: Mapping[str, Any]) -> dict[str, Ranges]:
    """What a run read, by topic and partition."""
    return {
        topic: {int(n): (one["from"] or 0, one["to"]) for n, one in parts.items() if one["to"]}
        for topic, parts in (write.get("offsets") or {}).items()
    }


def merged(all_: Iterable[Ranges]) -> Ranges:
    """The smallest ranges that hold all of some."""
    found: Ranges = {}
    for ranges in all_:
        for part, (start, end) in ranges.items():
            known = found.get(part, (start, end))
            found[part] = (min(known[0], start), max(known[1], end))
    return found


class Held(NamedTuple):
    """What a topic still has of some ranges, and what it has no more."""

    records: DataFrame | None
    doubts: list[str]


def held(
    spark: SparkSession, bootstrap: str, topic: str, ranges: Ranges, read_at: str | None,
    options: Mapping[str, str] | None = None,
) -> Held:  # fmt: skip
    """The records of some ranges of a topic that were read before a time."""
    ends = kafka.held_offsets(bootstrap, topic)
    if not ends:
        return Held(None, [_GONE])
    if any(end > ends.get(part, (0, 0))[1] for part, (_, end) in ranges.items()):
        return Held(None, [MADE_AGAIN])
    doubts = []
    if removed := sum(
        max(0, min(end, ends[part][0]) - start) for part, (start, end) in ranges.items()
    ):
        doubts.append(_RETENTION.format(removed))
    if read_at and _is_newer(bootstrap, topic, ranges, read_at):
        doubts.append(_NEWER)
    left = {part: (max(start, ends[part][0]), end) for part, (start, end) in ranges.items()}
    left = {part: (start, end) for part, (start, end) in left.items() if start < end}
    if not left:
        return Held(None, doubts)
    records = kafka.read_range(spark, bootstrap, topic, left, options)
    if kafka.is_compacted(bootstrap, topic):
        missing = sum(end - start for start, end in left.values()) - records.count()
        doubts += [_COMPACTED.format(missing)] if missing else []
    return Held(records, doubts)


def _is_newer(bootstrap: str, topic: str, ranges: Ranges, read_at: str) -> bool:
    """Whether records of some ranges were sent after a time at which they had been read."""
    at_ms = int(datetime.fromisoformat(read_at).timestamp() * 1000)
    since = kafka.first_since(bootstrap, topic, at_ms + 1)
    return any(start <= since.get(part, end) < end for part, (start, end) in ranges.items())
