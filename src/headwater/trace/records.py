"""The exact records behind rows: jobs evaluated again over the offsets of a commit alone."""

from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headwater.errors import DryRunError, HeadwaterError
from headwater.pipeline import sql
from headwater.pipeline.settings import Settings
from headwater.trace.collecting import SparkText
from headwater.trace.comparing import can_compare, free_name, literal, named, quoted
from headwater.trace.derivation import MOST, Derived
from headwater.trace.failures import EVALUATION_ERRORS, not_evaluated
from headwater.trace.given import PLACE, Evaluated, GivenPlan
from headwater.trace.iceberg import IcebergTable, TracedRow
from headwater.trace.lineage import Lineage
from headwater.trace.plans import StreamPlan, TablePlan, rows_of, stepped, stream_plan, table_plan
from headwater.trace.ranges import held, merged, spans_of
from headwater.trace.session import JobSession
from headwater.trace.shapes import Record, Records, SourceRow
from headwater.trace.values import shown

_MAY_COME_AGAIN = "a later record may be its duplicate, and would have given the same row"
_OTHER_COLUMNS = "the table's columns have changed since the row was written"
_OTHERS = "several jobs write the table ({}): the plan may be that of another one"
_SEVERAL = "{} plans write the table, and {} of them may have given this row: one is followed"


class RecordFinder:
    """Finds the records of rows, with a session and the services of the pipeline."""

    def __init__(
        self, spark: SparkSession, settings: Settings, lineage: Lineage,
        given: GivenPlan | None = None,
    ) -> None:  # fmt: skip
        self._spark, self._settings, self._lineage = spark, settings, lineage
        self._given = given

    def find_given(self, table: IcebergTable, rows: list[TracedRow]) -> list[Records]:
        """The records of each row by the plan that was given, if one was."""
        if self._given is None:
            return self.find(table, rows)
        columns = self._spark.table(sql.quoted(table.name)).schema
        found = []
        for row in rows:
            write = self._write(table, row)
            if write is None:
                found.append(_unknown(_not_written(row)))
            else:
                found.append(self._guarded(self._by_plan, table, row, write, columns))
        return found

    def _by_plan(
        self, table: IcebergTable, row: TracedRow, write: dict[str, Any], columns: T.StructType
    ) -> Records:
        assert self._given is not None  # noqa: S101 (asked with a plan only)
        wide = dict[str, None]()  # why some sources are supersets
        if write.get("committed") and self._given.is_of_its_batch(table):
            write = {**write, "offsets": write["committed"]}
            wide[_MAY_COME_AGAIN] = None
        elif write.get("stateful") and row.snapshot_id:
            bound = self._given.watermark_of(table, row.row)
            write = self._lineage.writes(table.node, row.snapshot_id, bound)[0]
        over, doubts = _giving(self._given.over(table, write), row.row, columns)
        if row.snapshot_id and not table.has_columns_of(row.snapshot_id):
            doubts.append(_OTHER_COLUMNS)
        doubts += self._other_applications(table)
        derived = over.derivation.of(row.row, columns)
        records, sources = list[Record](), list[SourceRow]()
        doubts += [*(f"rows of {name} are not followed" for name in over.missing), *over.doubts]
        for name, rows in derived.rows.items():
            if name not in over.tables:
                records += [Record(*(one[place] for place in PLACE)) for one in rows]
                continue
            read = over.tables[name]
            located = read.located(rows)
            told = self.find(read, located)
            doubts += dict.fromkeys(one.reason for one in told if not one.complete)
            wide |= dict.fromkeys(one.reason for one in told if one.complete and not one.exact)
            sources += [
                SourceRow(shown(one.row), one.snapshot_id, each.records, read.name)
                for one, each in zip(located, told, strict=True)
            ]
        return _by_plan(derived, records, sources, doubts, [*wide], write, row)

    def _other_applications(self, table: IcebergTable) -> list[str]:
        """Why the plan may be that of another application than the one that wrote a row."""
        names = self._lineage.applications(table.node)
        return [_OTHERS.format(", ".join(names))] if len(names) > 1 else []

    def find(self, table: IcebergTable, rows: list[TracedRow]) -> list[Records]:
        """The records of each row; what cannot be found says why."""
        found: dict[int, Records] = {}
        streams: dict[str, list[int]] = {}
        for number, row in enumerate(rows):
            write = self._write(table, row)
            if write is None:
                found[number] = _unknown(_not_written(row))
            elif reason := self._lineage.namesakes(table.node, write):
                found[number] = _unknown(reason)
            elif stream_plan(write["name"], table.name) and write["offsets"]:
                streams.setdefault(write["name"], []).append(number)
            elif plan := table_plan(write["name"], table.name):
                found[number] = self._guarded(self._of_table, row, plan, write)
            else:
                found[number] = _unknown(
                    f"how {write['name']} computes rows is not known here: only its input is"
                )
        for job, together in streams.items():
            for numbers in _apart(rows, together):
                chosen = [rows[number] for number in numbers]
                stream = stream_plan(job, table.name)
                told = self._guarded(self._of_stream, table, chosen, stream)
                found |= zip(numbers, told if isinstance(told, list) else [told] * len(numbers),
                             strict=True)  # fmt: skip
        return [found[number] for number in range(len(rows))]

    def _guarded(self, work: Any, *given: Any) -> Any:
        """What a step finds; an error while it is evaluated is the reason of an answer without."""
        try:
            return work(*given)
        except DryRunError:
            raise
        except HeadwaterError as error:
            return _unknown(error.message)
        except EVALUATION_ERRORS as error:
            return _unknown(not_evaluated(error))

    def _write(self, table: IcebergTable, row: TracedRow) -> dict[str, Any] | None:
        writes = self._lineage.writes(table.node, row.snapshot_id) if row.snapshot_id else []
        return writes[0] if writes else None

    def _of_stream(
        self, table: IcebergTable, rows: list[TracedRow], plan: StreamPlan
    ) -> list[Records]:
        writes = [self._write(table, row) or {} for row in rows]
        spans = [spans_of(write) for write in writes]
        bootstrap = self._settings.need("bootstrap", "Kafka")
        candidates: list[list[Record]] = [[] for _ in rows]
        doubts: list[dict[str, None]] = [{} for _ in rows]
        for topic in dict.fromkeys(topic for one in spans for topic in one):
            ranges = merged(one.get(topic, {}) for one in spans)
            at = max(str(write["at"]) for write in writes)
            left = held(self._spark, bootstrap, topic, ranges, at)
            for number, own in enumerate(spans):
                doubts[number] |= dict.fromkeys(left.doubts if topic in own else ())
            if left.records is None:
                continue
            made = rows_of(left.records, plan.operators(self._settings, topic))
            for number, place in self._equal(table, rows, made):
                span = spans[number].get(topic, {}).get(place.partition)
                if span and span[0] <= place.offset < span[1]:
                    candidates[number].append(place)
        return [_judged(candidates[n], [*doubts[n]], writes[n], row) for n, row in enumerate(rows)]

    def _equal(
        self, table: IcebergTable, rows: list[TracedRow], made: DataFrame
    ) -> list[tuple[int, Record]]:
        """Which of the rows each made row equals, with the place of its record."""
        schema = self._spark.table(sql.quoted(table.name)).schema
        fields = [
            f for f in schema.fields
            if f.name in made.columns and can_compare(made.schema[f.name].dataType, f.dataType)
        ]  # fmt: skip
        number = free_name("number", {*made.columns, *schema.names})
        numbered = T.StructType([T.StructField(number, T.IntegerType()), *fields])
        values = [(n, *(row.row[f.name] for f in fields)) for n, row in enumerate(rows)]
        wanted = F.broadcast(self._spark.createDataFrame(values, numbered))
        same = reduce(
            lambda left, right: left & right,
            (
                wanted[quoted(f.name)].eqNullSafe(made[quoted(f.name)].cast(f.dataType))
                for f in fields
            ),
        )
        pairs = made.join(wanted, same, "inner")
        found = pairs.select(named(number), "_topic", "_partition", "_offset").distinct().collect()
        return [(row[0], Record(row[1], row[2], row[3])) for row in sorted(found)]

    def _of_table(self, row: TracedRow, plan: TablePlan, write: dict[str, Any]) -> Records:
        source = f"{self._settings.catalog}.{plan.source}"
        node = str(IcebergTable(self._spark, source).node)
        version = next((i["snapshot"] for i in write["inputs"] if i["nodeId"] == node), None)
        if version is None:
            return _unknown(f"the run did not report which snapshot of {plan.source} it read")
        read = IcebergTable(self._spark, source, version)
        if read.snapshot(version) is None:
            return _unknown(f"the snapshot {version} of {plan.source}, which it read, has expired")
        session, rows = JobSession(write.get("settings") or {}), read.frame()
        with session.entered(self._spark):
            grouped = group_of(plan, rows, row.row)
            given = plan.grouped(grouped)
        again = given.collect()
        chosen = grouped.limit(MOST + 1).collect()
        sources = read.located(chosen[:MOST])
        told = self.find(read, sources)
        is_same = [tuple(one) for one in again] == [tuple(row.row)]
        count = len(chosen) if len(chosen) <= MOST else grouped.count()
        found = _grouped(plan, version, sources, told, count, is_same=is_same)
        if session.zone_doubts:
            found.exact = found.complete = False
            found.reason = "; ".join([found.reason, *session.zone_doubts])
        return found


def _giving(
    several: list[Evaluated], row: Row, columns: T.StructType
) -> tuple[Evaluated, list[str]]:
    """Of the plans that write a table, the one that gives a row; why another may have given it."""
    if len(several) == 1:
        return several[0], []
    giving = [one for one in several if one.derivation.may_give(row, columns)] or several[-1:]
    if len(giving) == 1:
        return giving[0], []
    return giving[0], [_SEVERAL.format(len(several), len(giving))]


def _apart(rows: list[TracedRow], numbers: list[int]) -> list[list[int]]:
    """Rows that are looked for together: one with a value that Python cannot hold is alone."""
    alone = [n for n in numbers if any(isinstance(one, SparkText) for one in rows[n].row)]
    together = [n for n in numbers if n not in alone]
    return [*([together] if together else []), *([n] for n in alone)]


def group_of(plan: TablePlan, frame: DataFrame, row: Row) -> DataFrame:
    """The rows of a source that a job puts into the group of a row."""
    frame = stepped(plan, frame)
    own = (key.eqNullSafe(literal(row[name])) for name, key in plan.keys().items())
    return frame.where(reduce(lambda left, right: left & right, own))


def _by_plan(
    derived: Derived, records: list[Record], sources: list[SourceRow], doubts: list[str],
    wide: list[str], write: dict[str, Any], row: TracedRow,
) -> Records:  # fmt: skip
    """The answer that a given plan leads to."""
    reasons = [*doubts, *wide]
    if write.get("stateful") and _begins_anywhere(write):
        reasons.append("the stream keeps state, and where it began to read is not known")
    is_certain = write.get("exact") or write.get("stateful")
    if not is_certain or row.reason:
        reasons.append(str(row.reason or write.get("reason")))
    is_exact = derived.exact and not reasons
    if is_exact or not derived.exact:  # what makes the rest certain does not stand before doubts
        reasons.insert(0, derived.reason)
    tables = [*dict.fromkeys(str(one.table) for one in sources)]
    return Records(
        # A row that may have been copied may have been written by another batch.
        is_exact, derived.complete and not doubts and not row.reason, "; ".join(reasons),
        sorted_records(records), ", ".join(tables) or None, sources, len(sources),
    )  # fmt: skip


def _begins_anywhere(write: dict[str, Any]) -> bool:
    """Whether some partition was read from an offset that is not known."""
    parts = (part for topic in (write.get("offsets") or {}).values() for part in topic.values())
    return any(part["from"] is None for part in parts)


def sorted_records(records: list[Record]) -> list[Record]:
    """Records in the order of their topics, each once: a plan may read a topic twice."""
    once = {(one.topic, one.partition, one.offset): one for one in records}
    return sorted(once.values(), key=lambda one: (one.topic, one.partition, one.offset))


def _grouped(
    plan: TablePlan, version: str, sources: list[TracedRow], told: list[Records], count: int,
    *, is_same: bool,
) -> Records:  # fmt: skip
    rows = [
        SourceRow(shown(one.row), one.snapshot_id, found.records)
        for one, found in zip(sources, told, strict=True)
    ]
    what = f"{count} rows of {plan.source} at snapshot {version}"
    doubts = dict.fromkeys(found.reason for found in told if not found.exact)
    if not is_same:
        reason = f"{what} have its keys, but do not give this row again"
    elif count > len(rows):
        reason = f"{what} give this row again; the first {len(rows)} are traced"
    elif doubts:
        reason = f"{what} give this row again; of some: {'; '.join(doubts)}"
    else:
        reason = f"{what} give this row again, each of one record"
    is_complete = is_same and count == len(rows) and all(found.complete for found in told)
    return Records(is_complete and not doubts, is_complete, reason, [], plan.source, rows, count)


def _judged(
    found: list[Record], doubts: list[str], write: dict[str, Any], row: TracedRow
) -> Records:
    if doubts:
        return Records(False, False, "; ".join(doubts), found)
    if not found:
        return _unknown("no record of the batch gives this row: the job has changed since")
    if len(found) > 1:
        return Records(False, True, f"{len(found)} records of the batch give this same row", found)
    if not write.get("exact") or row.reason:
        return Records(False, not row.reason, str(row.reason or write.get("reason")), found)
    return Records(True, True, "of the records of its batch, only this one gives the row", found)


def _not_written(row: TracedRow) -> str:
    """Why there is no run that wrote a row."""
    known = "no run has reported the snapshot that wrote the row"
    return known if row.snapshot_id else row.reason or known


def _unknown(reason: str) -> Records:
    return Records(False, False, reason)
