"""Spark's types of Protobuf messages, as Confluent's converter has them in Kafka Connect."""

from typing import Any

from confluent_kafka.schema_registry.confluent import meta_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pyspark.sql import types as T

from headwater.schemas.protobuf import compiled, messages
from headwater.schemas.registry import Schema

TIMESTAMP = "google.protobuf.Timestamp"
DATE = "google.type.Date"
DECIMAL = "confluent.type.Decimal"
WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Bool", "Int32", "Int64", "UInt32", "UInt64", "Float", "Double", "String", "Bytes")
)
_F = FieldDescriptor
_SIMPLE: dict[int, T.DataType] = {
    **dict.fromkeys((_F.TYPE_INT32, _F.TYPE_SINT32, _F.TYPE_SFIXED32), T.IntegerType()),
    # Unsigned 64 bits wrap around above the signed ones, as they do in Kafka Connect.
    **dict.fromkeys((_F.TYPE_INT64, _F.TYPE_SINT64, _F.TYPE_SFIXED64), T.LongType()),
    **dict.fromkeys((_F.TYPE_UINT32, _F.TYPE_FIXED32), T.LongType()),
    **dict.fromkeys((_F.TYPE_UINT64, _F.TYPE_FIXED64), T.LongType()),
    _F.TYPE_FLOAT: T.FloatType(),
    _F.TYPE_DOUBLE: T.DoubleType(),
    _F.TYPE_BOOL: T.BooleanType(),
    _F.TYPE_STRING: T.StringType(),
    _F.TYPE_ENUM: T.StringType(),
    _F.TYPE_BYTES: T.BinaryType(),
}
_WIDENING = (T.IntegerType(), T.LongType(), T.FloatType(), T.DoubleType())
_ANY_DECIMAL = T.DecimalType(38, 9)


def struct_of(schemas: list[Schema], name: str = "") -> T.StructType:
    """The Spark type that holds the fields of every version, the last one first."""
    struct = T.StructType([])
    for schema in reversed(schemas):
        for _, message in roots(compiled(schema), name):
            struct = _merged(struct, _struct(message, ()))
    return struct


def roots(descriptors: bytes, name: str = "") -> list[tuple[int, Descriptor]]:
    """The messages that may be a record, with their index.

    Either it is named, or no other message holds it: those are parts of records.
    """
    found = list(enumerate(messages(descriptors)))
    if name:
        return [(at, one) for at, one in found if name in (one.name, one.full_name)]
    held = {
        field.message_type.full_name
        for _, one in found
        for field in one.fields
        if field.message_type and field.message_type is not one
    }
    return [(at, one) for at, one in found if one.full_name not in held] or found


def is_map(field: FieldDescriptor) -> bool:
    """Whether a field is a map."""
    kind = field.message_type
    return kind is not None and bool(kind.GetOptions().map_entry)


def _struct(message: Descriptor, inside: tuple[str, ...]) -> T.StructType:
    within = (*inside, message.full_name)
    return T.StructType([T.StructField(one.name, _type(one, within)) for one in message.fields])


def _type(field: FieldDescriptor, inside: tuple[str, ...]) -> T.DataType:
    if is_map(field):
        entry = field.message_type.fields_by_name
        return T.MapType(_single(entry["key"], inside), _single(entry["value"], inside))
    single = _single(field, inside)
    return T.ArrayType(single) if field.is_repeated else single


def _single(field: FieldDescriptor, inside: tuple[str, ...]) -> T.DataType:
    message = field.message_type
    if message is None:
        return _SIMPLE[field.type]
    if message.full_name == TIMESTAMP:
        return T.TimestampType()
    if message.full_name == DATE:
        return T.DateType()
    if message.full_name == DECIMAL:
        return _decimal(field)
    if message.full_name in WRAPPERS:
        return _single(message.fields_by_name["value"], inside)
    # Spark has no type that holds itself: what is deeper is kept as JSON.
    return T.StringType() if message.full_name in inside else _struct(message, inside)


def _decimal(field: FieldDescriptor) -> T.DecimalType:
    meta: Any = meta_pb2
    told = field.GetOptions().Extensions[meta.field_meta].params
    if "precision" not in told:
        return _ANY_DECIMAL
    return T.DecimalType(int(told["precision"]), int(told.get("scale", "0")))


def _merged(one: T.StructType, other: T.StructType) -> T.StructType:
    fields = {field.name: field.dataType for field in one.fields}
    for field in other.fields:
        known = fields.get(field.name)
        fields[field.name] = _wider(known, field.dataType) if known else field.dataType
    return T.StructType([T.StructField(name, kind) for name, kind in fields.items()])


def _wider(one: T.DataType, other: T.DataType) -> T.DataType:
    """A type for the values of both; text when they have nothing in common."""
    if one == other:
        return one
    if isinstance(one, T.StructType) and isinstance(other, T.StructType):
        return _merged(one, other)
    if isinstance(one, T.ArrayType) and isinstance(other, T.ArrayType):
        return T.ArrayType(_wider(one.elementType, other.elementType))
    if one in _WIDENING and other in _WIDENING:
        return max(one, other, key=_WIDENING.index)
    return T.StringType()
