"""One script for a classic session and for one of Spark Connect, which has a port as well."""

import contextlib
import sys
from typing import Any

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.connect.client import DefaultChannelBuilder

import headwater
from capture.apps.session import HOME

builder = SparkSession.Builder()
if sys.argv[1] == "connect":
    port = sys.argv[2]  # PySpark's own is the same for everyone on a machine
    setattr(DefaultChannelBuilder, "default_port", lambda: int(port))  # noqa: B010 - it is static
    builder = builder.remote("local[2]").config("spark.connect.grpc.binding.port", port)
else:
    builder = builder.master("local[2]")
spark = (
    builder.appName("Test App")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.memory", "700m")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.warehouse.dir", str(HOME / "warehouse"))
    .getOrCreate()
)
headwater.attach(spark, flush_seconds=200)
(HOME / "in").mkdir()
(HOME / "in" / "a.json").write_text('{"id": 1, "price": 2.5}\n')
orders = spark.read.schema("id int, price double").json(str(HOME / "in"))
orders.groupBy("id").agg(F.sum("price").alias("total")).write.parquet(str(HOME / "totals"))
orders.write.saveAsTable("orders")
orders.filter("price > 1").localCheckpoint().write.parquet(str(HOME / "cut"))
spark.sql("create table doubled using parquet as select id, price * 2 as price from orders")
spark.sql("insert into doubled select id, price from orders where price > 1")
with contextlib.suppress(PySparkException):
    orders.selectExpr("raise_error('no more of this') as x").write.parquet(str(HOME / "failed"))
arriving = spark.readStream.schema("id int, price double").json(str(HOME / "in"))


def start(name: str, column: str = "price", **trigger: Any) -> Any:
    return (
        arriving.selectExpr("id", column)
        .writeStream.queryName(name)
        .option("checkpointLocation", str(HOME / "checkpoints" / name))
        .trigger(**(trigger or {"processingTime": "200 milliseconds"}))
        .toTable(name)
    )


start("through", availableNow=True).awaitTermination()
with contextlib.suppress(StreamingQueryException):
    start("broken", "raise_error('no more of this') as price").awaitTermination()
stopped = start("stopped")
stopped.processAllAvailable()
stopped.stop()
left = start("left")
left.processAllAvailable()
orders.write.parquet(str(HOME / "last"))
spark.stop()
