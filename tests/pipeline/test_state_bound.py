"""How far back the records of a row with state may lie, by the plan of the stream."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.trace import catalyst
from headwater.trace.catalyst import StateBound
from headwater.trace.given import unstarted_stream


def _stream(spark: SparkSession) -> DataFrame:
    records = unstarted_stream(spark, {})
    return records.select(F.col("timestamp").alias("at"), F.col("key").cast("string").alias("name"))


def _marked(spark: SparkSession) -> DataFrame:
    return _stream(spark).withWatermark("at", "10 seconds")


def _windows(frame: DataFrame) -> DataFrame:
    counted = frame.groupBy(F.window("at", "60 seconds")).count()
    return counted.select(F.col("window.start").alias("begun"), "count")


def _static(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("a", 1)], "name string, number int")


def _plans(spark: SparkSession) -> dict[str, tuple[DataFrame, StateBound | None]]:
    one, other = _marked(spark), _marked(spark)
    near = F.expr("l.name = r.name AND r.at BETWEEN l.at AND l.at + INTERVAL 1 MINUTE")
    begun = StateBound("begun", 10_000)
    return {
        "window": (_windows(one), begun),
        "window of a static join": (_windows(one.join(_static(spark), "name", "inner")), begun),
        "window without its start": (_windows(one).select("count"), None),
        "window without a watermark": (_windows(_stream(spark)), None),
        "deduplication": (one.dropDuplicatesWithinWatermark(["name"]), StateBound(None)),
        "deduplication by time": (one.dropDuplicates(["name", "at"]), StateBound(None)),
        "window of deduplication": (_windows(one.dropDuplicatesWithinWatermark(["name"])), None),
        "window of another window": (
            _windows(_windows(one).withColumnRenamed("begun", "at").drop("count")),
            None,
        ),
        "join": (one.alias("l").join(other.alias("r"), near, "inner").select("l.at"), None),
        "window of a join": (
            _windows(one.alias("l").join(other.alias("r"), near, "inner").select("l.at")),
            None,
        ),
        "window of a join with one watermark": (
            _windows(one.join(_stream(spark).select("name"), "name", "inner")),
            None,
        ),
        "window of a union with one watermark": (_windows(one.unionAll(_stream(spark))), None),
        "watermark after a join": (
            _windows(
                _stream(spark)
                .join(_stream(spark).select("name"), "name", "inner")
                .withWatermark("at", "10 seconds")
            ),
            None,
        ),
        "distinct in SQL": (
            spark.sql("SELECT DISTINCT name FROM {one}", one=one),
            None,
        ),
    }


def test_state_is_bounded_where_the_watermark_tells_what_was_read(spark: SparkSession) -> None:
    for name, (frame, expected) in _plans(spark).items():
        assert catalyst.state_bound(catalyst.analyzed(frame)) == expected, name
