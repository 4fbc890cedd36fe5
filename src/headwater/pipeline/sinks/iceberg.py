"""The Iceberg sink: topics into tables, each record exactly once."""

import re
from collections.abc import Callable, Mapping

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.query import StreamingQuery

from headwater.errors import BadConfig, TableMissing
from headwater.pipeline import sql, tables
from headwater.pipeline.config import ConnectorConfig
from headwater.pipeline.flows import Flow, Intake, Site, flow_name
from headwater.pipeline.formats.converters import Ids, converter_of
from headwater.pipeline.transforms import check

_PERIOD_MS = 300_000  # the original's default


class Route(msgspec.Struct, frozen=True):
    """A topic's records, or those whose route field matches, into one table."""

    topic: str
    table: str
    field: str = ""
    pattern: str = ""

    def taken(self, rows: DataFrame) -> DataFrame:
        """The rows that go this way."""
        return rows.where(F.col(self.field).rlike(f"^(?:{self.pattern})$")) if self.field else rows


def flows(config: ConnectorConfig, site: Site) -> list[Flow]:
    """A flow for each way from a topic to a table."""
    check(config)
    catalog = config.get("iceberg.catalog", site.settings.catalog)
    tables.configure_catalog(site.spark, catalog, _catalog(config, site))
    converter = converter_of(config, site.settings)
    ways = routes(config)
    found = []
    for way in ways:
        intake = Intake(site, config, converter, way.topic)
        one_each = len({way.topic for way in ways}) == len(ways)
        part = way.topic if one_each else f"{way.topic}.{way.table}"
        name = flow_name(config, part, len(ways))
        start = _starter(intake, name, way, f"{catalog}.{way.table}")
        found.append(Flow(name, start, converter.knows, config.tolerant))
    for topic in config.names("topics"):
        found += Intake(site, config, converter, topic).dead_letters()
    return found


def routes(config: ConnectorConfig) -> list[Route]:
    """Which topic goes into which table: by the route field, else by name, else all into one."""
    names, topics = config.names("iceberg.tables"), config.names("topics")
    field = config.get("iceberg.tables.route-field")
    if field:
        return [
            Route(topic, table, field, config.get(f"iceberg.table.{table}.route-regex", table))
            for topic in topics
            for table in names
        ]
    by_name = {table.rpartition(".")[2]: table for table in names}
    return [Route(topic, names[0] if len(names) == 1 else by_name[topic]) for topic in topics]


def _catalog(config: ConnectorConfig, site: Site) -> dict[str, str]:
    own = config.under("iceberg.catalog.")
    if own.get("s3.endpoint"):
        # Beside an S3 of one's own stand the slim jars, without the Apache client.
        own.setdefault("http-client.type", "urlconnection")
    return own or tables.catalog_options(site.settings)


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
    config: ConnectorConfig, way: Route, full: str, rows: T.StructType
) -> tables.Table:
    """The table that is created for a route if there is none yet."""
    prefix = f"iceberg.table.{way.table}."
    partition = config.get("iceberg.tables.default-partition-by")
    columns = config.get(f"{prefix}schema")
    return tables.Table(
        full,
        sql.struct(columns) if columns else tables.relaxed(rows),
        sql.partitions(config.get(f"{prefix}partition-by", partition)),
        {**tables.PROPERTIES, **config.under("iceberg.tables.auto-create-props.")},
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
    intake: Intake, name: str, way: Route, full: str
) -> Callable[[Ids, str], StreamingQuery | None]:
    config, spark = intake.config, intake.site.spark

    def start(ids: Ids, checkpoint: str) -> StreamingQuery | None:
        records = intake.values(ids)
        if records is None:
            return None
        rows = way.taken(records.select("value.*"))
        if config.flag("iceberg.tables.auto-create-enabled", default=True):
            tables.ensure_table(spark, planned_table(config, way, full, rows.schema))
        elif not tables.exists(spark, full):
            raise TableMissing(full)
        if config.flag("iceberg.tables.evolve-schema-enabled"):
            tables.evolve(spark, full, rows.schema)
        period = config.number("iceberg.control.commit.interval-ms", _PERIOD_MS)
        frame = tables.fitted(rows, spark.table(sql.quoted(full)).schema)
        options = config.dataset_options(intake.topic)
        return append(frame, name, full, checkpoint, period, options)

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
