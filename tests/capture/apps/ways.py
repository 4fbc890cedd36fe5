"""Every way for a query or a write to end by itself, in one driver that goes on."""

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import headwater
from capture.apps.session import HOME, session

SCHEMA = "id int, price double"
Change = Callable[[DataFrame], DataFrame]

spark = session()
headwater.attach(spark)
(HOME / "in").mkdir()
(HOME / "in" / "a.json").write_text('{"id": 1, "price": 2.5}\n')
arriving = spark.readStream.schema(SCHEMA).json(str(HOME / "in"))
stored = spark.read.schema(SCHEMA).json(str(HOME / "in"))
begun, release = str(HOME / "begun"), str(HOME / "release")


def one_zeroth(_: int) -> int:
    return 1 // 0


def hold(_: int) -> int:
    open(begun, "w").close()  # noqa: PTH123
    while not os.path.exists(release):  # noqa: PTH110
        time.sleep(0.1)
    return 1


def same(frame: DataFrame) -> DataFrame:
    return frame


def unknown(frame: DataFrame) -> DataFrame:
    return frame.select("nothing_of_this_name")


def broken(frame: DataFrame) -> DataFrame:
    return frame.select(F.udf(one_zeroth, "int")("id").alias("id"))


def refuse(_: DataFrame) -> DataFrame:
    raise ValueError("not this batch")


def stream(way: str, change: Change, **trigger: Any) -> StreamingQuery:
    writer = change(arriving).writeStream.queryName(f"{way}.streaming").format("parquet")
    return (
        writer.option("path", str(HOME / way / "out"))
        .option("checkpointLocation", str(HOME / way / "checkpoint"))
        .trigger(**(trigger or {"processingTime": "0 seconds"}))
        .start()
    )


def each(way: str, change: Change, **trigger: Any) -> StreamingQuery:
    def write(batch: DataFrame, _: int) -> None:
        change(batch).write.mode("append").parquet(str(HOME / way / "each"))

    return (
        arriving.writeStream.queryName(f"{way}.each")
        .foreachBatch(write)
        .option("checkpointLocation", str(HOME / way / "each-checkpoint"))
        .trigger(**(trigger or {"processingTime": "0 seconds"}))
        .start()
    )


def batch(way: str, frame: DataFrame) -> None:
    frame.write.parquet(str(HOME / f"{way}_batch"))


def must_fail(action: Callable[[], StreamingQuery | None]) -> None:
    """Do what fails; a query fails when it is waited for."""
    try:
        query = action()
        if query is not None:
            query.awaitTermination()
    except Exception:
        return
    raise SystemExit("it did not fail")


def fail_each(way: str, change: Change) -> None:
    must_fail(lambda: stream(way, change))
    must_fail(lambda: each(way, change))
    must_fail(lambda: batch(way, change(stored)))


def spoil(way: str) -> None:
    """A checkpoint that no query can go on from, and a file that no write can read."""
    for name in ("checkpoint", "each-checkpoint"):
        offsets = HOME / way / name / "offsets"
        offsets.mkdir(parents=True)
        (offsets / "0").write_text("no offsets at all")
    (HOME / way / "a.parquet").write_text("not parquet")


def stop_both(way: str) -> None:
    queries = [stream(way, same), each(way, same)]
    for query in queries:
        query.processAllAvailable()
    while not (HOME / "seen").exists():
        time.sleep(0.05)
    for query in queries:
        query.stop()


def cancel(way: str) -> None:
    held = stored.select(F.udf(hold, "int")("id").alias("id"))
    writing = threading.Thread(target=must_fail, args=[lambda: batch(way, held)])
    writing.start()
    while not (HOME / "begun").exists():
        time.sleep(0.05)
    spark.sparkContext.cancelAllJobs()
    writing.join()


def finish(way: str) -> None:
    stream(way, same, availableNow=True).awaitTermination()
    each(way, same, availableNow=True).awaitTermination()


fail_each("analysis", unknown)
fail_each("udf", broken)
must_fail(lambda: each("function", refuse))
spoil("stillborn")
must_fail(lambda: stream("stillborn", same))
must_fail(lambda: each("stillborn", same))
must_fail(
    lambda: batch(
        "stillborn", spark.read.schema(SCHEMA).parquet(str(HOME / "stillborn" / "a.parquet"))
    )
)
finish("done")
batch("done", stored)
stop_both("stop")
cancel("stop")
finish("stop")
