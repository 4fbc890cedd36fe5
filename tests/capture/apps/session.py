"""The Spark session of the small applications that life-cycle tests run."""

import os
from pathlib import Path

from pyspark.sql import SparkSession

HOME = Path(os.environ["APP_HOME"])


def session() -> SparkSession:
    return builder().getOrCreate()


def builder() -> SparkSession.Builder:
    return (
        SparkSession.Builder()
        .master("local[1]")
        .appName("Test App")
        .config("spark.driver.memory", "700m")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(HOME / "warehouse"))
        # A busy machine may need long to load the client that sends; no test should.
        .config("spark.headwater.flushSeconds", "60")
        .config(
            "spark.headwater.spoolDir", os.environ.get("HEADWATER_SPOOL_DIR", str(HOME / "spool"))
        )
    )
