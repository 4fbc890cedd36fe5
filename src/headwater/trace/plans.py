"""How the pipeline's own jobs make rows, for evaluating them again.

The functions are those that the jobs run: only what they read is narrowed down.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.errors import RegistryRefused
from headwater.pipeline import sql
from headwater.pipeline.decoding import decoded
from headwater.pipeline.formats.converters import Decoder, Ids, decoder_for
from headwater.pipeline.jobs import iceberg_ingestion, lineage_archive, supplier_hours
from headwater.pipeline.settings import Settings
from headwater.schemas.registry import Registry

PLACE = ("_topic", "_partition", "_offset")

NOT_AGAIN = (
    "its groups, evaluated again, do not give the rows of the table: they have changed since, or "
    "settings of its session are different"
)
Step = Callable[[DataFrame], DataFrame]


class Operator(NamedTuple):
    """One step of a job, and what it means that a record does not pass it."""

    name: str
    step: Step
    dropped: str


class StreamPlan(NamedTuple):
    """A job that makes at most one row of each record of a topic."""

    table: str  # namespace.table
    operators: Callable[[Settings, str], list[Operator]]


class TablePlan(NamedTuple):
    """A job that groups the rows of a table."""

    table: str
    source: str
    keys: Callable[[], dict[str, Column]]
    operators: tuple[Operator, ...]  # before the groups
    grouped: Step


def stream_plan(job: str, table: str) -> StreamPlan | None:
    """How a streaming job makes rows of a table, by its name in lineage.

    Another job may have the same name in another namespace: the table must be the job's as well.
    """
    found = _STREAMS.get(job)
    return found if found and _is_named(table, found.table) else None


def table_plan(job: str, table: str) -> TablePlan | None:
    """How a batch job makes rows of a table, by the name in lineage of one of its writes."""
    found = _TABLES.get(job.partition(".")[0])
    return found if found and _is_named(table, found.table) else None


def plans_named(job: str) -> StreamPlan | TablePlan | None:
    """How a job makes rows, by its name in lineage; its table is still to be compared."""
    return _STREAMS.get(job) or _TABLES.get(job.partition(".")[0])


def stepped(plan: TablePlan, source: DataFrame) -> DataFrame:
    """The rows of a source that a job groups."""
    for operator in plan.operators:
        source = operator.step(source)
    return source


def keys_of(plan: TablePlan, rows: DataFrame) -> DataFrame:
    """The groups that rows belong to."""
    return rows.select(*(key.alias(name) for name, key in plan.keys().items())).distinct()


def of_groups(rows: DataFrame, keys: DataFrame) -> DataFrame:
    """The rows of a table, or of what gives its rows again, that are those of some groups."""
    same = (rows[name].eqNullSafe(keys[name]) for name in keys.columns)
    return rows.join(keys, reduce(lambda left, right: left & right, same), "left_semi")


def is_given_again(rows: DataFrame, again: DataFrame) -> bool:
    """Whether rows of a table are those that a job gives when it is evaluated again."""
    own = rows.select(*again.columns)
    return own.exceptAll(again).isEmpty() and again.exceptAll(own).isEmpty()


def _is_named(table: str, name: str) -> bool:
    """Whether a table's name with its catalog ends with a name without."""
    return sql.parts(table)[1:] == sql.parts(name)


def placed(records: DataFrame) -> DataFrame:
    """Records of Kafka with their place under names that no message has."""
    names = zip(("topic", "partition", "offset"), PLACE, strict=True)
    return records.select("*", *(F.col(name).alias(alias) for name, alias in names))


def rows_of(records: DataFrame, operators: list[Operator]) -> DataFrame:
    """The rows that a job makes of records, each with the place of its record."""
    frame = placed(records)
    for operator in operators:
        frame = operator.step(frame)
    return frame


_TOMBSTONE = Operator(
    "filter: value IS NOT NULL",
    lambda records: records.where(F.col("value").isNotNull()),
    "the record has no value (a tombstone)",
)


def reading(settings: Settings, topic: str) -> list[Operator]:
    """What every sink of the pipeline does first with the records of a topic.

    Raises: RegistryRefused, AddressMissing.
    """
    registry = Registry(settings.need("registry", "the schema registry"))
    decode = decoder_for(registry, topic, Ids())
    if decode is None:
        raise RegistryRefused(settings.registry, f"there is no schema for the topic {topic}")
    return [
        _TOMBSTONE,
        Operator(
            "decode by its schema",
            lambda records: _values(records, decode),
            "the record cannot be decoded by a schema of the registry",
        ),
    ]


def _ingestion(settings: Settings, topic: str) -> list[Operator]:
    return [
        *reading(settings, topic),
        Operator(
            "filter: the price fits DECIMAL(10, 2)",
            iceberg_ingestion.fitting,
            "the price does not fit into the table's column",
        ),
        Operator("select", lambda orders: iceberg_ingestion.priced(orders, *PLACE), ""),
    ]


def _values(records: DataFrame, decode: Decoder) -> DataFrame:
    # `decoded` has its own columns; the place comes back from those.
    return placed(decoded(records, decode, tolerant=True)).select(*PLACE, "value.*")


def _archive(_settings: Settings, _topic: str) -> list[Operator]:
    return [
        _TOMBSTONE,
        Operator("select", lambda records: lineage_archive.archived(records, *PLACE), ""),
    ]


_STREAMS: Mapping[str, StreamPlan] = {
    iceberg_ingestion.NAME: StreamPlan(iceberg_ingestion.TABLE, _ingestion),
    lineage_archive.NAME: StreamPlan(lineage_archive.TABLE, _archive),
}
_TABLES: Mapping[str, TablePlan] = {
    supplier_hours.NAME: TablePlan(
        supplier_hours.TABLE,
        iceberg_ingestion.TABLE,
        supplier_hours.keys,
        (
            Operator(
                "join (left semi): latest day",
                supplier_hours.latest_day,
                "the order is not of the last day that has any",
            ),
        ),
        supplier_hours.hourly,
    )
}
