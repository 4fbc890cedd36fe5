"""How values of rows are compared: by columns that have any name, without a change of a value."""

from collections.abc import Collection
from datetime import UTC, date, datetime
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headwater.pipeline import sql

_WIDER = (
    (T.ByteType, T.ShortType, T.IntegerType, T.LongType),
    (T.FloatType, T.DoubleType),
    (T.CharType, T.VarcharType, T.StringType),
)


def quoted(name: str) -> str:
    """The name of one column, whatever characters it has."""
    return sql.quoted([name])


def named(name: str) -> Column:
    """The column of a name, whatever characters it has."""
    return F.col(quoted(name))


def literal(value: Any, kind: T.DataType | None = None) -> Column:
    """A value of a row as a column.

    Times are given as texts: PySpark hands them over by a calendar that had no Gregorian days
    before 1582, as other days.
    """
    if isinstance(kind, T.StructType) and value is not None:
        fields = (literal(value[f.name], f.dataType).alias(f.name) for f in kind.fields)
        return F.struct(*fields).cast(kind)
    if isinstance(kind, T.ArrayType) and value is not None:
        return F.array(*(literal(one, kind.elementType) for one in value)).cast(kind)
    if isinstance(value, datetime):
        if isinstance(kind, T.TimestampNTZType):
            return F.lit(value.isoformat(" ")).cast(kind)
        return F.lit(value.astimezone(UTC).isoformat(" ")).cast(kind or T.TimestampType())
    if isinstance(value, date):
        return F.lit(value.isoformat()).cast(kind or T.DateType())
    return F.lit(value) if kind is None else F.lit(value).cast(kind)


def free_name(name: str, taken: Collection[str]) -> str:
    """A name that no column has."""
    while name.lower() in {one.lower() for one in taken}:
        name = f"_{name}"
    return name


def is_comparable(kind: T.DataType) -> bool:
    """Whether values of a type can be compared for equality."""
    if isinstance(kind, T.StructType):
        return all(is_comparable(field.dataType) for field in kind.fields)
    if isinstance(kind, T.ArrayType):
        return is_comparable(kind.elementType)
    return not isinstance(kind, T.MapType | T.VariantType)


def can_compare(own: T.DataType, wanted: T.DataType) -> bool:
    """Whether values can be compared with those of another type, and a cast does not change them.

    A cast that depends on the session, such as that of a time to a date, is not made here: the
    session may be another than that of the job.
    """
    return is_comparable(wanted) and _keeps_values(own, wanted)


def _keeps_values(own: T.DataType, wanted: T.DataType) -> bool:
    if isinstance(own, T.StructType) and isinstance(wanted, T.StructType):
        return len(own.fields) == len(wanted.fields) and all(
            one.name.lower() == other.name.lower() and _keeps_values(one.dataType, other.dataType)
            for one, other in zip(own.fields, wanted.fields, strict=True)
        )
    if isinstance(own, T.ArrayType) and isinstance(wanted, T.ArrayType):
        return _keeps_values(own.elementType, wanted.elementType)
    if isinstance(own, T.DecimalType) and isinstance(wanted, T.DecimalType):
        return own.scale == wanted.scale and own.precision <= wanted.precision
    if own == wanted or isinstance(own, T.NullType):
        return True
    return any(
        type(own) in kinds and type(wanted) in kinds[kinds.index(type(own)) :] for kinds in _WIDER
    )
