"""Rows into Protobuf records: a schema's text from Spark's types, and the function that writes."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pyarrow as pa
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql import types as T

from headwater.errors import BadSchema
from headwater.pipeline.formats.protobuf.types import DATE, TIMESTAMP
from headwater.schemas.protobuf import compiled, messages
from headwater.schemas.registry import Schema

_IMPORTS = {TIMESTAMP: "google/protobuf/timestamp.proto", DATE: "google/type/date.proto"}
_TYPES: dict[type[T.DataType], str] = {
    T.StringType: "string",
    T.BooleanType: "bool",
    T.ByteType: "int32",
    T.ShortType: "int32",
    T.IntegerType: "int32",
    T.LongType: "int64",
    T.FloatType: "float",
    T.DoubleType: "double",
    T.BinaryType: "bytes",
    T.TimestampType: TIMESTAMP,
    T.DateType: DATE,
}
_FIRST = b"\0"  # the message's index in the wire format: the schema's first message
_MICROS = 1_000_000


class Records(msgspec.Struct, frozen=True):
    """Writes rows as messages of a schema's first type."""

    descriptors: bytes
    header: bytes  # of the wire format, up to the message's index

    def __call__(self, rows: pa.Array) -> pa.Array:
        """A record for each row."""
        new = GetMessageClass(messages(self.descriptors)[0])
        names = [rows.type.field(number).name for number in range(rows.type.num_fields)]
        columns = [_plain(column) for column in rows.flatten()]
        head = self.header + _FIRST
        records = [
            head + new(**dict(zip(names, row, strict=True))).SerializeToString()
            for row in zip(*columns, strict=True)
        ]
        return pa.array(records, pa.binary())


def numbers_of(schemas: list[Schema]) -> dict[str, int]:
    """The number of every field that a version had: a number never means another field."""
    return {
        field.name: field.number
        for schema in schemas
        for field in messages(compiled(schema))[0].fields
    }


def schema_of(struct: T.StructType, name: str, numbers: Mapping[str, int]) -> str:
    """The Protobuf schema of rows of a Spark type; known fields keep their numbers.

    Raises:
        BadSchema: a field has a type that is not written.

    """
    given, kinds = dict(numbers), [_type(field) for field in struct.fields]
    for field in struct.fields:
        given.setdefault(field.name, max(given.values(), default=0) + 1)
    imports = [f'import "{path}";' for kind, path in _IMPORTS.items() if kind in kinds]
    fields = [
        f"  {'optional ' if field.nullable else ''}{kind} {field.name} = {given[field.name]};"
        for field, kind in zip(struct.fields, kinds, strict=True)
    ]
    return "\n".join(['syntax = "proto3";', *imports, f"message {name} {{", *fields, "}", ""])


def _type(field: T.StructField) -> str:
    kind = _TYPES.get(type(field.dataType))
    if kind is None:
        reason = f"the field {field.name} is {field.dataType.simpleString()}, which is not written"
        raise BadSchema("of rows", reason)
    return kind


def _plain(column: pa.Array) -> list[Any]:
    """A column's values as a message's constructor takes them."""
    if pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
        return [None if one is None else _moment(one) for one in micros]
    if pa.types.is_date(column.type):
        return [one and _date(one) for one in column.to_pylist()]
    return list(column.to_pylist())


def _moment(micros: int) -> dict[str, int]:
    seconds, rest = divmod(micros, _MICROS)
    return {"seconds": seconds, "nanos": rest * 1000}


def _date(day: Any) -> dict[str, int]:
    return {"year": day.year, "month": day.month, "day": day.day}
