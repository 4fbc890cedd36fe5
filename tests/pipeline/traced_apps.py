"""Applications of others that write tables.

They read nothing of the first record of a partition, which a test removes.
"""

import sys

BATCH = """
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("totals").getOrCreate()
orders = spark.table(sys.argv[1])
print("this is no answer")
regions = [("Bob", "north"), ("Eve", "south")]
suppliers = spark.createDataFrame(regions, "supplier string, region string")
totals = (
    orders.where("bid_time >= '2026-03-02 01:00:00'")
    .join(suppliers, "supplier", "inner")
    .groupBy("region")
    .agg(F.max("price").alias("largest"), F.count(F.lit(1)).alias("number"))
)
totals.writeTo(sys.argv[2]).append()
spark.stop()
"""

STREAM = """
import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

servers, topic, table, place = sys.argv[1:]
spark = SparkSession.builder.appName("odd").getOrCreate()
records = (
    spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    .option("subscribe", topic).option("startingOffsets", json.dumps({topic: {"0": 1, "1": 1}}))
    .option("maxOffsetsPerTrigger", 40).load()
)


size = F.length("value").alias("size")
sizes = records.select("partition", "offset", size).where("size > 0 AND offset % 2 = 0")
query = (
    sizes.writeStream.queryName("sizes").option("checkpointLocation", place)
    .trigger(availableNow=True).toTable(table)
)
query.awaitTermination()
"""

WINDOWS = """
import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

servers, topic, table, place = sys.argv[1:]
spark = SparkSession.builder.appName("windows").getOrCreate()
records = (
    spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    .option("subscribe", topic)
    .option("startingOffsets", json.dumps({topic: {"0": 1, "1": 1}})).load()
)
timed = records.select(F.timestamp_seconds(F.col("offset") * 10).alias("at"))
counted = (
    timed.withWatermark("at", "10 seconds").groupBy(F.window("at", "60 seconds"))
    .agg(F.count(F.lit(1)).alias("number"))
    .select(F.col("window.start").alias("begun"), "number")
)
query = (
    counted.writeStream.queryName("windows").option("checkpointLocation", place)
    .outputMode("append").trigger(availableNow=True).toTable(table)
)
query.awaitTermination()
"""

FIRSTS = """
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

servers, topic, table, place = sys.argv[1:]
spark = SparkSession.builder.appName("firsts").getOrCreate()
records = (
    spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    .option("subscribe", topic).option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", 4).load()
)
timed = records.select(
    F.col("key").cast("string").alias("name"), F.col("value").cast("string").alias("text"),
    F.timestamp_seconds(F.col("offset") * 10).alias("at"),
)
firsts = timed.withWatermark("at", "1 hour").dropDuplicatesWithinWatermark(["name"])
query = (
    firsts.writeStream.queryName("firsts").option("checkpointLocation", place)
    .trigger(availableNow=True).toTable(table)
)
query.awaitTermination()
"""

SQL = """
-- totals; of the second day
SET spark.sql.shuffle.partitions = 2;
INSERT INTO {1}
SELECT region, max(price), count(*) AS number
FROM {0} JOIN VALUES ('Bob', 'north'), ('Eve', 'south') AS r(supplier, region) USING (supplier)
WHERE bid_time >= '2026-03-02 01:00:00'
GROUP BY region
"""


def run_really(text: str, *arguments: str) -> None:
    """Run an application in this process, and leave its session to others."""
    before = sys.argv
    sys.argv = ["app.py", *arguments]
    try:
        exec(compile(text.replace("spark.stop()", ""), "app.py", "exec"), {})
    finally:
        sys.argv = before
