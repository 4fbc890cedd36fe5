"""Spark's log of committed files, and how a new checkpoint goes on with an old log."""

import json
import time
from collections.abc import Mapping

from pyspark.sql import SparkSession

from headwater.pipeline.files import Files


def last_batch(spark: SparkSession, location: str) -> int | None:
    """The number of the last batch that was committed to a folder; none for a new one."""
    names = Files(spark, f"{location}/_spark_metadata").names()
    numbers = [int(name.split(".")[0]) for name in names if name.split(".")[0].isdigit()]
    return max(numbers, default=None)


def has_begun(spark: SparkSession, checkpoint: str) -> bool:
    """Whether a query has run on a checkpoint."""
    # Spark writes the query's id before anything else, and begin_after never does.
    return "metadata" in Files(spark, checkpoint).names()


def begin_after(
    spark: SparkSession, checkpoint: str, batch: int, topic: str, offsets: Mapping[int, int]
) -> None:
    """Let a new checkpoint count on after a batch, from given offsets.

    The file sink takes a batch whose number is in the folder's log for done, and writes
    nothing: a query that counted from zero again would lose records without a word.
    """
    now = int(time.time() * 1000)
    times = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": now, "conf": {}})
    ends = json.dumps({topic: {str(number): offset for number, offset in offsets.items()}})
    log, done = Files(spark, f"{checkpoint}/offsets"), Files(spark, f"{checkpoint}/commits")
    for number in range(max(0, batch - 1), batch + 1):  # Spark wants the last two
        log.write(str(number), f"v1\n{times}\n{ends}".encode())
        done.write(str(number), b'v1\n{"nextBatchWatermarkMs":0}')
