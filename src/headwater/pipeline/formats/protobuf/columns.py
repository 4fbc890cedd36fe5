"""Protobuf as columns: the two functions that capture knows by their names."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import arrow_udf

from headwater.pipeline.formats import wire
from headwater.pipeline.formats.protobuf.reading import Rows
from headwater.pipeline.formats.protobuf.types import struct_of
from headwater.pipeline.formats.protobuf.writing import Records
from headwater.schemas.protobuf import compiled
from headwater.schemas.registry import Schema


def decode(raw: Column, schemas: list[Schema], message: str = "") -> Column:
    """A struct of every known schema's fields, and the mark that decoding went well."""
    fields = struct_of(schemas, message)
    rows = Rows({one.id: compiled(one) for one in schemas}, fields, wire.MARK, message)

    # The lineage of columns goes through functions of these names field by field: ADR 80.
    def headwater_from_protobuf(records: pa.Array) -> pa.Array:
        return rows(records)

    marked = T.StructType([*fields.fields, T.StructField(wire.MARK, T.BooleanType())])
    # What is deterministic may be evaluated again in each place where its value is used.
    function = _udf(headwater_from_protobuf, marked).asNondeterministic()
    column: Column = function(raw)
    return column


def encode(value: Column, schema: Schema) -> Column:
    """Rows as Protobuf in the wire format."""
    records = Records(compiled(schema), wire.header(schema.id))

    def headwater_to_protobuf(rows: pa.Array) -> pa.Array:
        return records(rows)

    column: Column = _udf(headwater_to_protobuf, T.BinaryType())(value)
    return column


def _udf(function: Callable[[pa.Array], pa.Array], kind: T.DataType) -> Any:
    # The stubs want the kind of function too, of which Spark warns that hints are preferred.
    return arrow_udf(function, kind)  # type: ignore[call-overload]
