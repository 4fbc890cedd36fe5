"""Avro: schemas from Spark's types, and records decoded with their writer's own schema."""

import json
from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.avro.functions import from_avro, to_avro

from headwater.pipeline.formats import wire
from headwater.schemas.registry import Schema, SchemaId

_SIMPLE: dict[type[T.DataType], Any] = {
    T.StringType: "string",
    T.BooleanType: "boolean",
    T.ByteType: "int",
    T.ShortType: "int",
    T.IntegerType: "int",
    T.LongType: "long",
    T.FloatType: "float",
    T.DoubleType: "double",
    T.BinaryType: "bytes",
    T.DateType: {"type": "int", "logicalType": "date"},
    # Connect's Timestamp has milliseconds, and every consumer of such topics expects them.
    T.TimestampType: {"type": "long", "logicalType": "timestamp-millis"},
    T.TimestampNTZType: {"type": "long", "logicalType": "local-timestamp-millis"},
}


def schema_of(struct: T.StructType, name: str) -> str:
    """The Avro schema of rows of a Spark type."""
    return json.dumps(_record(struct, name))


def encode(value: Column, schema_id: SchemaId, schema: str) -> Column:
    """Rows as Avro in the wire format."""
    return wire.framed(schema_id, to_avro(value, schema))


def decode(raw: Column, schemas: Iterable[Schema], reader: str, otherwise: Column) -> Column:
    """A struct of every known schema's fields, and the mark that decoding went well.

    Bytes that do not fit their schema give a struct without the mark; an id that is not
    among the schemas gives what is said for it.
    """
    options = {"avroSchema": reader, "mode": "PERMISSIVE"}
    found = F.when(~wire.is_framed(raw), F.lit(None))
    for schema in schemas:
        decoded = from_avro(wire.payload(raw), schema.text, options)
        found = found.when(wire.schema_id(raw) == schema.id, decoded)
    return found.otherwise(otherwise)


def reader_of(schemas: list[Schema]) -> str:
    """A schema that reads all versions: the last one, and what earlier ones had besides.

    A field that some version lacks becomes optional, so that no version fails to be read
    and none loses a value.
    """
    records: list[dict[str, Any]] = [json.loads(schema.text) for schema in schemas]
    fields: dict[str, dict[str, Any]] = {}
    for record in reversed(records):
        for field in record["fields"]:
            fields.setdefault(field["name"], field)
    everywhere = set.intersection(*({f["name"] for f in record["fields"]} for record in records))
    merged = [
        field if name in everywhere or "default" in field else _optional(field)
        for name, field in fields.items()
    ]
    mark = {"name": wire.MARK, "type": "boolean", "default": True}
    return json.dumps({**records[-1], "fields": [*merged, mark]})


def _optional(field: dict[str, Any]) -> dict[str, Any]:
    kind = field["type"]
    kinds = [one for one in kind if one != "null"] if isinstance(kind, list) else [kind]
    return {**field, "type": ["null", *kinds], "default": None}


def _record(struct: T.StructType, name: str) -> dict[str, Any]:
    fields = [_field(field, f"{name}_{field.name}") for field in struct.fields]
    return {"type": "record", "name": name, "fields": fields}


def _field(field: T.StructField, name: str) -> dict[str, Any]:
    kind = _type(field.dataType, name)
    if field.nullable:
        return {"name": field.name, "type": ["null", kind], "default": None}
    return {"name": field.name, "type": kind}


def _type(kind: T.DataType, name: str) -> Any:
    if isinstance(kind, T.DecimalType):
        logical = {"precision": kind.precision, "scale": kind.scale}
        return {"type": "bytes", "logicalType": "decimal", **logical}
    if isinstance(kind, T.StructType):
        return _record(kind, name)
    if isinstance(kind, T.ArrayType):
        return {"type": "array", "items": _maybe(kind.containsNull, kind.elementType, name)}
    if isinstance(kind, T.MapType):
        return {"type": "map", "values": _maybe(kind.valueContainsNull, kind.valueType, name)}
    return _SIMPLE[type(kind)]


def _maybe(nullable: bool, kind: T.DataType, name: str) -> Any:
    return ["null", _type(kind, name)] if nullable else _type(kind, name)
