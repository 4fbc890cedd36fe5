"""Batch writes; how the driver goes on after the first is the argument."""

import contextlib
import os
import sys
import time

from pyspark.sql import functions as F

import headwater
from capture.apps.session import HOME, session

how = sys.argv[1]
spark = session()
if "HEADWATER_RUN" not in os.environ:
    headwater.attach(spark)
orders = spark.range(5).select("id", (F.col("id") * 2).alias("price"))
orders.write.mode("overwrite").parquet(str(HOME / "orders"))
stored = spark.read.parquet(str(HOME / "orders"))
if how == "analysis":
    stored.select("nothing_of_this_name").write.parquet(str(HOME / "out"))
if how == "udf":
    broken = F.udf(lambda _: 1 // 0, "int")
    stored.select(broken("id").alias("x")).write.parquet(str(HOME / "out"))
stored.groupBy("id").agg(F.sum("price").alias("total")).write.parquet(str(HOME / "out"))
(HOME / "ready").touch()
if how == "wait":
    time.sleep(600)
if how == "raise":
    raise ValueError("after the write")
if how in ("endure", "quit"):
    with contextlib.suppress(SystemExit):
        sys.exit(2)
if how == "quit":
    raise SystemExit(4)
