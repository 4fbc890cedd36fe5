"""Ranges of offsets that runs report, and what topics still hold of them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.pipeline import kafka

MADE_AGAIN = "the topic was deleted and created again since: its offsets name other records now"
_GONE = "the topic is gone"
NEWER = (
    "records of these offsets are newer than the run that read them: the topic was deleted and "
    "created again since, or clocks differ"
)
_COMPACTED = "the topic is compacted, and {} of the offsets that the batch read hold no record"
_RETENTION = "retention has removed {} of the records that the batch read"

# Why the records of a topic are not those that were read.
OTHERS = frozenset({MADE_AGAIN, NEWER, _GONE})

Ranges = dict[int, tuple[int, int]]  # by partition, from and to


def spans_of(write: Mapping[str, Any]) -> dict[str, Ranges]:
    """What a run read, by topic and partition."""
    return {
        topic: {int(n): (one["from"] or 0, one["to"]) for n, one in parts.items() if one["to"]}
        for topic, parts in (write.get("offsets") or {}).items()
    }


def last_read(job: Mapping[str, Any]) -> str | None:
    """When a job that records reached had read them, by the last of its runs that did."""
    return max((run["readBy"] for run in job["runs"] if run.get("readBy")), default=None)


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
    left = {part: (max(start, ends[part][0]), end) for part, (start, end) in ranges.items()}
    left = {part: (start, end) for part, (start, end) in left.items() if start < end}
    if not left:
        return Held(None, doubts)
    records = kafka.read_range(spark, bootstrap, topic, left, options)
    if read_at and _may_be_newer(bootstrap, topic, left, read_at) and is_newer(records, read_at):
        doubts.append(NEWER)
    if kafka.is_compacted(bootstrap, topic):
        missing = sum(end - start for start, end in left.values()) - records.count()
        doubts += [_COMPACTED.format(missing)] if missing else []
    return Held(records, doubts)


def is_newer(records: DataFrame, read_at: str) -> bool:
    """Whether some records were sent after a time at which they had been read."""
    return not records.where(F.unix_millis("timestamp") > F.lit(_milliseconds(read_at))).isEmpty()


def _may_be_newer(bootstrap: str, topic: str, ranges: Ranges, read_at: str) -> bool:
    """Whether a partition has newer records before the end of a range: Kafka finds the first."""
    since = kafka.first_since(bootstrap, topic, _milliseconds(read_at) + 1)
    return any(since.get(part, end) < end for part, (_, end) in ranges.items())


def _milliseconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp() * 1000)
