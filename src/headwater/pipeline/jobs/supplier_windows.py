"""The job `supplier-stats`: orders into totals per supplier and event-time window."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from headwater.pipeline import kafka
from headwater.pipeline.decoding import decoded
from headwater.pipeline.formats.converters import Avro, Ids, decoder_for
from headwater.pipeline.settings import Settings
from headwater.schemas.registry import Registry

NAME = "supplier-stats"
_WINDOW = "5 seconds"
_LATENESS = "5 seconds"
_TRIGGER = "1 second"


def per_supplier(
    orders: DataFrame, *, window: str = _WINDOW, lateness: str = _LATENESS
) -> DataFrame:
    """Total price and count of orders per supplier and event-time window."""
    return (
        orders.withWatermark("bid_time", lateness)
        .groupBy(F.window("bid_time", window), "supplier")
        .agg(F.sum("price").alias("total_price"), F.count(F.lit(1)).alias("count"))
        .select(
            F.col("window.start").alias("window_start"),
            F.col("window.end").alias("window_end"),
            "supplier",
            F.round("total_price", 2).alias("total_price"),
            "count",
        )
    )


def start(
    spark: SparkSession, settings: Settings, ids: Ids, checkpoint: str
) -> StreamingQuery | None:
    """Start the query; none before the first order's schema is there."""
    bootstrap = settings.need("bootstrap", "Kafka")
    registry = Registry(settings.need("registry", "the schema registry"))
    source, target = settings.input_topic or "orders", settings.output_topic or NAME
    decode = decoder_for(registry, source, ids)
    if decode is None:
        return None
    kafka.ensure_topics(bootstrap, [source, target])
    records = kafka.read_stream(spark, bootstrap, source)
    orders = decoded(records, decode, tolerant=settings.tolerant).select("value.*")
    stats = per_supplier(orders)
    encode = Avro(registry).encoder(target, stats.schema)
    records = stats.select(
        F.col("supplier").cast("binary").alias("key"),
        encode(F.struct("*")).alias("value"),
    )
    writer = kafka.write_stream(records, bootstrap).option("topic", target)
    writer = writer.queryName(settings.job_name or NAME).outputMode("append")
    writer = writer.trigger(processingTime=_TRIGGER)
    return writer.option("checkpointLocation", checkpoint).start()


if __name__ == "__main__":
    from headwater.pipeline.jobs.run import main

    main(NAME)
