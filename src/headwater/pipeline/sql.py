"""Every SQL statement of the pipeline, from names, types and values that are always quoted.

Text of a configuration never becomes part of a statement as it is. It is parsed into names, types
or transforms here, or by Spark's own parsers, and what was parsed is written out again.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
from pyspark.errors import ParseException
from pyspark.sql import types as T

_PART = re.compile(r"`((?:[^`]|``)+)`|([\w$-]+)")
_TRANSFORM = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*")
# Spark's and Iceberg's names of partition transforms, by the one that is written out.
_UNARY = {
    **dict.fromkeys(("year", "years"), "years"),
    **dict.fromkeys(("month", "months"), "months"),
    **dict.fromkeys(("day", "days", "date"), "days"),
    **dict.fromkeys(("hour", "hours", "date_hour"), "hours"),
}
_SIZED = ("bucket", "truncate")


class Partition(msgspec.Struct, frozen=True):
    """One partition field of a table: a column, or a transform of it."""

    column: tuple[str, ...]
    transform: str = ""
    size: int = 0

    def __str__(self) -> str:
        """The field as SQL."""
        column = quoted(self.column)
        if self.size:
            return f"{self.transform}({self.size}, {column})"
        return f"{self.transform}({column})" if self.transform else column


def parts(text: str) -> tuple[str, ...]:
    """The parts of a dotted name; a part in backticks may hold any character.

    Raises:
        ValueError: the text is no such name.

    """
    found, position = [], 0
    text = text.strip()
    while match := _PART.match(text, position):
        found.append(match[1].replace("``", "`") if match[1] else match[2])
        position = match.end()
        if position == len(text):
            return tuple(found)
        if text[position] != ".":
            break
        position += 1
    raise ValueError(f"{text!r} is not a name such as namespace.table")


def quoted(name: str | Sequence[str]) -> str:
    """A dotted name, or its parts, with each part in backticks.

    Raises:
        ValueError: the text is no dotted name.

    """
    listed = parts(name) if isinstance(name, str) else name
    return ".".join("`" + part.replace("`", "``") + "`" for part in listed)


def create_namespace(name: Sequence[str]) -> str:
    """The statement that creates a namespace."""
    return f"CREATE NAMESPACE IF NOT EXISTS {quoted(name)}"


def create_table(
    name: str,
    fields: T.StructType,
    partition_by: Iterable[Partition],
    properties: Mapping[str, str],
) -> str:
    """The statement that creates an Iceberg table."""
    listed = ", ".join(map(str, partition_by))
    partitioned = f"PARTITIONED BY ({listed}) " if listed else ""
    pairs = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items())
    return (
        f"CREATE TABLE IF NOT EXISTS {quoted(name)} ({columns(fields)}) USING iceberg "
        f"{partitioned}TBLPROPERTIES ({pairs})"
    )


def add_columns(name: str, fields: T.StructType) -> str:
    """The statement that adds columns to a table."""
    return f"ALTER TABLE {quoted(name)} ADD COLUMNS ({columns(fields)})"


def show_namespaces(catalog: str) -> str:
    """The statement that lists the namespaces of a catalog."""
    return f"SHOW NAMESPACES IN {quoted(catalog)}"


def show_tables(namespace: Sequence[str]) -> str:
    """The statement that lists the tables of a namespace."""
    return f"SHOW TABLES IN {quoted(namespace)}"


def procedure(catalog: str, name: str, **arguments: str | int | datetime | dict[str, str]) -> str:
    """The statement that calls one of Iceberg's procedures."""
    given = ", ".join(f"{key} => {_argument(value)}" for key, value in arguments.items())
    return f"CALL {quoted((*parts(catalog), 'system', name))}({given})"


def literal(value: str) -> str:
    """A text as a SQL literal."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def columns(struct: T.StructType) -> str:
    """A type's fields as the column list of a table."""
    return ", ".join(_field(field, " ") for field in struct.fields)


def struct(text: str) -> T.StructType:
    """The columns that a text such as `id STRING, price DOUBLE` names; needs a Spark session.

    Raises:
        ValueError: Spark's parser does not take it for a list of columns.

    """
    try:
        parsed = T.StructType.fromDDL(text)
    except ParseException as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{text!r} is not a list of columns: {reason}") from error
    if not isinstance(parsed, T.StructType) or not parsed.fields:
        raise ValueError(f"{text!r} is not a list of columns")
    return parsed


def partitions(text: str) -> tuple[Partition, ...]:
    """The partition fields in a text such as `days(bid_time), bucket(16, id), supplier`.

    Raises:
        ValueError: one of them is no column and no transform of one.

    """
    return tuple(_partition(part) for part in _split(text) if part.strip())


def _partition(text: str) -> Partition:
    match = _TRANSFORM.fullmatch(text)
    if match is None:
        return Partition(parts(text))
    transform, arguments = match[1].lower(), [part.strip() for part in match[2].split(",")]
    if transform in _UNARY and len(arguments) == 1:
        return Partition(parts(arguments[0]), _UNARY[transform])
    sizes = [part for part in arguments if part.isdigit()]
    names = [part for part in arguments if not part.isdigit()]
    if transform in _SIZED and len(sizes) == len(names) == 1 and int(sizes[0]) > 0:
        return Partition(parts(names[0]), transform, int(sizes[0]))
    raise ValueError(
        f"{text.strip()!r} is no partition field: give a column, or one of years, months, days, "
        "hours, bucket(N, column), truncate(N, column)"
    )


def _argument(value: str | int | datetime | dict[str, str]) -> str:
    if isinstance(value, datetime):
        return f"TIMESTAMP {literal(value.strftime('%Y-%m-%d %H:%M:%S.%f'))}"
    if isinstance(value, dict):
        return f"map({', '.join(literal(one) for pair in value.items() for one in pair)})"
    return str(value) if isinstance(value, int) else literal(value)


def _split(text: str) -> Iterable[str]:
    """The parts between commas that are not inside parentheses."""
    return re.split(r",(?![^()]*\))", text)


def _field(field: T.StructField, between: str) -> str:
    needed = "" if field.nullable else " NOT NULL"
    comment = (field.metadata or {}).get("comment")
    told = f" COMMENT {literal(comment)}" if isinstance(comment, str) else ""
    return f"{quoted((field.name,))}{between}{_type(field.dataType)}{needed}{told}"


def _type(kind: T.DataType) -> str:
    if isinstance(kind, T.StructType):
        return f"struct<{', '.join(_field(field, ': ') for field in kind.fields)}>"
    if isinstance(kind, T.ArrayType):
        return f"array<{_type(kind.elementType)}>"
    if isinstance(kind, T.MapType):
        return f"map<{_type(kind.keyType)}, {_type(kind.valueType)}>"
    return kind.simpleString()
