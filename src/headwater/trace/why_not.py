"""Where a record of a topic went, or which step of a job dropped it."""

from functools import reduce
from typing import Any

from msgspec import Struct
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from headwater.capture.datasets.naming import topic as topic_dataset
from headwater.openlineage.names import DatasetName
from headwater.pipeline import kafka
from headwater.pipeline.settings import Settings
from headwater.trace.iceberg import IcebergTable
from headwater.trace.lineage import Lineage, Server
from headwater.trace.messages import add_messages
from headwater.trace.plans import PLACE, Operator, TablePlan, placed, stream_plan, table_plan
from headwater.trace.predicate import reason_of
from headwater.trace.shapes import Record, Records
from headwater.trace.values import shown

_DEAD_LETTERS = ".dead-letters"


class Outcome(Struct, rename="camel"):
    """What became of a record on its way to a table."""

    record: Record
    table: str
    outcome: str  # written, dropped, dead letter, overwritten, not read, removed, missing, unknown
    reason: str
    job: str | None = None
    run_id: str | None = None
    batch: int | None = None
    snapshot: str | None = None
    operator: str | None = None
    row: dict[str, Any] | None = None
    notes: list[str] = []
    complete: bool = True


def why_not(
    spark: SparkSession, server: Server, settings: Settings, table: str, record: Record
) -> Outcome:
    """What became of a record; the table is `catalog.namespace.table`.

    Raises: TableUnknown, AddressMissing.
    """
    lineage = Lineage(server)
    found = _Search(spark, settings, lineage, record).into(IcebergTable(spark, table))
    add_messages(lineage, [Records(True, "", [record])], settings.bootstrap)
    found.notes, found.complete = [*lineage.notes], lineage.is_up
    return found


class _Search:
    """Follows one record."""

    def __init__(
        self, spark: SparkSession, settings: Settings, lineage: Lineage, record: Record
    ) -> None:
        self._spark, self._settings, self._lineage = spark, settings, lineage
        self._record = record
        bootstrap = settings.need("bootstrap", "Kafka")
        self._held = kafka.held_offsets(bootstrap, record.topic).get(record.partition)
        topic = DatasetName(*topic_dataset(bootstrap, record.topic).key)
        self._jobs = lineage.reached(topic, record.partition, record.offset)

    def into(self, table: IcebergTable) -> Outcome:
        """What became of the record on its way to a table."""
        told = self._outcome(table, "missing", "")
        if self._held is None:
            told.reason = "there is no such topic or partition"
            return told
        if self._record.offset >= self._held[1]:
            told.reason = f"the partition ends before it: the next offset is {self._held[1]}"
            return told
        current = table.current
        writes = self._lineage.writes(table.node, current) if current else []
        plan = table_plan(writes[0]["name"]) if writes else None
        if plan is not None:
            return self._through_table(table, plan, writes[0])
        return self._through_stream(table)

    def _through_stream(self, table: IcebergTable) -> Outcome:
        reader = next((job for job in self._jobs if _writes(job, table)), None)
        if reader is None:
            return self._unread(table)
        run = reader["runs"][0]
        told = self._outcome(table, "unknown", "", reader["name"], run["runId"], run["firstBatch"])
        output = next(one for one in reader["outputs"] if one["nodeId"] == str(table.node))
        told.snapshot = output["snapshots"][0] if len(output["snapshots"]) == 1 else None
        plan = stream_plan(reader["name"])
        if self._is_removed():
            told.outcome, told.reason = "removed", "retention has removed it after it was read"
        elif plan is None:
            told.reason = f"it was read; how {reader['name']} computes rows is not known here"
        else:
            self._evaluate(told, table, plan.operators(self._settings, self._record.topic))
        return told

    def _unread(self, table: IcebergTable) -> Outcome:
        told = self._outcome(table, "not read", "no run that writes the table has read it")
        states = self._lineage.writers(table.node)
        if states:
            listed = ", ".join(f"{name} is {state}" for name, state in states.items())
            told.reason = f"{told.reason} yet: {listed}"
        if self._is_removed():
            told.outcome = "removed"
            told.reason = f"retention has removed it, and {told.reason}"
        return told

    def _evaluate(self, told: Outcome, table: IcebergTable, operators: list[Operator]) -> None:
        """Let the record go through the steps of the job."""
        frame = placed(self._raw())
        for operator in operators:
            frame = operator.step(frame)
            if self._is_empty(frame, told):
                told.operator = operator.name
                told.outcome, told.reason = "dropped", told.reason or operator.dropped
                self._look_for_letters(told)
                return
        row = frame.drop(*PLACE).collect()[0]
        told.row = shown(row)
        if table.frame().where(_equals(row)).isEmpty():
            told.outcome = "overwritten"
            told.reason = "its row was written, and has been deleted or changed since"
        else:
            told.outcome, told.reason = "written", "its row is in the table"

    def _look_for_letters(self, told: Outcome) -> None:
        letters = [job for job in self._jobs if job["name"].endswith(_DEAD_LETTERS)]
        for output in (one for job in letters for one in job["outputs"]):
            told.outcome = "dead letter"
            told.reason = f"{told.reason}; it went to the topic {output['name']}"

    def _through_table(
        self, table: IcebergTable, plan: TablePlan, write: dict[str, Any]
    ) -> Outcome:
        source = IcebergTable(self._spark, f"{self._settings.catalog}.{plan.source}")
        before = self._through_stream(source)
        if before.outcome != "written" or before.row is None:
            before.table = table.name
            before.reason = f"on its way to {plan.source}: {before.reason}"
            return before
        told = self._outcome(table, "unknown", "", write["name"], write["runId"])
        told.snapshot = table.current
        version = next(
            (one["snapshot"] for one in write["inputs"] if one["nodeId"] == str(source.node)), None
        )
        if version is None or source.snapshot(version) is None:
            told.reason = f"which snapshot of {plan.source} was read is not known any more"
            return told
        self._group(told, table, plan, IcebergTable(self._spark, source.name, version))
        return told

    def _group(
        self, told: Outcome, table: IcebergTable, plan: TablePlan, source: IcebergTable
    ) -> None:
        mine = _equals(self._row(source))
        frame = source.frame()
        if frame.where(mine).isEmpty():
            told.outcome = "not read"
            told.reason = f"the last run read {plan.source} before the record was in it"
            return
        for operator in plan.operators:
            frame = operator.step(frame)
            if frame.where(mine).isEmpty():
                told.outcome, told.operator, told.reason = (
                    "dropped",
                    operator.name,
                    operator.dropped,
                )
                return
        keys = [key.alias(name) for name, key in plan.keys().items()]
        group = frame.where(mine).select(*keys).collect()[0]
        rows = table.frame().where(_equals(group)).limit(1).collect()
        told.outcome, told.reason = "written", "it is one of the rows of its group"
        told.row = shown(Row(*table.columns)(*rows[0][: len(table.columns)])) if rows else None

    def _row(self, source: IcebergTable) -> Row:
        """The row that the record is in a table behind the topic."""
        job = next(job for job in self._jobs if _writes(job, source))
        plan = stream_plan(job["name"])
        frame = placed(self._raw())
        for operator in plan.operators(self._settings, self._record.topic) if plan else ():
            frame = operator.step(frame)
        return frame.drop(*PLACE).collect()[0]

    def _raw(self) -> DataFrame:
        one = {self._record.partition: (self._record.offset, self._record.offset + 1)}
        bootstrap = self._settings.bootstrap
        return kafka.read_range(self._spark, bootstrap, self._record.topic, one)

    def _is_removed(self) -> bool:
        return self._held is not None and self._record.offset < self._held[0]

    def _is_empty(self, frame: DataFrame, told: Outcome) -> bool:
        try:
            return frame.isEmpty()
        except PySparkException as error:
            told.reason = f"it fails the job: {reason_of(error)}"
            return True

    def _outcome(
        self, table: IcebergTable, outcome: str, reason: str, job: str | None = None,
        run: str | None = None, batch: int | None = None,
    ) -> Outcome:  # fmt: skip
        return Outcome(self._record, table.name, outcome, reason, job, run, batch)


def _writes(job: dict[str, Any], table: IcebergTable) -> bool:
    return any(one["nodeId"] == str(table.node) for one in job["outputs"]) and job["step"] == 1


def _equals(row: Row) -> Column:
    """The condition that a row has the values of another, where these can be compared."""
    values = {
        name: value
        for name, value in row.asDict().items()
        if not isinstance(value, Row | dict | list)
    }
    columns = (F.col(f"`{name}`").eqNullSafe(F.lit(value)) for name, value in values.items())
    return reduce(lambda left, right: left & right, columns, F.lit(True))
