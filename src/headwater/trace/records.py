"""The exact records behind rows: jobs evaluated again over the offsets of a commit alone."""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headwater.errors import HeadwaterError
from headwater.pipeline import kafka, sql
from headwater.pipeline.settings import Settings
from headwater.trace.iceberg import IcebergTable, TracedRow
from headwater.trace.lineage import Lineage
from headwater.trace.plans import StreamPlan, TablePlan, rows_of, stream_plan, table_plan
from headwater.trace.predicate import reason_of
from headwater.trace.shapes import Record, Records, SourceRow
from headwater.trace.values import shown

MOST_ROWS = 1_000  # of a source table that are followed for one row
_NUMBER = "_number"
Ranges = dict[int, tuple[int, int]]


class RecordFinder:
    """Finds the records of rows, with a session and the services of the pipeline."""

    def __init__(self, spark: SparkSession, settings: Settings, lineage: Lineage) -> None:
        self._spark, self._settings, self._lineage = spark, settings, lineage

    def find(self, table: IcebergTable, rows: list[TracedRow]) -> list[Records]:
        """The records of each row; what cannot be found says why."""
        found: dict[int, Records] = {}
        streams: dict[str, list[int]] = {}
        for number, row in enumerate(rows):
            write = self._write(table, row)
            if write is None:
                found[number] = _unknown("no run has reported the snapshot that wrote the row")
            elif stream_plan(write["name"]) and write["offsets"]:
                streams.setdefault(write["name"], []).append(number)
            elif plan := table_plan(write["name"]):
                found[number] = self._guarded(self._of_table, row, plan, write)
            else:
                found[number] = _unknown(
                    f"how {write['name']} computes rows is not known here: only its input is"
                )
        for job, numbers in streams.items():
            chosen = [rows[number] for number in numbers]
            stream = stream_plan(job)
            told = self._guarded(self._of_stream, table, chosen, stream)
            found |= zip(numbers, told if isinstance(told, list) else [told] * len(numbers),
                         strict=True)  # fmt: skip
        return [found[number] for number in range(len(rows))]

    def _guarded(self, work: Any, *given: Any) -> Any:
        """What a step finds; Spark's or a service's error is the reason of an answer without."""
        try:
            return work(*given)
        except HeadwaterError as error:
            return _unknown(error.message)
        except PySparkException as error:
            return _unknown(reason_of(error))

    def _write(self, table: IcebergTable, row: TracedRow) -> dict[str, Any] | None:
        writes = self._lineage.writes(table.node, row.snapshot_id) if row.snapshot_id else []
        return writes[0] if writes else None

    def _of_stream(
        self, table: IcebergTable, rows: list[TracedRow], plan: StreamPlan
    ) -> list[Records]:
        writes = [self._write(table, row) or {} for row in rows]
        spans = [_spans(write) for write in writes]
        bootstrap = self._settings.need("bootstrap", "Kafka")
        candidates: list[list[Record]] = [[] for _ in rows]
        first: dict[str, dict[int, int]] = {}
        for topic in dict.fromkeys(topic for one in spans for topic in one):
            first[topic] = kafka.first_offsets(bootstrap, topic)
            ranges = _held(_merged(one.get(topic, {}) for one in spans), first[topic])
            if not ranges:
                continue
            records = kafka.read_range(self._spark, bootstrap, topic, ranges)
            made = rows_of(records, plan.operators(self._settings, topic))
            for number, place in self._equal(table, rows, made):
                span = spans[number].get(topic, {}).get(place.partition)
                if span and span[0] <= place.offset < span[1]:
                    candidates[number].append(place)
        return [
            _judged(candidates[n], _removed(spans[n], first), writes[n], row)
            for n, row in enumerate(rows)
        ]

    def _equal(
        self, table: IcebergTable, rows: list[TracedRow], made: DataFrame
    ) -> list[tuple[int, Record]]:
        """Which of the rows each made row equals, with the place of its record."""
        schema = self._spark.table(sql.quoted(table.name)).schema
        fields = [f for f in schema.fields if f.name in made.columns and _is_comparable(f.dataType)]
        numbered = T.StructType([T.StructField(_NUMBER, T.IntegerType()), *fields])
        values = [(n, *(row.row[f.name] for f in fields)) for n, row in enumerate(rows)]
        wanted = F.broadcast(self._spark.createDataFrame(values, numbered))
        same = reduce(
            lambda left, right: left & right,
            (wanted[f.name].eqNullSafe(made[f.name].cast(f.dataType)) for f in fields),
        )
        pairs = made.join(wanted, same, "inner")
        found = pairs.select(_NUMBER, "_topic", "_partition", "_offset").distinct().collect()
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
        grouped = group_of(plan, read.frame(), row.row)
        again = plan.grouped(grouped).collect()
        chosen = grouped.limit(MOST_ROWS + 1).collect()
        sources = read.located(chosen[:MOST_ROWS])
        told = self.find(read, sources)
        is_same = [tuple(one) for one in again] == [tuple(row.row)]
        count = len(chosen) if len(chosen) <= MOST_ROWS else grouped.count()
        return _grouped(plan, version, sources, told, count, is_same=is_same)


def group_of(plan: TablePlan, frame: DataFrame, row: Row) -> DataFrame:
    """The rows of a source that a job puts into the group of a row."""
    for operator in plan.operators:
        frame = operator.step(frame)
    own = (key.eqNullSafe(F.lit(row[name])) for name, key in plan.keys().items())
    return frame.where(reduce(lambda left, right: left & right, own))


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


def _judged(found: list[Record], removed: int, write: dict[str, Any], row: TracedRow) -> Records:
    if removed:
        text = f"retention has removed {removed} of the records that the batch read"
        return Records(False, False, text, found)
    if not found:
        return _unknown("no record of the batch gives this row: the job has changed since")
    if len(found) > 1:
        return Records(False, True, f"{len(found)} records of the batch give this same row", found)
    if not write.get("exact") or row.reason:
        return Records(False, True, str(write.get("reason") or row.reason), found)
    return Records(True, True, "of the records of its batch, only this one gives the row", found)


def _unknown(reason: str) -> Records:
    return Records(False, False, reason)


def _spans(write: dict[str, Any]) -> dict[str, Ranges]:
    """What a run read, by topic and partition."""
    return {
        topic: {int(n): (one["from"] or 0, one["to"]) for n, one in parts.items() if one["to"]}
        for topic, parts in (write.get("offsets") or {}).items()
    }


def _merged(all_: Iterable[Ranges]) -> Ranges:
    found: Ranges = {}
    for ranges in all_:
        for part, (start, end) in ranges.items():
            known = found.get(part, (start, end))
            found[part] = (min(known[0], start), max(known[1], end))
    return found


def _held(ranges: Ranges, first: Mapping[int, int]) -> Ranges:
    """What a topic still has of some ranges."""
    held = {part: (max(one[0], first.get(part, 0)), one[1]) for part, one in ranges.items()}
    return {part: one for part, one in held.items() if one[0] < one[1]}


def _removed(spans: dict[str, Ranges], first: dict[str, dict[int, int]]) -> int:
    return sum(
        max(0, min(end, first[topic].get(part, 0)) - start)
        for topic, ranges in spans.items()
        for part, (start, end) in ranges.items()
    )


def _is_comparable(kind: T.DataType) -> bool:
    if isinstance(kind, T.StructType):
        return all(_is_comparable(field.dataType) for field in kind.fields)
    if isinstance(kind, T.ArrayType):
        return _is_comparable(kind.elementType)
    return not isinstance(kind, T.MapType | T.VariantType)
