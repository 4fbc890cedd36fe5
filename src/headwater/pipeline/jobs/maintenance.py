"""The batch job `maintenance`: small files of Iceberg tables compacted, old snapshots expired.

Readers are not disturbed: a snapshot that is younger than `--keep-seconds` stays, with its files.
"""

from datetime import UTC, datetime, timedelta

import msgspec
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from headwater.pipeline import tables
from headwater.pipeline.settings import Settings

NAME = "maintenance"
_KEEP_S = 24 * 3600
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
    spaces = [row[0] for row in spark.sql(f"SHOW NAMESPACES IN {tables.quoted(catalog)}").collect()]
    found = []
    for space in spaces:
        place = tables.quoted(f"{catalog}.{space}")
        listed = [row["tableName"] for row in spark.sql(f"SHOW TABLES IN {place}").collect()]
        found += [f"{space}.{name}" for name in listed if _is_iceberg(spark, catalog, space, name)]
    return sorted(found)


def _is_iceberg(spark: SparkSession, catalog: str, space: str, name: str) -> bool:
    try:
        spark.table(tables.quoted(f"{catalog}.{space}.{name}.snapshots"))
    except AnalysisException:
        return False
    return True


def _one(spark: SparkSession, catalog: str, table: str, before: datetime) -> Done:
    system, moment = f"{tables.quoted(catalog)}.system", before.strftime("%Y-%m-%d %H:%M:%S.%f")
    name = f"{catalog}.{table}"
    merged = spark.sql(
        f"CALL {system}.rewrite_data_files(table => '{name}', "
        f"options => map('min-input-files', '{_FEW_FILES}'))"
    ).collect()[0]
    spark.sql(f"CALL {system}.rewrite_manifests(table => '{name}')").collect()
    expired = spark.sql(
        f"CALL {system}.expire_snapshots(table => '{name}', "
        f"older_than => TIMESTAMP '{moment}', retain_last => {_RETAIN})"
    ).collect()[0]
    return Done(
        table, int(merged["rewritten_data_files_count"]), int(expired["deleted_data_files_count"])
    )


if __name__ == "__main__":
    from headwater.pipeline.jobs.run import main

    main(NAME)
