"""A streaming query that lives until the driver ends; how it ends is the argument."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import headwater
from capture.apps.session import HOME, session

how = sys.argv[1]
spark = session()
if "HEADWATER_RUN" not in os.environ:
    headwater.attach(spark)

(HOME / "in").mkdir(exist_ok=True)
(HOME / "in" / "a.json").write_text('{"id": 1, "price": 2.5}\n')
source = spark.readStream.schema("id int, price double").json(str(HOME / "in"))
query = (
    source.selectExpr("id", "price * 2 as total")
    .writeStream.queryName("live")
    .format("parquet")
    .option("path", str(HOME / "out"))
    .option("checkpointLocation", str(HOME / "checkpoint"))
    .trigger(processingTime="200 milliseconds")
    .start()
)
query.processAllAvailable()
(HOME / "ready").touch()
if how == "wait":
    query.awaitTermination()
while not (HOME / "go").exists():
    time.sleep(0.05)
if how == "raise":
    raise ValueError("no more of this")
if how == "exit":
    sys.exit(3)
if how == "spark.stop":
    spark.stop()
if how == "own handler":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
if how == "kill the jvm":
    gateway: Any = spark.sparkContext._gateway
    gateway.proc.kill()
    time.sleep(3)
Path(HOME / "done").touch()
