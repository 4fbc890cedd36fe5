"""The Iceberg sink: topics into tables, each record exactly once."""

import re
from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.query import StreamingQuery

from headwater.errors import BadConfig, TableMissing
from headwater.pipeline import sql, tables
from headwater.pipeline.config import ConnectorConfig
from headwater.pipeline.flows import Flow, PipelineContext, Start, TopicReader, flow_name
from headwater.pipeline.formats.converters import converter_of
from headwater.pipeline.settings import Settings
from headwater.pipeline.targets import TABLE, Route, Target, routes
from headwater.pipeline.transforms import check


def flows(config: ConnectorConfig, context: PipelineContext) -> list[Flow]:
    """A flow for each way from a topic to a table."""
    check(config)
    catalog = config.get("iceberg.catalog", context.settings.catalog)
    tables.configure_catalog(context.spark, catalog, _catalog(config, context))
    converter = converter_of(config, context.settings)
    ways = routes(config)
    found = []
    for way in ways:
        reader = TopicReader(context, config, converter, way.topic)
        one_each = len({way.topic for way in ways}) == len(ways)
        part = way.topic if one_each else f"{way.topic}.{way.table}"
        name = flow_name(config, part, len(ways))
        full = f"{catalog}.{way.table}"
        start, target = _starter(reader, name, way, full), Target(way.topic, f"{TABLE}{full}")
        found.append(Flow(name, start, target, converter.knows, config.tolerant))
    for topic in config.names("topics"):
        found += TopicReader(context, config, converter, topic).dead_letters()
    return found


def has_batch(spark: SparkSession, table: str, query_id: str, number: int) -> bool:
    """Whether a table holds a batch of a streaming query."""
    if not query_id or not tables.exists(spark, table):
        return False
    summary = F.col("summary")
    found = (
        spark.table(f"{sql.quoted(table)}.snapshots")
        .where(summary["spark.sql.streaming.queryId"] == F.lit(query_id))
        .where(summary["spark.sql.streaming.epochId"].cast("bigint") >= F.lit(number))
    )
    return bool(found.take(1))


def _taken(rows: DataFrame, way: Route) -> DataFrame:
    """The rows that go one way."""
    if not way.field:
        return rows
    return rows.where(F.col(sql.quoted(way.field)).rlike(f"^(?:{way.pattern})$"))


def _catalog(config: ConnectorConfig, context: PipelineContext) -> dict[str, str]:
    own = config.under("iceberg.catalog.")
    if own.get("s3.endpoint"):
        # Beside an S3 of one's own stand the slim jars, without the Apache client.
        own.setdefault("http-client.type", "urlconnection")
    return own or tables.catalog_options(context.settings)


def verify(config: ConnectorConfig) -> None:
    """See that names, columns and partitioning can be used; needs a Spark session.

    Raises:
        BadConfig: one of them cannot, with its key.

    """
    faults: dict[str, str] = {}
    for key in config.values:
        read = _reader(key)
        if read is not None and config.get(key):
            try:
                read(config.get(key))
            except ValueError as error:
                faults[key] = str(error)
    if faults:
        raise BadConfig(config.name, faults)


def planned_table(
    config: ConnectorConfig,
    way: Route,
    full: str,
    rows: T.StructType,
    settings: Settings = tables.DEFAULTS,
) -> tables.Table:
    """The table that is created for a route if there is none yet."""
    prefix = f"iceberg.table.{way.table}."
    partition = config.get("iceberg.tables.default-partition-by")
    columns = config.get(f"{prefix}schema")
    return tables.Table(
        full,
        sql.struct(columns) if columns else tables.relaxed(rows),
        sql.partitions(config.get(f"{prefix}partition-by", partition)),
        {**tables.properties(settings), **config.under("iceberg.tables.auto-create-props.")},
    )


def _reader(key: str) -> Callable[[str], object] | None:
    """What reads the text of a key, and refuses it with ValueError."""
    if key == "iceberg.tables":
        return _table_names
    if key == "iceberg.catalog":
        return _catalog_name
    if key == "iceberg.tables.default-partition-by" or key.endswith(".partition-by"):
        return sql.partitions
    if key.startswith("iceberg.table.") and key.endswith(".schema"):
        return sql.struct
    if key == "iceberg.tables.route-field":
        return sql.parts
    return None


def _table_names(text: str) -> None:
    for name in text.split(","):
        if len(sql.parts(name)) < 2:
            raise ValueError(f"{name.strip()!r} is not a name such as namespace.table")


def _catalog_name(text: str) -> None:
    if re.fullmatch(r"\w[\w-]*", text) is None:
        raise ValueError(f"{text!r} cannot name a catalog: use letters, digits, _ and -")


def _starter(
    reader: TopicReader, name: str, way: Route, full: str
) -> Callable[[Start], StreamingQuery | None]:
    config, spark = reader.config, reader.context.spark

    def start(start: Start) -> StreamingQuery | None:
        records = reader.values(start)
        if records is None:
            return None
        rows = _taken(records.select("value.*"), way)
        if config.flag("iceberg.tables.auto-create-enabled"):
            own = reader.context.settings
            tables.ensure_table(spark, planned_table(config, way, full, rows.schema, own))
        elif not tables.exists(spark, full):
            raise TableMissing(full)
        if config.flag("iceberg.tables.evolve-schema-enabled"):
            tables.evolve(spark, full, rows.schema)
        period = config.number("iceberg.control.commit.interval-ms")
        frame = tables.fitted(rows, spark.table(sql.quoted(full)).schema)
        options = config.dataset_options(reader.topic)
        return append(frame, name, full, start.checkpoint, period, options)

    return start


def append(
    rows: DataFrame,
    name: str,
    table: str,
    checkpoint: str,
    period_ms: int,
    options: Mapping[str, str] | None = None,
) -> StreamingQuery:
    """Append a stream to a table, a commit each period."""
    return (
        rows.writeStream.format("iceberg")
        .queryName(name)
        .outputMode("append")
        .option("checkpointLocation", checkpoint)
        # Rows of several days come mixed, and sorting them first would cost a shuffle.
        .option("fanout-enabled", "true")
        .options(**(options or {}))
        .trigger(processingTime=f"{period_ms} milliseconds")
        .toTable(sql.quoted(table))
    )
