"""How far tasks have come, from the commit logs of their queries; moved there as well."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from pyspark.sql import SparkSession

from headwater.errors import ConnectorConflict
from headwater.pipeline import kafka
from headwater.pipeline.commitlog import Batch, CommitLog
from headwater.pipeline.flows import Positions
from headwater.pipeline.settings import Settings
from headwater.pipeline.sinks.iceberg import has_batch
from headwater.pipeline.sinks.objects import ObjectStore, TopicObjects
from headwater.pipeline.targets import DEAD_LETTERS, TABLE, Target
from headwater.pipeline.worker.definitions import TaskRecord

_FOLDER = "s3a://"
Reader = Callable[[Target, CommitLog], dict[int, int] | None]
Wanted = Mapping[int, int | None]  # offsets by partition; none for the first that there is


class Progress:
    """Reads and moves the progress of tasks whose checkpoints are in one place."""

    def __init__(self, spark: SparkSession, settings: Settings, checkpoints: str) -> None:
        self._spark, self._settings, self._checkpoints = spark, settings, checkpoints

    def path(self, record: TaskRecord) -> str:
        """The checkpoint of a task."""
        return f"{self._checkpoints}/{record.checkpoint}"

    def offsets(self, target: Target, record: TaskRecord) -> dict[int, int]:
        """The offset after the last record that a task has committed, by partition."""
        return self._known(target, record, _committed) or {}

    def committed(self, checkpoint: str) -> Batch | None:
        """The last batch that a query has committed."""
        return CommitLog(self._spark, checkpoint).committed()

    def first_positions(self, target: Target, record: TaskRecord) -> Positions | None:
        """Where a task begins that has not begun yet; none where the checkpoint says it."""
        log = CommitLog(self._spark, self.path(record))
        if log.committed() is not None or log.pending() is not None:
            return None
        return self._known(target, record, self._settled)

    def move(self, name: str, target: Target, record: TaskRecord, wanted: Wanted) -> TaskRecord:
        """Let a stopped task go on at other offsets; partitions that are not named stay.

        Raises:
            ConnectorConflict: an offset is not one of the topic's.

        """
        log = CommitLog(self._spark, self.path(record))
        now = self._known(target, record, self._settled) or {}
        first = kafka.first_offsets(self._settings.bootstrap, target.topic)
        ends = kafka.end_offsets(self._settings.bootstrap, target.topic)
        new = {**now}
        for number, offset in wanted.items():
            if number not in first:
                reason = f"cannot move: {target.topic} has no partition {number}"
                raise ConnectorConflict(name, reason)
            new[number] = first[number] if offset is None else offset
            if not first[number] <= new[number] <= ends[number]:
                place = f"{target.topic}, partition {number}, offset {new[number]}"
                raise ConnectorConflict(name, f"cannot move: {place} is not there")
        if target.place.startswith(_FOLDER):
            new = self._objects(target).aligned(new, now)
        if log.committed() is None:
            return msgspec.structs.replace(record, starts=new)
        log.move({target.topic: new})
        return record

    def _known(self, target: Target, record: TaskRecord, read: Reader) -> dict[int, int] | None:
        """What a task's log says, or where it is to begin, or what the task before it has done."""
        found = read(target, CommitLog(self._spark, self.path(record)))
        if found is not None:
            return found
        if record.starts is not None:
            return dict(record.starts)
        if record.origin is None:
            return None
        return self._known(Target.of(record.origin.key), record.origin.record, read)

    def _settled(self, target: Target, log: CommitLog) -> dict[int, int] | None:
        """Decide about a batch that was cut short; where the last one that counts has ended."""
        pending = log.pending()
        if pending is not None and target.place.startswith(TABLE):
            table = target.place.removeprefix(TABLE)
            if has_batch(self._spark, table, log.query_id(), pending.number):
                log.commit(pending.number)
        elif pending is not None and target.place.startswith(_FOLDER):
            objects = self._objects(target)
            starts = log.starts(pending.number).get(target.topic, {})
            objects.store.remove(one.key for one in objects.from_offsets(starts))
        return _committed(target, log)

    def _objects(self, target: Target) -> TopicObjects:
        bucket = target.place.removeprefix(_FOLDER).partition("/")[0]
        return TopicObjects(ObjectStore(self._spark, bucket), target.place, target.topic)


def in_connect(found: Mapping[str, Mapping[int, int]]) -> list[dict[str, object]]:
    """Offsets by topic in Kafka Connect's shape."""
    return [
        {
            "partition": {"kafka_topic": topic, "kafka_partition": number},
            "offset": {"kafka_offset": offset},
        }
        for topic, parts in sorted(found.items())
        for number, offset in sorted(parts.items())
    ]


def from_connect(name: str, listed: list[dict[str, Any]]) -> dict[str, dict[int, int | None]]:
    """Offsets by topic out of Kafka Connect's shape.

    Raises:
        ConnectorConflict: one of them cannot be read.

    """
    found: dict[str, dict[int, int | None]] = {}
    for one in listed:
        try:
            partition, offset = one["partition"], one["offset"]
            number = None if offset is None else int(offset["kafka_offset"])
            topic = str(partition["kafka_topic"])
            found.setdefault(topic, {})[int(partition["kafka_partition"])] = number
        except (KeyError, TypeError, ValueError) as error:
            raise ConnectorConflict(name, f"cannot use the offset {one}") from error
        if number is not None and number < 0:
            raise ConnectorConflict(name, f"cannot use the offset {one}")
    return found


def is_main(target: Target) -> bool:
    """Whether a task does what the connector is for, and not keep what it could not read."""
    return not target.place.startswith(DEAD_LETTERS)


def _committed(target: Target, log: CommitLog) -> dict[int, int] | None:
    committed = log.committed()
    return committed.offsets.get(target.topic, {}) if committed else None
