"""A client of Spark Connect: a batch write, a failing one, queries that end in several ways."""

import contextlib
import sys
from typing import Any

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

import headwater
from capture.apps.session import HOME

how = sys.argv[1]
spark = SparkSession.builder.remote(sys.argv[2]).appName("client").getOrCreate()
headwater.attach(spark, app_name="client")
(HOME / "in").mkdir()
(HOME / "in" / "a.json").write_text('{"id": 1, "price": 2.5}\n')
orders = spark.read.schema("id int, price double").json(str(HOME / "in"))
orders.groupBy("id").sum("price").write.parquet(str(HOME / "totals"))
with contextlib.suppress(PySparkException):
    orders.write.parquet(str(HOME / "totals"))  # it is there already
orders.filter("price > 1").localCheckpoint().write.parquet(str(HOME / "cut"))
arriving = spark.readStream.schema("id int, price double").json(str(HOME / "in"))


def start(name: str, column: str = "price", **trigger: Any) -> Any:
    return (
        arriving.selectExpr("id", column)
        .writeStream.queryName(name)
        .option("checkpointLocation", str(HOME / "checkpoints" / name))
        .trigger(**(trigger or {"processingTime": "200 milliseconds"}))
        .format("parquet")
        .start(str(HOME / name))
    )


start("through", availableNow=True).awaitTermination()
with contextlib.suppress(StreamingQueryException):
    start("broken", "raise_error('no more of this') as price").awaitTermination()
stopped = start("stopped")
stopped.processAllAvailable()
stopped.stop()
left = start("left")
left.processAllAvailable()
(HOME / "ready").touch()
while not (HOME / "go").exists():
    left.awaitTermination(1)
if how == "stop":
    spark.stop()
if how == "raise":
    raise ValueError("no more of this")
