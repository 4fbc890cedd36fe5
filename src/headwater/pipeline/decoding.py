"""From a topic's bytes to values: what every sink and job does first."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.pipeline.formats import wire
from headwater.pipeline.formats.converters import Decoder

_REST = ("topic", "partition", "offset", "timestamp", "key")


def decoded(records: DataFrame, decode: Decoder, *, tolerant: bool = False) -> DataFrame:
    """Records with a struct for a value; a bad one fails the query unless it is tolerated."""
    frame = _with_mark(records, decode)
    good = F.col("value")[wire.MARK].isNotNull()
    if tolerant:
        frame = frame.where(good)
    else:
        frame = frame.withColumn(
            "value", F.when(good, F.col("value")).otherwise(wire.bad(_place()))
        )
    return frame.withColumn("value", F.col("value").dropFields(wire.MARK))


def undecodable(records: DataFrame, decode: Decoder) -> DataFrame:
    """The records that cannot be decoded, as they are, with their place in the headers."""
    kept = records.withColumn("raw", F.col("value"))
    frame = _with_mark(kept, decode, "raw").where(F.col("value")[wire.MARK].isNull())
    headers = (("topic", "topic"), ("partition", "partition"), ("offset", "offset"))
    named = (
        F.struct(
            F.lit(f"__connect.errors.{name}").alias("key"),
            F.col(column).cast("string").cast("binary").alias("value"),
        )
        for name, column in headers
    )
    return frame.select("key", F.col("raw").alias("value"), F.array(*named).alias("headers"))


def _with_mark(records: DataFrame, decode: Decoder, *more: str) -> DataFrame:
    value = decode(F.col("value"), _place())
    return records.select(*_REST, *more, value.alias("value"))


def _place() -> Column:
    return F.concat(
        *(F.lit("topic "), F.col("topic"), F.lit(", partition "), F.col("partition")),
        *(F.lit(", offset "), F.col("offset")),
    )
