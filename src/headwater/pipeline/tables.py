"""Iceberg tables: made when missing, and rows brought into their columns."""

from collections.abc import Mapping

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headwater.errors import TableMissing
from headwater.pipeline.settings import Settings

PROPERTIES: Mapping[str, str] = {
    "format-version": "2",
    "write.format.default": "parquet",
    "write.target-file-size-bytes": "134217728",
    "write.parquet.compression-codec": "snappy",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "3",
    "write.delete.mode": "copy-on-write",
    "write.update.mode": "copy-on-write",
    # Several writers of one table are usual here; four retries were not enough for three.
    "commit.retry.num-retries": "20",
}


class Table(msgspec.Struct, frozen=True):
    """A table as it is created: name, columns, partitioning and properties."""

    name: str  # catalog.namespace.table
    columns: str = ""
    partition_by: str = ""
    properties: Mapping[str, str] = msgspec.field(default_factory=lambda: dict(PROPERTIES))


def configure_catalog(spark: SparkSession, name: str, options: Mapping[str, str]) -> None:
    """Make a catalog known to a session that does not know it yet."""
    prefix = f"spark.sql.catalog.{name}"
    if spark.conf.get(prefix, None):
        return
    for key, value in options.items():
        spark.conf.set(f"{prefix}.{key}", value)
    spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")


def catalog_options(settings: Settings) -> dict[str, str]:
    """The catalog's options out of addresses, for a session that was not given any."""
    options = {
        "type": "hive",
        "uri": settings.metastore,
        "warehouse": settings.warehouse,
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": settings.s3_endpoint,
        "s3.path-style-access": "true" if settings.s3_endpoint else "",
        "client.region": settings.environ.get("AWS_REGION", ""),
        "http-client.type": "urlconnection",
    }
    return {key: value for key, value in options.items() if value}


def ensure_table(spark: SparkSession, table: Table) -> None:
    """Create a table, and its namespace, if it is not there."""
    if exists(spark, table.name):
        return
    if not table.columns:
        raise TableMissing(table.name)
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quoted(table.name.rpartition('.')[0])}").collect()
    spark.sql(ddl(table)).collect()


def ddl(table: Table) -> str:
    """The statement that creates a table."""
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in table.properties.items())
    partitioned = f"PARTITIONED BY ({table.partition_by}) " if table.partition_by else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {quoted(table.name)} ({table.columns}) USING iceberg "
        f"{partitioned}TBLPROPERTIES ({properties})"
    )


def exists(spark: SparkSession, name: str) -> bool:
    """Whether a table is there."""
    return spark.catalog.tableExists(quoted(name))


def evolve(spark: SparkSession, name: str, wanted: T.StructType) -> None:
    """Add to a table the columns that rows have and it has not."""
    have = set(spark.table(quoted(name)).columns)
    new = [field for field in wanted.fields if field.name not in have]
    if new:
        columns = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in new)
        spark.sql(f"ALTER TABLE {quoted(name)} ADD COLUMNS ({columns})").collect()


def fitted(rows: DataFrame, columns: T.StructType) -> DataFrame:
    """Rows in a table's columns and types: decimals rounded, whole numbers read as moments."""
    have = {field.name: field.dataType for field in rows.schema.fields}
    return rows.select(*(_fit(field, have.get(field.name)) for field in columns.fields))


def columns_of(struct: T.StructType) -> str:
    """A type's fields as a column list."""
    return ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in struct.fields)


def quoted(name: str) -> str:
    """A dotted name with each part quoted."""
    return ".".join(f"`{part}`" for part in name.split("."))


def _fit(field: T.StructField, given: T.DataType | None) -> Column:
    if given is None:
        return F.lit(None).cast(field.dataType).alias(field.name)
    column = F.col(f"`{field.name}`")
    if isinstance(field.dataType, T.TimestampType) and isinstance(given, T.LongType):
        column = F.timestamp_millis(column)
    return column.cast(field.dataType).alias(field.name)
