"""The batch job `maintenance`: small files of Iceberg tables compacted, old snapshots expired.

Readers are not disturbed: a snapshot that is younger than `--keep-seconds` stays, with its files.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headwater.pipeline import sql, tables
from headwater.pipeline.settings import Settings

NAME = "maintenance"
_KEEP_S = 24 * 3600
# How long a streaming writer may be away before its last commit is no longer looked after.
_WRITER_S = 7 * 24 * 3600
_RETAIN = 5  # snapshots at least, however old
# A day's partition of a stream that commits each 5 s has thousands of files: merge from a few on.
_FEW_FILES = 5


class Done(msgspec.Struct, frozen=True):
    """What was done to one table."""

    table: str
    rewritten_files: int
    expired_files: int


def run(spark: SparkSession, settings: Settings) -> None:
    """Look after every table that was named, or after all of the catalog."""
    maintain(spark, settings)


def maintain(spark: SparkSession, settings: Settings) -> list[Done]:
    """Compact and expire table after table; what was done to each."""
    tables.configure_catalog(spark, settings.catalog, tables.catalog_options(settings))
    before = datetime.now(UTC) - timedelta(seconds=float(settings.keep_seconds or _KEEP_S))
    wanted = [name.strip() for name in settings.tables.split(",") if name.strip()]
    names = wanted or all_tables(spark, settings.catalog)
    return [_one(spark, settings.catalog, name, before) for name in names]


def all_tables(spark: SparkSession, catalog: str) -> list[str]:
    """The Iceberg tables of a catalog, as `namespace.table`."""
    spaces = [row[0] for row in spark.sql(sql.show_namespaces(catalog)).collect()]
    found = []
    for space in spaces:
        place = (*sql.parts(catalog), *sql.parts(space))
        listed = [row["tableName"] for row in spark.sql(sql.show_tables(place)).collect()]
        found += [f"{space}.{name}" for name in listed if _is_iceberg(spark, (*place, name))]
    return sorted(found)


def _is_iceberg(spark: SparkSession, table: Sequence[str]) -> bool:
    try:
        spark.table(sql.quoted((*table, "snapshots")))
    except AnalysisException:
        return False
    return True


def _one(spark: SparkSession, catalog: str, table: str, before: datetime) -> Done:
    name = sql.quoted(f"{catalog}.{table}")
    few = {"min-input-files": str(_FEW_FILES)}
    merged = spark.sql(
        sql.procedure(catalog, "rewrite_data_files", table=name, options=few)
    ).collect()[0]
    spark.sql(sql.procedure(catalog, "rewrite_manifests", table=name)).collect()
    before = min(before, _needed_since(spark, name) or before)
    expired = spark.sql(
        sql.procedure(
            catalog, "expire_snapshots", table=name, older_than=before, retain_last=_RETAIN
        )
    ).collect()[0]
    return Done(
        table, int(merged["rewritten_data_files_count"]), int(expired["deleted_data_files_count"])
    )


def _needed_since(spark: SparkSession, table: str) -> datetime | None:
    """The moment from which on streaming writers need the history of a table.

    A stream that comes back after a crash looks for its last commit through the snapshots before
    the present one. If one of these is gone, it commits its last batch a second time.
    """
    snapshots = spark.table(f"{table}.snapshots")
    query = F.col("summary")["spark.sql.streaming.queryId"]
    since = datetime.now(UTC) - timedelta(seconds=_WRITER_S)
    last = (
        snapshots.where(query.isNotNull())
        .groupBy(query.alias("query"))
        .agg(F.max("committed_at").alias("at"))
        .where(F.col("at") >= F.lit(since))
        .agg(F.unix_micros(F.min("at")))
        .collect()[0][0]
    )
    return datetime.fromtimestamp(last / 1e6, UTC) if last is not None else None


if __name__ == "__main__":
    from headwater.pipeline.jobs.run import main

    main(NAME)
