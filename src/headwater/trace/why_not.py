"""Where a record of a topic went, or which step of a job dropped it."""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from typing import Any

from msgspec import Struct
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from headwater.capture.datasets.naming import topic as topic_dataset
from headwater.errors import HeadwaterError
from headwater.openlineage.names import DatasetName
from headwater.pipeline import kafka
from headwater.pipeline.settings import Settings
from headwater.trace.collecting import NestedText, collected
from headwater.trace.comparing import literal, named
from headwater.trace.failures import EVALUATION_ERRORS, not_evaluated
from headwater.trace.iceberg import SEQUENCE, IcebergTable
from headwater.trace.lineage import FailedRun, Lineage, Server, Writer
from headwater.trace.messages import add_messages
from headwater.trace.plans import (
    NOT_AGAIN,
    PLACE,
    Operator,
    TablePlan,
    is_given_again,
    keys_of,
    of_groups,
    placed,
    reading,
    rows_of,
    stream_plan,
    table_plan,
)
from headwater.trace.predicate import reason_of
from headwater.trace.ranges import NEWER, is_newer, last_read
from headwater.trace.session import JobSession
from headwater.trace.shapes import Record, Records
from headwater.trace.values import in_utc, shown

_DEAD_LETTERS = ".dead-letters"
_NO_TOPIC = "the Kafka cluster has no such topic: check its name, and KAFKA_BOOTSTRAP"
_NO_RECORD = (
    "there is no record at the offset: log compaction has removed it, or it marks the end of a "
    "transaction"
)


class Outcome(Struct, rename="camel"):
    """What became of a record on its way to a table."""

    record: Record
    table: str
    # written, dropped, dead letter, overwritten, failing, not read, removed, missing, unknown
    outcome: str
    reason: str
    job: str | None = None
    run_id: str | None = None
    batch: int | None = None
    snapshot: str | None = None
    operator: str | None = None
    error: str | None = None  # of a run that failed before the record was read
    row: dict[str, Any] | None = None
    notes: list[str] = []
    complete: bool = True


@in_utc()
def why_not(
    spark: SparkSession, server: Server, settings: Settings, table: str, record: Record
) -> Outcome:
    """What became of a record; the table is `catalog.namespace.table`.

    Raises: TableUnknown, AddressMissing.
    """
    lineage = Lineage(server)
    search = _Search(spark, settings, lineage, record)
    opened = IcebergTable(spark, table)
    try:
        found = search.into(opened)
    except EVALUATION_ERRORS as error:
        found = Outcome(record, opened.name, "unknown", not_evaluated(error))
    add_messages(lineage, [Records(True, True, "", [record])], settings.bootstrap)
    if found.outcome != "written" and record.message is None:
        found.row = None  # it is what the message says, and nobody may look at that
    found.notes, found.complete = [*lineage.notes], lineage.is_up
    return found


class _Search:
    """Follows one record."""

    def __init__(
        self, spark: SparkSession, settings: Settings, lineage: Lineage, record: Record
    ) -> None:
        self._spark, self._settings, self._lineage = spark, settings, lineage
        self._record = record
        self._row: Row | None = None  # that the first job makes of it
        bootstrap = settings.need("bootstrap", "Kafka")
        self._parts = kafka.held_offsets(bootstrap, record.topic)
        self._held = self._parts.get(record.partition)
        topic = DatasetName(*topic_dataset(bootstrap, record.topic).key)
        self._jobs: list[dict[str, Any]] = []
        if self._held is not None:
            self._jobs = lineage.reached(topic, record.partition, record.offset)

    def into(self, table: IcebergTable) -> Outcome:
        """What became of the record on its way to a table."""
        told = self._outcome(table, "missing", "")
        if self._held is None:
            known = ", ".join(map(str, sorted(self._parts)))
            told.reason = f"the topic has the partitions {known}" if known else _NO_TOPIC
            return told
        if self._record.offset >= self._held[1]:
            told.reason = f"the partition ends before it: the next offset is {self._held[1]}"
            return told
        current = table.current
        writes = self._lineage.writes(table.node, current) if current else []
        plan = table_plan(writes[0]["name"], table.name) if writes else None
        if plan is not None and not self._lineage.namesakes(table.node, writes[0]):
            return self._through_table(table, plan, writes[0])
        return self._through_stream(table)

    def _through_stream(self, table: IcebergTable) -> Outcome:
        reader = next((job for job in self._jobs if _writes(job, table)), None)
        if reader is None:
            return self._unread(table)
        run = reader["runs"][0]
        told = self._outcome(table, "unknown", "", reader["name"], run["runId"], run["firstBatch"])
        output = next(one for one in reader["outputs"] if one["nodeId"] == str(table.node))
        snapshots = output.get("snapshots") or []
        told.snapshot = snapshots[0] if len(snapshots) == 1 else None
        plan = stream_plan(reader["name"], table.name)
        if self._is_removed():
            told.outcome, told.reason = "removed", "retention has removed it after it was read"
        elif gone := self._is_another(table, told.snapshot, reader):
            told.outcome, told.reason = gone
        elif reason := self._lineage.namesakes(table.node, reader):
            told.reason = reason
        elif plan is not None:
            self._evaluate(told, table, plan.operators(self._settings, self._record.topic))
        elif not self._letters() or not self._is_dropped_early(told):
            told.reason = f"it was read; how {reader['name']} computes rows is not known here"
        return told

    def _is_another(
        self, table: IcebergTable, snapshot: str | None, reader: dict[str, Any]
    ) -> tuple[str, str] | None:
        """What to say if the offset holds no record any more, or not the one that was read."""
        record = self._raw()
        if record.isEmpty():
            return "removed", _NO_RECORD
        made = table.snapshot(snapshot) if snapshot else None
        read_at = made.at if made else last_read(reader)
        return ("unknown", NEWER) if read_at and is_newer(record, read_at) else None

    def _is_dropped_early(self, told: Outcome) -> bool:
        """Whether a sink of the pipeline drops the record before it makes a row of it."""
        try:
            operators = reading(self._settings, self._record.topic)
        except HeadwaterError:  # no registry that knows its schema
            return False
        if self._made(operators) is not None:
            return False
        self._find_operator(told, operators)
        self._look_for_letters(told)
        return True

    def _unread(self, table: IcebergTable) -> Outcome:
        told = self._outcome(table, "not read", "no run that writes the table has reported it read")
        writers = self._lineage.writers(table.node)
        if self._is_failing(told, writers, table):
            return told
        behind = [job["name"] for job in self._jobs if _holds(job, table)]
        unknown = None
        if not self._lineage.is_up:
            unknown = "without the server it is not known who has read it"
        elif table.current and not self._lineage.writes(table.node, table.current):
            unknown = f"no run has reported the snapshot {table.current}: it may hold the record"
        elif behind:
            unknown = (
                f"{behind[0]} has read what came of it: how it computes rows is not known here"
            )
        if unknown:
            told.outcome, told.reason = "unknown", unknown
            return told
        if writers:
            listed = ", ".join(f"{one.name} is {one.state}" for one in writers)
            told.reason = f"{told.reason} yet: {listed}{self._stopped(told, writers, table)}"
        if self._is_removed():
            told.outcome = "removed"
            told.reason = f"retention has removed it, and {told.reason}"
        return told

    def _is_failing(self, told: Outcome, writers: list[Writer], table: IcebergTable) -> bool:
        """Whether a run that writes the table has failed and named the record in its error."""
        one = self._record
        place = rf"topic {re.escape(one.topic)}, partition {one.partition}, offset {one.offset}\b"
        for writer in writers:
            for run in self._lineage.failed_runs(writer):
                if re.search(place, run.text):
                    told.outcome = "failing"
                    told.reason = f"it makes {run.job} fail, which {self._position(table)}"
                    told.job, told.run_id, told.error = run.job, run.id, run.error
                    return True
        return False

    def _stopped(self, told: Outcome, writers: list[Writer], table: IcebergTable) -> str:
        """That a job has failed before it came to the record, in words."""
        failed: Iterator[FailedRun] = (
            run
            for writer in writers
            if writer.state == "FAILED"
            for run in self._lineage.failed_runs(writer)[:1]
        )
        run = next(failed, None)
        if run is None:
            return ""
        told.job, told.run_id, told.error = run.job, run.id, run.error
        return f"; {run.job} {self._position(table)}"

    def _position(self, table: IcebergTable) -> str:
        """How far the writer of the last snapshot has come, in words."""
        writes = self._lineage.writes(table.node, table.current) if table.current else []
        offsets = writes[0]["offsets"] if writes else {}
        span = offsets.get(self._record.topic, {}).get(str(self._record.partition)) or {}
        until = f": it has read up to offset {span['to'] - 1}" if span.get("to") else ""
        return f"has not got past the record{until}"

    def _evaluate(self, told: Outcome, table: IcebergTable, operators: list[Operator]) -> None:
        """Let the record go through the steps of the job."""
        row = self._made(operators)
        if row is None:
            self._find_operator(told, operators)
            self._look_for_letters(told)
            return
        told.row = shown(row)
        rows = table.frame().where(_equals(row))
        made = table.snapshot(told.snapshot) if told.snapshot else None
        own = rows.where(F.col(SEQUENCE) == F.lit(made.sequence)) if made and made.is_v3 else rows
        if own.isEmpty():
            told.outcome = "overwritten"
            told.reason = "its row was written, and has been deleted or changed since"
            told.reason += "" if rows.isEmpty() else "; an equal row was written by another commit"
        else:
            told.outcome, told.reason = "written", "its row is in the table"

    def _made(self, operators: list[Operator]) -> Row | None:
        """The row that a job makes of the record, if it makes one."""
        if self._row is None:
            made = rows_of(self._raw(), operators).drop(*PLACE)
            with suppress(PySparkException):  # which step fails is found one by one
                self._row = next(iter(collected(made)), None)
        return self._row

    def _find_operator(self, told: Outcome, operators: list[Operator]) -> None:
        """The first step that does not pass the record on."""
        frame, told.outcome = placed(self._raw()), "dropped"
        for operator in operators:
            frame = operator.step(frame)
            told.operator, told.reason = operator.name, operator.dropped
            try:
                if frame.isEmpty():
                    return
            except PySparkException as error:
                told.reason = f"the step cannot process it: {reason_of(error)}"
                return

    def _look_for_letters(self, told: Outcome) -> None:
        for output in (one for job in self._letters() for one in job["outputs"]):
            told.outcome = "dead letter"
            told.reason = f"{told.reason}; it went to the topic {output['name']}"

    def _letters(self) -> list[dict[str, Any]]:
        """The jobs that have read the record to keep it if it cannot be decoded."""
        return [job for job in self._jobs if job["name"].endswith(_DEAD_LETTERS)]

    def _through_table(
        self, table: IcebergTable, plan: TablePlan, write: dict[str, Any]
    ) -> Outcome:
        source = IcebergTable(self._spark, f"{self._settings.catalog}.{plan.source}")
        before = self._through_stream(source)
        if before.row is None:
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
        read = IcebergTable(self._spark, source.name, version)
        session = JobSession(write.get("settings") or {})
        if self._row is not None:
            self._group(told, table, plan, read, _equals(self._row), session)
        return told

    def _group(
        self, told: Outcome, table: IcebergTable, plan: TablePlan, source: IcebergTable,
        mine: Column, session: JobSession,
    ) -> None:  # fmt: skip
        frame = source.frame()
        if frame.where(mine).isEmpty():
            told.outcome = "not read"
            told.reason = f"the last run read {plan.source} before the record was in it"
            return
        if session.zone_doubts:
            told.reason = "; ".join(session.zone_doubts)
            return
        for operator in plan.operators:
            with session.entered(self._spark):
                frame = operator.step(frame)
            if frame.where(mine).isEmpty():
                told.outcome, told.operator, told.reason = (
                    "dropped",
                    operator.name,
                    operator.dropped,
                )
                return
        with session.entered(self._spark):
            keys = keys_of(plan, frame.where(mine))
            again = of_groups(plan.grouped(frame), keys)
        rows = of_groups(table.frame(), keys)
        if not is_given_again(rows, again):
            told.reason = NOT_AGAIN
            return
        told.outcome, told.reason = "written", "it is one of the rows of its group"
        told.row = shown(Row(*table.columns)(*collected(rows)[0][: len(table.columns)]))

    def _raw(self) -> DataFrame:
        one = {self._record.partition: (self._record.offset, self._record.offset + 1)}
        bootstrap = self._settings.bootstrap
        return kafka.read_range(self._spark, bootstrap, self._record.topic, one)

    def _is_removed(self) -> bool:
        return self._held is not None and self._record.offset < self._held[0]

    def _outcome(
        self, table: IcebergTable, outcome: str, reason: str, job: str | None = None,
        run: str | None = None, batch: int | None = None,
    ) -> Outcome:  # fmt: skip
        return Outcome(self._record, table.name, outcome, reason, job, run, batch)


def _holds(job: dict[str, Any], table: IcebergTable) -> bool:
    return any(one["nodeId"] == str(table.node) for one in job["outputs"])


def _writes(job: dict[str, Any], table: IcebergTable) -> bool:
    """Whether a job reads the topic itself and writes the table."""
    return _holds(job, table) and job["step"] == 1


def _equals(row: Row) -> Column:
    """The condition that a row has the values of another, where these can be compared."""
    values = {
        name: value
        for name, value in row.asDict().items()
        if not isinstance(value, Row | dict | list | NestedText)
    }
    columns = (named(name).eqNullSafe(literal(value)) for name, value in values.items())
    return reduce(lambda left, right: left & right, columns, F.lit(True))
