"""JSON: plain, or with a JSON Schema in the registry."""

import json
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headwater.pipeline.formats import wire
from headwater.schemas.registry import Schema

_CORRUPT = "_corrupt_record"
_TO_SPARK: dict[tuple[str, str], T.DataType] = {
    ("string", ""): T.StringType(),
    ("string", "date-time"): T.TimestampType(),
    ("string", "date"): T.DateType(),
    ("integer", ""): T.LongType(),
    ("number", ""): T.DoubleType(),
    ("boolean", ""): T.BooleanType(),
}
_FROM_SPARK: dict[type[T.DataType], dict[str, str]] = {
    T.StringType: {"type": "string"},
    T.BooleanType: {"type": "boolean"},
    T.IntegerType: {"type": "integer"},
    T.LongType: {"type": "integer"},
    T.DoubleType: {"type": "number"},
    T.FloatType: {"type": "number"},
    T.DecimalType: {"type": "number"},
    T.DateType: {"type": "string", "format": "date"},
    T.TimestampType: {"type": "string", "format": "date-time"},
}


def encode(value: Column) -> Column:
    """Rows as JSON in UTF-8."""
    return F.to_json(value).cast("binary")


def decode(text: Column, struct: T.StructType) -> Column:
    """A struct of the fields and the mark that decoding went well."""
    wanted = T.StructType([*struct.fields, T.StructField(_CORRUPT, T.StringType())])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    found = F.from_json(text.cast("string"), wanted, options)
    mark = F.when(found[_CORRUPT].isNull() & found.isNotNull(), F.lit(True))
    return F.struct(*(found[name].alias(name) for name in struct.names), mark.alias(wire.MARK))


def schema_of(struct: T.StructType, title: str) -> str:
    """The JSON Schema of rows of a Spark type."""
    properties = {field.name: _FROM_SPARK[type(field.dataType)] for field in struct.fields}
    required = [field.name for field in struct.fields if not field.nullable]
    body = {"type": "object", "title": title, "properties": properties, "required": required}
    return json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", **body})


def struct_of(schemas: list[Schema]) -> T.StructType:
    """The Spark type that holds the fields of every version, the last one first."""
    fields: dict[str, T.StructField] = {}
    for schema in reversed(schemas):
        for name, kind in json.loads(schema.text).get("properties", {}).items():
            fields.setdefault(name, T.StructField(name, _spark_type(kind)))
    return T.StructType(list(fields.values()))


def _spark_type(kind: dict[str, Any]) -> T.DataType:
    if "oneOf" in kind:
        return _spark_type(next(one for one in kind["oneOf"] if one.get("type") != "null"))
    if kind.get("type") == "array":
        return T.ArrayType(_spark_type(kind["items"]))
    if kind.get("type") == "object":
        inside = kind.get("properties", {}).items()
        return T.StructType([T.StructField(name, _spark_type(one)) for name, one in inside])
    return _TO_SPARK.get((kind.get("type", ""), kind.get("format", "")), T.StringType())
