"""A batch application: one table written from another, and a write that fails."""

from pathlib import Path
from tempfile import mkdtemp

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("shop").master("local[1]").getOrCreate()
lake = Path(mkdtemp()) / "lake"
rows = [(1, 2.5, "a"), (2, 3.5, "b")]
spark.createDataFrame(rows, "id int, price double, supplier string").write.parquet(f"{lake}/raw")
orders = spark.read.parquet(f"{lake}/raw")
orders.groupBy("supplier").agg(F.sum("price").alias("total")).write.parquet(f"{lake}/totals")
try:
    orders.select(F.raise_error(F.lit("no price")).alias("x")).write.parquet(f"{lake}/broken")
finally:
    spark.stop()
