"""Which rows of its sources a row was derived from, found by a plan evaluated again.

Spark itself narrows the sources down: the condition that a row of the output equals the one in
question is pushed down the plan as far as each operator allows. What does not pass the pushed
conditions cannot change the row, whatever the data. Of the rows that are left, each is removed in
turn: those without which the row is another are the ones that it was derived from.
"""

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headwater.dryrun.conversions import frame_of
from headwater.trace import catalyst
from headwater.trace.catalyst import Plan
from headwater.trace.collecting import NestedText, collected
from headwater.trace.columns import as_leaf
from headwater.trace.comparing import can_compare, literal, named

MOST = 1_000  # rows of a source that are listed
CHECKED = 64  # rows that are removed in turn
_AT_ONCE = 16  # plans that are evaluated as one: each of its joins takes memory
_HELD = 100_000  # rows of a source that are evaluated again

_AGAIN = (
    "the plan, evaluated again, does not give this row: the plan, settings of its session, what it "
    "read or the order of a sum of floating-point numbers may be different"
)
_TWICE = "several rows of the output are equal to it"
_TOGETHER = "some of these count only together: without any single one of them the row is the same"
_SUBQUERY = "its expressions hold subqueries, whose rows are not followed"
_LOOSE = "the plan does not tell every column of the row, or they cannot be compared"
_NOTHING = "nothing that the plan reads can be followed"
_LARGE = f"more than {_HELD} rows of a source may count"
_FIRST = "rows that are equal in some columns are dropped, all but one"


class Source(NamedTuple):
    """What a plan reads: rows with the columns of a leaf, and those that tell each row apart."""

    name: str
    frame: DataFrame
    ids: tuple[str, ...]


class Derived(NamedTuple):
    """The rows of its sources that a row was derived from, with the labels of an answer."""

    rows: dict[str, list[Row]]  # by the source's name
    counts: dict[str, int]
    exact: bool
    complete: bool
    reason: str


class Derivation:
    """One plan over sources whose rows can be told apart, asked for any number of rows."""

    def __init__(
        self, spark: SparkSession, frame: DataFrame, resolve: Callable[[Plan], Source | None]
    ) -> None:
        """Take the plan of a frame; `resolve` gives the source of a leaf that is followed."""
        self._spark, self.columns = spark, frame.schema
        plan = catalyst.inlined(spark, catalyst.analyzed(frame))
        self._sources: dict[int, Source] = {}  # by the id of the RDD that holds their rows
        self._plan = catalyst.with_leaves(spark, plan, lambda leaf: self._held(leaf, resolve(leaf)))
        self._doubts = catalyst.doubts(plan)
        if catalyst.keeps_first_of_several(plan):
            self._doubts.append(_FIRST)
        self._has_subqueries = catalyst.has_subqueries(plan)
        self._counted = _counting_columns(plan)

    @property
    def names(self) -> list[str]:
        """The sources whose rows are followed."""
        return [*dict.fromkeys(one.name for one in self._sources.values())]

    @property
    def doubts(self) -> list[str]:
        """Why the plan may give other rows, or rows that are not followed."""
        return [*self._doubts, *([_SUBQUERY] if self._has_subqueries else [])]

    def of(self, row: Row, columns: T.StructType | None = None) -> Derived:
        """The rows that a row of the output was derived from; its columns may be a table's."""
        if not self._sources:
            return Derived({}, {}, False, False, _NOTHING)
        equal, is_loose = _equals(row, columns or self.columns, self.columns)
        frame = frame_of(self._spark, self._plan).where(equal)
        found = self._candidates(frame)
        counts = {name: len(rows) for name, (rows, _) in found.items()}
        listed = {name: rows[:MOST] for name, (rows, _) in found.items()}
        if self._has_subqueries or max(counts.values(), default=0) > _HELD:
            reason = _SUBQUERY if self._has_subqueries else _LARGE
            return Derived(listed, counts, False, False, reason)
        if self._doubts or is_loose:
            reason = "; ".join([*self._doubts, *([_LOOSE] if is_loose else [])])
            if not any(counts.values()):  # a row comes of something
                return Derived(listed, counts, False, False, f"{_AGAIN}; {reason}")
            return Derived(listed, counts, False, True, reason)
        return self._checked(row, equal, found, listed, counts)

    def may_give(self, row: Row, columns: T.StructType) -> bool:
        """Whether the plan gives a row, or may have given it when it was evaluated first."""
        if self.doubts:
            return True
        equal, _ = _equals(row, columns, self.columns)
        return not frame_of(self._spark, self._plan).where(equal).isEmpty()

    def changed_without(self, ids: tuple[str, ...], condition: Column) -> DataFrame:
        """The rows of the output that change without some rows of the sources with these ids."""
        left = {
            one.name: one.frame.where(~condition) if one.ids == ids else one.frame
            for one in self._sources.values()
        }
        whole = frame_of(self._spark, self._plan)
        return whole.exceptAll(frame_of(self._spark, self._over(left)))

    def _checked(
        self, row: Row, equal: Column, found: dict[str, tuple[list[Row], DataFrame]],
        listed: dict[str, list[Row]], counts: dict[str, int],
    ) -> Derived:  # fmt: skip
        """Remove each candidate in turn."""
        whole = {name: frame for name, (_, frame) in found.items()}
        number = sum(counts.values())
        if number > CHECKED:
            return self._counted_or_superset(row, equal, whole, listed, counts)
        places = [(name, one) for name, (rows, _) in found.items() for one in rows]
        variants = [whole, *(_without(whole, name, self._ids(name), one) for name, one in places)]
        times = self._times(equal, variants)
        if times[0] != 1:
            is_there = times[0] > 0
            return Derived(listed, counts, False, is_there, _TWICE if is_there else _AGAIN)
        needed = [place for place, left in zip(places, times[1:], strict=True) if not left]
        if len(needed) < number:
            only = {
                name: _only(frame, self._ids(name), [one for of, one in needed if of == name])
                for name, frame in whole.items()
            }
            if self._times(equal, [only])[0] != 1:
                return Derived(listed, counts, False, True, _TOGETHER)
        rows = {name: [one for of, one in needed if of == name] for name in found}
        reason = "without any one of these the row is another, and these alone give it"
        return Derived(rows, {name: len(one) for name, one in rows.items()}, True, True, reason)

    def _counted_or_superset(
        self, row: Row, equal: Column, whole: dict[str, DataFrame],
        listed: dict[str, list[Row]], counts: dict[str, int],
    ) -> Derived:  # fmt: skip
        """What is known of more rows than are removed in turn."""
        number = sum(counts.values())
        if self._times(equal, [whole])[0] != 1:
            return Derived(listed, counts, False, False, _AGAIN)
        values = {name.lower(): value for name, value in row.asDict().items()}
        if any(values.get(name.lower()) == number for name in self._counted):
            is_whole = number == sum(map(len, listed.values()))
            reason = f"the row counts {number} rows, and there are as many" + (
                "" if is_whole else f"; the first {MOST} are listed"
            )
            return Derived(listed, counts, is_whole, is_whole, reason)
        reason = f"{number} rows may count: not each was checked"
        return Derived(listed, counts, False, all(n <= MOST for n in counts.values()), reason)

    def _held(self, leaf: Plan, source: Source | None) -> Plan | None:
        """A source's rows, computed once, and marked in the plan by the RDD that holds them."""
        if source is None:
            return None
        known = next((one for one in self._sources.values() if one.name == source.name), None)
        if known is None:
            known = source._replace(frame=source.frame.localCheckpoint(eager=False))
            self._sources[_rdd(catalyst.analyzed(known.frame))] = known
        fresh = frame_of(self._spark, catalyst.analyzed(known.frame).newInstance())
        return as_leaf(self._spark, fresh, leaf)

    def _ids(self, name: str) -> tuple[str, ...]:
        return next(one.ids for one in self._sources.values() if one.name == name)

    def _candidates(self, frame: DataFrame) -> dict[str, tuple[list[Row], DataFrame]]:
        """The rows of each source that pass what was pushed down, as a list and as a frame."""
        parts: dict[str, list[DataFrame]] = {name: [] for name in self.names}
        plan = catalyst.optimized(frame)
        for name, part in self._narrowed(plan, None):
            parts[name].append(frame_of(self._spark, part))
        return {name: self._collected(name, some) for name, some in parts.items() if some}

    def _narrowed(self, plan: Plan, above: Plan | None) -> list[tuple[str, Plan]]:
        """The leaves of a plan that hold sources, each with the filter right above it."""
        if catalyst.kind(plan) == "LogicalRDD":
            source = self._sources.get(_rdd(plan))
            is_filter = above is not None and catalyst.kind(above) == "Filter"
            return [(source.name, above if is_filter else plan)] if source else []
        return [one for child in catalyst.children(plan) for one in self._narrowed(child, plan)]

    def _collected(self, name: str, parts: list[DataFrame]) -> tuple[list[Row], DataFrame]:
        ids = self._ids(name)
        rows = reduce(DataFrame.unionAll, parts)
        rows = (rows.dropDuplicates([*ids]) if len(parts) > 1 else rows).limit(_HELD + 1)
        # Collected in the JVM: types that Python would change on the way stay as they are.
        local = self._spark._jsparkSession.createDataFrame(
            rows._jdf.collectAsList(), rows._jdf.schema()
        )
        held = DataFrame(local, self._spark)
        return sorted(collected(held), key=lambda one: [one[name] for name in ids]), held

    def _times(self, equal: Column, variants: list[dict[str, DataFrame]]) -> list[int]:
        """How often the row is in the output, for some other contents of the sources each."""
        frames = [
            frame_of(self._spark, self._over(sources)).where(equal).select(F.lit(number))
            for number, sources in enumerate(variants)
        ]
        found: list[int] = []
        for some in _batched(frames, _AT_ONCE):
            found += [row[0] for row in reduce(DataFrame.unionAll, some).collect()]
        return [found.count(number) for number in range(len(variants))]

    def _over(self, sources: dict[str, DataFrame]) -> Plan:
        def replaced(leaf: Plan) -> Plan | None:
            known = catalyst.kind(leaf) == "LogicalRDD" and self._sources.get(_rdd(leaf))
            if not known:
                return None
            # One without any candidate was left out: no row of it can count.
            rows = sources.get(known.name, known.frame.where(F.lit(False)))
            return as_leaf(self._spark, rows, leaf)

        return catalyst.with_leaves(self._spark, self._plan, replaced)


def _batched(frames: list[DataFrame], size: int) -> list[list[DataFrame]]:
    """Some at a time."""
    return [frames[at : at + size] for at in range(0, len(frames), size)]


def _rdd(leaf: Plan) -> int:
    return int(leaf.rdd().id())


def _without(
    whole: dict[str, DataFrame], name: str, ids: tuple[str, ...], one: Row
) -> dict[str, DataFrame]:
    return {**whole, name: whole[name].where(~_is_one(ids, one))}


def _only(frame: DataFrame, ids: tuple[str, ...], rows: list[Row]) -> DataFrame:
    chosen = (_is_one(ids, one) for one in rows)
    is_kept = reduce(lambda left, right: left | right, chosen, F.lit(False))
    return frame.where(is_kept)


def _is_one(ids: tuple[str, ...], one: Row) -> Column:
    same = (named(name).eqNullSafe(literal(one[name])) for name in ids)
    return reduce(lambda left, right: left & right, same)


def _equals(row: Row, columns: T.StructType, output: T.StructType) -> tuple[Column, bool]:
    """The condition that a row of the output is this one; whether it may hold for others."""
    own = {field.name.lower(): field for field in output.fields}
    conditions, is_loose = [F.lit(True)], False
    for field in columns.fields:
        known, value = own.get(field.name.lower()), row[field.name]
        is_told = known is not None and can_compare(known.dataType, field.dataType)
        if known is None or not is_told or isinstance(value, NestedText):
            is_loose = True
            continue
        column = named(known.name).cast(field.dataType)
        conditions.append(column.eqNullSafe(literal(value, field.dataType)))
    return reduce(lambda left, right: left & right, conditions), is_loose


_SIMPLE = frozenset({"Project", "Filter", "SubqueryAlias", "EventTimeWatermark", "LogicalRDD",
                     "Aggregate", "View", "DataSourceV2Relation", "LogicalRelation",
                     "StreamingRelationV2"})  # fmt: skip


def _counting_columns(plan: Plan) -> list[str]:
    """The columns of the output that count all rows of a group, in a plan of one group-by."""
    nodes = [*catalyst.walk(plan)]
    groups = [node for node in nodes if catalyst.kind(node) == "Aggregate"]
    if len(groups) != 1 or not {*map(catalyst.kind, nodes)} <= _SIMPLE:
        return []
    counts = {
        one.exprId().id()
        for one in catalyst.listed(groups[0].aggregateExpressions())
        if str(one.sql()).lower().startswith("count(1) as")
    }
    output = catalyst.listed(plan.output())
    origins = catalyst.origins(plan)
    return [str(one.name()) for one in output if origins(one) in counts]
