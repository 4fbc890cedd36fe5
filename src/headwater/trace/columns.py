"""Columns of a table as they were when it was read, for a plan that names them as they are now."""

import json
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headwater.errors import TraceError
from headwater.trace import catalyst
from headwater.trace.catalyst import Plan, listed
from headwater.trace.comparing import named

_OF_METADATA = "__metadata_col"
_MISSING = "the plan uses the column {}, which was not there when its rows were read"


def as_leaf(spark: SparkSession, frame: DataFrame, leaf: Plan) -> Plan:
    """A frame as a plan whose columns are those of a leaf, also for expressions that use them.

    Raises: TraceError.
    """
    base = catalyst.analyzed(_retyped(frame, leaf))
    own = {str(column.name()): column for column in listed(base.output())}
    for one in listed(leaf.output()):
        if str(one.name()) not in own:
            raise TraceError(_MISSING.format(one.name()))
    expressions = spark._jvm.org.apache.spark.sql.catalyst.expressions  # type: ignore[union-attr]
    nothing, none = catalyst.sequence(spark, []), spark._jvm.scala.Option.apply(None)  # type: ignore[union-attr]
    columns = [
        expressions.Alias(own[str(one.name())], one.name(), one.exprId(), nothing, none, nothing)
        for one in listed(leaf.output())
    ]
    logical = spark._jvm.org.apache.spark.sql.catalyst.plans.logical  # type: ignore[union-attr]
    return logical.Project(catalyst.sequence(spark, columns), base)


def metadata_columns(leaf: Plan) -> list[str]:
    """The columns of a leaf that are none of its table's, such as `_spec_id`."""
    return [
        str(one.name()) for one in listed(leaf.output()) if one.metadata().contains(_OF_METADATA)
    ]


def with_columns_of(frame: DataFrame, leaf: Plan, snapshot: str) -> DataFrame:
    """Rows at a snapshot of an Iceberg table with all columns of a leaf that reads the table.

    A column that was renamed since has its values; one that was added since is NULL.
    """
    missing = [one for one in listed(leaf.output()) if str(one.name()) not in frame.columns]
    if not missing:
        return frame
    kinds = {field.name: field.dataType for field in _schema(leaf).fields}
    earlier = _EarlierNames(leaf.table(), snapshot)
    added = {}
    for name in (str(one.name()) for one in missing):
        known = earlier.of(name)
        added[name] = named(known) if known else F.lit(None).cast(kinds[name])
    return frame.withColumns(added)


class _EarlierNames:
    """How a table's columns were called at a snapshot."""

    def __init__(self, relation: Any, snapshot: str) -> None:
        table = relation.table()
        self._now = table.schema()
        found = table.snapshot(int(snapshot)).schemaId()
        self._then = table.schemas().get(int(found)) if found is not None else None

    def of(self, name: str) -> str | None:
        """The name that a column had; None if there was none."""
        field = self._now.findField(name)
        if field is None or self._then is None:
            return None
        known = self._then.findColumnName(int(field.fieldId()))
        return None if known is None else str(known)


def _retyped(frame: DataFrame, leaf: Plan) -> DataFrame:
    """A frame whose columns have the types that those of a leaf with the same names have."""
    own = {str(one.name()): one.dataType() for one in listed(_output(frame))}
    changed = {
        str(one.name())
        for one in listed(leaf.output())
        if str(one.name()) in own and not own[str(one.name())].sameType(one.dataType())
    }
    if not changed:
        return frame
    wanted = {field.name: field.dataType for field in _schema(leaf).fields}
    return frame.withColumns({
        name: _as(named(name), frame.schema[name].dataType, wanted[name]) for name in changed
    })  # fmt: skip


def widened(frame: DataFrame, leaf: Plan) -> list[Any]:
    """The columns of a leaf that have another type than in a frame, not only more fields."""
    wanted = {field.name: field.dataType for field in _schema(leaf).fields}
    names = {
        name for name in {*frame.columns} & {*wanted}
        if _is_widened(frame.schema[name].dataType, wanted[name])
    }  # fmt: skip
    return [one for one in listed(leaf.output()) if str(one.name()) in names]


def _is_widened(own: T.DataType, wanted: T.DataType) -> bool:
    if isinstance(own, T.StructType) and isinstance(wanted, T.StructType):
        known = {field.name: field.dataType for field in own.fields}
        return any(
            _is_widened(known[field.name], field.dataType)
            for field in wanted.fields
            if field.name in known
        )
    if isinstance(own, T.ArrayType) and isinstance(wanted, T.ArrayType):
        return _is_widened(own.elementType, wanted.elementType)
    if isinstance(own, T.MapType) and isinstance(wanted, T.MapType):
        return _is_widened(own.valueType, wanted.valueType)
    return own != wanted


def _as(column: Column, own: T.DataType, wanted: T.DataType) -> Column:
    """A value in another type; fields that it lacks are NULL."""
    if isinstance(own, T.StructType) and isinstance(wanted, T.StructType):
        known = {field.name: field.dataType for field in own.fields}
        fields = (
            _as(column.getField(field.name), known[field.name], field.dataType).alias(field.name)
            if field.name in known
            else F.lit(None).cast(field.dataType).alias(field.name)
            for field in wanted.fields
        )
        return F.when(column.isNotNull(), F.struct(*fields))
    if isinstance(own, T.ArrayType) and isinstance(wanted, T.ArrayType):
        element, other = own.elementType, wanted.elementType
        return F.transform(column, lambda one: _as(one, element, other))
    if isinstance(own, T.MapType) and isinstance(wanted, T.MapType):
        value, other = own.valueType, wanted.valueType
        return F.transform_values(column, lambda _key, one: _as(one, value, other))
    return column.cast(wanted)


def _schema(leaf: Plan) -> T.StructType:
    return T.StructType.fromJson(json.loads(str(leaf.schema().json())))


def _output(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed().output()
