"""The job `iceberg-ingestion`: orders into the Iceberg table `default.orders`."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from headwater.pipeline import kafka, tables
from headwater.pipeline.decoding import decoded
from headwater.pipeline.formats.converters import Ids, decoder_for
from headwater.pipeline.settings import Settings
from headwater.pipeline.sinks.iceberg import append
from headwater.schemas.registry import Registry

NAME = "iceberg-ingestion"
TABLE = "default.orders"
_PRICE = "DECIMAL(10, 2)"
COLUMNS = f"order_id STRING, item STRING, price {_PRICE}, supplier STRING, bid_time TIMESTAMP"
_PERIOD_MS = 5000


def fitting(orders: DataFrame) -> DataFrame:
    """The orders whose price fits into the table: of another one the cast fails the query."""
    fits = f"price IS NULL OR isnan(price) OR try_cast(price AS {_PRICE}) IS NOT NULL"
    return orders.where(fits)


def priced(orders: DataFrame, *kept: str) -> DataFrame:
    """Orders as the table has them, the price as a decimal of two places; `kept` stays beside."""
    return orders.select(
        *kept,
        "order_id",
        "item",
        F.col("price").cast(_PRICE).alias("price"),
        "supplier",
        "bid_time",
    )


def start(
    spark: SparkSession, settings: Settings, ids: Ids, checkpoint: str
) -> StreamingQuery | None:
    """Start the query; none before the first order's schema is there."""
    bootstrap = settings.need("bootstrap", "Kafka")
    registry = Registry(settings.need("registry", "the schema registry"))
    source = settings.input_topic or "orders"
    decode = decoder_for(registry, source, ids)
    if decode is None:
        return None
    tables.configure_catalog(spark, settings.catalog, tables.catalog_options(settings))
    table = f"{settings.catalog}.{TABLE}"
    tables.ensure_table(spark, tables.Table.of(table, COLUMNS, "days(bid_time)", settings))
    records = kafka.read_stream(spark, bootstrap, source)
    orders = decoded(records, decode, tolerant=settings.tolerant).select("value.*")
    orders = fitting(orders) if settings.tolerant else orders
    return append(priced(orders), settings.job_name or NAME, table, checkpoint, _PERIOD_MS)


if __name__ == "__main__":
    from headwater.pipeline.jobs.run import main

    main(NAME)
