"""Writes with a plan that is too large to be read in the heap of this driver, and with others."""

import os

os.environ["PYSPARK_SUBMIT_ARGS"] = "--driver-memory 490m pyspark-shell"

import headwater
from capture.apps.session import HOME, session

spark = session()
headwater.attach(spark)
spark.range(5).write.parquet(str(HOME / "before"))
elements = ",".join(map(str, range(50_000)))
huge = spark.sql(f"select id, size(array({elements})) as x from range(5)")
huge.write.parquet(str(HOME / "huge"))
spark.range(5).write.parquet(str(HOME / "after"))
spark.stop()
