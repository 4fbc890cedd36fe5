"""Protobuf records into rows: a function over Arrow batches, which runs beside the executors."""

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal, DecimalException
from typing import Any

import msgspec
import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type

from headwater.pipeline.formats.protobuf.types import (
    DATE,
    DECIMAL,
    TIMESTAMP,
    WRAPPERS,
    is_map,
    roots,
)
from headwater.schemas.protobuf import index_of
from headwater.schemas.registry import HEADER

_MICROS = 1_000_000
_SIGN = 1 << 63
# The moments that Spark can tell: the years 1 to 9999.
_FIRST_S, _LAST_S = -62_135_596_800, 253_402_300_799
_UNSIGNED = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)

Get = Callable[[Any], Any]
# By schema id and the message's index: its class, and what takes each wanted field from it.
Writers = dict[tuple[int, int], tuple[type[Message], list[Get]]]


class Rows(msgspec.Struct, frozen=True):
    """Reads records by the schemas that their headers name, into rows of one type."""

    schemas: Mapping[int, bytes]  # descriptors by schema id
    struct: T.StructType
    mark: str
    message: str = ""

    def __call__(self, records: pa.Array) -> pa.Array:
        """A struct for each record; one that cannot be decoded has no mark."""
        writers = self._writers()
        columns: list[list[Any]] = [[] for _ in self.struct.fields]
        marks: list[bool | None] = []
        nothing = [None] * len(columns)
        for record in records.to_pylist():
            row = _row(record, writers)
            marks.append(None if row is None else True)
            for column, value in zip(columns, row or nothing, strict=True):
                column.append(value)
        types = [to_arrow_type(field.dataType) for field in self.struct.fields]
        arrays = [pa.array(c, kind) for c, kind in zip(columns, types, strict=True)]
        names = [*self.struct.names, self.mark]
        return pa.StructArray.from_arrays([*arrays, pa.array(marks, pa.bool_())], names)

    def _writers(self) -> Writers:
        return {
            (schema_id, index): (GetMessageClass(one), _getters(one, self.struct))
            for schema_id, descriptors in self.schemas.items()
            for index, one in roots(descriptors, self.message)
        }


def _row(record: bytes | None, writers: Writers) -> list[Any] | None:
    if record is None or len(record) <= HEADER or record[0]:
        return None
    try:
        path, at = index_of(record)
        if len(path) != 1:
            return None
        writer = writers.get((int.from_bytes(record[1:HEADER], "big"), path[0]))
        if writer is None:
            return None
        message = writer[0].FromString(record[at:])
        return [get(message) for get in writer[1]]
    except (DecodeError, DecimalException, ValueError, IndexError):
        return None


def _getters(message: Descriptor, struct: T.StructType) -> list[Get]:
    fields = message.fields_by_name
    return [
        _getter(fields[one.name], one.dataType) if one.name in fields else _none
        for one in struct.fields
    ]


def _none(_message: Any) -> None:
    return None


def _getter(field: FieldDescriptor, kind: T.DataType) -> Get:
    name, value = field.name, _value(field, kind)
    if field.has_presence:
        if value is None:
            return lambda m: getattr(m, name) if m.HasField(name) else None
        return lambda m: value(getattr(m, name)) if m.HasField(name) else None
    return (lambda m: getattr(m, name)) if value is None else (lambda m: value(getattr(m, name)))


def _value(field: FieldDescriptor, kind: T.DataType) -> Get | None:
    """What makes of a field's value one of the wanted type; none when it is one already."""
    if is_map(field) and isinstance(kind, T.MapType):
        inside = _single(field.message_type.fields_by_name["value"], kind.valueType) or _same
        return lambda found: [(key, inside(one)) for key, one in found.items()]
    if field.is_repeated:
        if not isinstance(kind, T.ArrayType):
            return str
        one = _single(field, kind.elementType)
        return list if one is None else (lambda found: [one(each) for each in found])
    return _single(field, kind)


def _single(field: FieldDescriptor, kind: T.DataType) -> Get | None:
    if field.message_type is not None:
        return _message(field.message_type, kind)
    if field.type == FieldDescriptor.TYPE_ENUM:
        names = field.enum_type.values_by_number
        return lambda n: names[n].name if n in names else str(n)
    if isinstance(kind, T.StringType):
        return None if field.type == FieldDescriptor.TYPE_STRING else str
    return _signed if field.type in _UNSIGNED else None


def _message(message: Descriptor, kind: T.DataType) -> Get:
    name = message.full_name
    if name == TIMESTAMP and isinstance(kind, T.TimestampType):
        return _micros
    if name == DATE and isinstance(kind, T.DateType):
        return lambda found: datetime.date(found.year, found.month, found.day)
    if name == DECIMAL and isinstance(kind, T.DecimalType):
        step = Decimal(1).scaleb(-kind.scale)
        return lambda found: _decimal(found).quantize(step)
    if name in WRAPPERS:
        inside = _single(message.fields_by_name["value"], kind) or _same
        return lambda found: inside(found.value)
    if isinstance(kind, T.StructType):
        getters = list(zip(kind.names, _getters(message, kind), strict=True))
        return lambda found: {name: get(found) for name, get in getters}
    return lambda found: MessageToJson(found, preserving_proto_field_name=True, indent=None)


def _micros(found: Any) -> int:
    if not _FIRST_S <= found.seconds <= _LAST_S:
        raise ValueError(found.seconds)
    return int(found.seconds * _MICROS + found.nanos // 1000)


def _decimal(found: Any) -> Decimal:
    return Decimal(int.from_bytes(found.value, "big", signed=True)).scaleb(-found.scale)


def _signed(number: int) -> int:
    return number - 2 * _SIGN if number >= _SIGN else number


def _same(value: Any) -> Any:
    return value
