"""A batch job under capture: orders of a CSV file into totals per supplier.

headwater server &
OPENLINEAGE_URL=http://127.0.0.1:5000 python examples/batch.py
headwater lineage totals --columns
"""

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headwater

ORDERS = "supplier,price\nAlice,12.50\nBob,3.20\nAlice,7.00\n"


def main(folder: Path) -> None:
    """Total the orders of a folder."""
    spark = SparkSession.builder.appName("batch-example").getOrCreate()
    headwater.attach(spark)

    (folder / "orders.csv").write_text(ORDERS)
    orders = spark.read.csv(str(folder / "orders.csv"), header=True, inferSchema=True)
    totals = orders.groupBy("supplier").agg(F.sum("price").alias("total_price"))
    totals.write.mode("overwrite").parquet(str(folder / "totals"))
    spark.stop()


if __name__ == "__main__":
    main(Path(tempfile.mkdtemp()))
