"""Rows that Spark collects for Python, which holds fewer dates and times than Spark does."""

from collections.abc import Callable, Iterator
from functools import reduce

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T

# Python's years are 1 to 9999, and it looks a day around a time for changes of the clock.
_DATES = ("0001-01-01", "9999-12-31")
_TIMES = ("0001-01-03 00:00:00", "9999-12-29 00:00:00")
_TEXT = "_text_{}"
Test = Callable[[Column], Column]


class SparkText(str):
    """A value that Python cannot hold, as Spark prints it."""

    __slots__ = ()


class NestedText(SparkText):
    """A struct, array or map with such values."""

    __slots__ = ()


def collected(frame: DataFrame) -> list[Row]:
    """The rows of a frame, with a text in place of each value that Python cannot hold."""
    tests = {at: test for at, test in enumerate(_tests(frame)) if test is not None}
    if not tests:
        return frame.collect()
    names = [f"_{at}" for at in range(len(frame.columns))]
    plain, kinds = frame.toDF(*names), [field.dataType for field in frame.schema.fields]
    columns = []
    for at, name in enumerate(names):
        value, test = F.col(name), tests.get(at)
        if test is None:
            columns.append(value)
            continue
        is_text = ~F.coalesce(test(value), F.lit(True))
        columns += [
            F.when(~is_text, value).alias(name),
            F.when(is_text, value.cast("string")).alias(_TEXT.format(at)),
        ]
    return [
        Row(*frame.columns)(*(_value(row, at, kind) for at, kind in enumerate(kinds)))
        for row in plain.select(*columns).collect()
    ]


def _value(row: Row, at: int, kind: T.DataType) -> object:
    name = _TEXT.format(at)
    text = row[name] if name in row.__fields__ else None
    if text is None:
        return row[f"_{at}"]
    is_nested = isinstance(kind, T.StructType | T.ArrayType | T.MapType)
    return (NestedText if is_nested else SparkText)(text)


def _tests(frame: DataFrame) -> Iterator[Test | None]:
    for field in frame.schema.fields:
        yield _test(field.dataType)


def _test(kind: T.DataType) -> Test | None:
    """Whether Python can hold a value of a type; None if it holds all of them."""
    if isinstance(kind, T.DateType | T.TimestampType | T.TimestampNTZType):
        return _between(kind)
    if isinstance(kind, T.ArrayType):
        return _each(None, kind.elementType)
    if isinstance(kind, T.MapType):
        return _all_of([_each(F.map_keys, kind.keyType), _each(F.map_values, kind.valueType)])
    if isinstance(kind, T.StructType):
        return _all_of([_in_field(field.name, field.dataType) for field in kind.fields])
    return None


def _each(elements: Test | None, kind: T.DataType) -> Test | None:
    """A test of each element of an array, or of what a function gives of a map."""
    inner = _test(kind)
    if inner is None:
        return None
    test = _or_null(inner)
    return lambda value: F.forall(elements(value) if elements else value, test)


def _in_field(name: str, kind: T.DataType) -> Test | None:
    inner = _test(kind)
    return None if inner is None else lambda value: inner(value.getField(name))


def _between(kind: T.DataType) -> Test:
    low, high = _DATES if isinstance(kind, T.DateType) else _TIMES
    zone = "Z" if isinstance(kind, T.TimestampType) else ""
    first, last = (F.lit(f"{text}{zone}").cast(kind) for text in (low, high))
    return lambda value: value.between(first, last)


def _or_null(test: Test) -> Test:
    return lambda value: F.coalesce(test(value), F.lit(True))


def _all_of(tests: list[Test | None]) -> Test | None:
    known = [_or_null(test) for test in tests if test is not None]
    if not known:
        return None
    return lambda value: reduce(lambda a, b: a & b, (test(value) for test in known))
