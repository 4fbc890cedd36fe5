"""Converters: which format a connector's records have, and the two ways through it."""

from collections.abc import Callable
from types import ModuleType
from typing import Protocol

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headwater.errors import BadConfig
from headwater.pipeline.config import ConnectorConfig
from headwater.pipeline.formats import avro, jsons, wire
from headwater.pipeline.settings import Settings
from headwater.schemas.registry import Registry, Schema, SchemaId

Decoder = Callable[[Column, Column], Column]  # of a record's bytes and its place
Encoder = Callable[[Column], Column]


class Ids(msgspec.Struct, frozen=True):
    """Schema ids met in a topic: learnt from the registry, or without hope of it."""

    learnt: frozenset[SchemaId] = frozenset()
    hopeless: frozenset[SchemaId] = frozenset()


class Converter(Protocol):
    """One format of records."""

    def encoder(self, topic: str, struct: T.StructType) -> Encoder:
        """What writes rows of a type into a topic."""

    def decoder(self, topic: str, ids: Ids) -> Decoder | None:
        """What reads a topic; none before its first schema is registered."""

    def knows(self, schema_id: SchemaId) -> bool:
        """Whether a schema id can be learnt."""


class Avro(msgspec.Struct, frozen=True):
    """Avro with its schema in the registry."""

    registry: Registry

    def encoder(self, topic: str, struct: T.StructType) -> Encoder:
        """Register the schema and write with it."""
        schema = avro.schema_of(struct, _record_name(topic))
        schema_id = self.registry.register(f"{topic}-value", schema)
        return lambda value: avro.encode(value, schema_id, schema)

    def decoder(self, topic: str, ids: Ids) -> Decoder | None:
        """Read every version that the registry has."""
        schemas = _schemas(self.registry, topic, ids, "AVRO")
        if not schemas:
            return None
        reader = avro.reader_of(schemas)
        return lambda raw, place: avro.decode(raw, schemas, reader, _otherwise(raw, place, ids))

    def knows(self, schema_id: SchemaId) -> bool:
        """Whether the registry has it."""
        return _knows(self.registry, schema_id, "AVRO")


class JsonSchema(msgspec.Struct, frozen=True):
    """JSON with a JSON Schema in the registry."""

    registry: Registry

    def encoder(self, topic: str, struct: T.StructType) -> Encoder:
        """Register the schema and write with its id."""
        schema = jsons.schema_of(struct, topic)
        schema_id = self.registry.register(f"{topic}-value", schema, "JSON")
        return lambda value: wire.framed(schema_id, jsons.encode(value))

    def decoder(self, topic: str, ids: Ids) -> Decoder | None:
        """Read the fields of every version that the registry has."""
        schemas = _schemas(self.registry, topic, ids, "JSON")
        if not schemas:
            return None
        struct, known = jsons.struct_of(schemas), [schema.id for schema in schemas]

        def decode(raw: Column, place: Column) -> Column:
            return (
                F.when(~wire.is_framed(raw), F.lit(None))
                .when(wire.schema_id(raw).isin(*known), jsons.decode(wire.payload(raw), struct))
                .otherwise(_otherwise(raw, place, ids))
            )

        return decode

    def knows(self, schema_id: SchemaId) -> bool:
        """Whether the registry has it."""
        return _knows(self.registry, schema_id, "JSON")


class Protobuf(msgspec.Struct, frozen=True):
    """Protobuf with its schema in the registry."""

    registry: Registry
    message: str = ""  # the message that records are, if the schemas leave it open

    def encoder(self, topic: str, struct: T.StructType) -> Encoder:
        """Register the schema and write with it."""
        protobuf, writing = _protobuf()
        subject = f"{topic}-value"
        earlier = [one for one in self.registry.versions(subject) if one.kind == "PROTOBUF"]
        text = writing.schema_of(struct, _record_name(topic), writing.numbers_of(earlier))
        schema_id = self.registry.register(subject, text, "PROTOBUF")
        return lambda value: protobuf.encode(value, Schema(schema_id, text, "PROTOBUF"))

    def decoder(self, topic: str, ids: Ids) -> Decoder | None:
        """Read every version that the registry has."""
        schemas = _schemas(self.registry, topic, ids, "PROTOBUF")
        if not schemas:
            return None
        protobuf, _ = _protobuf()
        known = [schema.id for schema in schemas]

        def decode(raw: Column, place: Column) -> Column:
            return (
                F.when(~wire.is_framed(raw), F.lit(None))
                .when(wire.schema_id(raw).isin(*known), protobuf.decode(raw, schemas, self.message))
                .otherwise(_otherwise(raw, place, ids))
            )

        return decode

    def knows(self, schema_id: SchemaId) -> bool:
        """Whether the registry has it."""
        return _knows(self.registry, schema_id, "PROTOBUF")


class Json(msgspec.Struct, frozen=True):
    """Plain JSON, whose fields the configuration has to name."""

    columns: str

    def encoder(self, topic: str, struct: T.StructType) -> Encoder:  # noqa: ARG002
        """Write without a header."""
        return jsons.encode

    def decoder(self, topic: str, ids: Ids) -> Decoder | None:  # noqa: ARG002
        """Read the fields that are named."""
        struct = T.StructType(T.StructType.fromDDL(self.columns).fields)  # type: ignore[attr-defined]
        return lambda raw, _place: jsons.decode(raw, struct)

    def knows(self, schema_id: SchemaId) -> bool:  # noqa: ARG002
        """Never: there are no ids."""
        return False


def converter_of(config: ConnectorConfig, settings: Settings) -> Converter:
    """The converter that `value.converter` names.

    Raises:
        BadConfig: there is none of that name, or a key that it needs is missing.

    """
    name = config.get("value.converter", "AvroConverter").rpartition(".")[2]
    if name == "JsonConverter":
        return Json(_columns(config))
    if name not in _REGISTERED:
        reason = f"{name!r} is none of {', '.join(_REGISTERED)}, JsonConverter"
        raise BadConfig(config.name, {"value.converter": reason})
    prefix = "value.converter."
    url = config.get(f"{prefix}schema.registry.url") or settings.registry
    if not url:
        raise BadConfig(config.name, {f"{prefix}schema.registry.url": "is missing"})
    registry = Registry(url, config.get(f"{prefix}basic.auth.user.info"))
    if name == "ProtobufConverter":
        return Protobuf(registry, config.get(f"{prefix}message.name"))
    return Avro(registry) if name == "AvroConverter" else JsonSchema(registry)


def decoder_for(registry: Registry, topic: str, ids: Ids) -> Decoder | None:
    """What reads a topic, whichever format its newest schema has; none before its first one."""
    versions = registry.versions(f"{topic}-value")
    return _KINDS[versions[-1].kind](registry).decoder(topic, ids) if versions else None


_REGISTERED = ("AvroConverter", "JsonSchemaConverter", "ProtobufConverter")
_KINDS: dict[str, Callable[[Registry], Converter]] = {
    "AVRO": Avro,
    "JSON": JsonSchema,
    "PROTOBUF": Protobuf,
}


def _protobuf() -> tuple[ModuleType, ModuleType]:
    """What reads and writes Protobuf; it needs Arrow, 50 MB that a worker without it saves."""
    from headwater.pipeline.formats.protobuf import columns, writing  # noqa: PLC0415

    return columns, writing


def _columns(config: ConnectorConfig) -> str:
    key = "value.converter.schema.ddl"
    columns = config.get(key)
    if not columns and config.names("topics"):
        raise BadConfig(config.name, {key: "is missing: plain JSON does not say its fields"})
    return columns


def _record_name(topic: str) -> str:
    return topic.replace("-", "_").replace(".", "_")


def _schemas(registry: Registry, topic: str, ids: Ids, kind: str) -> list[Schema]:
    """The topic's own versions last: what is learnt besides comes from other subjects."""
    own = registry.versions(f"{topic}-value")
    others = ids.learnt - {schema.id for schema in own}
    found = (registry.by_id(one) for one in sorted(others))
    return [one for one in (*found, *own) if one and one.kind == kind]


def _knows(registry: Registry, schema_id: SchemaId, kind: str) -> bool:
    found = registry.by_id(schema_id)
    return found is not None and found.kind == kind


def _otherwise(raw: Column, place: Column, ids: Ids) -> Column:
    unknown = wire.unknown(raw, place)
    if not ids.hopeless:
        return unknown
    return F.when(wire.schema_id(raw).isin(*ids.hopeless), F.lit(None)).otherwise(unknown)
