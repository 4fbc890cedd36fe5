"""Records forward to rows: which rows of the tables hold them, or were computed from them."""

from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from typing import Any

from msgspec import Struct
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.errors import HeadwaterError, TableUnknown
from headwater.pipeline import sql
from headwater.pipeline.settings import Settings
from headwater.trace.collecting import collected
from headwater.trace.comparing import can_compare, named, quoted
from headwater.trace.failures import EVALUATION_ERRORS, not_evaluated
from headwater.trace.given import PLACE, Given, GivenPlan, targets_of
from headwater.trace.iceberg import SEQUENCE, IcebergTable
from headwater.trace.lineage import Lineage, Server
from headwater.trace.plans import (
    NOT_AGAIN,
    StreamPlan,
    TablePlan,
    is_given_again,
    keys_of,
    of_groups,
    plans_named,
    rows_of,
    stepped,
)
from headwater.trace.plans import PLACE as PLACED
from headwater.trace.ranges import OTHERS, held, last_read
from headwater.trace.session import JobSession
from headwater.trace.values import in_utc, shown

_LISTED = 20  # rows that are shown
_COMMITS = 20  # of a table that a given plan is evaluated over
_EQUAL = "other records give equal rows"
_NO_PLAN = "how it computes rows is not known here: --app or --sql may give its plan"
_SINCE = "it, or they, have changed since"
_TABLES = "its plan reads tables, and is not followed through these: give the plan of each job"
_SEVERAL = "{} plans write the table: which of them made which commit is not known"
_OTHER_JOBS = "several jobs write the table ({}): the plan may be that of another one"
_PARTLY = "not all columns of the table can be compared"
_RENAMED = "the table's columns have changed since"
_ANY_SNAPSHOT = "equal rows of other snapshots are counted as well"
_CHANGED = "the plan, evaluated without the records, gives other rows in place of these"


class Span(Struct, rename="camel"):
    """Records of one partition, from the first offset to the last."""

    topic: str
    partition: int
    first: int
    last: int


class RowsReached(Struct, rename="camel"):
    """The rows of a table that some records reached; none where that is not known."""

    job: str
    node_id: str
    table: str | None
    row_count: int | None
    exact: bool
    reason: str
    rows: list[dict[str, Any]] = []


@in_utc()
def rows_reached(
    spark: SparkSession, server: Server, settings: Settings, jobs: list[dict[str, Any]],
    span: Span, given: Given | None = None,
) -> list[RowsReached]:  # fmt: skip
    """Narrow an answer of the server, commit by commit, down to rows; topics have none.

    Raises: DryRunError.
    """
    walk = _Forward(spark, Lineage(server), settings, span, given)
    return [
        walk.into(job, output)
        for job in jobs
        for output in job["outputs"]
        if not output["namespace"].startswith("kafka:")
    ]


class _Forward:
    """Follows records from table to table."""

    def __init__(
        self, spark: SparkSession, lineage: Lineage, settings: Settings, span: Span,
        given: Given | None,
    ) -> None:  # fmt: skip
        self._spark, self._lineage, self._settings = spark, lineage, settings
        self._span, self._given = span, given
        self._made: dict[str, DataFrame] = {}  # the rows of the records, by table
        self._doubts: dict[str, list[str]] = {}
        self._tables = self._given_tables(given) if given else {}

    def into(self, job: dict[str, Any], output: dict[str, Any]) -> RowsReached:
        """The rows of one table."""
        told = RowsReached(job["name"], output["nodeId"], None, None, False, _NO_PLAN)
        try:
            own = self._tables.get(output["nodeId"])
            if own is not None and self._given is not None:
                told.table = own.name
                self._by_given_plan(told, own, output, self._given)
            else:
                self._by_own_plan(told, job, output)
        except HeadwaterError as error:
            told.reason = error.message
        except EVALUATION_ERRORS as error:
            told.reason = not_evaluated(error)
        return told

    def _by_own_plan(self, told: RowsReached, job: dict[str, Any], output: dict[str, Any]) -> None:
        plan = plans_named(told.job)
        if plan is None:
            return
        table = IcebergTable(self._spark, f"{self._settings.catalog}.{plan.table}")
        if str(table.node) != told.node_id:
            return
        told.table = table.name
        if reason := self._lineage.namesakes(table.node, job):
            told.reason = reason
        elif isinstance(plan, StreamPlan):
            self._of_records(told, table, plan, output, last_read(job))
        else:
            self._of_rows(told, table, plan)

    def _of_records(
        self, told: RowsReached, table: IcebergTable, plan: StreamPlan, output: dict[str, Any],
        read_at: str | None,
    ) -> None:  # fmt: skip
        span, bootstrap = self._span, self._settings.need("bootstrap", "Kafka")
        ranges = {span.partition: (span.first, span.last + 1)}
        found = held(self._spark, bootstrap, span.topic, ranges, read_at)
        doubts = self._doubts[plan.table] = [*found.doubts]
        if found.records is None or OTHERS & {*doubts}:
            told.reason = "; ".join(doubts)
            return
        made = rows_of(found.records, plan.operators(self._settings, span.topic)).drop(*PLACED)
        self._made[plan.table] = made
        rows, others = self._written(table, output)
        doubts += [*others, *_not_compared(table, rows, made)]
        counts = self._counts(rows, made)
        doubts += [_EQUAL] if any(has > should for has, should in counts) else []
        gone = sum(max(0, should - has) for has, should in counts)
        found_rows = rows.join(made, self._same(rows, made), "left_semi")
        self._tell(told, found_rows, table, doubts)
        if gone:
            told.reason += f"; {gone} more have been deleted or changed since"

    def _of_rows(self, told: RowsReached, table: IcebergTable, plan: TablePlan) -> None:
        """Groups that the rows of records are in, at the snapshot that was read for them."""
        made = self._made.get(plan.source)
        writes = self._lineage.writes(table.node, table.current) if table.current else []
        source = IcebergTable(self._spark, f"{self._settings.catalog}.{plan.source}")
        write = next((one for one in writes[:1] if plans_named(one["name"]) is plan), {})
        version = next(
            (one["snapshot"] for one in write.get("inputs", ())
             if one["nodeId"] == str(source.node)), None,
        )  # fmt: skip
        if made is None or version is None or source.snapshot(version) is None:
            told.reason = f"which rows of {plan.source} it read is not known"
            return
        session = JobSession(write.get("settings") or {})
        if session.zone_doubts:
            told.reason = "; ".join(session.zone_doubts)
            return
        read = IcebergTable(self._spark, source.name, version).frame()
        with session.entered(self._spark):
            frame = stepped(plan, read)
            keys = keys_of(plan, frame.join(made, self._same(frame, made), "left_semi"))
            again = of_groups(plan.grouped(frame), keys)
        found = of_groups(table.frame(), keys)
        if not is_given_again(found, again):
            told.reason = NOT_AGAIN
            return
        self._tell(told, found, table, self._doubts[plan.source])

    def _by_given_plan(
        self, told: RowsReached, table: IcebergTable, output: dict[str, Any], given: Given
    ) -> None:
        """Rows that a plan gives in another way without the records."""
        span, doubts = self._span, dict[str, None]()
        writers = self._lineage.applications(table.node)
        if len(writers) > 1:
            told.reason = _OTHER_JOBS.format(", ".join(writers))
            return
        plan = GivenPlan(self._spark, given)
        parts = []
        for snapshot in output["snapshots"][:_COMMITS]:
            write = next(iter(self._lineage.writes(table.node, snapshot)), None)
            if write is None:
                doubts[f"no run has reported the snapshot {snapshot}"] = None
                continue
            over, *others = plan.over(table, write)
            if others:
                told.reason = _SEVERAL.format(len(others) + 1)
                return
            unsure = [*over.derivation.doubts, *([_TABLES] if over.tables else [])]
            if unsure or not over.derivation.names:
                told.reason = "; ".join([*unsure, *over.missing]) or "it reads no topic"
                return
            if replaced := OTHERS & {*over.doubts}:
                told.reason = "; ".join(sorted(replaced))
                return
            doubts |= dict.fromkeys([*over.doubts, *over.missing])
            parts.append(over.derivation.changed_without(
                PLACE, (F.col("topic") == F.lit(span.topic))
                & (F.col("partition") == F.lit(span.partition))
                & F.col("offset").between(span.first, span.last)
            ))  # fmt: skip
        if output["snapshotCount"] > _COMMITS:
            doubts[f"the first {_COMMITS} commits were evaluated"] = None
        if not parts:
            told.reason = "; ".join(doubts) or "no snapshot of it is known to hold the records"
            return
        made = reduce(DataFrame.unionAll, parts)
        rows, unsure = self._written(table, output)
        doubts |= dict.fromkeys([*unsure, *_not_compared(table, rows, made)])
        if not [*_shared(rows, made)]:
            told.reason = _RENAMED
            return
        if not all(map(table.has_columns_of, output["snapshots"])):
            doubts[_RENAMED] = None
        counts = self._counts(rows, made)
        gone = sum(max(0, should - has) for has, should in counts)
        if gone:
            told.reason = f"the plan gives {gone} rows that the table does not have: {_SINCE}"
            return
        doubts |= dict.fromkeys([_EQUAL] if any(has > should for has, should in counts) else [])
        found = rows.join(made, self._same(rows, made), "left_semi")
        self._tell(told, found, table, [*doubts])
        told.reason = _CHANGED if told.exact else told.reason

    def _written(self, table: IcebergTable, output: dict[str, Any]) -> tuple[DataFrame, list[str]]:
        """The rows of the snapshots that may hold the records; why others may be among them."""
        made = [table.snapshot(one) for one in output["snapshots"]]
        sequences = [one.sequence for one in made if one is not None and one.is_v3]
        if len(sequences) < output["snapshotCount"]:
            return table.frame(), [_ANY_SNAPSHOT]
        rows = table.frame()
        return rows.where(F.col(SEQUENCE).isin(sequences)), []

    def _given_tables(self, given: Given) -> dict[str, IcebergTable]:
        """The tables that a plan was given for; topics, files and other databases have no rows."""
        found = {}
        for target in targets_of(self._spark, given):
            try:
                parts = sql.parts(target)
            except ValueError:  # such as a query of JDBC
                continue
            whole = parts if len(parts) > 2 else (self._settings.catalog, *parts)
            with suppress(TableUnknown):
                table = IcebergTable(self._spark, sql.quoted(whole))
                found[str(table.node)] = table
        return found

    def _same(self, rows: DataFrame, made: DataFrame) -> Column:
        pairs = ((rows[quoted(name)], _as_in(rows, made, name)) for name in _shared(rows, made))
        same = (left.eqNullSafe(right) for left, right in pairs)
        return reduce(lambda left, right: left & right, same)

    def _counts(self, rows: DataFrame, made: DataFrame) -> list[tuple[int, int]]:
        """How often each row that was made is in the table, and how often it was made."""
        shared = [*_shared(rows, made)]
        names = [f"c{number}" for number in range(len(shared))]
        made = made.select(*(_as_in(rows, made, name) for name in shared)).toDF(*names)
        rows = rows.select(*map(named, shared)).toDF(*names)
        should = made.groupBy(*names).agg(F.count(F.lit(1)).alias("made"))
        has = rows.groupBy(*names).agg(F.count(F.lit(1)).alias("has"))
        same = (should[name].eqNullSafe(has[name]) for name in names)
        pairs = should.join(has, reduce(lambda left, right: left & right, same), "left")
        found = pairs.select(F.coalesce("has", F.lit(0)), "made").collect()
        return [(int(row[0]), int(row[1])) for row in found]

    def _tell(
        self, told: RowsReached, found: DataFrame, table: IcebergTable, doubts: list[str]
    ) -> None:
        rows = found.select(*map(named, table.columns))
        told.rows = [shown(row) for row in collected(rows.limit(_LISTED))]
        told.row_count = len(told.rows) if len(told.rows) < _LISTED else rows.count()
        told.exact, told.reason = not doubts, "; ".join(doubts) or "evaluated again"


def _shared(rows: DataFrame, made: DataFrame) -> Iterator[str]:
    for field in rows.schema.fields:
        name = field.name
        if name in made.columns and can_compare(made.schema[name].dataType, field.dataType):
            yield name


def _not_compared(table: IcebergTable, rows: DataFrame, made: DataFrame) -> list[str]:
    """Why rows that are equal may not be those that were made."""
    return [_PARTLY] if {*table.columns} - {*_shared(rows, made)} else []


def _as_in(rows: DataFrame, made: DataFrame, name: str) -> Column:
    """A column of rows that were made, in the type that it has in the table."""
    return made[quoted(name)].cast(rows.schema[name].dataType)
