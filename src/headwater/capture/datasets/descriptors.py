"""Protobuf schemas that their producer registered as a descriptor in base64, not as text."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from headwater.capture.plan.sources import Field

# Where things stand in a FileDescriptorProto, a DescriptorProto and a FieldDescriptorProto.
_MESSAGE, _FIELD, _NESTED_MESSAGE = 4, 2, 3
_NAME, _LABEL, _TYPE, _TYPE_NAME = 1, 4, 5, 6
_REPEATED = 3
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TYPES = (
    *("", "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string"),
    *("group", "message", "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64"),
)


def messages(schema: str) -> dict[str, tuple[Field, ...]] | None:
    """The fields of each message, in their order; none when it is no descriptor in base64."""
    try:
        file = list(_parts(base64.b64decode(schema, validate=True)))
        listed = [list(_parts(value)) for number, value in file if number == _MESSAGE]
        return dict(found for parts in listed for found in _messages(parts))
    except (binascii.Error, StopIteration, IndexError, KeyError, TypeError, ValueError):
        return None


def _messages(parts: list[tuple[int, Any]]) -> Iterator[tuple[str, tuple[Field, ...]]]:
    """A message, and those that it declares inside it."""
    name = next(value for number, value in parts if number == _NAME).decode()
    yield name, tuple(_field(dict(_parts(v))) for number, v in parts if number == _FIELD)
    for number, value in parts:
        if number == _NESTED_MESSAGE:
            yield from _messages(list(_parts(value)))


def _field(parts: dict[int, Any]) -> Field:
    kind = parts[_TYPE_NAME].decode().lstrip(".") if _TYPE_NAME in parts else _TYPES[parts[_TYPE]]
    many = parts.get(_LABEL) == _REPEATED
    type_: Any = {"type": "array", "elementType": kind} if many else kind
    return Field(parts[_NAME].decode(), type_)


def _parts(message: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield number, value
        elif wire == _BYTES:
            size, at = _varint(message, at)
            yield number, message[at : at + size]
            at += size
        elif wire in (_FIXED32, _FIXED64):
            at += 4 if wire == _FIXED32 else 8
        else:
            raise ValueError(wire)


def _varint(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[at]
        number, at, shift = number | (byte & 0x7F) << shift, at + 1, shift + 7
        if byte < 0x80:
            return number, at
