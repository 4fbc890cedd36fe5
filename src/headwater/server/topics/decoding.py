"""Reads the bytes of a message by its schema, else as JSON, else as text, else as hex."""

import functools
import io
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from headwater.api.topics import MessagePart
from headwater.errors import HeadwaterError
from headwater.schemas.registry import HEADER, Registry, Schema, SchemaId
from headwater.server.ingest.scrubbing import Scrubber

_LONGEST = 20_000  # characters of one value that are shown
_DECODED = 256_000  # bytes of a message that is decoded; of a longer one the beginning is shown
_EXACT = 2**53  # integers beyond it are not exact in a browser
_DEEPEST = 30
_MISSING = "Install what reads it beside the server: pip install 'headwater[topics]'"


class Decoder:
    """Decodes by the schemas of one registry, and takes secrets out of what it finds."""

    def __init__(self, registry: Registry | None, scrubber: Scrubber) -> None:
        self._registry, self._scrubber = registry, scrubber
        self._schemas: dict[int, Schema] = {}

    def told(self, raw: bytes | None) -> MessagePart | None:
        """What a key or a value says; nothing for none."""
        if raw is None:
            return None
        told = self._read(raw) if len(raw) <= _DECODED else _begun(raw)
        told.size = len(raw)
        if told.format == "hex":
            told.value = self._hex(raw[:_DECODED])
        elif isinstance(told.value, str):
            told.value = self._scrubber.text(told.value)
        else:
            told.value = self._scrubber.value(told.value)
        return _cut(told)

    def headers(self, found: Any) -> dict[str, Any]:
        """The headers of a message, without secrets."""
        texts = {
            name: (value if isinstance(value, bytes) else b"").decode(errors="replace")[:_LONGEST]
            for name, value in found or ()
        }
        return dict(self._scrubber.value(texts))

    def _read(self, raw: bytes) -> MessagePart:
        if self._registry is not None and len(raw) >= HEADER and raw[0] == 0:
            number = int.from_bytes(raw[1:HEADER], "big")
            try:
                return self._by_schema(raw, number)
            except ImportError:
                return MessagePart("hex", None, number, note=_MISSING)
            except HeadwaterError as error:
                return MessagePart("hex", None, number, note=error.message)
            except Exception as error:
                # Each format's library has its own errors, and these bytes may be anything.
                reason = f"It does not fit schema {number}: {type(error).__name__}: {error}"
                return MessagePart("hex", None, number, note=self._scrubber.text(reason)[:500])
        return _plain(raw)

    def _by_schema(self, raw: bytes, number: int) -> MessagePart:
        schema = self._schema(number)
        if schema is None:
            return _plain(raw)
        read = {"AVRO": _avro, "PROTOBUF": _protobuf, "JSON": _json}.get(schema.kind)
        if read is None:
            return MessagePart("hex", None, number, note=f"{schema.kind} is not known here")
        return MessagePart(schema.kind.lower(), _simple(read(raw, schema)), number)

    def _schema(self, number: int) -> Schema | None:
        found = self._schemas.get(number)
        if found is None and self._registry is not None:
            found = self._registry.by_id(SchemaId(number))
            if found is not None:
                self._schemas[number] = found
        return found

    def _hex(self, raw: bytes) -> str | None:
        """Bytes as they are; none where they seem to hold a secret."""
        text = raw.decode("latin-1")
        return raw[: _LONGEST // 2].hex(" ") if self._scrubber.text(text) == text else None


def _begun(raw: bytes) -> MessagePart:
    """The beginning of a message that is too long to be decoded."""
    told = _plain(raw[:_LONGEST])
    told.is_cut, told.note = True, f"Of {len(raw)} bytes only the first are shown"
    return told


def _plain(raw: bytes) -> MessagePart:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return MessagePart("hex", None)
    if any(character < " " and character not in "\t\r\n" for character in text):
        return MessagePart("hex", None)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return MessagePart("text", text)
    return (
        MessagePart("json", _simple(found))
        if isinstance(found, dict | list)
        else MessagePart("text", text)
    )


def _avro(raw: bytes, schema: Schema) -> Any:
    import fastavro  # noqa: PLC0415

    with io.BytesIO(raw[HEADER:]) as body:
        return fastavro.schemaless_reader(body, _parsed(schema.id, schema), None)


@functools.lru_cache(maxsize=256)
def _parse(_: int, text: str, references: tuple[str, ...]) -> Any:
    import fastavro  # noqa: PLC0415

    known: dict[str, Any] = {}
    # A schema comes before those that it holds itself.
    for one in reversed(references):
        fastavro.parse_schema(json.loads(one), named_schemas=known)
    return fastavro.parse_schema(json.loads(text), named_schemas=known)


def _parsed(number: int, schema: Schema) -> Any:
    return _parse(number, schema.text, tuple(schema.references.values()))


def _protobuf(raw: bytes, schema: Schema) -> Any:
    from google.protobuf.json_format import MessageToDict  # noqa: PLC0415
    from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415

    from headwater.schemas.protobuf import compiled, index_of, messages  # noqa: PLC0415

    path, at = index_of(raw)
    message = messages(compiled(schema))[path[0]]
    for inner in path[1:]:
        message = message.nested_types[inner]
    found = GetMessageClass(message).FromString(raw[at:])
    return MessageToDict(
        found, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def _json(raw: bytes, _: Schema) -> Any:
    return json.loads(raw[HEADER:])


def _simple(value: Any, depth: int = 0) -> Any:
    """A value as JSON that a browser reads without loss."""
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {str(key): _simple(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_simple(one, depth + 1) for one in value]
    if isinstance(value, bytes):
        return value.hex(" ")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _EXACT:
        return str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal | UUID | timedelta) else value


def _cut(told: MessagePart) -> MessagePart:
    """A value that is not too long to be shown; a long one is the beginning of its text."""
    value = told.value
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if len(text) > _LONGEST:
        told.value, told.is_cut = text[:_LONGEST], True
    return told
