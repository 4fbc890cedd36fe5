"""Iceberg tables: made when missing, and rows brought into their columns."""

from collections.abc import Mapping

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headwater.errors import TableMissing
from headwater.pipeline import sql
from headwater.pipeline.settings import Settings
from headwater.pipeline.sql import Partition, quoted

PROPERTIES: Mapping[str, str] = {
    # Each row tells when it last changed: `headwater why` needs no more, also after compaction.
    "format-version": "3",
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


DEFAULTS = Settings()


def properties(settings: Settings) -> dict[str, str]:
    """The properties of the tables that are created."""
    own = {"format-version": settings.format_version} if settings.format_version else {}
    return {**PROPERTIES, **own}


class Table(msgspec.Struct, frozen=True):
    """A table as it is created: name, columns, partitioning and properties."""

    name: str  # catalog.namespace.table
    columns: T.StructType | None = None
    partition_by: tuple[Partition, ...] = ()
    properties: Mapping[str, str] = msgspec.field(default_factory=lambda: dict(PROPERTIES))

    @classmethod
    def of(
        cls, name: str, columns: str, partition_by: str, settings: Settings = DEFAULTS
    ) -> "Table":
        """A table whose columns and partitioning are given as text."""
        return cls(name, sql.struct(columns), sql.partitions(partition_by), properties(settings))


def has_catalog(spark: SparkSession, name: str) -> bool:
    """Whether a session knows a catalog."""
    return bool(spark.conf.get(f"spark.sql.catalog.{name}", None))


def configure_catalog(spark: SparkSession, name: str, options: Mapping[str, str]) -> None:
    """Make a catalog known to a session that does not know it yet."""
    prefix = f"spark.sql.catalog.{name}"
    if has_catalog(spark, name):
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
    if table.columns is None:
        raise TableMissing(table.name)
    spark.sql(sql.create_namespace(sql.parts(table.name)[:-1])).collect()
    spark.sql(
        sql.create_table(table.name, table.columns, table.partition_by, table.properties)
    ).collect()


def exists(spark: SparkSession, name: str) -> bool:
    """Whether a table is there."""
    return spark.catalog.tableExists(quoted(name))


def evolve(spark: SparkSession, name: str, wanted: T.StructType) -> None:
    """Add to a table the columns that rows have and it has not."""
    have = set(spark.table(quoted(name)).columns)
    new = [field for field in wanted.fields if field.name not in have]
    if new:
        spark.sql(sql.add_columns(name, relaxed(T.StructType(new)))).collect()


def fitted(rows: DataFrame, columns: T.StructType) -> DataFrame:
    """Rows in a table's columns and types: decimals rounded, whole numbers read as moments."""
    have = {field.name: field.dataType for field in rows.schema.fields}
    return rows.select(*(_fit(field, have.get(field.name)) for field in columns.fields))


def relaxed(struct: T.StructType) -> T.StructType:
    """The same fields, but each may be null: a table outlives the rule that a value is there."""
    return T.StructType([T.StructField(f.name, _relaxed(f.dataType)) for f in struct.fields])


def _relaxed(kind: T.DataType) -> T.DataType:
    if isinstance(kind, T.StructType):
        return relaxed(kind)
    if isinstance(kind, T.ArrayType):
        return T.ArrayType(_relaxed(kind.elementType))
    if isinstance(kind, T.MapType):
        return T.MapType(kind.keyType, _relaxed(kind.valueType))
    return kind


def _fit(field: T.StructField, given: T.DataType | None) -> Column:
    if given is None:
        return F.lit(None).cast(field.dataType).alias(field.name)
    column = F.col(quoted((field.name,)))
    if isinstance(field.dataType, T.TimestampType) and isinstance(given, T.LongType):
        column = F.timestamp_millis(column)
    return column.cast(field.dataType).alias(field.name)
