"""A query's own logs in its checkpoint: how far it has come, and how that is changed.

Spark writes `offsets/N` before batch N and `commits/N` after it. A batch that has only the first
is under way, or was cut short and will be repeated with the same offsets. The formats are those
that Spark writes since 2.1: a version, a line of metadata, a line for each source.
"""

import json
import time
from collections.abc import Mapping

import msgspec
from pyspark.sql import SparkSession

from headwater.pipeline.files import Files

Offsets = dict[str, dict[int, int]]  # by topic and partition: the offset after the last record
_TIMES = {"batchWatermarkMs": 0, "conf": {}}
_COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'


class Batch(msgspec.Struct, frozen=True):
    """A batch of the offset log: its number, its metadata, and where it ends."""

    number: int
    metadata: str
    ends: str

    @property
    def offsets(self) -> Offsets:
        """Where the batch ends, for a query that reads topics."""
        return _offsets(self.ends)


class CommitLog:
    """The offset and commit logs of one checkpoint."""

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        self._offsets = Files(spark, f"{checkpoint}/offsets")
        self._commits = Files(spark, f"{checkpoint}/commits")
        self._first = Files(spark, f"{checkpoint}/sources/0")
        self._root = Files(spark, checkpoint)

    def query_id(self) -> str:
        """The id that the query keeps; empty if it never ran."""
        if "metadata" not in self._root.names():
            return ""
        return str(json.loads(self._root.read("metadata"))["id"])

    def committed(self) -> Batch | None:
        """The last batch that is done."""
        done = _numbers(self._commits.names())
        return self._batch(done[-1]) if done else None

    def pending(self) -> Batch | None:
        """The batch that was begun and is not done."""
        begun, done = _numbers(self._offsets.names()), _numbers(self._commits.names())
        last_done = done[-1] if done else -1
        return self._batch(begun[-1]) if begun and begun[-1] > last_done else None

    def starts(self, number: int) -> Offsets:
        """Where a batch begins: where the one before it ended."""
        if number > 0:
            return self._batch(number - 1).offsets
        return _offsets(self._first.read("0").decode().splitlines()[-1])

    def ends(self, number: int) -> Offsets:
        """Where a batch ends."""
        return self._batch(number).offsets

    def commit(self, number: int) -> None:
        """Note that a batch is done."""
        self._commits.write(str(number), _COMMIT)

    def move(self, offsets: Mapping[str, Mapping[int, int]]) -> None:
        """Let the query go on at other offsets, as a batch of its own without records."""
        last = self.committed()
        number = last.number + 1 if last else 1
        times = json.dumps({**_TIMES, "batchTimestampMs": int(time.time() * 1000)})
        metadata = last.metadata if last else times
        ends = json.dumps(
            {topic: {str(n): o for n, o in parts.items()} for topic, parts in offsets.items()}
        )
        for one in range(number - 1, number + 1) if last is None else (number,):
            self._offsets.write(str(one), f"v1\n{metadata}\n{ends}".encode())
            self.commit(one)

    def _batch(self, number: int) -> Batch:
        _, metadata, ends, *_ = self._offsets.read(str(number)).decode().splitlines()
        return Batch(number, metadata, ends)


def _numbers(names: list[str]) -> list[int]:
    return sorted(int(name) for name in names if name.isdigit())


def _offsets(text: str) -> Offsets:
    found = json.loads(text)
    if not isinstance(found, dict):
        return {}
    return {
        topic: {int(number): int(offset) for number, offset in parts.items()}
        for topic, parts in found.items()
    }
