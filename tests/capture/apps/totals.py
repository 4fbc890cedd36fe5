"""An Iceberg table made out of another, in a batch; knows nothing of who observes it."""

import json
import os

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = (
    SparkSession.builder.master("local[1]")
    .appName("totals")
    .config("spark.driver.memory", "700m")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config(map=json.loads(os.environ["SPARK_CONF"]))
    .getOrCreate()
)
spark.sql("create namespace if not exists ice.db")
spark.sql("create table if not exists ice.db.orders (id int, item string, price double)")
spark.sql("create table if not exists ice.db.totals (item string, total double)")
spark.sql("insert into ice.db.orders values (1, 'a', 2.5), (2, 'b', 3.5)")
totals = spark.table("ice.db.orders").where("id > 0").groupBy("item")
totals.agg(F.sum("price").alias("total")).writeTo("ice.db.totals").overwrite(F.lit(True))
spark.stop()
