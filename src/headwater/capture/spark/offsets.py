"""Which offsets of Kafka a batch action read, as its physical plan has them."""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct
from py4j.java_collections import JavaArray

from headwater.capture.spark.jvm import Java, call, class_name, option, private_field, seq
from headwater.capture.spark.topics import Ends, ends_of

# Topic, partition, and from where to where.
Ranges = dict[str, dict[str, tuple[int, int]]]

_INSIDE = {
    "AdaptiveSparkPlanExec": "executedPlan",
    "CommandResultExec": "commandPhysicalPlan",
    "ShuffleQueryStageExec": "plan",
    "BroadcastQueryStageExec": "plan",
    "TableCacheQueryStageExec": "plan",
    "ResultQueryStageExec": "plan",
}
_MOST_NODES = 5_000


class OffsetsRead(Struct, frozen=True):
    """What an action has read of Kafka: from where to where, or up to which offset at most."""

    ranges: Ranges
    at_most: dict[str, dict[str, int]]


class _Span(NamedTuple):
    """A range of one scan; a negative offset stands for the earliest and for the latest one."""

    topic: str
    partition: str
    first: int
    end: int


def offsets_read(execution: Java) -> OffsetsRead:
    """The offsets that an action has read, over all its reads of Kafka.

    Where a partition is read to its end, only executors know where that was. The end is asked for
    now, after the read: it was the same then if the rows between are as many as the scan has read.
    """
    found = OffsetsRead({}, {})
    for scan in _scans(call(execution, "executedPlan")):
        spans = [span for source in _kafka_rdds(scan.rdd()) for span in _spans(source)]
        ends = ends_of(scan.relation()) if any(span.end < 0 for span in spans) else None
        is_exact = ends is not None and _count(spans, ends) == _rows(scan)
        for span in spans:
            _note(found, span, ends.latest.get(span[:2]) if ends is not None else None, is_exact)
    return found


def _note(found: OffsetsRead, span: _Span, latest: int | None, is_exact: bool) -> None:
    end = latest if span.end < 0 and is_exact else span.end
    if end is None or end < 0:
        if latest is not None:
            found.at_most.setdefault(span.topic, {})[span.partition] = latest
        return
    parts = found.ranges.setdefault(span.topic, {})
    first = max(0, span.first)  # nothing is before the earliest one
    known = parts.get(span.partition, (first, end))
    # A long range is split into several.
    parts[span.partition] = min(first, known[0]), max(end, known[1])


def _count(spans: list[_Span], ends: Ends) -> int:
    """How many offsets the spans of a scan have, if the topics end here."""
    return sum(
        (span.end if span.end >= 0 else ends.latest.get(span[:2], 0))
        - (span.first if span.first >= 0 else ends.earliest.get(span[:2], 0))
        for span in spans
    )


def _rows(scan: Java) -> int | None:
    rows = call(option(scan.metrics().get("numOutputRows")), "value")
    return None if rows is None else int(rows)


def _spans(source: Java) -> Iterator[_Span]:
    for one in _ranges(source):
        place = one.topicPartition()
        name = str(place.topic()), str(place.partition())
        yield _Span(*name, int(one.fromOffset()), int(one.untilOffset()))


def _ranges(source: Java) -> list[Java]:
    """Spark's own ranges: an array, or a sequence in newer versions."""
    found = private_field(source, "offsetRanges")
    if found is None:
        return []
    return [*found] if isinstance(found, JavaArray) else seq(found)


def _scans(plan: Java | None) -> Iterator[Java]:
    pending, seen = [plan], 0
    while pending and seen < _MOST_NODES:
        node = pending.pop()
        seen += 1
        kind = class_name(node) if node is not None else ""
        if kind == "RowDataSourceScanExec":
            yield node
        elif kind in _INSIDE:
            pending.append(call(node, _INSIDE[kind]))
        elif node is not None:
            pending += [*seq(node.children()), *seq(node.subqueries())]


def _kafka_rdds(rdd: Java) -> Iterator[Java]:
    pending, seen = [rdd], 0
    while pending and seen < _MOST_NODES:
        one = pending.pop()
        seen += 1
        if class_name(one) == "KafkaSourceRDD":
            yield one
        else:
            pending += [dependency.rdd() for dependency in seq(one.dependencies())]
