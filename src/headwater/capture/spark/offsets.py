"""Which offsets of Kafka a batch action read, as its physical plan has them."""

from collections.abc import Iterator

from py4j.java_collections import JavaArray

from headwater.capture.spark.jvm import Java, call, class_name, private_field, seq

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


def offsets_read(execution: Java) -> Ranges:
    """The offsets that an action has read, over all its reads of Kafka.

    Without partitions that are read to their end: only executors know where that was.
    """
    found: Ranges = {}
    for scan in _scans(call(execution, "executedPlan")):
        for source in _kafka_rdds(scan.rdd()):
            for one in _ranges(source):
                place = one.topicPartition()
                # The earliest offset is negative here, and the latest one: executors find out.
                first, last = max(0, int(one.fromOffset())), int(one.untilOffset())
                if last < 0:
                    continue
                parts = found.setdefault(str(place.topic()), {})
                known = parts.get(str(place.partition()), (first, last))
                # A long range is split into several.
                parts[str(place.partition())] = min(first, known[0]), max(last, known[1])
    return found


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
