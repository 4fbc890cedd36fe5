"""A function for each micro-batch, under capture: its writes are outputs of the query.

headwater server &
OPENLINEAGE_URL=http://127.0.0.1:5000 python examples/foreach_batch.py
headwater lineage split-orders
"""

import json
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import headwater


def main(folder: Path) -> None:
    """Split what is in a folder into cheap and dear orders, and end."""
    spark = SparkSession.builder.appName("foreach-batch-example").getOrCreate()
    headwater.attach(spark)

    arriving = folder / "orders"
    arriving.mkdir()
    lines = [json.dumps({"order_id": str(n), "price": 50.0 * n}) for n in range(5)]
    (arriving / "first.json").write_text("\n".join(lines))

    def split(batch: DataFrame, _number: int) -> None:
        batch.where("price < 100").write.mode("append").json(str(folder / "cheap"))
        batch.where("price >= 100").write.mode("append").json(str(folder / "dear"))

    orders = spark.readStream.schema("order_id string, price double").json(str(arriving))
    query = (
        orders.writeStream.queryName("split-orders")
        .foreachBatch(split)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(tempfile.mkdtemp()))
