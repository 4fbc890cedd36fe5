"""Runs the queries of golden pairs: SQL, or a few lines of Python that end in `df`."""

import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro
from pyspark.sql.window import Window

from headwater.capture.spark.plans import PlanWriter

_CLASSES = tempfile.TemporaryDirectory(prefix="headwater-")
TOPIC = {"kafka.bootstrap.servers": "broker:9092", "subscribe": "orders"}


def run_query(spark: SparkSession, query: str) -> DataFrame:
    """The DataFrame that a query describes; nothing is executed."""
    if "df = " not in query:
        return spark.sql(query)
    names: dict[str, Any] = {
        "spark": spark,
        "F": F,
        "Window": Window,
        "from_avro": from_avro,
        "to_avro": to_avro,
        "topic": spark.readStream.format("kafka").options(**TOPIC).load(),
        "table": spark.table,
    }
    exec(query, names)
    frame = names["df"]
    assert isinstance(frame, DataFrame)
    return frame


def analyzed(frame: DataFrame) -> str:
    """The analyzed plan as JSON, as capture reads it."""
    context: Any = frame.sparkSession.sparkContext
    writer = PlanWriter(context._jvm, Path(_CLASSES.name))
    return writer.json(frame._jdf.queryExecution().analyzed())
