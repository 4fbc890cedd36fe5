"""A streaming job under capture: JSON files as they arrive, cleaned, into Parquet.

headwater server &
OPENLINEAGE_URL=http://127.0.0.1:5000 python examples/streaming.py
headwater lineage clean-orders
"""

import json
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headwater


def main(folder: Path) -> None:
    """Clean what is in a folder, and end; without the trigger it would wait for more."""
    spark = SparkSession.builder.appName("streaming-example").getOrCreate()
    headwater.attach(spark)

    arriving = folder / "orders"
    arriving.mkdir()
    order = {"order_id": "1", "price": 12.5, "supplier": " Alice "}
    (arriving / "first.json").write_text(json.dumps(order))

    orders = spark.readStream.schema("order_id string, price double, supplier string")
    clean = orders.json(str(arriving)).select(
        "order_id",
        F.col("price").cast("decimal(10, 2)").alias("price"),
        F.trim("supplier").alias("supplier"),
    )
    query = (
        clean.writeStream.queryName("clean-orders")  # the name of the lineage job
        .format("parquet")
        .option("path", str(folder / "clean"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(tempfile.mkdtemp()))
