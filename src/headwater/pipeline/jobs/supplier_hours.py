"""The batch job `supplier_stats`: the latest day of orders into hourly totals per supplier."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.pipeline import sql, tables
from headwater.pipeline.jobs.iceberg_ingestion import TABLE as ORDERS
from headwater.pipeline.settings import Settings

NAME = "supplier_stats"
TABLE = "default.supplier_stats"
COLUMNS = (
    "bid_date DATE, bid_hour INT, supplier STRING, total_price DECIMAL(20, 2), total_count BIGINT"
)


def latest_day(orders: DataFrame) -> DataFrame:
    """The orders of the last day that has any."""
    days = orders.agg(F.max(F.to_date("bid_time")).alias("last_day"))
    return orders.join(
        F.broadcast(days), F.to_date(orders["bid_time"]) == days["last_day"], "left_semi"
    )


def keys() -> dict[str, Column]:
    """What orders are grouped by, under the names of the totals' columns."""
    return {
        "bid_date": F.to_date("bid_time"),
        "bid_hour": F.hour("bid_time"),
        "supplier": F.col("supplier"),
    }


def hourly(orders: DataFrame) -> DataFrame:
    """Total price and count of orders per supplier and hour."""
    return (
        orders.groupBy(*(key.alias(name) for name, key in keys().items()))
        .agg(F.sum("price").alias("total_price"), F.count(F.lit(1)).alias("total_count"))
        .select(
            "bid_date",
            "bid_hour",
            "supplier",
            F.col("total_price").cast("decimal(20, 2)").alias("total_price"),
            "total_count",
        )
    )


def run(spark: SparkSession, settings: Settings) -> None:
    """Overwrite the table of totals with those of the latest day."""
    tables.configure_catalog(spark, settings.catalog, tables.catalog_options(settings))
    target = f"{settings.catalog}.{TABLE}"
    tables.ensure_table(spark, tables.Table.of(target, COLUMNS, "bid_date, bid_hour", settings))
    orders = spark.table(sql.quoted(f"{settings.catalog}.{ORDERS}"))
    hourly(latest_day(orders)).writeTo(sql.quoted(target)).overwrite(F.lit(True))


if __name__ == "__main__":
    from headwater.pipeline.jobs.run import main

    main(NAME)
