"""A streaming query, one with foreachBatch and a batch write, all under way; then an ending."""

import sys
import threading
import time
from typing import Any

from pyspark.sql import DataFrame

import headwater
from capture.apps.session import HOME, session

how = sys.argv[1]
spark = session()
headwater.attach(spark)

(HOME / "in").mkdir()
(HOME / "in" / "a.json").write_text('{"id": 1, "price": 2.5}\n')
source = spark.readStream.schema("id int, price double").json(str(HOME / "in"))


def append(batch: DataFrame, _: int) -> None:
    batch.write.mode("append").parquet(str(HOME / "each"))


def write_for_long() -> None:
    frame = spark.read.schema("id int, price double").json(str(HOME / "in"))
    held = frame.selectExpr("id", "reflect('java.lang.Thread', 'sleep', 3600000L) as slept")
    held.write.mode("overwrite").parquet(str(HOME / "batch"))


streaming = (
    source.writeStream.queryName("streaming")
    .format("parquet")
    .option("path", str(HOME / "out"))
    .option("checkpointLocation", str(HOME / "checkpoint"))
    .start()
)
each = source.writeStream.queryName("each").foreachBatch(append).start()
streaming.processAllAvailable()
each.processAllAvailable()
threading.Thread(target=write_for_long, daemon=True).start()
while not spark.sparkContext.statusTracker().getActiveJobsIds():
    time.sleep(0.05)
(HOME / "ready").touch()
if how == "wait":
    streaming.awaitTermination()
while not (HOME / "go").exists():
    time.sleep(0.05)
if how == "raise":
    raise ValueError("no more of this")
if how == "exit":
    sys.exit(3)
if how == "stop":
    spark.stop()
gateway: Any = spark.sparkContext._gateway
if how == "kill the jvm":
    gateway.proc.kill()
    gateway.proc.wait()
if how == "terminate the jvm":  # as a notebook's kernel does that is shut down
    gateway.proc.terminate()
    gateway.proc.wait()
