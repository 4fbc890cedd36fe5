"""Tells descriptions of columns, whose keys are names of columns, from secrets in the same place.

`{"password": {"type": "string"}}` describes a column; `{"password": ["x"]}` holds a secret.
"""

from typing import Any

from headwater.openlineage.masking.types import is_type

# Facets whose keys may be names of columns.
BY_COLUMN = frozenset({
    "schema", "columnLineage", "lineage", "dataQualityMetrics", "dataQualityAssertions",
})  # fmt: skip
# What a column is described by; nothing of it is a value of the column.
_DESCRIBING = frozenset({
    "type", "name", "field", "fields", "properties", "items", "values", "keys", "elementType",
    "keyType", "valueType", "inputs", "inputFields", "dataset", "transformations",
    "transformationDescription", "transformationType", "nullable", "optional", "required",
    "metadata", "tags", "description", "doc", "comment", "documentation", "title", "format",
    "logicalType", "precision", "scale", "length", "maxLength", "minLength", "ordinalPosition",
    "ordinal_position", "nullCount", "distinctCount", "sum", "count", "_producer", "_schemaURL",
})  # fmt: skip
_VALUED = frozenset({"value", "val", "default", "example", "const"})


def is_description(value: Any) -> bool:
    """Whether an object describes a column."""
    return isinstance(value, dict) and not _DESCRIBING.isdisjoint(value)


def is_value(key: str, value: Any) -> bool:
    """Whether a key of such an object has a value of the column; numbers are about the column."""
    if key in _DESCRIBING:
        return False
    return key in _VALUED or not isinstance(value, int | float)


def are_types(values: Any) -> bool:
    """Whether texts are types, as in a list of names with types."""
    return all(isinstance(value, str) and is_type(value) for value in values)
