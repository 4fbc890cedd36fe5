"""A query as fast as it can be, beside short ones that come and go, until told to end."""

import json
import time

import headwater
from capture.apps.session import HOME, session

spark = session()
headwater.attach(spark)

(HOME / "in").mkdir()
(HOME / "in" / "a.json").write_text('{"id": 1}\n')
frame = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "1000").load()
busy = frame.writeStream.queryName("busy").format("noop").start()
short = spark.readStream.schema("id int").json(str(HOME / "in"))
with (HOME / "batches").open("a", buffering=1) as batches, (HOME / "runs").open("a", 1) as runs:
    while not (HOME / "go").exists():
        query = (
            short.writeStream.queryName("short")
            .format("parquet")
            .option("path", str(HOME / "out"))
            .option("checkpointLocation", str(HOME / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        runs.write(f"{query.runId}\n")
        progress = busy.lastProgress
        if progress is not None:
            batches.write(json.dumps([time.time(), progress["batchId"]]) + "\n")
        time.sleep(0.2)
busy.stop()
